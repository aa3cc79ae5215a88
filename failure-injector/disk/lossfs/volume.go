// SPDX-License-Identifier: Apache-2.0

// Package lossfs is the disk backend for what the preload backend cannot see:
// a FUSE file system in memory that keeps, across a power loss, exactly what
// was synced. A file is a map of pages; its live and its durable state share
// the pages that are equal, so a sync and a crash move pointers, not bytes.
package lossfs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cad/failure-injector/disk"
	"cad/failure-injector/disk/control"
	"cad/failure-injector/internal/bug"
)

// A Volume is a disk: what is durable, and the life that builds on it.
type Volume struct {
	Spec disk.Spec
	ctl  *control.Control

	mu       sync.Mutex // guards everything below and all inodes
	root     *inode
	nextID   uint64
	journal  journal
	life     *life
	triggers []*Trigger
	log      *opLog
	capacity int64 // bytes, in whole pages
	used     int64 // pages that processes can reach
	crashes  []disk.Crash
	cycle    sync.Mutex // one power cycle at a time
	closed   bool

	stopFlusher chan struct{}
}

// A life is one mount of a volume, from power on to power off. After that,
// whoever still has something of it open gets EIO, for ever.
type life struct {
	v      *Volume
	dead   atomic.Bool
	nodes  map[uint64]*inode // known to the kernel
	dirs   map[uint64][]*dirEntry
	next   uint64        // directory handle
	handle atomic.Uint64 // file handle
	mount  *mount
}

// Options of a volume beyond its spec.
type Options struct {
	Capacity  int64         // bytes; 0 = 4 GiB
	WriteBack time.Duration // age at which unsynced data gets durable by itself; 0 = never
	LogSize   int           // operations kept in the log; 0 = 4096
}

// Create mounts a new, empty volume at spec.Live; what is in the directory
// already is copied into it and is durable.
func Create(spec disk.Spec, ctl *control.Control, o Options) (*Volume, error) {
	if o.Capacity == 0 {
		o.Capacity = 4 << 30
	}
	v := &Volume{Spec: spec, ctl: ctl, capacity: o.Capacity, log: newOpLog(o.LogSize), nextID: 2}
	st, err := os.Stat(spec.Live)
	if err != nil {
		return nil, err
	}
	owner := st.Sys().(*syscall.Stat_t)
	v.root = newInode(1, unix.S_IFDIR|uint32(st.Mode().Perm()), owner.Uid, owner.Gid)
	v.root.nlink = 2
	if err := v.load(v.root, spec.Live); err != nil {
		return nil, err
	}
	v.mu.Lock()
	v.syncAllLocked()
	v.mu.Unlock()
	if err := v.begin(); err != nil {
		return nil, err
	}
	if o.WriteBack > 0 {
		v.stopFlusher = make(chan struct{})
		go v.writeBack(o.WriteBack)
	}
	return v, nil
}

// load copies a directory into the volume.
func (v *Volume) load(dir *inode, path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		from := filepath.Join(path, e.Name())
		info, err := e.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		in := v.newInodeLocked(st.Mode, st.Uid, st.Gid)
		switch {
		case in.isFile():
			b, err := os.ReadFile(from)
			if err != nil {
				return err
			}
			in.write(b, 0)
		case in.isDir():
			if err := v.load(in, from); err != nil {
				return err
			}
		case info.Mode()&os.ModeSymlink != 0:
			if in.target, err = os.Readlink(from); err != nil {
				return err
			}
		default:
			continue
		}
		v.linkLocked(dir, e.Name(), in)
	}
	return nil
}

func (v *Volume) newInodeLocked(mode, uid, gid uint32) *inode {
	in := newInode(v.nextID, mode, uid, gid)
	v.nextID++
	return in
}

// linkLocked gives an inode a name.
func (v *Volume) linkLocked(dir *inode, name string, in *inode) {
	dir.children[name] = in
	in.nlink++
	if in.isDir() {
		in.nlink++
		dir.nlink++
	}
	in.parent, in.name = dir, name
	dir.touch()
	v.journal.entry(dir, name, in)
}

// path of an inode below the root, by its last name.
func (in *inode) path() string {
	if in.parent == nil {
		return "."
	}
	p := in.name
	for d := in.parent; d != nil && d.parent != nil; d = d.parent {
		p = d.name + "/" + p
	}
	return p
}

// begin mounts a new life.
func (v *Volume) begin() error {
	l := &life{v: v, nodes: map[uint64]*inode{1: v.root}, dirs: map[uint64][]*dirEntry{}}
	m, err := newMount(l, v.Spec.Live)
	if err != nil {
		return err
	}
	v.mu.Lock()
	l.mount, v.life = m, l
	v.mu.Unlock()
	return nil
}

// Sync makes everything durable.
func (v *Volume) Sync() error {
	v.flushKernel()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.syncAllLocked()
	return nil
}

// flushKernel has the kernel send what shared mappings changed.
func (v *Volume) flushKernel() {
	if fd, err := unix.Open(v.Spec.Live, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		unix.Syncfs(fd)
		unix.Close(fd)
	}
}

func (v *Volume) syncAllLocked() {
	v.journal.commitUpto(v.journal.next)
	v.eachLocked(func(in *inode) { in.endSync(in.beginSync(), true) })
}

// eachLocked visits all inodes that processes can reach.
func (v *Volume) eachLocked(f func(*inode)) {
	seen := map[*inode]bool{}
	var visit func(*inode)
	visit = func(in *inode) {
		if seen[in] {
			return
		}
		seen[in] = true
		f(in)
		for _, c := range in.children {
			visit(c)
		}
	}
	visit(v.root)
}

// writeBack does what a kernel's flusher does: data older than age gets
// durable without anybody's asking, and so do names.
func (v *Volume) writeBack(age time.Duration) {
	tick := time.NewTicker(max(age/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-v.stopFlusher:
			return
		case <-tick.C:
		}
		v.mu.Lock()
		old := time.Now().Add(-age)
		v.eachLocked(func(in *inode) {
			if in.isFile() && !in.since.IsZero() && in.since.Before(old) {
				in.endSync(in.beginSync(), true)
			}
		})
		var upto uint64
		for _, c := range v.journal.waiting {
			if c.when.Before(old) {
				upto = c.seq + 1
			}
		}
		v.journal.commitUpto(upto)
		v.mu.Unlock()
	}
}

// Crash cuts the power and puts it on again.
func (v *Volume) Crash(o disk.CrashOptions) (disk.Crash, error) {
	start := time.Now()
	v.cycle.Lock()
	defer v.cycle.Unlock()
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return disk.Crash{}, fmt.Errorf("disk %s is destroyed", v.Spec.Name)
	}
	old := v.life
	v.mu.Unlock()
	if !o.Force {
		if err := v.unmountUnused(old.mount, o.Wait); err != nil {
			return disk.Crash{}, err
		}
	}
	v.mu.Lock()
	report := v.powerOffLocked(o)
	v.mu.Unlock()
	if err := v.powerOn(old); err != nil {
		return report, err
	}
	report.Millis = float64(time.Since(start).Microseconds()) / 1000
	return report, nil
}

// powerOn replaces the mount of a life that has ended.
func (v *Volume) powerOn(old *life) error {
	if err := old.mount.detach(); err != nil {
		return err
	}
	// What the kernel still has of the old life in memory must not be read.
	v.mu.Lock()
	var files []uint64
	for id, in := range old.nodes {
		if in.isFile() {
			files = append(files, id)
		}
	}
	v.mu.Unlock()
	for _, id := range files {
		old.mount.server.InodeNotify(id, 0, 0)
	}
	if err := v.begin(); err != nil {
		return fmt.Errorf("mount %s again: %w", v.Spec.Live, err)
	}
	return nil
}

// crashLocked is the power loss of a trigger: the life ends at once, the next
// one begins as soon as the operation under way has been answered.
func (v *Volume) crashLocked(l *life) {
	v.powerOffLocked(disk.CrashOptions{})
	go func() {
		v.cycle.Lock()
		defer v.cycle.Unlock()
		if err := v.powerOn(l); err != nil {
			v.log.add(Op{Kind: "power on", Path: v.Spec.Live, Error: err.Error()})
		}
	}()
}

// powerOffLocked ends the life: what is durable becomes all there is.
func (v *Volume) powerOffLocked(o disk.CrashOptions) disk.Crash {
	if !bug.On(9) {
		v.life.dead.Store(true)
	}
	report := disk.Crash{Name: v.Spec.Name, Torn: o.Torn, Seed: o.Seed}
	before := paths(v.root, func(in *inode) map[string]*inode { return in.children })
	if o.Torn {
		v.tearLocked(rand.New(rand.NewPCG(o.Seed, 0x6c6f7373)), before, &report)
	}
	after := paths(v.root, func(in *inode) map[string]*inode { return in.kept })
	v.countLocked(before, after, &report)

	fresh := map[*inode]*inode{}
	var revive func(in *inode) *inode
	revive = func(in *inode) *inode {
		if n := fresh[in]; n != nil {
			n.nlink++
			return n
		}
		n := newInode(in.id, in.mode, in.uid, in.gid)
		fresh[in] = n
		n.target, n.nlink, n.parent, n.name = in.target, 1, in.parent, in.name
		n.atime, n.mtime, n.ctime = in.atime, in.mtime, in.ctime
		for k, p := range in.safe.pages {
			p.shared = true
			n.now.pages[k], n.safe.pages[k] = p, p
		}
		n.now.size, n.safe.size = in.safe.size, in.safe.size
		if in.isDir() {
			n.nlink = 2
			for name, c := range in.kept {
				r := revive(c)
				r.parent, r.name = n, name
				n.children[name], n.kept[name] = r, r
				if r.isDir() {
					n.nlink++
				}
			}
		}
		return n
	}
	if bug.On(9) { // an old handle writes into the new life: the inodes live on
		revive = func(in *inode) *inode { return v.reuse(in, map[*inode]bool{}) }
	}
	v.root = revive(v.root)
	v.root.parent = nil
	v.journal = journal{}
	v.used = 0
	v.eachLocked(func(in *inode) { v.used += int64(len(in.now.pages)) })
	const remembered = 16
	v.crashes = append(v.crashes, report)
	v.crashes = v.crashes[max(0, len(v.crashes)-remembered):]
	return report
}

// reuse is the seeded bug 9: it turns the old inodes themselves into the new life.
func (v *Volume) reuse(in *inode, seen map[*inode]bool) *inode {
	if !seen[in] {
		seen[in] = true
		in.now = content{in.safe.size, map[int64]*page{}}
		for k, p := range in.safe.pages {
			p.shared = true
			in.now.pages[k] = p
		}
		clear(in.dirty)
		clear(in.taken)
		if in.isDir() {
			in.children = map[string]*inode{}
			for name, c := range in.kept {
				in.children[name] = v.reuse(c, seen)
			}
		}
	}
	return in
}

// paths lists what is reachable through some kind of children.
func paths(root *inode, children func(*inode) map[string]*inode) map[string]*inode {
	out := map[string]*inode{}
	var visit func(in *inode, path string, above []*inode)
	visit = func(in *inode, path string, above []*inode) {
		for name, c := range children(in) {
			p := filepath.Join(path, name)
			out[p] = c
			if c.isDir() && !slices.Contains(above, c) {
				visit(c, p, append(above, c))
			}
		}
	}
	visit(root, "", []*inode{root})
	return out
}

func (v *Volume) tearLocked(r *rand.Rand, before map[string]*inode, report *disk.Crash) {
	if n := len(v.journal.waiting); n > 0 {
		if v.Spec.Mode == disk.Ext4 {
			if k := r.IntN(n + 1); k > 0 {
				v.journal.commitUpto(v.journal.waiting[k-1].seq + 1)
			}
		} else {
			for _, c := range slices.Clone(v.journal.waiting) {
				if r.IntN(4) == 0 {
					v.journal.commitDir(c.dirs[0], c.seq+1)
				}
			}
		}
	}
	names := make([]string, 0, len(before))
	for p := range before {
		names = append(names, p)
	}
	slices.Sort(names) // the seed decides, not the map
	done := map[*inode]bool{}
	for _, p := range names {
		if in := before[p]; in.isFile() && !done[in] {
			done[in] = true
			report.BytesTorn += in.tear(r)
		}
	}
}

func (v *Volume) countLocked(before, after map[string]*inode, report *disk.Crash) {
	const listed = 20
	kept := map[*inode]bool{}
	for p, in := range after {
		kept[in] = true
		if _, ok := before[p]; !ok && in.isFile() {
			report.FilesRestored++
		}
	}
	counted := map[*inode]bool{}
	for p, in := range before {
		if !in.isFile() {
			continue
		}
		if _, ok := after[p]; !ok {
			report.FilesLost++
			report.Lost = append(report.Lost, p)
		}
		if counted[in] {
			continue
		}
		counted[in] = true
		if kept[in] {
			lost := in.unsyncedBytes()
			report.BytesLost += lost
			if lost > 0 || in.now.size != in.safe.size {
				report.FilesReverted++
			}
		} else {
			report.BytesLost += uint64(min(in.now.size, int64(len(in.now.pages))*pageSize))
		}
	}
	slices.Sort(report.Lost)
	report.Lost = report.Lost[:min(len(report.Lost), listed)]
}

// Destroy unmounts the volume; its content is gone.
func (v *Volume) Destroy() error {
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return nil
	}
	v.closed = true
	l := v.life
	l.dead.Store(true)
	v.mu.Unlock()
	if v.stopFlusher != nil {
		close(v.stopFlusher)
	}
	return l.mount.detach()
}

// Stat is what is not durable now.
type Stat struct {
	Inodes        int          `json:"inodes"`
	Bytes         int64        `json:"bytes"`
	Capacity      int64        `json:"capacity_bytes"`
	UnsyncedFiles int          `json:"unsynced_files"`
	UnsyncedBytes uint64       `json:"unsynced_bytes"`
	Uncommitted   int          `json:"uncommitted_names"`
	Users         []int        `json:"users"`
	Triggers      []*Trigger   `json:"triggers"`
	Crashes       []disk.Crash `json:"crashes"` // the last ones
}

// Stat looks at the volume.
func (v *Volume) Stat() Stat {
	users := v.Users()
	v.mu.Lock()
	defer v.mu.Unlock()
	s := Stat{Capacity: v.capacity, Uncommitted: len(v.journal.waiting), Users: users,
		Triggers: append([]*Trigger{}, v.triggers...), Crashes: append([]disk.Crash{}, v.crashes...)}
	v.eachLocked(func(in *inode) {
		s.Inodes++
		s.Bytes += int64(len(in.now.pages)) * pageSize
		if n := in.unsyncedBytes(); n > 0 {
			s.UnsyncedFiles++
			s.UnsyncedBytes += n
		}
	})
	return s
}
