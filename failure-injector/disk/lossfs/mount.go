// SPDX-License-Identifier: Apache-2.0

package lossfs

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"cad/failure-injector/disk"
)

// A mount is the kernel's side of a life.
type mount struct {
	server *fuse.Server
	path   string
	dev    uint64
	gone   bool // from the path
}

func newMount(l *life, path string) (*mount, error) {
	server, err := fuse.NewServer(&ops{RawFileSystem: fuse.NewDefaultRawFileSystem(), l: l}, path, &fuse.MountOptions{
		AllowOther:         os.Geteuid() == 0,
		DirectMount:        os.Geteuid() == 0,
		Options:            []string{"default_permissions"},
		FsName:             "fi-" + l.v.Spec.Name,
		Name:               "lossfs",
		MaxWrite:           1 << 20,
		Logger:             log.New(io.Discard, "", 0), // it reports every unmount
		DisableReadDirPlus: true,
		DisableXAttrs:      true, // else the kernel asks for one at every write
	})
	if err != nil {
		return nil, fmt.Errorf("mount lossfs at %s (needs /dev/fuse and CAP_SYS_ADMIN, or fusermount3; `fi doctor`): %w", path, err)
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, err
	}
	return &mount{server: server, path: path, dev: st.Dev}, nil
}

// detach takes the mount away from its path. Who has something open there
// keeps it; the old life answers them with EIO.
func (m *mount) detach() error {
	if m.gone {
		return nil
	}
	m.gone = true
	if os.Geteuid() != 0 {
		return m.server.Unmount()
	}
	if err := unix.Unmount(m.path, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", m.path, err)
	}
	return nil
}

// unmountUnused takes the mount away once no process uses it, which the kernel
// knows best, and waits for that at most so long.
func (v *Volume) unmountUnused(m *mount, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; time.Sleep(time.Millisecond) {
		err := unix.Unmount(m.path, 0)
		if err == nil {
			m.gone = true
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("unmount %s: %w", m.path, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: %s (pids %v); end them first, or --force", disk.ErrInUse, v.Spec.Name, v.Users())
		}
	}
}

// Users lists the processes that have something of the volume open or mapped,
// or work in it.
func (v *Volume) Users() []int {
	v.mu.Lock()
	dev := v.life.mount.dev
	v.mu.Unlock()
	users := []int{}
	procs, _ := os.ReadDir("/proc")
	for _, p := range procs {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if usesDevice(pid, dev) {
			users = append(users, pid)
		}
	}
	return users
}

func usesDevice(pid int, dev uint64) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	fds, _ := os.ReadDir(filepath.Join(dir, "fd"))
	names := []string{"cwd", "root"}
	for _, f := range fds {
		names = append(names, "fd/"+f.Name())
	}
	for _, n := range names {
		var st unix.Stat_t
		// Only the device: asking a dead mount for more would fail.
		if unix.Stat(filepath.Join(dir, n), &st) == nil && st.Dev == dev {
			return true
		}
	}
	maps, _ := os.ReadFile(filepath.Join(dir, "maps"))
	want := fmt.Sprintf(" %02x:%02x ", unix.Major(dev), unix.Minor(dev))
	return strings.Contains(string(maps), want)
}
