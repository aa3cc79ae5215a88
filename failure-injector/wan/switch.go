// SPDX-License-Identifier: Apache-2.0

// Package wan is a switch in user space between hosts that each have a TUN
// device: every packet passes through it, so delay, loss and the like are
// decided per directed pair of hosts, without help of the kernel.
package wan

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cad/failure-injector/disk/control"
)

// A Link is what happens to packets from one host to another.
type Link struct {
	Delay     time.Duration `json:"delay"`     // one way
	Jitter    time.Duration `json:"jitter"`    // uniform, added; the order of packets is kept
	Loss      float64       `json:"loss"`      // shares of packets, 0 to 1
	Duplicate float64       `json:"duplicate"` // sent twice
	Reorder   float64       `json:"reorder"`   // sent without the delay, before those that wait
	Corrupt   float64       `json:"corrupt"`   // one bit flips
	Rate      float64       `json:"rate"`      // bits per second, 0 = no limit; 100 ms are queued
}

// Check says what is wrong with a link.
func (l Link) Check() error {
	for name, p := range map[string]float64{"loss": l.Loss, "duplicate": l.Duplicate, "reorder": l.Reorder, "corrupt": l.Corrupt} {
		if p < 0 || p > 1 {
			return fmt.Errorf("%s %v is no share: 0 to 1", name, p)
		}
	}
	if l.Delay < 0 || l.Jitter < 0 || l.Rate < 0 {
		return errors.New("delay, jitter and rate cannot be negative")
	}
	if l.Delay+l.Jitter > time.Minute {
		return errors.New("a delay of more than a minute would fill the queue")
	}
	return nil
}

const (
	mtu      = 1500
	QueueFor = 100 * time.Millisecond // how much a link with a rate queues
	most     = 1 << 16                // packets under way; more are dropped
)

// A Switch joins hosts by number, the last byte of their address.
type Switch struct {
	mu     sync.Mutex
	ports  [256]int // descriptors, -1 = none
	links  map[[2]int]*line
	random *rand.Rand
	stat   Stat

	epoll, wake int
	loop        chan struct{} // closed when the loop has ended
	closed      bool

	awake   awake // this and the rest are used by the loop only
	waiting packets
	seq     uint64
	free    [][]byte
}

type line struct {
	Link
	last int64 // when the last packet was delivered: order is kept
	busy int64 // until when the line is sending
}

// Stat counts packets.
type Stat struct {
	Forwarded  uint64 `json:"forwarded"`
	Lost       uint64 `json:"lost"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Corrupted  uint64 `json:"corrupted"`
	Overflowed uint64 `json:"overflowed"` // a queue was full
}

type packet struct {
	at   int64 // monotonic ns
	seq  uint64
	to   int
	data []byte
}

type packets []packet

func (p packets) Len() int { return len(p) }
func (p packets) Less(i, j int) bool {
	return p[i].at < p[j].at || (p[i].at == p[j].at && p[i].seq < p[j].seq)
}
func (p packets) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *packets) Push(x any)   { *p = append(*p, x.(packet)) }
func (p *packets) Pop() any {
	old := *p
	x := old[len(old)-1]
	*p = old[:len(old)-1]
	return x
}

// New starts a switch; seed decides about losses and the like.
func New(seed uint64) (*Switch, error) {
	s := &Switch{links: map[[2]int]*line{}, random: rand.New(rand.NewPCG(seed, 0x77616e)), loop: make(chan struct{})}
	for k := range s.ports {
		s.ports[k] = -1
	}
	var err error
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if s.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		unix.Close(s.epoll)
		return nil, err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1}
	if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, s.wake, &event); err != nil {
		return nil, err
	}
	s.awake = newAwake()
	go s.run()
	return s, nil
}

// Plug makes a device in the network namespace of a process and joins it to the
// switch as host n.
func (s *Switch) Plug(n, holder int, device string) error {
	fd, err := openTun(holder, device)
	if err != nil {
		return fmt.Errorf("make a TUN device (needs /dev/net/tun and CAP_NET_ADMIN): %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ports[n] >= 0 {
		unix.Close(s.ports[n])
	}
	s.ports[n] = fd
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(n)})
}

// openTun works on a thread of its own, which ends with the namespace it entered.
func openTun(holder int, device string) (fd int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		var ns int
		if ns, err = unix.Open(fmt.Sprintf("/proc/%d/ns/net", holder), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return
		}
		defer unix.Close(ns)
		if err = unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
			return
		}
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
			return
		}
		var request *unix.Ifreq
		if request, err = unix.NewIfreq(device); err == nil {
			request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err != nil {
			unix.Close(fd)
		}
	}()
	<-done
	return fd, err
}

// Unplug takes host n off the switch; its device is gone.
func (s *Switch) Unplug(n int) {
	s.mu.Lock()
	if s.ports[n] >= 0 {
		unix.Close(s.ports[n])
		s.ports[n] = -1
	}
	s.mu.Unlock()
}

// Set gives the packets from one host to another a link.
func (s *Switch) Set(from, to int, l Link) error {
	if err := l.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	if l == (Link{}) {
		delete(s.links, [2]int{from, to})
	} else {
		s.links[[2]int{from, to}] = &line{Link: l}
	}
	s.mu.Unlock()
	return nil
}

// Heal makes all links perfect. Packets under way arrive when they were to.
func (s *Switch) Heal() {
	s.mu.Lock()
	clear(s.links)
	s.mu.Unlock()
}

// Links lists the links that are not perfect.
func (s *Switch) Links() map[[2]int]Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[[2]int]Link{}
	for k, l := range s.links {
		out[k] = l.Link
	}
	return out
}

// Stat reads the counters.
func (s *Switch) Stat() Stat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stat
}

// Close ends the switch.
func (s *Switch) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	unix.Write(s.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-s.loop
	for n := range s.ports {
		s.Unplug(n)
	}
	unix.Close(s.epoll)
	unix.Close(s.wake)
	s.awake.close()
}

// run is the only thread that moves packets.
func (s *Switch) run() {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	unix.Setpriority(unix.PRIO_PROCESS, 0, -20)
	defer close(s.loop)
	var events [64]unix.EpollEvent
	for {
		n := s.wait(events[:])
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return
		}
		now := control.Now()
		for _, e := range events[:n] {
			if e.Fd >= 0 {
				s.receive(int(e.Fd), now)
			}
		}
		if n > 0 {
			s.awake.packets(now)
		}
		s.deliver(control.Now())
		s.mu.Unlock()
	}
}

// wait waits for packets or for the time of the next delivery, to the nanosecond.
func (s *Switch) wait(events []unix.EpollEvent) int {
	now := control.Now()
	rest := s.awake.rest(now)
	if len(s.waiting) > 0 {
		next := max(s.waiting[0].at-now, 0)
		if rest < 0 || next < rest {
			rest = next
		}
	}
	var timeout *unix.Timespec
	if rest >= 0 {
		t := unix.NsecToTimespec(rest)
		timeout = &t
	}
	n, _, _ := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(s.epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(unsafe.Pointer(timeout)), 0, 0)
	if int(n) < 0 {
		return 0
	}
	return int(n)
}

func (s *Switch) buffer() []byte {
	if k := len(s.free); k > 0 {
		b := s.free[k-1]
		s.free = s.free[:k-1]
		return b[:cap(b)]
	}
	return make([]byte, mtu+100)
}

// receive takes what a host has sent, a bounded batch of it.
func (s *Switch) receive(from int, now int64) {
	for range 64 {
		if s.ports[from] < 0 {
			return
		}
		b := s.buffer()
		n, err := unix.Read(s.ports[from], b)
		if err != nil || n < 20 || b[0]>>4 != 4 {
			s.free = append(s.free, b)
			if err != nil {
				return
			}
			continue // only IPv4 has hosts here
		}
		s.send(from, int(b[19]), b[:n], now)
	}
}

func (s *Switch) send(from, to int, data []byte, now int64) {
	at := now
	l := s.links[[2]int{from, to}]
	if l != nil {
		if l.Loss > 0 && s.random.Float64() < l.Loss {
			s.stat.Lost++
			s.free = append(s.free, data)
			return
		}
		if l.Corrupt > 0 && s.random.Float64() < l.Corrupt && len(data) > 40 {
			data[20+s.random.IntN(len(data)-20)] ^= 1 << s.random.IntN(8)
			s.stat.Corrupted++
		}
		if l.Rate > 0 {
			l.busy = max(l.busy, now) + int64(float64(len(data)*8)/l.Rate*1e9)
			if l.busy-now > int64(QueueFor) {
				l.busy -= int64(float64(len(data)*8) / l.Rate * 1e9)
				s.stat.Overflowed++
				s.free = append(s.free, data)
				return
			}
			at = l.busy
		}
		if l.Reorder > 0 && s.random.Float64() < l.Reorder {
			s.stat.Reordered++
		} else {
			at += int64(l.Delay)
			if l.Jitter > 0 {
				at += s.random.Int64N(int64(l.Jitter) + 1)
			}
			at = max(at, l.last)
			l.last = at
		}
		if l.Duplicate > 0 && s.random.Float64() < l.Duplicate {
			s.stat.Duplicated++
			s.queue(packet{at: at, to: to, data: append(s.buffer()[:0], data...)})
		}
	}
	s.queue(packet{at: at, to: to, data: data})
}

func (s *Switch) queue(p packet) {
	if len(s.waiting) >= most {
		s.stat.Overflowed++
		s.free = append(s.free, p.data)
		return
	}
	s.seq++
	p.seq = s.seq
	heap.Push(&s.waiting, p)
}

func (s *Switch) deliver(now int64) {
	for len(s.waiting) > 0 && s.waiting[0].at <= now {
		p := heap.Pop(&s.waiting).(packet)
		if fd := s.ports[p.to]; fd >= 0 {
			if _, err := unix.Write(fd, p.data); err == nil {
				s.stat.Forwarded++
			} else if !errors.Is(err, os.ErrClosed) {
				s.stat.Overflowed++
			}
		}
		if len(s.free) < 4096 {
			s.free = append(s.free, p.data)
		}
	}
}
