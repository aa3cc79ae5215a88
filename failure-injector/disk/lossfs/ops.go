// SPDX-License-Identifier: Apache-2.0

package lossfs

import (
	"path"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"cad/failure-injector/disk/control"
	"cad/failure-injector/internal/bug"
)

// ops answers the kernel for one life of a volume.
type ops struct {
	fuse.RawFileSystem
	l *life
}

const (
	cacheFor = time.Hour // only we change anything
	eio      = fuse.Status(unix.EIO)
	enospc   = fuse.Status(unix.ENOSPC)
	isDirErr = fuse.Status(unix.EISDIR)
)

type dirEntry struct {
	name string
	in   *inode
}

// A request is an operation on its way through faults, latency and triggers.
type request struct {
	op    control.Op
	kind  string // for triggers and the log
	node  uint64
	name  string // of an entry of node, if the operation is about one
	to    string // second path, for the log
	at    int64
	size  int64
	space bool // needs space
}

// node finds an inode that the kernel knows.
func (l *life) node(id uint64) *inode { return l.nodes[id] }

func (r *request) path(in *inode) string {
	p := in.path()
	if r.name != "" {
		p = path.Join(p, r.name)
	}
	return p
}

// run carries out a request: do gets the inode with the volume locked.
func (o *ops) run(r request, do func(in *inode, v control.Verdict) fuse.Status) fuse.Status {
	l, v := o.l, o.l.v
	v.mu.Lock()
	in := l.node(r.node)
	if l.dead.Load() || in == nil {
		v.mu.Unlock()
		return eio
	}
	p := r.path(in)
	st := v.fireLocked(l, true, r.kind, p)
	v.mu.Unlock()
	if st.Ok() {
		st = o.decided(r, in, p, do)
	}
	logged := Op{Kind: r.kind, Path: p, To: r.to, Offset: r.at, Size: r.size}
	if !st.Ok() {
		logged.Error = unix.ErrnoName(unix.Errno(st))
	}
	v.log.add(logged)
	return st
}

func (o *ops) decided(r request, in *inode, p string, do func(in *inode, v control.Verdict) fuse.Status) fuse.Status {
	l, v := o.l, o.l.v
	verdict := v.ctl.Begin(r.op, int(r.size), r.space, l.dead.Load)
	if r.op == control.Fsync {
		return o.sync(in, verdict, r.kind, p)
	}
	control.SleepUntil(verdict.Deadline)
	if verdict.Errno != 0 {
		return fuse.Status(verdict.Errno)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if l.dead.Load() {
		return eio
	}
	pages := len(in.now.pages)
	st := do(in, verdict)
	v.used += int64(len(in.now.pages) - pages)
	if st.Ok() {
		v.fireLocked(l, false, r.kind, p)
	}
	return st
}

// sync makes an inode durable as it is when the sync begins; the power may go
// at any moment before it ends, and then it has not happened.
func (o *ops) sync(in *inode, verdict control.Verdict, kind, p string) fuse.Status {
	l, v := o.l, o.l.v
	v.mu.Lock()
	if l.dead.Load() {
		v.mu.Unlock()
		return eio
	}
	upto, f := v.journal.next, in.beginSync()
	v.mu.Unlock()
	control.SleepUntil(verdict.Deadline)
	v.mu.Lock()
	defer v.mu.Unlock()
	if l.dead.Load() {
		return eio
	}
	in.endSync(f, verdict.Errno == 0)
	if verdict.Errno != 0 {
		return fuse.Status(verdict.Errno)
	}
	v.journal.synced(v.Spec.Mode, in, upto)
	v.fireLocked(l, false, kind, p)
	return fuse.OK
}

// fireLocked lets the triggers see an operation; not OK: it must fail.
func (v *Volume) fireLocked(l *life, before bool, kind, p string) fuse.Status {
	st := fuse.OK
	for _, t := range v.triggers {
		if t.Before != before || !t.matches(kind, p) {
			continue
		}
		if t.Seen++; t.Seen < t.Nth {
			continue
		}
		t.Fired = true
		t.tell(p)
		switch t.Action {
		case ActEIO:
			st = eio
		case ActFreeze:
			v.ctl.SetFreeze(true)
		case ActCrash:
			v.crashLocked(l)
			return eio
		}
	}
	return st
}

// ------------------------------------------------------------------ attributes

func (in *inode) attr(a *fuse.Attr) {
	a.Ino, a.Mode, a.Nlink = in.id, in.mode, in.nlink
	a.Uid, a.Gid = in.uid, in.gid
	a.Size = uint64(in.now.size)
	if in.target != "" {
		a.Size = uint64(len(in.target))
	}
	a.Blksize = pageSize
	a.Blocks = uint64(len(in.now.pages)) * pageSize / 512
	a.SetTimes(&in.atime, &in.mtime, &in.ctime)
}

// enterLocked hands an inode to the kernel.
func (l *life) enterLocked(in *inode, out *fuse.EntryOut) {
	in.nlookup++
	l.nodes[in.id] = in
	out.NodeId, out.Generation = in.id, 1
	out.SetEntryTimeout(cacheFor)
	out.SetAttrTimeout(cacheFor)
	in.attr(&out.Attr)
}

// look is for operations that change nothing and are no I/O on a disk.
func (o *ops) look(id uint64, do func(in *inode) fuse.Status) fuse.Status {
	v := o.l.v
	v.ctl.Thaw(o.l.dead.Load)
	v.mu.Lock()
	defer v.mu.Unlock()
	in := o.l.node(id)
	if o.l.dead.Load() || in == nil {
		return eio
	}
	return do(in)
}

func (o *ops) String() string { return "lossfs" }

func (o *ops) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	return o.look(h.NodeId, func(dir *inode) fuse.Status {
		in := dir.children[name]
		if in == nil {
			return fuse.ENOENT
		}
		o.l.enterLocked(in, out)
		return fuse.OK
	})
}

func (o *ops) Forget(id, n uint64) {
	v := o.l.v
	v.mu.Lock()
	defer v.mu.Unlock()
	if in := o.l.nodes[id]; in != nil && id != 1 {
		if in.nlookup -= min(n, in.nlookup); in.nlookup == 0 {
			delete(o.l.nodes, id)
			if in.nlink == 0 && !o.l.dead.Load() {
				v.used -= int64(len(in.now.pages))
			}
		}
	}
}

func (o *ops) GetAttr(_ <-chan struct{}, i *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return o.look(i.NodeId, func(in *inode) fuse.Status {
		in.attr(&out.Attr)
		out.SetTimeout(cacheFor)
		return fuse.OK
	})
}

func (o *ops) SetAttr(_ <-chan struct{}, i *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	set := func(in *inode) fuse.Status {
		if m, ok := i.GetMode(); ok {
			in.mode = in.mode&unix.S_IFMT | m&0o7777
		}
		if u, ok := i.GetUID(); ok {
			in.uid = u
		}
		if g, ok := i.GetGID(); ok {
			in.gid = g
		}
		in.ctime = time.Now()
		if t, ok := i.GetATime(); ok {
			in.atime = t
		}
		if t, ok := i.GetMTime(); ok {
			in.mtime = t
		}
		in.attr(&out.Attr)
		out.SetTimeout(cacheFor)
		return fuse.OK
	}
	size, resize := i.GetSize()
	if !resize {
		return o.look(i.NodeId, set)
	}
	return o.run(request{op: control.Trunc, kind: "truncate", node: i.NodeId, at: int64(size)}, func(in *inode, _ control.Verdict) fuse.Status {
		in.resize(int64(size))
		return set(in)
	})
}

func (o *ops) Readlink(_ <-chan struct{}, h *fuse.InHeader) (target []byte, st fuse.Status) {
	st = o.look(h.NodeId, func(in *inode) fuse.Status {
		target = []byte(in.target)
		return fuse.OK
	})
	return target, st
}

func (o *ops) StatFs(_ <-chan struct{}, h *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	return o.look(h.NodeId, func(*inode) fuse.Status {
		v := o.l.v
		out.Bsize, out.Frsize, out.NameLen = pageSize, pageSize, 255
		out.Blocks = uint64(v.capacity / pageSize)
		out.Bfree = uint64(max(v.capacity/pageSize-v.used, 0))
		out.Bavail = out.Bfree
		return fuse.OK
	})
}

// ----------------------------------------------------------------------- names

func (o *ops) make(kind string, h *fuse.InHeader, name string, mode uint32, target string, out *fuse.EntryOut) fuse.Status {
	op := control.Meta
	if kind == "create" {
		op = control.Open
	}
	return o.run(request{op: op, kind: kind, node: h.NodeId, name: name, space: true}, func(dir *inode, _ control.Verdict) fuse.Status {
		if dir.children[name] != nil {
			return fuse.Status(unix.EEXIST)
		}
		if dir.nlink == 0 {
			return fuse.ENOENT
		}
		in := o.l.v.newInodeLocked(mode, h.Uid, h.Gid)
		in.target = target
		o.l.v.linkLocked(dir, name, in)
		o.l.enterLocked(in, out)
		return fuse.OK
	})
}

func (o *ops) Mkdir(_ <-chan struct{}, i *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return o.make("mkdir", &i.InHeader, name, unix.S_IFDIR|i.Mode&0o7777, "", out)
}

func (o *ops) Mknod(_ <-chan struct{}, i *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return o.make("create", &i.InHeader, name, i.Mode, "", out)
}

func (o *ops) Symlink(_ <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return o.make("symlink", h, name, unix.S_IFLNK|0o777, target, out)
}

func (o *ops) Create(_ <-chan struct{}, i *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	st := o.make("create", &i.InHeader, name, unix.S_IFREG|i.Mode&0o7777, "", &out.EntryOut)
	out.OpenFlags, out.Fh = fuse.FOPEN_KEEP_CACHE, o.l.handle.Add(1)
	return st
}

func (o *ops) Link(_ <-chan struct{}, i *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	return o.run(request{op: control.Meta, kind: "link", node: i.NodeId, name: name, space: true}, func(dir *inode, _ control.Verdict) fuse.Status {
		in := o.l.node(i.Oldnodeid)
		switch {
		case in == nil:
			return eio
		case dir.children[name] != nil:
			return fuse.Status(unix.EEXIST)
		case dir.nlink == 0:
			return fuse.ENOENT
		}
		kept := in
		if bug.On(8) {
			kept = newInode(in.id, in.mode, in.uid, in.gid)
		}
		dir.children[name] = in
		in.nlink++
		in.ctime = time.Now()
		dir.touch()
		o.l.v.journal.entry(dir, name, kept)
		o.l.enterLocked(in, out)
		return fuse.OK
	})
}

// dropLocked takes one name away from an inode.
func (v *Volume) dropLocked(dir, in *inode) {
	in.nlink--
	in.ctime = time.Now()
	if in.isDir() {
		in.nlink = 0
		dir.nlink--
	}
	if in.nlink == 0 && in.nlookup == 0 {
		v.used -= int64(len(in.now.pages))
	}
}

func (o *ops) remove(kind string, h *fuse.InHeader, name string) fuse.Status {
	return o.run(request{op: control.Meta, kind: kind, node: h.NodeId, name: name}, func(dir *inode, _ control.Verdict) fuse.Status {
		in := dir.children[name]
		switch {
		case in == nil:
			return fuse.ENOENT
		case kind == "unlink" && in.isDir():
			return isDirErr
		case kind == "rmdir" && !in.isDir():
			return fuse.ENOTDIR
		case len(in.children) > 0:
			return fuse.Status(unix.ENOTEMPTY)
		}
		delete(dir.children, name)
		o.l.v.dropLocked(dir, in)
		dir.touch()
		if !bug.On(5) {
			o.l.v.journal.entry(dir, name, nil)
		}
		return fuse.OK
	})
}

func (o *ops) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return o.remove("unlink", h, name)
}

func (o *ops) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return o.remove("rmdir", h, name)
}

func (o *ops) Rename(_ <-chan struct{}, i *fuse.RenameIn, oldName, newName string) fuse.Status {
	return o.run(request{op: control.Meta, kind: "rename", node: i.NodeId, name: oldName, to: newName}, func(d1 *inode, _ control.Verdict) fuse.Status {
		v := o.l.v
		d2 := o.l.node(i.Newdir)
		if d2 == nil {
			return eio
		}
		in, old := d1.children[oldName], d2.children[newName]
		switch {
		case in == nil:
			return fuse.ENOENT
		case in == old:
			return fuse.OK
		case i.Flags&unix.RENAME_EXCHANGE != 0:
			return v.swapLocked(d1, oldName, d2, newName)
		case i.Flags&^unix.RENAME_NOREPLACE != 0:
			return fuse.EINVAL
		case old != nil && i.Flags&unix.RENAME_NOREPLACE != 0:
			return fuse.Status(unix.EEXIST)
		case old != nil && len(old.children) > 0:
			return fuse.Status(unix.ENOTEMPTY)
		}
		if old != nil {
			v.dropLocked(d2, old)
		}
		delete(d1.children, oldName)
		d2.children[newName] = in
		in.parent, in.name = d2, newName
		in.ctime = time.Now()
		if in.isDir() {
			d1.nlink--
			d2.nlink++
		}
		d1.touch()
		d2.touch()
		v.journal.two(d1, oldName, nil, d2, newName, in)
		if bug.On(4) {
			v.journal.commitUpto(v.journal.next)
		}
		return fuse.OK
	})
}

func (v *Volume) swapLocked(d1 *inode, n1 string, d2 *inode, n2 string) fuse.Status {
	a, b := d1.children[n1], d2.children[n2]
	if b == nil {
		return fuse.ENOENT
	}
	d1.children[n1], d2.children[n2] = b, a
	a.parent, a.name, b.parent, b.name = d2, n2, d1, n1
	if a.isDir() != b.isDir() && d1 != d2 {
		from, to := d1, d2
		if b.isDir() {
			from, to = d2, d1
		}
		from.nlink--
		to.nlink++
	}
	d1.touch()
	d2.touch()
	v.journal.two(d1, n1, b, d2, n2, a)
	return fuse.OK
}

// ------------------------------------------------------------------ directories

func (o *ops) OpenDir(_ <-chan struct{}, i *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return o.look(i.NodeId, func(dir *inode) fuse.Status {
		list := []*dirEntry{{".", dir}, {"..", dir}}
		if dir.parent != nil {
			list[1].in = dir.parent
		}
		for name, in := range dir.children {
			list = append(list, &dirEntry{name, in})
		}
		o.l.next++
		o.l.dirs[o.l.next] = list
		out.Fh = o.l.next
		return fuse.OK
	})
}

func (o *ops) ReadDir(_ <-chan struct{}, i *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return o.look(i.NodeId, func(*inode) fuse.Status {
		list := o.l.dirs[i.Fh]
		for k := i.Offset; k < uint64(len(list)); k++ {
			if !out.AddDirEntry(fuse.DirEntry{Name: list[k].name, Mode: list[k].in.mode, Ino: list[k].in.id, Off: k + 1}) {
				break
			}
		}
		return fuse.OK
	})
}

func (o *ops) ReleaseDir(i *fuse.ReleaseIn) {
	o.l.v.mu.Lock()
	delete(o.l.dirs, i.Fh)
	o.l.v.mu.Unlock()
}

func (o *ops) FsyncDir(_ <-chan struct{}, i *fuse.FsyncIn) fuse.Status {
	return o.run(request{op: control.Fsync, kind: "fsync", node: i.NodeId}, nil)
}

// ------------------------------------------------------------------------ files

func (o *ops) Open(_ <-chan struct{}, i *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags, out.Fh = fuse.FOPEN_KEEP_CACHE, o.l.handle.Add(1)
	return o.run(request{op: control.Open, kind: "open", node: i.NodeId}, func(in *inode, _ control.Verdict) fuse.Status {
		if i.Flags&unix.O_TRUNC != 0 {
			in.resize(0)
			out.OpenFlags = 0
		}
		return fuse.OK
	})
}

func (o *ops) Read(_ <-chan struct{}, i *fuse.ReadIn, buf []byte) (res fuse.ReadResult, st fuse.Status) {
	// The kernel does not report a failed read-ahead but asks again, page by page:
	// the page that failed fails that time too, so that the process learns of it.
	v := o.l.v
	v.mu.Lock()
	if in := o.l.node(i.NodeId); in != nil && in.failed == int64(i.Offset)+1 {
		in.failed = 0
		v.mu.Unlock()
		return nil, eio
	}
	v.mu.Unlock()
	r := request{op: control.Read, kind: "read", node: i.NodeId, at: int64(i.Offset), size: int64(len(buf))}
	defer func() {
		if st == eio {
			v.mu.Lock()
			if in := o.l.node(i.NodeId); in != nil {
				in.failed = int64(i.Offset) + 1
			}
			v.mu.Unlock()
		}
	}()
	st = o.run(r, func(in *inode, _ control.Verdict) fuse.Status {
		res = fuse.ReadResultData(buf[:in.now.read(buf, int64(i.Offset))])
		return fuse.OK
	})
	return res, st
}

func (o *ops) Write(_ <-chan struct{}, i *fuse.WriteIn, data []byte) (n uint32, st fuse.Status) {
	r := request{op: control.Write, kind: "write", node: i.NodeId, at: int64(i.Offset), size: int64(len(data)), space: true}
	st = o.run(r, func(in *inode, verdict control.Verdict) fuse.Status {
		if verdict.Half && len(data) > 1 {
			data = data[:(len(data)+1)/2]
		}
		at := int64(i.Offset)
		if bug.On(7) && i.Flags&unix.O_APPEND != 0 {
			at = in.safe.size
		}
		if v := o.l.v; (v.used+newPages(in, at, int64(len(data))))*pageSize > v.capacity {
			return enospc
		}
		if bug.On(2) && in.writer != i.Fh { // as if the other handle's writes were not ours to sync
			clear(in.dirty)
			clear(in.taken)
			in.writer = i.Fh
		}
		in.write(data, at)
		n = uint32(len(data))
		return fuse.OK
	})
	if st.Ok() && i.Flags&(unix.O_SYNC|unix.O_DSYNC) != 0 {
		st = o.run(request{op: control.Fsync, kind: "fsync", node: i.NodeId}, nil)
	}
	return n, st
}

// newPages counts the pages of a range that take space only when written.
func newPages(in *inode, at, size int64) (n int64) {
	for k := at / pageSize; k*pageSize < at+size; k++ {
		if in.now.pages[k] == nil {
			n++
		}
	}
	return n
}

func (o *ops) Fsync(_ <-chan struct{}, i *fuse.FsyncIn) fuse.Status {
	return o.run(request{op: control.Fsync, kind: "fsync", node: i.NodeId}, nil)
}

func (o *ops) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (o *ops) Fallocate(_ <-chan struct{}, i *fuse.FallocateIn) fuse.Status {
	start, end := int64(i.Offset), int64(i.Offset+i.Length)
	hole := i.Mode&unix.FALLOC_FL_PUNCH_HOLE != 0
	r := request{op: control.Trunc, kind: "fallocate", node: i.NodeId, at: start, size: end - start, space: !hole}
	return o.run(r, func(in *inode, _ control.Verdict) fuse.Status {
		switch i.Mode &^ unix.FALLOC_FL_KEEP_SIZE {
		case 0:
		case unix.FALLOC_FL_PUNCH_HOLE, unix.FALLOC_FL_ZERO_RANGE:
			in.zero(start, min(end, (in.now.size+pageSize-1)/pageSize*pageSize))
		default:
			return fuse.Status(unix.EOPNOTSUPP)
		}
		if i.Mode&unix.FALLOC_FL_KEEP_SIZE == 0 && end > in.now.size {
			in.resize(end)
		}
		return fuse.OK
	})
}

func (o *ops) Lseek(_ <-chan struct{}, i *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	return o.look(i.NodeId, func(in *inode) fuse.Status {
		at := int64(i.Offset)
		if at >= in.now.size {
			return fuse.Status(unix.ENXIO)
		}
		for ; at < in.now.size; at = (at/pageSize + 1) * pageSize {
			if (in.now.pages[at/pageSize] != nil) == (i.Whence == unix.SEEK_DATA) {
				out.Offset = uint64(at)
				return fuse.OK
			}
		}
		if i.Whence == unix.SEEK_DATA {
			return fuse.Status(unix.ENXIO)
		}
		out.Offset = uint64(in.now.size)
		return fuse.OK
	})
}
