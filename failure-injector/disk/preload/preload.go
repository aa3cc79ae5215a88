// SPDX-License-Identifier: Apache-2.0

// Package preload is the disk backend that needs neither root nor FUSE. A
// shared object, loaded into each process that lives on the disk, notes what is
// written below the live directory and copies it to durable blobs when it is
// synced; a crash rebuilds the live directory from the blobs and from the
// durable part of the directory journal.
package preload

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cad/failure-injector/disk"
	"cad/failure-injector/disk/control"
	"cad/failure-injector/internal/unpack"
)

//go:embed shim/libfi-disk.so
var sharedObject []byte

//go:embed shim/fi-disk-sync
var syncProgram []byte

// Disk is one preload disk.
type Disk struct {
	run  disk.Run
	spec disk.Spec
	dir  string
}

// Create makes a disk of what is below spec.Live now; all of that is durable.
func Create(run disk.Run, spec disk.Spec) (*Disk, error) {
	if spec.Mode != disk.Ext4 && spec.Mode != disk.Strict {
		return nil, fmt.Errorf("no mode %q; there are: ext4, strict", spec.Mode)
	}
	if err := os.MkdirAll(spec.Live, 0o755); err != nil {
		return nil, err
	}
	live, err := filepath.Abs(spec.Live)
	if err == nil {
		live, err = filepath.EvalSymlinks(live)
	}
	if err != nil {
		return nil, err
	}
	if len(live) > pathMax/2 {
		return nil, fmt.Errorf("the path %s is too long", live)
	}
	spec.Live = live
	if err := run.CheckFree(live); err != nil {
		return nil, err
	}
	dir, err := run.Reserve(spec.Name)
	if err != nil {
		return nil, err
	}
	d := &Disk{run: run, spec: spec, dir: dir}
	if err := d.format(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return d, nil
}

func (d *Disk) format() (err error) {
	defer d.noSpace()(&err)
	abs, err := filepath.Abs(d.dir)
	if err != nil {
		return err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return err
	}
	if disk.Within(abs, d.spec.Live) {
		return fmt.Errorf("the run directory %s is below the disk %s; choose another with --run or FI_RUN", d.run, d.spec.Live)
	}
	if err := os.Mkdir(d.file("blobs"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(d.file("users"), nil, 0o600); err != nil {
		return err
	}
	if err := control.Create(d.file("control"), d.spec.Seed); err != nil {
		return err
	}
	if err := d.writeState(newNames(), false); err != nil {
		return err
	}
	if err := d.run.Save(d.spec); err != nil {
		return err
	}
	return d.Sync()
}

// Open finds a disk by its spec.
func Open(run disk.Run, spec disk.Spec) *Disk {
	return &Disk{run: run, spec: spec, dir: run.Dir(spec.Name)}
}

func (d *Disk) file(name string) string { return filepath.Join(d.dir, name) }

// Control opens the disk's control file.
func (d *Disk) Control() (*control.Control, error) { return control.Map(d.file("control")) }

// Env is what a process needs in its environment to live on the disk.
func (d *Disk) Env() ([]string, error) {
	so, err := unpack.File(d.run, "libfi-disk.so", sharedObject)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return nil, err
	}
	return []string{"LD_PRELOAD=" + so, "FI_DISK=" + dir}, nil
}

// Sync makes the live tree durable as it is, whoever wrote it.
func (d *Disk) Sync() error {
	program, err := unpack.File(d.run, "fi-disk-sync", syncProgram)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Env = []string{"FI_DISK=" + dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signal() == unix.SIGBUS {
			return d.errNoSpace()
		}
		return fmt.Errorf("sync of disk %s: %w: %s", d.spec.Name, err, bytes.TrimSpace(out))
	}
	return nil
}

// exclusive waits until no process lives on the disk, at most for wait.
func (d *Disk) exclusive(wait time.Duration) (release func(), err error) {
	f, err := os.OpenFile(d.file("users"), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	for deadline := time.Now().Add(wait); ; {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, err
		}
		if time.Now().After(deadline) {
			f.Close()
			return nil, fmt.Errorf("%w: %s (pids %v); end them first, or --force", disk.ErrInUse, d.spec.Name, d.Users())
		}
		time.Sleep(time.Millisecond)
	}
}

// Users lists the processes that live on the disk, as far as they may be seen.
func (d *Disk) Users() []int {
	want, err := os.Stat(d.file("users"))
	if err != nil {
		return nil
	}
	pids := []int{}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		pid, _ := strconv.Atoi(strings.Split(fd, "/")[2])
		if pid == os.Getpid() || (len(pids) > 0 && pids[len(pids)-1] == pid) {
			continue
		}
		if st, err := os.Stat(fd); err == nil && os.SameFile(st, want) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Destroy forgets the disk; the live directory stays as it is.
func (d *Disk) Destroy(force bool) error {
	if !force {
		release, err := d.exclusive(2 * time.Second)
		if err != nil {
			return err
		}
		defer release()
	}
	if s, unmap, err := mapState(d.file("state")); err == nil {
		setDead(s)
		unmap()
	}
	return os.RemoveAll(d.dir)
}

// Stat is what is not durable now.
type Stat struct {
	Inodes        uint32 `json:"inodes"`
	InodesLimit   int    `json:"inodes_limit"`
	Journal       uint64 `json:"journal_bytes"`
	JournalLimit  int    `json:"journal_limit"`
	Uncommitted   uint64 `json:"journal_uncommitted_bytes"`
	UnsyncedFiles int    `json:"unsynced_files"`
	UnsyncedBytes uint64 `json:"unsynced_bytes"` // upper bound; files written unseen are not in it
	Users         []int  `json:"users"`
}

// Stat reads the state without stopping anybody.
func (d *Disk) Stat() (any, error) {
	s, unmap, err := mapState(d.file("state"))
	if err != nil {
		return nil, err
	}
	defer unmap()
	st := Stat{
		Inodes: s.inodes, InodesLimit: maxInodes - 1,
		Journal: s.journal, JournalLimit: journalSize, Uncommitted: s.journal - min(s.committed, s.journal),
		Users: d.Users(),
	}
	for id := uint32(1); id <= s.inodes; id++ {
		if n := s.inode[id].unsynced(1 << 62); n > 0 {
			st.UnsyncedFiles++
			st.UnsyncedBytes += n
		}
	}
	return st, nil
}

func (d *Disk) newStateArea(path string) (*stateArea, func(), error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, err
	}
	err = f.Truncate(int64(unsafe.Sizeof(stateArea{})))
	f.Close()
	if err != nil {
		return nil, nil, err
	}
	return mapState(path)
}
