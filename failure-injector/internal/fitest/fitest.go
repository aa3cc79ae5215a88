// SPDX-License-Identifier: Apache-2.0

// Package fitest runs the fi binary in tests.
package fitest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cad/failure-injector/client"
)

// FI runs the binary and decodes its JSON.
func FI(t *testing.T, run string, into any, args ...string) {
	t.Helper()
	if err := (client.Client{Binary: Binary(t), Run: run}).Call(into, args...); err != nil {
		t.Fatalf("fi %s: %v", strings.Join(args, " "), err)
	}
}

// Binary is the path of the command.
func Binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../build/fi")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make -C failure-injector build` first", err)
	}
	return path
}

// A CrashReport is what `fi disk crash` says.
type CrashReport struct {
	FilesLost     int    `json:"files_lost"`
	FilesReverted int    `json:"files_reverted"`
	BytesLost     uint64 `json:"bytes_lost"`
}

// Add sums reports.
func (a *CrashReport) Add(b CrashReport) {
	a.FilesLost += b.FilesLost
	a.FilesReverted += b.FilesReverted
	a.BytesLost += b.BytesLost
}

// Backends runs a test on every backend that works here.
func Backends(t *testing.T, test func(t *testing.T, backend string)) {
	On(t, "preload", test)
	On(t, "lossfs", test)
}

// On runs a test on one backend, or skips it if that does not work here.
func On(t *testing.T, backend string, test func(t *testing.T, backend string)) {
	t.Run(backend, func(t *testing.T) {
		if backend == "lossfs" {
			f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
			if err != nil || os.Geteuid() != 0 {
				t.Skip("needs root and /dev/fuse (fi doctor)")
			}
			f.Close()
		}
		test(t, backend)
	})
}

// NewRun is a run directory of which nothing is left after the test.
func NewRun(t *testing.T) (root, run string) {
	root = t.TempDir()
	run = filepath.Join(root, "run")
	t.Cleanup(func() { FI(t, run, nil, "down", "--all") })
	return root, run
}

// NewDisk makes a disk and returns the environment for whoever lives on it.
func NewDisk(t *testing.T, run, backend, name, live string, more ...string) []string {
	t.Helper()
	FI(t, run, nil, append([]string{"disk", "create", name, "--backend", backend, "--dir", live}, more...)...)
	vars := map[string]string{}
	FI(t, run, &vars, "disk", "env", name)
	env := os.Environ()
	for k, v := range vars {
		env = append(env, k+"="+v)
	}
	return env
}

// Crash cuts the power of a disk that processes may be leaving.
func Crash(t *testing.T, run, name string) CrashReport {
	t.Helper()
	var r CrashReport
	FI(t, run, &r, "disk", "crash", name, "--wait", "20s")
	return r
}

// Start runs a command that dies with the test.
func Start(t *testing.T, env []string, dir, log string, args ...string) *exec.Cmd {
	t.Helper()
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	Must(t, err)
	defer f.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	Must(t, cmd.Start())
	t.Cleanup(func() { Kill(cmd) })
	return cmd
}

// Kill kills a process and waits until it is gone.
func Kill(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// FreePorts asks the kernel for ports on loopback; all are held until all are known.
func FreePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		Must(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// Await polls a condition of another process; the bound is generous.
func Await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// Must ends the test on an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// LogTail shows the end of a server's log when its test has failed.
func LogTail(t *testing.T, path string) {
	t.Cleanup(func() {
		if b, err := os.ReadFile(path); t.Failed() && err == nil {
			t.Logf("end of %s:\n%s", filepath.Base(path), b[max(0, len(b)-3000):])
		}
	})
}
