// SPDX-License-Identifier: Apache-2.0

// Package daemon is the process that serves lossfs disks, and the way to talk
// to it: one JSON object a line over a unix socket in the run directory.
package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sort"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cad/failure-injector/disk"
	"cad/failure-injector/disk/control"
	"cad/failure-injector/disk/lossfs"
	"cad/failure-injector/faultlog"
	"cad/failure-injector/wan"
)

// A Request asks for a verb on a disk.
type Request struct {
	Verb    string             `json:"verb"`
	Disk    string             `json:"disk,omitempty"`
	Spec    *disk.Spec         `json:"spec,omitempty"`
	Options *lossfs.Options    `json:"options,omitempty"`
	Crash   *disk.CrashOptions `json:"crash,omitempty"`
	Trigger *lossfs.Trigger    `json:"trigger,omitempty"`
	Corrupt *Corrupt           `json:"corrupt,omitempty"`
	Wan     *Wan               `json:"wan,omitempty"`
}

// Wan is about hosts on the switch, by number.
type Wan struct {
	Host, Holder int    // plug, unplug
	Device       string // plug: its name in the holder's network namespace
	From, To     int    // link
	Link         wan.Link
}

// WanStatus is the state of the switch.
type WanStatus struct {
	Links []WanLink `json:"links"`
	Stat  wan.Stat  `json:"packets"`
}

// WanLink is a link that is not perfect.
type WanLink struct {
	From int `json:"from"`
	To   int `json:"to"`
	wan.Link
}

// Corrupt is a range of a file to damage.
type Corrupt struct {
	File       string
	Start, Len int64
	Seed       uint64
}

// A Response carries a result or says why there is none.
type Response struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
	InUse  bool            `json:"in_use,omitempty"` // the error is disk.ErrInUse
}

// ErrNotRunning means that no daemon serves the run directory.
var ErrNotRunning = errors.New("no fi daemon is running for this run directory")

func socket(run disk.Run) string { return filepath.Join(string(run), "daemon.sock") }

// dial connects by a path relative to the run directory: socket paths are short.
func dial(run disk.Run) (net.Conn, error) {
	dir, err := os.Open(string(run))
	if err != nil {
		return nil, ErrNotRunning
	}
	defer dir.Close()
	c, err := net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/daemon.sock", dir.Fd()))
	if err != nil {
		return nil, ErrNotRunning
	}
	return c, nil
}

// Call sends a request and decodes the result into out, if not nil.
func Call(run disk.Run, q Request, out any) error {
	c, err := dial(run)
	if err != nil {
		return err
	}
	defer c.Close()
	var r Response
	if err := exchange(c, q, &r); err != nil {
		if ended(run) {
			return fmt.Errorf("%w any more: it ended before it answered (see %s)", ErrNotRunning, filepath.Join(string(run), "daemon.log"))
		}
		return fmt.Errorf("the daemon did not answer (see %s): %w", filepath.Join(string(run), "daemon.log"), err)
	}
	if r.InUse {
		return fmt.Errorf("%w%s", disk.ErrInUse, r.Error[len(disk.ErrInUse.Error()):])
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(r.Result, out)
}

func exchange(c net.Conn, q Request, r *Response) error {
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return err
	}
	return json.NewDecoder(bufio.NewReader(c)).Decode(r)
}

// ended waits for the end of a daemon that hung up, at most a second; a killed
// one still takes connections for a moment.
func ended(run disk.Run) bool {
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		c, err := dial(run)
		if err != nil {
			return errors.Is(err, ErrNotRunning)
		}
		var r Response
		err = exchange(c, Request{Verb: "ping"}, &r)
		c.Close()
		if err == nil {
			return false
		}
	}
	return false
}

// Start runs a daemon in the background, if none runs, and waits until it answers.
func Start(run disk.Run) error {
	if Call(run, Request{Verb: "ping"}, nil) == nil {
		return nil
	}
	if err := os.MkdirAll(string(run), 0o700); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(string(run), "daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, "daemon", "--run", string(run))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if Call(run, Request{Verb: "ping"}, nil) == nil {
			return nil
		}
		select {
		case err := <-ended: // perhaps another one was faster
			if Call(run, Request{Verb: "ping"}, nil) == nil {
				return nil
			}
			return fmt.Errorf("the daemon ended at once (%v); see %s", err, log.Name())
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the daemon does not answer; see %s", log.Name())
		}
	}
}

type server struct {
	run  disk.Run
	mu   sync.Mutex
	vols map[string]*lossfs.Volume
	ctls map[string]*control.Control
	wan  *wan.Switch // made when the first host is plugged in
	stop chan struct{}
	once sync.Once
}

// Serve is the daemon: it returns after SIGTERM, SIGINT or the verb shutdown,
// with nothing left mounted.
func Serve(run disk.Run) error {
	if err := os.MkdirAll(string(run), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(string(run), "daemon.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another daemon serves %s", run)
	}
	if os.Geteuid() == 0 { // a disk is not to wait for the CPU behind its users
		os.WriteFile("/proc/self/autogroup", []byte("-19"), 0)
	}
	os.Remove(socket(run))
	dir, err := os.Open(string(run))
	if err != nil {
		return err
	}
	defer dir.Close()
	l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/daemon.sock", dir.Fd()))
	if err != nil {
		return err
	}
	os.Chmod(socket(run), 0o600)
	s := &server{run: run, vols: map[string]*lossfs.Volume{}, ctls: map[string]*control.Control{}, stop: make(chan struct{})}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		select {
		case <-signals:
		case <-s.stop:
		}
		l.Close()
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		go s.serve(c)
	}
	os.Remove(socket(run))
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	if s.wan != nil {
		s.wan.Close()
	}
	for _, v := range s.vols {
		if err := v.Destroy(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (s *server) serve(c net.Conn) {
	defer c.Close()
	in, out := json.NewDecoder(bufio.NewReader(c)), json.NewEncoder(c)
	for {
		var q Request
		if in.Decode(&q) != nil {
			return
		}
		var r Response
		result, err := s.do(q)
		if err == nil {
			r.Result, err = json.Marshal(result)
		}
		if err != nil {
			r.Error, r.InUse = err.Error(), errors.Is(err, disk.ErrInUse)
		}
		err = out.Encode(r)
		if q.Verb == "shutdown" {
			s.once.Do(func() { close(s.stop) })
		}
		if err != nil {
			return
		}
	}
}

func (s *server) volume(name string) (*lossfs.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.vols[name]
	if v == nil {
		return nil, fmt.Errorf("the daemon serves no disk %q (was it restarted? a lossfs disk lives in its memory: `fi disk destroy %s`, then create it again)", name, name)
	}
	return v, nil
}

func (s *server) do(q Request) (any, error) {
	switch q.Verb {
	case "ping":
		return map[string]int{"pid": os.Getpid()}, nil
	case "shutdown": // once this has been answered
		return true, nil
	case "list":
		s.mu.Lock()
		defer s.mu.Unlock()
		names := []string{}
		for n := range s.vols {
			names = append(names, n)
		}
		sort.Strings(names)
		return names, nil
	case "create":
		return s.create(*q.Spec, *q.Options)
	case "wan plug", "wan unplug", "wan link", "wan heal", "wan status":
		return s.wide(q)
	}
	v, err := s.volume(q.Disk)
	if err != nil {
		return nil, err
	}
	switch q.Verb {
	case "crash":
		return v.Crash(*q.Crash)
	case "sync":
		return true, v.Sync()
	case "stat":
		return v.Stat(), nil
	case "log":
		return v.Log(), nil
	case "trigger":
		return true, v.AddTrigger(*q.Trigger, func(path string) { s.logTrigger(q.Disk, *q.Trigger, path) })
	case "untrigger":
		v.ClearTriggers()
		return true, nil
	case "corrupt":
		return true, v.Corrupt(q.Corrupt.File, q.Corrupt.Start, q.Corrupt.Len, q.Corrupt.Seed)
	case "destroy":
		return true, s.destroy(q.Disk, v)
	}
	return nil, fmt.Errorf("the daemon knows no verb %q: another version of fi started it; `fi down --all`", q.Verb)
}

// logTrigger writes what a trigger does into the log of faults, as a mark: it is
// not a verb that could be repeated.
func (s *server) logTrigger(disk string, t lossfs.Trigger, path string) {
	e := faultlog.Begin()
	when := map[bool]string{true: "before", false: "after"}[t.Before]
	e.Mark = fmt.Sprintf("trigger: %s of disk %s %s %s of %s", t.Action, disk, when, t.Op, path)
	go func() {
		if err := faultlog.Append(s.run, e); err != nil {
			fmt.Fprintln(os.Stderr, "fi daemon: log of faults:", err)
		}
	}()
}

func (s *server) wide(q Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wan == nil {
		if q.Verb != "wan plug" { // nobody is plugged in
			return WanStatus{Links: []WanLink{}}, nil
		}
		var err error
		if s.wan, err = wan.New(1); err != nil {
			return nil, err
		}
	}
	switch q.Verb {
	case "wan plug":
		return true, s.wan.Plug(q.Wan.Host, q.Wan.Holder, q.Wan.Device)
	case "wan unplug":
		s.wan.Unplug(q.Wan.Host)
	case "wan link":
		return true, s.wan.Set(q.Wan.From, q.Wan.To, q.Wan.Link)
	case "wan heal":
		s.wan.Heal()
	}
	status := WanStatus{Links: []WanLink{}, Stat: s.wan.Stat()}
	for k, l := range s.wan.Links() {
		status.Links = append(status.Links, WanLink{k[0], k[1], l})
	}
	sort.Slice(status.Links, func(i, j int) bool {
		a, b := status.Links[i], status.Links[j]
		return a.From < b.From || (a.From == b.From && a.To < b.To)
	})
	return status, nil
}

func (s *server) create(spec disk.Spec, o lossfs.Options) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vols[spec.Name] != nil {
		return nil, fmt.Errorf("disk %q exists already", spec.Name)
	}
	path := filepath.Join(s.run.Dir(spec.Name), "control")
	if err := control.Create(path, spec.Seed); err != nil {
		return nil, err
	}
	ctl, err := control.Map(path)
	if err != nil {
		return nil, err
	}
	v, err := lossfs.Create(spec, ctl, o)
	if err != nil {
		ctl.Close()
		return nil, err
	}
	s.vols[spec.Name], s.ctls[spec.Name] = v, ctl
	return true, nil
}

func (s *server) destroy(name string, v *lossfs.Volume) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.vols, name)
	// The control file stays mapped: operations of the ended life may still look at it.
	delete(s.ctls, name)
	return v.Destroy()
}
