// SPDX-License-Identifier: Apache-2.0

package lossfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"cad/failure-injector/internal/bug"
)

const (
	pageSize = 4096
	sector   = 512
)

// A page is never written once a sync or a crash may see it: shared says so,
// and who writes then takes a copy.
type page struct {
	shared bool
	data   [pageSize]byte
}

// content is the bytes of a file: pages that are absent read as zeros.
type content struct {
	size  int64
	pages map[int64]*page
}

// An inode has a state that processes see and one that a crash leaves.
type inode struct {
	id       uint64
	mode     uint32 // type and permissions
	uid, gid uint32
	target   string
	atime    time.Time
	mtime    time.Time
	ctime    time.Time
	nlink    uint32
	nlookup  uint64 // references held by the kernel

	parent *inode // last known name, for triggers and logs
	name   string

	now  content
	safe content
	// Pages changed since the last sync began, and those that a sync that has
	// not ended is to make durable.
	dirty, taken map[int64]bool
	began, ended uint64    // tickets of syncs
	writer       uint64    // handle that wrote last
	failed       int64     // 1 + offset of a read that failed on purpose
	since        time.Time // oldest change that is not durable, zero = none

	children map[string]*inode // of a directory, as processes see it
	kept     map[string]*inode // as a crash leaves it
}

func newInode(id uint64, mode, uid, gid uint32) *inode {
	t := time.Now()
	in := &inode{id: id, mode: mode, uid: uid, gid: gid, atime: t, mtime: t, ctime: t}
	in.now.pages, in.safe.pages = map[int64]*page{}, map[int64]*page{}
	in.dirty, in.taken = map[int64]bool{}, map[int64]bool{}
	if in.isDir() {
		in.children, in.kept = map[string]*inode{}, map[string]*inode{}
	}
	return in
}

func (in *inode) isDir() bool  { return in.mode&unix.S_IFMT == unix.S_IFDIR }
func (in *inode) isFile() bool { return in.mode&unix.S_IFMT == unix.S_IFREG }

func (in *inode) touch() {
	in.mtime = time.Now()
	in.ctime = in.mtime
	if in.since.IsZero() {
		in.since = in.mtime
	}
}

// forWriting returns page k, which nobody else sees.
func (in *inode) forWriting(k int64) *page {
	p := in.now.pages[k]
	switch {
	case p == nil:
		p = &page{}
	case p.shared:
		p = &page{data: p.data}
	}
	in.now.pages[k] = p
	in.dirty[k] = true
	return p
}

func (c *content) read(buf []byte, at int64) int {
	if at >= c.size {
		return 0
	}
	n := int(min(int64(len(buf)), c.size-at))
	for done := 0; done < n; {
		k, off := (at+int64(done))/pageSize, int((at+int64(done))%pageSize)
		m := min(n-done, pageSize-off)
		if p := c.pages[k]; p != nil {
			copy(buf[done:done+m], p.data[off:])
		} else {
			clear(buf[done : done+m])
		}
		done += m
	}
	return n
}

func (in *inode) write(data []byte, at int64) {
	for done := 0; done < len(data); {
		pos := at + int64(done)
		off := int(pos % pageSize)
		done += copy(in.forWriting(pos / pageSize).data[off:], data[done:])
	}
	in.now.size = max(in.now.size, at+int64(len(data)))
	in.touch()
}

// zero clears a range within the size, freeing whole pages.
func (in *inode) zero(start, end int64) {
	for start < end {
		k, off := start/pageSize, start%pageSize
		stop := min(end, (k+1)*pageSize)
		if in.now.pages[k] != nil {
			if off == 0 && stop == (k+1)*pageSize {
				delete(in.now.pages, k)
				in.dirty[k] = true
			} else {
				clear(in.forWriting(k).data[off : stop-k*pageSize])
			}
		}
		start = stop
	}
	in.touch()
}

func (in *inode) resize(size int64) {
	if size < in.now.size {
		for k := range in.now.pages {
			if k*pageSize >= size {
				delete(in.now.pages, k)
				if !bug.On(6) {
					in.dirty[k] = true
				}
			}
		}
		if size%pageSize != 0 && !bug.On(6) {
			in.zero(size, (size/pageSize+1)*pageSize)
		}
	}
	in.now.size = size
	in.touch()
}

// A flush is a sync under way: what was there when it began.
type flush struct {
	ticket uint64
	size   int64
	pages  map[int64]*page // nil = to be removed
}

func (in *inode) beginSync() *flush {
	maps.Copy(in.taken, in.dirty)
	clear(in.dirty)
	in.since = time.Time{}
	in.began++
	f := &flush{ticket: in.began, size: in.now.size, pages: map[int64]*page{}}
	if bug.On(1) && len(in.taken) > 1 {
		last := slices.Max(slices.Collect(maps.Keys(in.taken)))
		in.taken = map[int64]bool{last: true}
	}
	for k := range in.taken {
		p := in.now.pages[k]
		if p != nil {
			p.shared = true
		}
		f.pages[k] = p
	}
	return f
}

// endSync makes durable what beginSync noted; if keep is false the flush
// failed, and what it was to write is forgotten, as Linux does.
func (in *inode) endSync(f *flush, keep bool) {
	// A sync that began later has covered all of this and may have ended.
	if keep && f.ticket > in.ended {
		for k, p := range f.pages {
			if p == nil {
				delete(in.safe.pages, k)
			} else {
				in.safe.pages[k] = p
			}
		}
		if !bug.On(3) || len(f.pages) > 0 {
			in.safe.setSize(f.size)
		}
		in.ended = f.ticket
	}
	if f.ticket == in.began {
		clear(in.taken)
	}
}

// setSize cuts what lies beyond; what is in the last page there is zero
// already, since the live page was.
func (c *content) setSize(size int64) {
	if size < c.size {
		for k := range c.pages {
			if k*pageSize >= size {
				delete(c.pages, k)
			}
		}
		if p := c.pages[size/pageSize]; p != nil && size%pageSize != 0 && !isZero(p.data[size%pageSize:]) {
			q := &page{data: p.data, shared: true}
			clear(q.data[size%pageSize:])
			c.pages[size/pageSize] = q
		}
	}
	c.size = size
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// unsynced lists the pages that differ from what a crash leaves, in order.
func (in *inode) unsynced() []int64 {
	all := maps.Clone(in.dirty)
	maps.Copy(all, in.taken)
	return slices.Sorted(maps.Keys(all))
}

// unsyncedBytes counts sectors' worth of difference in unsynced pages.
func (in *inode) unsyncedBytes() (n uint64) {
	for _, k := range in.unsynced() {
		n += uint64(len(in.differing(k)))
	}
	return n
}

// differing lists the offsets of bytes of page k that would be lost; counted
// within the live size.
func (in *inode) differing(k int64) []int {
	var now, safe [pageSize]byte
	n := in.now.read(now[:], k*pageSize)
	m := in.safe.read(safe[:], k*pageSize)
	var out []int
	for i := range n {
		if i >= m || now[i] != safe[i] {
			out = append(out, i)
		}
	}
	return out
}

// tear lets some unsynced sectors survive: a prefix, any subset, or none.
func (in *inode) tear(r *rand.Rand) (survived uint64) {
	style := r.IntN(3)
	if style == 0 {
		return 0
	}
	type piece struct{ start, end int64 }
	var all []piece
	for _, k := range in.unsynced() {
		for at := k * pageSize; at < min((k+1)*pageSize, in.now.size); at += sector {
			all = append(all, piece{at, min(at+sector, in.now.size)})
		}
	}
	keep := r.IntN(len(all) + 1)
	for i, s := range all {
		if (style == 1 && i >= keep) || (style == 2 && r.IntN(2) == 0) {
			continue
		}
		buf := make([]byte, s.end-s.start)
		in.now.read(buf, s.start)
		k := s.start / pageSize
		p := &page{shared: true}
		if old := in.safe.pages[k]; old != nil {
			p.data = old.data
		}
		copy(p.data[s.start%pageSize:], buf)
		in.safe.pages[k] = p
		in.safe.size = max(in.safe.size, s.end)
		survived += uint64(len(buf))
	}
	return survived
}
