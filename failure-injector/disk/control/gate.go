// SPDX-License-Identifier: Apache-2.0

package control

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The Go side of what ../preload/shim/gate.c does in C: a backend that carries
// out operations itself passes each of them through here.

// Verdict says what is to become of an operation.
type Verdict struct {
	Errno    unix.Errno // not 0: fail with it
	Half     bool       // write only half of it
	Deadline int64      // monotonic ns before which it must not end, 0 = none
}

// Begin counts an operation, waits while the disk is frozen (until stop says
// that it will never thaw), and decides about faults and latency. The caller
// sleeps until the deadline itself, holding no lock.
func (c *Control) Begin(op Op, bytes int, needsSpace bool, stop func() bool) Verdict {
	o := &c.a.op[op]
	n := atomic.AddUint64(&o.count, 1)
	if bytes > 0 {
		atomic.AddUint64(&o.bytes, uint64(bytes))
	}
	c.Thaw(stop)
	var v Verdict
	if first := atomic.LoadUint64(&o.first); first != 0 && n >= first && n <= atomic.LoadUint64(&o.last) {
		atomic.AddUint64(&o.failed, 1)
		v.Errno = unix.Errno(atomic.LoadUint32(&o.errno))
		v.Half = v.Errno == 0
	}
	if needsSpace && v.Errno == 0 && atomic.LoadUint32(&c.a.enospc) != 0 {
		atomic.AddUint64(&o.failed, 1)
		v.Errno = unix.ENOSPC
	}
	if atomic.LoadUint32(&o.latencyOn) != 0 {
		ns := o.sample(n, c.a.seed)
		atomic.AddUint64(&o.injected, ns)
		v.Deadline = Now() + int64(ns)
	}
	return v
}

// Thaw waits while the disk is frozen.
func (c *Control) Thaw(stop func() bool) {
	for atomic.LoadUint32(&c.a.freeze) != 0 && !stop() {
		slice := unix.NsecToTimespec(int64(50 * time.Millisecond))
		unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&c.a.freeze)), 0, 1, uintptr(unsafe.Pointer(&slice)), 0, 0)
	}
}

func (o *opArea) sample(n, seed uint64) uint64 {
	u := mix(seed ^ mix(n))
	cell := u >> 56
	low, high := atomic.LoadUint64(&o.quantile[cell]), atomic.LoadUint64(&o.quantile[cell+1])
	if high <= low {
		return low
	}
	part, _ := bits.Mul64((high-low)<<16, u<<32)
	return low + part>>16
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Now is the monotonic clock in ns.
func Now() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

// SleepUntil waits for a monotonic time more exactly than the Go runtime's
// timers: on a thread without timer slack.
func SleepUntil(ns int64) {
	if ns == 0 || Now() >= ns {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	t := unix.NsecToTimespec(ns)
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &t, nil) == unix.EINTR {
	}
}
