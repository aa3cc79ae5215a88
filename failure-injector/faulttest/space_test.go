// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cad/failure-injector/client"
	"cad/failure-injector/internal/fitest"
)

// A run directory on a full file system is an error that says so, and what was
// there before goes on when there is room again.
func TestFullRunDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root (fi doctor)")
	}
	root, small := t.TempDir(), t.TempDir()
	fitest.Must(t, unix.Mount("none", small, "tmpfs", 0, "size=2M"))
	run := filepath.Join(small, "run")
	t.Cleanup(func() {
		err := client.Client{Binary: fitest.Binary(t), Run: run}.Down()
		if err := errors.Join(err, unix.Unmount(small, unix.MNT_DETACH)); err != nil {
			t.Error(err)
		}
	})
	live := filepath.Join(root, "before")
	env := fitest.NewDisk(t, run, "preload", "before", live)
	fill := func() {
		f, err := os.Create(filepath.Join(small, "fill"))
		fitest.Must(t, err)
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
	}
	fill()
	refused := func(args ...string) {
		t.Helper()
		out, err := exec.Command(fitest.Binary(t), append([]string{"--run", run}, args...)...).CombinedOutput()
		var code *exec.ExitError
		if !asExit(err, &code) || code.ExitCode() != 255 || !strings.Contains(string(out), "no space left") || bytes.Contains(out, []byte("goroutine")) {
			t.Errorf("fi %v: %v: %s", args, err, out)
		}
	}
	refused("disk", "create", "after", "--backend", "preload", "--dir", filepath.Join(root, "after"))
	refused("disk", "crash", "before")
	fitest.Must(t, os.Remove(filepath.Join(small, "fill")))
	fitest.FI(t, run, nil, "disk", "crash", "before") // its power is off until this has been done
	cmd := exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(live, "kept"), "bs=4096", "count=1", "conv=fsync")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fitest.FI(t, run, nil, "disk", "crash", "before")
	if st, err := os.Stat(filepath.Join(live, "kept")); err != nil || st.Size() != 4096 {
		t.Errorf("after there was room again a synced file is not kept: %v", err)
	}
}
