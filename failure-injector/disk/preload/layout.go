// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The layout of shim/layout.h.

const (
	stateMagic    = 0x54415453534b4446
	layoutVersion = 2
	maxExtents    = 16
	maxInodes     = 65536
	maxBuckets    = 65536
	journalSize   = 64 << 20
	pathMax       = 4096

	modeExt4   = 0
	modeStrict = 1

	// glibc: error checking (2), robust (16), shared between processes (128).
	// The shared object compares this with a lock that it makes itself.
	mutexKind = 2 | 16 | 128
)

type mutex struct {
	lock, count, owner, nusers, kind, _ uint32
	_, _                                uint64
}

type extents struct {
	n, _ uint32
	at   [maxExtents]struct{ start, end uint64 }
}

const (
	kindFree = iota
	kindFile
	kindDir
	kindSymlink
)

type inode struct {
	ino, btime   uint64
	next, kind   uint32
	mode, flags  uint32
	lock         mutex
	copying, _   uint32
	ticket       uint64
	redoSize     uint64
	redoCommit   uint64
	equalAt      uint64
	fresh, taken extents
	redo         extents
}

const (
	flagOpaque = 1 << iota
	flagDropped
)

const (
	recAdd = iota + 1
	recDel
	recMove
	recSwap
	recDirsync
	recScan
	recEnd
	recAbort
)

type recHeader struct {
	len, kind    uint32
	dir1, dir2   uint32
	id, id2      uint32
	name1, name2 uint16
	_            uint32
}

type pending struct {
	kind, id     uint32
	journal      uint64
	dir1, dir2   uint32
	_            uint64
	ino, btime   uint64
	path1, path2 [pathMax]byte
}

type stateArea struct {
	magic              uint64
	version, inodeSize uint32
	mode, dead         uint32
	dev                uint64
	live               [pathMax]byte
	names              mutex
	inodes, mutexKind  uint32
	journal, committed uint64
	pending            pending
	bucket             [maxBuckets]uint32
	inode              [maxInodes]inode
	log                [journalSize]byte
}

func mapState(path string) (*stateArea, func(), error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	size := int(unsafe.Sizeof(stateArea{}))
	if st, err := f.Stat(); err != nil || st.Size() != int64(size) {
		return nil, nil, fmt.Errorf("%s has the wrong size; destroy the disk and create it again", path)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map %s: %w", path, err)
	}
	// Most of it is a hole: to read ahead there is to fill memory with zeros.
	if err := unix.Madvise(mem, unix.MADV_RANDOM); err != nil {
		unix.Munmap(mem)
		return nil, nil, fmt.Errorf("map %s: %w", path, err)
	}
	return (*stateArea)(unsafe.Pointer(&mem[0])), func() { unix.Munmap(mem) }, nil
}

func (d *Disk) errNoSpace() error {
	return fmt.Errorf("%s: no space left for the state of disk %s; make room there, or choose another run directory with --run or FI_RUN", d.dir, d.spec.Name)
}

// noSpace turns the fault of touching a mapped file for which its file system
// has no room left into an error of the function that defers it.
func (d *Disk) noSpace() (end func(err *error)) {
	before := debug.SetPanicOnFault(true)
	return func(err *error) {
		debug.SetPanicOnFault(before)
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			*err = d.errNoSpace()
		default:
			panic(r)
		}
	}
}

func bucketOf(ino uint64) uint32 {
	return uint32((ino*0x9e3779b97f4a7c15)>>48) % maxBuckets
}

func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

const inodeSize = uint32(unsafe.Sizeof(inode{}))

// append adds a record to the journal of a state that nobody else writes.
func (s *stateArea) append(r record) {
	const header = 32
	size := (header + len(r.name1) + len(r.name2) + 7) &^ 7
	if s.journal+uint64(size) > journalSize {
		return // bounded by what the disk itself could record
	}
	b, le := s.log[s.journal:], binary.LittleEndian
	le.PutUint32(b, uint32(size))
	le.PutUint32(b[4:], r.kind)
	le.PutUint32(b[8:], r.dir1)
	le.PutUint32(b[12:], r.dir2)
	le.PutUint32(b[16:], r.id)
	le.PutUint32(b[20:], r.id2)
	le.PutUint16(b[24:], uint16(len(r.name1)))
	le.PutUint16(b[26:], uint16(len(r.name2)))
	copy(b[header:], r.name1)
	copy(b[header+len(r.name1):], r.name2)
	s.journal += uint64(size)
}
