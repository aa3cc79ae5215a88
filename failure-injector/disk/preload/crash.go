// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"cad/failure-injector/disk"
)

const (
	sector       = 512
	futexTidMask = 0x3fffffff   // linux/futex.h: 0 = nobody holds it, or its holder died
	stagePrefix  = ".fi-crash-" // of the tree being built; an interrupted crash leaves one
	slowestTick  = 1e9          // ns; more than any kernel's clock of files takes to move on
)

func setDead(s *stateArea) { atomic.StoreUint32(&s.dead, 1) }

// settle waits until no lock is held by a living process, at most a second:
// who holds one began before the disk was dead and ends soon.
func settle(s *stateArea) error {
	held := func(m *mutex) bool { return atomic.LoadUint32(&m.lock)&futexTidMask != 0 }
	for deadline := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		busy := held(&s.names)
		for id := uint32(1); !busy && id <= atomic.LoadUint32(&s.inodes); id++ {
			busy = held(&s.inode[id].lock)
		}
		if !busy {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("a process stopped inside an operation holds the disk; kill it first")
		}
	}
}

// found is a path below the live directory.
type found struct {
	path string // relative
	id   uint32 // 0 = unknown to the disk
	mode os.FileMode
	size int64
	data uint64 // bytes that take space, without holes
}

// Crash cuts the power: what was not durable is gone when it returns.
func (d *Disk) Crash(o disk.CrashOptions) (report disk.Crash, err error) {
	defer d.noSpace()(&err)
	start := time.Now()
	report = disk.Crash{Name: d.spec.Name, Torn: o.Torn, Seed: o.Seed}
	if !o.Force {
		release, err := d.exclusive(o.Wait)
		if err != nil {
			return report, err
		}
		defer release()
	}
	s, unmap, err := mapState(d.file("state"))
	if err != nil {
		return report, err
	}
	defer unmap()
	setDead(s)
	if err := settle(s); err != nil {
		return report, err
	}
	c := &crash{d: d, s: s, report: &report, torn: o.Torn, force: o.Force, random: rand.New(rand.NewPCG(o.Seed, 0x66692d64))}
	if err := c.do(); err != nil {
		return report, fmt.Errorf("crash of disk %s: %w", d.spec.Name, err)
	}
	report.Millis = float64(time.Since(start).Microseconds()) / 1000
	return report, nil
}

type crash struct {
	d      *Disk
	s      *stateArea
	report *disk.Crash
	torn   bool
	force  bool // processes of this life may still live
	random *rand.Rand

	live  []found           // before
	byID  map[uint32]string // a live path of each inode
	after *names            // durable
}

func (c *crash) do() error {
	if err := c.walk(); err != nil {
		return err
	}
	c.finishName()
	if err := c.finishSyncs(); err != nil {
		return err
	}
	all, err := parse(c.s.log[:c.s.journal])
	if err != nil {
		return err
	}
	c.after = c.durable(all)
	if c.torn {
		if err := c.tear(); err != nil {
			return err
		}
	}
	c.count()
	if err := c.restore(); err != nil {
		return err
	}
	return c.d.writeState(c.after, !c.force)
}

func identity(path string) (ino, btime uint64, sx unix.Statx_t, err error) {
	err = unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &sx)
	if err == nil && sx.Mask&unix.STATX_BTIME != 0 {
		btime = uint64(sx.Btime.Sec)*1000000000 + uint64(sx.Btime.Nsec)
	}
	return sx.Ino, btime, sx, err
}

func (s *stateArea) lookup(ino, btime uint64) uint32 {
	id := s.bucket[bucketOf(ino)]
	for id != 0 && (s.inode[id].ino != ino || s.inode[id].btime != btime) {
		id = s.inode[id].next
	}
	return id
}

func (c *crash) walk() error {
	c.byID = map[uint32]string{}
	root := c.d.spec.Live
	return filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		ino, btime, sx, err := identity(path)
		if err != nil {
			return err
		}
		f := found{id: c.s.lookup(ino, btime), mode: info.Mode(), size: info.Size(), data: min(sx.Size, sx.Blocks*512)}
		f.path, _ = filepath.Rel(root, path)
		if f.id != 0 {
			c.byID[f.id] = f.path
		}
		c.live = append(c.live, f)
		return nil
	})
}

// finishName records the directory operation that a killed process had done
// but not recorded yet (names.c does the same when another process goes on).
func (c *crash) finishName() {
	p := &c.s.pending
	if p.kind == 0 {
		return
	}
	path1, path2 := cString(p.path1[:]), cString(p.path2[:])
	at := func(path string) (uint32, bool, bool) {
		ino, btime, _, err := identity(path)
		return c.s.lookup(ino, btime), err == nil, err == nil && ino == p.ino && btime == p.btime
	}
	id1, there1, same1 := at(path1)
	recorded := c.s.journal != p.journal
	switch {
	case p.kind == recScan:
		c.append(record{kind: recAbort})
	case recorded:
	case p.kind == recAdd && there1:
		// A new inode is not in the table yet: nothing of it can be durable
		// but its name, and only by a sync, which has not been.
		if id := max(p.id, id1); id != 0 {
			target, _ := os.Readlink(path1) // "" of what is no symbolic link
			c.append(record{kind: recAdd, dir1: p.dir1, name1: filepath.Base(path1), name2: target, id: id})
		}
	case p.kind == recDel && !same1:
		c.append(record{kind: recDel, dir1: p.dir1, name1: filepath.Base(path1), id: p.id})
	case p.kind == recMove || p.kind == recSwap:
		if _, _, same2 := at(path2); same2 && !same1 {
			c.append(record{kind: p.kind, dir1: p.dir1, name1: filepath.Base(path1),
				dir2: p.dir2, name2: filepath.Base(path2), id: p.id, id2: id1})
		}
	}
	p.kind = 0
}

func (c *crash) append(r record) { c.s.append(r) }

// finishSyncs ends the copies inside which a process was killed.
func (c *crash) finishSyncs() error {
	for id := uint32(1); id <= c.s.inodes; id++ {
		i := &c.s.inode[id]
		if i.copying == 0 {
			continue
		}
		if path, ok := c.byID[id]; ok {
			if err := c.copyToBlob(id, path, i.redo.list(int64(i.redoSize)), int64(i.redoSize)); err != nil {
				return err
			}
			c.s.committed = max(c.s.committed, i.redoCommit)
		} // else a process outside removed it: its sync was not acknowledged
		i.copying = 0
	}
	return nil
}

func (c *crash) durable(all []record) *names {
	if c.s.mode == modeExt4 {
		upto := c.s.committed
		if c.torn { // the journal may have reached the disk further than promised
			var ends []uint64
			for _, r := range all {
				if r.end > upto {
					ends = append(ends, r.end)
				}
			}
			if k := c.random.IntN(len(ends) + 1); k > 0 {
				upto = ends[k-1]
			}
		}
		return durableExt4(all, upto)
	}
	var also []uint32
	if c.torn {
		for id := uint32(1); id <= c.s.inodes; id++ {
			if c.s.inode[id].kind == kindDir && c.random.IntN(4) == 0 {
				also = append(also, id)
			}
		}
	}
	return durableStrict(all, also)
}

// span is a range of bytes of a file.
type span struct{ start, end int64 }

func (e *extents) list(size int64) []span {
	var l []span
	for k := uint32(0); k < min(e.n, maxExtents); k++ {
		if s := (span{int64(e.at[k].start), min(int64(e.at[k].end), size)}); s.start < s.end {
			l = append(l, s)
		}
	}
	return l
}

// spans merges what is unsynced of a file of the given size.
func (i *inode) spans(size int64) []span {
	l := append(i.fresh.list(size), i.taken.list(size)...)
	sort.Slice(l, func(a, b int) bool { return l[a].start < l[b].start })
	var out []span
	for _, s := range l {
		if n := len(out); n > 0 && s.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func (i *inode) unsynced(size int64) uint64 {
	var n uint64
	for _, s := range i.spans(size) {
		n += uint64(s.end - s.start)
	}
	return n
}

func (c *crash) blob(id uint32) string {
	return filepath.Join(c.d.dir, "blobs", strconv.FormatUint(uint64(id), 10))
}

func (c *crash) copyToBlob(id uint32, path string, ranges []span, size int64) error {
	from, err := os.Open(filepath.Join(c.d.spec.Live, path))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(c.blob(id), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	for _, r := range ranges {
		if _, err := io.Copy(io.NewOffsetWriter(to, r.start), io.NewSectionReader(from, r.start, r.end-r.start)); err != nil {
			return err
		}
	}
	return to.Truncate(size)
}

// tear lets some unsynced sectors of some files survive: of each file a prefix,
// a random choice (reordered writes), or none.
func (c *crash) tear() error {
	ids := make([]int, 0, len(c.byID))
	for id := range c.byID {
		ids = append(ids, int(id))
	}
	sort.Ints(ids) // the seed decides, not the map
	for _, n := range ids {
		id := uint32(n)
		i := &c.s.inode[id]
		if i.kind != kindFile {
			continue
		}
		st, err := os.Stat(filepath.Join(c.d.spec.Live, c.byID[id]))
		if err != nil {
			return err
		}
		kept := c.sectors(i.spans(st.Size()))
		if len(kept) == 0 {
			continue
		}
		var durable int64
		if b, err := os.Stat(c.blob(id)); err == nil {
			durable = b.Size()
		}
		for _, k := range kept {
			c.report.BytesTorn += uint64(k.end - k.start)
		}
		if err := c.copyToBlob(id, c.byID[id], kept, max(durable, kept[len(kept)-1].end)); err != nil {
			return err
		}
	}
	return nil
}

func (c *crash) sectors(unsynced []span) []span {
	var all []span
	for _, u := range unsynced {
		for at := u.start; at < u.end && len(all) < 1<<20; {
			end := min((at/sector+1)*sector, u.end)
			all = append(all, span{at, end})
			at = end
		}
	}
	if len(all) == 0 {
		return nil
	}
	switch c.random.IntN(3) {
	case 0:
		return nil
	case 1:
		return all[:c.random.IntN(len(all)+1)]
	}
	var some []span
	for _, s := range all {
		if c.random.IntN(2) == 0 {
			some = append(some, s)
		}
	}
	return some
}

// paths lists what the durable names make reachable: relative path -> inode.
func (n *names) paths() map[string]uint32 {
	out := map[string]uint32{}
	var visit func(dir uint32, path string, above map[uint32]bool)
	visit = func(dir uint32, path string, above map[uint32]bool) {
		for name, id := range n.dirs[dir] {
			p := filepath.Join(path, name)
			out[p] = id
			if _, isDir := n.dirs[id]; isDir && !above[id] {
				above[id] = true
				visit(id, p, above)
				delete(above, id)
			}
		}
	}
	visit(1, "", map[uint32]bool{1: true})
	return out
}

func (c *crash) count() {
	const listed = 20
	durable := c.after.paths()
	kept := map[uint32]bool{}
	for _, id := range durable {
		kept[id] = true
	}
	seen, counted := map[string]bool{}, map[uint32]bool{}
	for _, f := range c.live {
		seen[f.path] = true
		if !f.mode.IsRegular() || strings.HasPrefix(f.path, stagePrefix) {
			continue
		}
		if _, ok := durable[f.path]; !ok {
			c.report.FilesLost++
			if len(c.report.Lost) < listed {
				c.report.Lost = append(c.report.Lost, f.path)
			}
		}
		switch {
		case f.id == 0:
			c.report.BytesLost += f.data
		case counted[f.id]:
		case !kept[f.id]:
			c.report.BytesLost += f.data
		default:
			c.report.BytesLost += c.s.inode[f.id].unsynced(f.size)
		}
		counted[f.id] = f.id != 0
	}
	for p, id := range durable {
		if !seen[p] && c.s.inode[id].kind == kindFile {
			c.report.FilesRestored++
		}
	}
	c.report.BytesLost -= min(c.report.BytesLost, c.report.BytesTorn)
}

// restore makes the live tree what is durable. It is built beside the old one
// inside the live directory and then takes its place; until the new state is
// written, doing it again gives the same.
func (c *crash) restore() error {
	root := c.d.spec.Live
	stage, err := os.MkdirTemp(root, stagePrefix)
	if err != nil {
		return err
	}
	placed := map[uint32]string{}
	durable := c.after.paths()
	order := make([]string, 0, len(durable))
	for p := range durable {
		order = append(order, p)
	}
	sort.Strings(order) // a directory before what is in it
	for _, p := range order {
		id, to := durable[p], filepath.Join(stage, p)
		i := &c.s.inode[id]
		switch {
		case i.kind == kindDir:
			err = os.Mkdir(to, 0o700)
		case i.kind == kindSymlink:
			err = os.Symlink(c.after.targets[id], to)
		case placed[id] != "":
			err = os.Link(placed[id], to)
		default:
			err = c.restoreFile(id, to)
			placed[id] = to
		}
		if err != nil {
			return err
		}
	}
	for k := len(order) - 1; k >= 0; k-- { // modes last: a directory may be read-only
		if i := &c.s.inode[durable[order[k]]]; i.kind == kindDir {
			if err := c.own(filepath.Join(stage, order[k]), i.mode); err != nil {
				return err
			}
		}
	}
	return swapIn(root, filepath.Base(stage))
}

// isDurable tells that the live file is what its blob is, without reading them:
// its last sync left nothing out, and nobody has written to it since. A file
// written in ways not seen is always compared.
func (c *crash) isDurable(id uint32, live string) bool {
	i := &c.s.inode[id]
	if i.equalAt == 0 || i.flags != 0 || i.fresh.n != 0 || i.taken.n != 0 {
		return false
	}
	blob, err := os.Stat(c.blob(id))
	if err != nil {
		return false
	}
	st, err := os.Stat(live)
	return err == nil && st.Size() == blob.Size() && uint64(st.ModTime().UnixNano()) == i.equalAt
}

func (c *crash) restoreFile(id uint32, to string) error {
	if path, ok := c.byID[id]; ok {
		if err := os.Link(filepath.Join(c.d.spec.Live, path), to); err != nil {
			return err
		}
	} else if f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return err
	} else {
		f.Close()
	}
	if err := os.Chmod(to, 0o600); err != nil { // it may be read-only
		return err
	}
	if !c.isDurable(id, to) {
		changed, err := makeEqual(c.blob(id), to)
		if err != nil {
			return err
		}
		if changed {
			c.report.FilesReverted++
		}
	}
	return c.own(to, c.s.inode[id].mode)
}

// own gives a rebuilt object its mode, and the owner of the disk.
func (c *crash) own(path string, mode uint32) error {
	if os.Geteuid() == 0 {
		var st unix.Stat_t
		if err := unix.Stat(c.d.spec.Live, &st); err != nil {
			return err
		}
		if err := os.Chown(path, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return unix.Chmod(path, mode)
}

// swapIn replaces everything in root by what is in root/stage.
func swapIn(root, stage string) error {
	old, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range old {
		if e.Name() != stage {
			if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
				return err
			}
		}
	}
	fresh, err := os.ReadDir(filepath.Join(root, stage))
	if err != nil {
		return err
	}
	for _, e := range fresh {
		if err := os.Rename(filepath.Join(root, stage, e.Name()), filepath.Join(root, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(filepath.Join(root, stage))
}

// writeState begins a new life of the disk: what is durable now is all there
// is. Blobs of files that are gone are removed. equal: each file is as its blob
// is, and no process of the life before can still write to it.
func (d *Disk) writeState(after *names, equal bool) error {
	now := time.Now().UnixNano()
	next := d.file("state.new")
	s, unmap, err := d.newStateArea(next)
	if err != nil {
		return err
	}
	defer unmap()
	var sx unix.Statx_t
	if _, _, sx, err = identity(d.spec.Live); err != nil {
		return err
	}
	s.version, s.inodeSize, s.mutexKind = layoutVersion, inodeSize, mutexKind
	s.dev = unix.Mkdev(sx.Dev_major, sx.Dev_minor)
	copy(s.live[:pathMax-1], d.spec.Live)
	if d.spec.Mode == disk.Strict {
		s.mode = modeStrict
	}
	s.names.kind = mutexKind
	paths := after.paths()
	paths["."] = 1
	kept := map[string]bool{}
	for p, id := range paths {
		ino, btime, sx, err := identity(filepath.Join(d.spec.Live, p))
		if err != nil {
			return err
		}
		i := &s.inode[id]
		if i.kind != kindFree { // another link of it
			continue
		}
		i.ino, i.btime, i.mode, i.lock.kind = ino, btime, uint32(sx.Mode&0o7777), mutexKind
		switch sx.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			i.kind = kindDir
		case unix.S_IFLNK:
			i.kind = kindSymlink
		default:
			i.kind = kindFile
			// A younger time could be that of a write still to come: the clock of
			// files ticks slowly.
			if modified := sx.Mtime.Sec*1000000000 + int64(sx.Mtime.Nsec); equal && now-modified > slowestTick {
				i.equalAt = uint64(modified)
			}
		}
		head := &s.bucket[bucketOf(ino)]
		i.next, *head = *head, id
		s.inodes = max(s.inodes, id)
		kept[strconv.FormatUint(uint64(id), 10)] = true
	}
	s.append(record{kind: recScan})
	for p, id := range paths {
		if p != "." {
			s.append(record{kind: recAdd, dir1: paths[filepath.Dir(p)], name1: filepath.Base(p), name2: after.targets[id], id: id})
		}
	}
	s.append(record{kind: recEnd})
	s.committed = s.journal
	s.magic = stateMagic
	if err := os.Rename(next, d.file("state")); err != nil {
		return err
	}
	blobs, err := os.ReadDir(d.file("blobs"))
	if err != nil {
		return err
	}
	for _, b := range blobs {
		if !kept[b.Name()] {
			os.Remove(filepath.Join(d.dir, "blobs", b.Name()))
		}
	}
	return nil
}
