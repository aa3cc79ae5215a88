// SPDX-License-Identifier: Apache-2.0

// Package clock makes the clocks of processes run wrong: a shared object in the
// process answers for the C library, and a small file says how each clock runs.
package clock

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The layout of shim/area.h.

const (
	magic   = 0x534b434f4c434946
	version = 1
)

type line struct {
	real, shown int64 // ns: at real of the machine's clock it shows shown
	drift       float64
}

type area struct {
	magic         uint64
	version, size uint32
	generation, _ uint32
	lines         [2][clocks]line
}

// mapArea opens the file of a clock for one writer at a time.
func mapArea(path string) (a *area, release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && st.Size() < int64(unsafe.Sizeof(area{})) {
		err = fmt.Errorf("%s is no clock of this version of fi; destroy it and create it again", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(area{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("map %s: %w", path, err)
	}
	return (*area)(unsafe.Pointer(&mem[0])), func() { unix.Munmap(mem); f.Close() }, nil
}

// current returns the lines in force.
func (a *area) current() *[clocks]line { return &a.lines[atomic.LoadUint32(&a.generation)%2] }

// publish puts new lines into force and wakes those who wait for that.
func (a *area) publish(l [clocks]line) {
	next := atomic.LoadUint32(&a.generation) + 1
	a.lines[next%2] = l
	atomic.StoreUint32(&a.generation, next)
	const wake = 1
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&a.generation)), wake, 1<<30, 0, 0, 0)
}
