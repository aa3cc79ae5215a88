// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cad/failure-injector/cpu"
	"cad/failure-injector/host"
	"cad/failure-injector/internal/fitest"
)

// processorTime is what a process has used, and all that it waited for.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fitest.Must(t, err)
	f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])
	user, err := strconv.Atoi(f[11])
	fitest.Must(t, err)
	system, err := strconv.Atoi(f[12])
	fitest.Must(t, err)
	return time.Duration(user+system) * (time.Second / 100) // ticks of USER_HZ
}

// A process that computes as much as it can is held to its limit, however idle
// the machine is, and gets more when the limit is lifted.
func TestCPULimit(t *testing.T) {
	if err := cpu.Check(); err != nil {
		t.Skip(err, "(fi doctor)")
	}
	for _, kind := range []string{"loopback", "netns"} {
		t.Run(kind, func(t *testing.T) {
			_, run := fitest.NewRun(t)
			fitest.FI(t, run, nil, "host", "add", "h", "--kind", kind)
			var p struct{ Pid int }
			fitest.FI(t, run, &p, "proc", "start", "p", "--host", "h", "--cpu", "0.2", "--", "sh", "-c", "while :; do :; done")
			share := func(d time.Duration) float64 {
				used, begin := processorTime(t, p.Pid), time.Now()
				time.Sleep(d)
				return float64(processorTime(t, p.Pid)-used) / float64(time.Since(begin))
			}
			limited := func(limit float64) {
				t.Helper()
				// Ticks and periods at both ends may be counted on top.
				if s := share(time.Second); s > limit+0.06 {
					t.Errorf("with a limit of %v it gets %.2f of a processor", limit, s)
				}
			}
			limited(0.2)
			fitest.FI(t, run, nil, "proc", "cpu", "p", "--limit", "none")
			fitest.Await(t, "more than the limit", func() bool { return share(300*time.Millisecond) > 0.3 })
			fitest.FI(t, run, nil, "proc", "cpu", "p", "--limit", "0.05")
			limited(0.05)
			fitest.FI(t, run, nil, "heal", "--all") // to what it was started with
			limited(0.2)
			fitest.Await(t, "more than the limit that was healed", func() bool { return share(300*time.Millisecond) > 0.1 })
			fitest.FI(t, run, nil, "down", "--all")
			if left, _ := filepath.Glob("/sys/fs/cgroup/*/fi-" + host.Tag(run) + "-*"); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// Children that were there before are limited too.
func TestCPULimitOfChildren(t *testing.T) {
	if err := cpu.Check(); err != nil {
		t.Skip(err, "(fi doctor)")
	}
	_, run := fitest.NewRun(t)
	fitest.FI(t, run, nil, "proc", "start", "p", "--", "sh", "-c", "(while :; do :; done) & echo $!; wait")
	log := filepath.Join(run, "procs", "p", "output.log")
	var child int
	fitest.Await(t, "the child", func() bool {
		b, _ := os.ReadFile(log)
		n, _ := fmt.Sscan(string(b), &child)
		return n == 1
	})
	fitest.FI(t, run, nil, "proc", "cpu", "p", "--limit", "0.1")
	used := processorTime(t, child)
	begin := time.Now()
	time.Sleep(time.Second)
	if s := float64(processorTime(t, child)-used) / float64(time.Since(begin)); s > 0.16 {
		t.Errorf("the child gets %.2f of a processor", s)
	}
	if out, err := exec.Command(fitest.Binary(t), "--run", run, "proc", "cpu", "p", "--limit", "2000").CombinedOutput(); err == nil {
		t.Errorf("a limit of 2000 processors: %s", out)
	}
	exec.Command("kill", "-9", strconv.Itoa(child)).Run()
}
