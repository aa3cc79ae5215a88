// SPDX-License-Identifier: Apache-2.0

// Package control is the shared memory through which a disk is told to be slow
// or to fail, and through which it says what it did. Both backends use it; the
// layout is that of ../preload/shim/layout.h.
package control

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"cad/failure-injector/disk/latency"
)

// Op is a class of operations with its own latency, faults and counters.
type Op int

// The classes, in the order of the layout.
const (
	Read Op = iota
	Write
	Fsync
	Open
	Meta  // create, rename, unlink, link, mkdir, rmdir
	Trunc // ftruncate, fallocate
	Ops
)

var opNames = [Ops]string{"read", "write", "fsync", "open", "meta", "trunc"}

func (o Op) String() string { return opNames[o] }

// ParseOp finds an operation class by name.
func ParseOp(s string) (Op, error) {
	for i, n := range opNames {
		if n == s {
			return Op(i), nil
		}
	}
	return 0, fmt.Errorf("no operation %q; there are: read, write, fsync, open, meta, trunc", s)
}

const (
	magic   = 0x4c5254434b534446
	version = 2
)

type opArea struct {
	count, bytes, injected, failed uint64
	first, last                    uint64
	errno, _                       uint32
	latencyOn, _                   uint32
	quantile                       latency.Table
}

type area struct {
	magic         uint64
	version, size uint32
	freeze        uint32
	enospc        uint32
	realFsync     uint32
	_             uint32
	seed          uint64
	op            [Ops]opArea
}

// Control is an open control file.
type Control struct {
	a   *area
	mem []byte
}

// Create makes a control file without any fault.
func Create(path string, seed uint64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	size := int64(unsafe.Sizeof(area{}))
	err = unix.Fallocate(int(f.Fd()), 0, 0, size) // memory that is not there would end whoever touches it
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = f.Truncate(size)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	c, err := open(f)
	if err != nil {
		return err
	}
	defer c.Close()
	c.a.version, c.a.size, c.a.seed = version, uint32(unsafe.Sizeof(area{})), seed
	c.a.magic = magic
	return nil
}

// Map opens a control file.
func Map(path string) (*Control, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := open(f)
	if err != nil {
		return nil, err
	}
	if c.a.magic != magic || c.a.version != version || c.a.size != uint32(unsafe.Sizeof(area{})) {
		c.Close()
		return nil, fmt.Errorf("%s was made by another version of fi; destroy the disk and create it again", path)
	}
	return c, nil
}

func open(f *os.File) (*Control, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() < int64(unsafe.Sizeof(area{})) {
		return nil, fmt.Errorf("%s is too short for a control file; destroy the disk and create it again", f.Name())
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(area{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return &Control{a: (*area)(unsafe.Pointer(&mem[0])), mem: mem}, nil
}

// Close unmaps the file; the settings stay.
func (c *Control) Close() error { return unix.Munmap(c.mem) }

// SetLatency gives op the distribution t; an all-zero table means no delay.
func (c *Control) SetLatency(op Op, t latency.Table) {
	o := &c.a.op[op]
	for i, q := range t {
		atomic.StoreUint64(&o.quantile[i], q)
	}
	var on uint32
	if t[latency.Quantiles-1] > 0 {
		on = 1
	}
	atomic.StoreUint32(&o.latencyOn, on)
}

// SetRealFsync says whether the device below flushes too.
func (c *Control) SetRealFsync(on bool) { store(&c.a.realFsync, on) }

// SetNoSpace makes every operation that needs space fail with ENOSPC.
func (c *Control) SetNoSpace(on bool) { store(&c.a.enospc, on) }

// SetFreeze makes every operation wait, or lets the waiting ones go on.
func (c *Control) SetFreeze(on bool) {
	store(&c.a.freeze, on)
	if !on {
		unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&c.a.freeze)), 1, 1<<30, 0, 0, 0)
	}
}

func store(p *uint32, on bool) {
	var v uint32
	if on {
		v = 1
	}
	atomic.StoreUint32(p, v)
}

// FailNth makes the n-th operation of the class from now fail with errno, and
// times-1 more after it. errno 0 is for writes: only half is written. n == 0
// takes a fault back.
func (c *Control) FailNth(op Op, n, times uint64, errno unix.Errno) {
	o := &c.a.op[op]
	atomic.StoreUint64(&o.first, 0)
	if n == 0 {
		return
	}
	first := atomic.LoadUint64(&o.count) + n
	atomic.StoreUint32(&o.errno, uint32(errno))
	atomic.StoreUint64(&o.last, first+max(times, 1)-1)
	atomic.StoreUint64(&o.first, first)
}

// Heal takes every fault and delay back.
func (c *Control) Heal() {
	for op := Op(0); op < Ops; op++ {
		c.FailNth(op, 0, 0, 0)
		c.SetLatency(op, latency.Table{})
	}
	c.SetRealFsync(false)
	c.SetNoSpace(false)
	c.SetFreeze(false)
}

// OpStat is what a class of operations did so far.
type OpStat struct {
	Count      uint64 `json:"count"`
	Bytes      uint64 `json:"bytes"`
	InjectedNs uint64 `json:"injected_ns"`
	Failed     uint64 `json:"failed"`
	MedianNs   uint64 `json:"latency_median_ns"`
	FailsAt    uint64 `json:"fails_at,omitempty"`
}

// Stat is the state of a control file.
type Stat struct {
	Freeze    bool              `json:"freeze"`
	NoSpace   bool              `json:"enospc"`
	RealFsync bool              `json:"real_fsync"`
	Ops       map[string]OpStat `json:"ops"`
}

// Stat reads counters and settings.
func (c *Control) Stat() Stat {
	s := Stat{
		Freeze:    atomic.LoadUint32(&c.a.freeze) != 0,
		NoSpace:   atomic.LoadUint32(&c.a.enospc) != 0,
		RealFsync: atomic.LoadUint32(&c.a.realFsync) != 0,
		Ops:       map[string]OpStat{},
	}
	for op := Op(0); op < Ops; op++ {
		o := &c.a.op[op]
		st := OpStat{
			Count:      atomic.LoadUint64(&o.count),
			Bytes:      atomic.LoadUint64(&o.bytes),
			InjectedNs: atomic.LoadUint64(&o.injected),
			Failed:     atomic.LoadUint64(&o.failed),
		}
		if atomic.LoadUint32(&o.latencyOn) != 0 {
			st.MedianNs = atomic.LoadUint64(&o.quantile[latency.Quantiles/2])
		}
		if f := atomic.LoadUint64(&o.first); f > st.Count {
			st.FailsAt = f
		}
		s.Ops[op.String()] = st
	}
	return s
}
