// SPDX-License-Identifier: Apache-2.0

// Package servertest cuts the power under stock servers.
package servertest

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fi runs the binary and decodes its JSON.
func fi(t *testing.T, run string, into any, args ...string) {
	t.Helper()
	cmd := exec.Command(binary(t), append(args, "--json", "--run", run)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fi %s: %v: %s", strings.Join(args, " "), err, errs.String())
	}
	if into != nil {
		if err := json.Unmarshal(out, into); err != nil {
			t.Fatalf("fi %s printed %q: %v", strings.Join(args, " "), out, err)
		}
	}
}

func binary(t *testing.T) string {
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

type crashReport struct {
	FilesLost     int    `json:"files_lost"`
	FilesReverted int    `json:"files_reverted"`
	BytesLost     uint64 `json:"bytes_lost"`
}

func (a *crashReport) add(b crashReport) {
	a.FilesLost += b.FilesLost
	a.FilesReverted += b.FilesReverted
	a.BytesLost += b.BytesLost
}

// backends runs a test on every backend that works here.
func backends(t *testing.T, test func(t *testing.T, backend string)) {
	for _, b := range []string{"preload", "lossfs"} {
		t.Run(b, func(t *testing.T) {
			if b == "lossfs" {
				f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
				if err != nil || os.Geteuid() != 0 {
					t.Skip("needs root and /dev/fuse (fi doctor)")
				}
				f.Close()
			}
			test(t, b)
		})
	}
}

// newRun is a run directory of which nothing is left after the test.
func newRun(t *testing.T) (root, run string) {
	root = t.TempDir()
	run = filepath.Join(root, "run")
	t.Cleanup(func() { fi(t, run, nil, "down", "--all") })
	return root, run
}

// newDisk makes a disk and returns the environment for whoever lives on it.
func newDisk(t *testing.T, run, backend, name, live string) []string {
	t.Helper()
	fi(t, run, nil, "disk", "create", name, "--backend", backend, "--dir", live)
	vars := map[string]string{}
	fi(t, run, &vars, "disk", "env", name)
	env := os.Environ()
	for k, v := range vars {
		env = append(env, k+"="+v)
	}
	return env
}

func crash(t *testing.T, run, name string) crashReport {
	t.Helper()
	var r crashReport
	fi(t, run, &r, "disk", "crash", name, "--wait", "20s")
	return r
}

// start runs a command that dies with the test.
func start(t *testing.T, env []string, dir, log string, args ...string) *exec.Cmd {
	t.Helper()
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(t, err)
	defer f.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	must(t, cmd.Start())
	t.Cleanup(func() { kill(cmd) })
	return cmd
}

func kill(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// freePorts asks the kernel for ports on loopback; all are held until all are known.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// await polls a condition of another process; the bound is generous.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// logTail shows the end of a server's log when its test has failed.
func logTail(t *testing.T, path string) {
	t.Cleanup(func() {
		if b, err := os.ReadFile(path); t.Failed() && err == nil {
			t.Logf("end of %s:\n%s", filepath.Base(path), b[max(0, len(b)-3000):])
		}
	})
}
