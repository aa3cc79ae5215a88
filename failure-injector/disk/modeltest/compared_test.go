// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"cad/failure-injector/disk"
	"cad/failure-injector/disk/control"
	"cad/failure-injector/disk/preload"
)

// A power loss compares a file with its durable copy only where they may
// differ. Each case changes a durable file in a way of which the copy knows
// nothing; the power loss must take it back.
func TestPreloadTakesBackWhatIsNotInTheCopy(t *testing.T) {
	const before, after = "before", "other!" // of one length: only the content tells
	for _, c := range []struct {
		name   string
		change func(t *testing.T, s *preload.Disk, file string)
	}{
		{"written by a program that the disk does not see", func(t *testing.T, _ *preload.Disk, file string) {
			write(t, file, after)
		}},
		{"written by such a program that sets the time back a little", func(t *testing.T, _ *preload.Disk, file string) {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			write(t, file, after)
			if err := os.Chtimes(file, info.ModTime(), info.ModTime().Add(-time.Nanosecond)); err != nil {
				t.Fatal(err)
			}
		}},
		{"written, and the flush failed", func(t *testing.T, s *preload.Disk, file string) {
			failFlush(t, s)
			if on(t, s, "dd", "if="+file+".next", "of="+file, "conv=notrunc,fsync") == nil {
				t.Fatal("the flush did not fail")
			}
		}},
		{"written, the flush failed, and a later one did not", func(t *testing.T, s *preload.Disk, file string) {
			failFlush(t, s)
			if on(t, s, "dd", "if="+file+".next", "of="+file, "conv=notrunc,fsync") == nil {
				t.Fatal("the flush did not fail")
			}
			if err := on(t, s, "sync", file); err != nil {
				t.Fatal(err)
			}
		}},
		{"written and not flushed", func(t *testing.T, s *preload.Disk, file string) {
			if err := on(t, s, "dd", "if="+file+".next", "of="+file, "conv=notrunc"); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := scratch(t)
			live := filepath.Join(root, "live")
			made, err := makePreload(root, live, disk.Ext4)
			if err != nil {
				t.Fatal(err)
			}
			s := made.(*preload.Disk)
			defer s.Destroy(true)
			file := filepath.Join(live, "file")
			write(t, file, before)
			write(t, file+".next", after)
			if err := s.Sync(); err != nil {
				t.Fatal(err)
			}
			// Twice: after a power loss the file is durable in another way than after a sync.
			for life := range 2 {
				awaitOld(t, file)
				if life > 0 {
					crash(t, s)
				}
				c.change(t, s, file)
				if got := read(t, file); got != after {
					t.Fatalf("life %d: the change made it %q", life, got)
				}
				if r := crash(t, s); r.FilesReverted != 1 {
					t.Errorf("life %d: %d files reverted", life, r.FilesReverted)
				}
				if got := read(t, file); got != before {
					t.Errorf("life %d: %q outlived the power loss", life, got)
				}
				if err := os.Chtimes(file, time.Time{}, time.Unix(1, 0)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func crash(t *testing.T, s *preload.Disk) disk.Crash {
	t.Helper()
	r, err := s.Crash(disk.CrashOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func on(t *testing.T, s *preload.Disk, program string, arguments ...string) error {
	t.Helper()
	env, err := s.Env()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, arguments...)
	cmd.Env = append(os.Environ(), env...)
	return cmd.Run()
}

func failFlush(t *testing.T, s *preload.Disk) {
	t.Helper()
	c, err := s.Control()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.FailNth(control.Fsync, 1, 1, syscall.EIO)
}

// awaitOld returns when a write to the file would get another time than it has.
func awaitOld(t *testing.T, file string) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	probe := filepath.Join(t.TempDir(), "probe")
	for deadline := time.Now().Add(5 * time.Second); ; {
		write(t, probe, "x")
		now, err := os.Stat(probe)
		if err != nil {
			t.Fatal(err)
		}
		if now.ModTime().After(info.ModTime()) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the clock of files stands still")
		}
	}
}
