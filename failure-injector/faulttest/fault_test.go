// SPDX-License-Identifier: Apache-2.0

// Package faulttest shows that each fault really happens: what the command says
// is compared with what a process on the disk sees.
package faulttest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cad/failure-injector/internal/fitest"
	"cad/failure-injector/internal/opexec"
)

func TestMain(m *testing.M) { os.Exit(opexec.Main(m)) }

// Errors as opexec prints them.
var (
	eio    = fmt.Sprintf("-1 %d", syscall.EIO)
	enospc = fmt.Sprintf("-1 %d", syscall.ENOSPC)
)

// A rig is a disk with a process on it.
type rig struct {
	*testing.T
	run, live string
	env       []string
	life      *opexec.Life
}

func newRig(t *testing.T, backend string, more ...string) *rig {
	root, run := fitest.NewRun(t)
	r := &rig{T: t, run: run, live: filepath.Join(root, "disk")}
	r.env = fitest.NewDisk(t, run, backend, "d", r.live, more...)
	r.begin()
	t.Cleanup(func() { r.life.End() })
	return r
}

func (r *rig) begin() {
	r.Helper()
	var err error
	r.life, err = opexec.Begin(r.env, r.live)
	fitest.Must(r.T, err)
}

func (r *rig) fi(into any, args ...string) {
	r.Helper()
	fitest.FI(r.T, r.run, into, args...)
}

// do carries out operations in the process; op is opexec's text form.
func (r *rig) do(ops ...string) []string {
	r.Helper()
	lines, err := r.life.Do(ops)
	fitest.Must(r.T, err)
	return lines
}

// want carries out one operation and compares its answer.
func (r *rig) want(op, answer string) {
	r.Helper()
	if got := r.do(op)[0]; got != answer {
		r.Errorf("%s: %q, want %q", op, got, answer)
	}
}

const (
	openF   = "o 0 f c 0 0 0"
	write9  = "w 0 - - 0 9 1"
	fsync   = "f 0 - - 0 0 0"
	fdata   = "d 0 - - 0 0 0"
	read9   = "r 0 - - 0 9 0"
	syncDir = "D 0 . - 0 0 0"
)

func (r *rig) size(name string) int64 {
	st, err := os.Stat(filepath.Join(r.live, name))
	if err != nil {
		return -1
	}
	return st.Size()
}

func TestLatencyIsAtLeastAsAsked(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		r := newRig(t, backend)
		r.do(openF, write9)
		for _, c := range []struct{ op, do string }{
			{"fsync", fsync}, {"fsync", fdata}, {"fsync", syncDir}, {"write", write9}, {"open", "o 1 f r 0 0 0"},
			{"meta", "m 0 d - 0 0 0"}, {"meta", "v 0 d e 0 0 0"}, {"trunc", "t 0 - - 0 5 0"},
		} {
			const asked = 30 * time.Millisecond
			r.fi(nil, "disk", "latency", "d", "--op", c.op, "--const", asked.String())
			start := time.Now()
			if got := r.do(c.do)[0]; got == "" || got[0] == '-' {
				t.Errorf("%s: %s", c.do, got)
			}
			if took := time.Since(start); took < asked {
				t.Errorf("%s with %v of %s took %v", c.do, asked, c.op, took)
			}
			r.fi(nil, "disk", "latency", "d", "--op", c.op, "--const", "0")
		}
		// A delay of one class is not one of another: 300 writes would take 9 s.
		r.fi(nil, "disk", "latency", "d", "--op", "fsync", "--const", "30ms")
		var many []string
		for range 300 {
			many = append(many, write9)
		}
		start := time.Now()
		r.do(many...)
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("300 writes took %v, although only fsync is slow", took)
		}
	})
}

func TestProfilesSpread(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		r := newRig(t, backend, "--profile", "ssd", "--seed", "7")
		r.do(openF)
		var shortest, longest time.Duration
		for range 60 {
			start := time.Now()
			r.do(write9, fsync)
			took := time.Since(start)
			if shortest == 0 || took < shortest {
				shortest = took
			}
			longest = max(longest, took)
		}
		if longest < shortest+300*time.Microsecond {
			t.Errorf("60 flushes of profile ssd took between %v and %v: no spread", shortest, longest)
		}
		t.Logf("60 flushes of profile ssd: %v to %v", shortest, longest)
	})
}

func TestNthOperationFails(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		r := newRig(t, backend)
		r.do(openF, write9)
		r.fi(nil, "disk", "fault", "d", "--eio-fsync", "2", "--times", "2")
		for i, want := range []string{"0 0", eio, eio, "0 0"} {
			if got := r.do(fsync)[0]; got != want {
				t.Errorf("fsync %d: %q, want %q", i+1, got, want)
			}
		}
		r.fi(nil, "disk", "fault", "d", "--eio-write", "1")
		r.want(write9, eio)
		r.want(write9, "9 0")
		r.fi(nil, "disk", "fault", "d", "--short-write", "1")
		r.want(write9, "5 0")
		// After a power cycle the kernel has nothing of the file in memory, so that
		// a read of lossfs does reach the disk.
		r.do(fsync)
		r.life.End()
		fitest.Crash(t, r.run, "d")
		r.begin()
		r.do("o 0 f r 0 0 0")
		r.fi(nil, "disk", "fault", "d", "--eio-read", "1")
		r.want(read9, eio)
		if got := r.do(read9)[0]; !strings.HasSuffix(got, " 9 0") {
			t.Errorf("the read after the failed one: %s", got)
		}
	})
}

// A failed flush drops what it was to write; a later one does not bring it back.
func TestFailedFsyncDropsData(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		r := newRig(t, backend)
		r.do(openF, write9, fsync, "p 0 - - 8192 9 2")
		r.fi(nil, "disk", "fault", "d", "--eio-fsync", "1")
		r.want(fsync, eio)
		r.want(fsync, "0 0")
		r.do("p 0 - - 20000 9 2")
		r.want(fsync, "0 0")
		r.life.End()
		fitest.Crash(t, r.run, "d")
		b, err := os.ReadFile(filepath.Join(r.live, "f"))
		fitest.Must(t, err)
		if len(b) != 20009 || b[0] == 0 || b[8192] != 0 || b[20000] == 0 {
			t.Errorf("%d bytes after the crash, byte 0 %d, byte 8192 %d, byte 20000 %d: want 20009, set, 0, set", len(b), b[0], b[8192], b[20000])
		}
	})
}

func TestNoSpace(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		r := newRig(t, backend)
		r.do(openF, write9)
		r.fi(nil, "disk", "fault", "d", "--enospc", "on")
		r.want(write9, enospc)
		r.want("o 1 g c 0 0 0", enospc)
		r.want("m 0 dir - 0 0 0", enospc)
		r.want("e 0 - - 0 100000 0", enospc)
		r.want(fsync, "0 0")
		r.want(read9, r.do(read9)[0])
		r.fi(nil, "disk", "fault", "d", "--enospc", "off")
		r.want(write9, "9 0")
	})
}

// Not for preload: preload uses the space of the directory below.
func TestCapacity(t *testing.T) {
	fitest.On(t, "lossfs", func(t *testing.T, backend string) {
		r := newRig(t, backend, "--size", "1MiB")
		r.do(openF)
		written := 0
		for ; written < 100; written++ {
			if got := r.do("w 0 - - 0 65536 1")[0]; got != "65536 0" {
				break
			}
		}
		if written != 16 {
			t.Errorf("%d writes of 64 KiB fitted into 1 MiB", written)
		}
		r.want("t 0 - - 0 0 0", "0 0")
		r.want("p 0 - - 0 65536 1", "65536 0") // the space is free again
	})
}

func TestFreeze(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		r := newRig(t, backend)
		r.do(openF)
		r.fi(nil, "disk", "fault", "d", "--freeze", "on")
		answer := make(chan []string)
		go func() {
			l, _ := r.life.Do([]string{write9, fsync})
			answer <- l
		}()
		select {
		case l := <-answer:
			t.Fatalf("a frozen disk answered %v", l)
		case <-time.After(200 * time.Millisecond): // what must not happen has this long to happen
		}
		r.fi(nil, "heal", "--all")
		if l := <-answer; len(l) != 2 || l[0] != "9 0" || l[1] != "0 0" {
			t.Errorf("after the thaw: %v", l)
		}
	})
}

func TestCrashRefusesWhileInUse(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		r := newRig(t, backend)
		r.do(openF, write9, fsync, write9)
		out, err := exec.Command(fitest.Binary(t), "disk", "crash", "d", "--wait", "50ms", "--run", r.run).CombinedOutput()
		var code *exec.ExitError
		if !asExit(err, &code) || code.ExitCode() != 2 || !strings.Contains(string(out), strconv.Itoa(r.life.Pid())) {
			t.Fatalf("crash of a disk in use: %v, %s; want exit code 2 and pid %d", err, out, r.life.Pid())
		}
		r.want(fsync, "0 0") // nothing has happened
		r.do(write9)
		var rep fitest.CrashReport
		r.fi(&rep, "disk", "crash", "d", "--force")
		if rep.BytesLost != 9 || rep.FilesReverted != 1 || r.size("f") != 18 {
			t.Errorf("%+v, size %d; want 9 bytes lost of 27", rep, r.size("f"))
		}
		for _, op := range []string{write9, fsync, "o 1 new c 0 0 0", "t 0 - - 0 0 0", "m 0 dir - 0 0 0"} {
			if got := r.do(op)[0]; !strings.HasPrefix(got, "-1 ") {
				t.Errorf("after the power loss an old handle can %s: %s", op, got)
			}
		}
		if r.size("f") != 18 || r.size("new") != -1 {
			t.Errorf("an old handle reached the new life: f %d bytes, new %d", r.size("f"), r.size("new"))
		}
	})
}

func asExit(err error, code **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*code = e
	return ok
}

// With --torn a choice of unsynced sectors survives: every byte is the old or
// the new one, whole sectors at a time, and the seed decides.
func TestTorn(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		outcomes := map[string]bool{}
		kinds := map[string]int{}
		for seed := range 24 {
			var twice []string
			for range 1 + seed%2 {
				r := newRig(t, backend)
				r.do(openF, "p 0 - - 0 8192 1", fsync, syncDir, "p 0 - - 0 8192 2")
				r.life.End()
				r.fi(nil, "disk", "crash", "d", "--torn", "--seed", strconv.Itoa(seed))
				b, err := os.ReadFile(filepath.Join(r.live, "f"))
				fitest.Must(t, err)
				sectors := ""
				for k := 0; k < 8192; k += 512 {
					is := map[byte]bool{}
					for i := k; i < k+512; i++ {
						for _, s := range []int64{1, 2} {
							if b[i] == byte(1+(s*37+int64(i)*7+int64(i)/251)%255) {
								is[byte('0'+s)] = true
							}
						}
					}
					if len(is) != 1 {
						t.Fatalf("seed %d: sector %d is mixed", seed, k/512)
					}
					for s := range is {
						sectors += string(s)
					}
				}
				twice = append(twice, sectors)
				outcomes[sectors] = true
				switch {
				case !strings.Contains(sectors, "2"):
					kinds["nothing"]++
				case !strings.Contains(sectors, "12"):
					kinds["prefix"]++
				default:
					kinds["reordered"]++
				}
			}
			if len(twice) == 2 && twice[0] != twice[1] {
				t.Errorf("seed %d gave %s and %s", seed, twice[0], twice[1])
			}
		}
		if len(outcomes) < 5 || kinds["prefix"] == 0 || kinds["reordered"] == 0 {
			t.Errorf("24 torn crashes: %d outcomes, %v", len(outcomes), kinds)
		}
	})
}

// Not for preload: the preload backend has no process that could write back.
func TestWriteBackAge(t *testing.T) {
	fitest.On(t, "lossfs", func(t *testing.T, backend string) {
		r := newRig(t, backend, "--write-back", "50ms")
		r.do(openF, write9)
		var s struct {
			State struct {
				Unsynced int `json:"unsynced_files"`
				Names    int `json:"uncommitted_names"`
			} `json:"state"`
		}
		fitest.Await(t, "the write-back", func() bool {
			r.fi(&s, "disk", "stat", "d")
			return s.State.Unsynced == 0 && s.State.Names == 0
		})
		r.life.End()
		fitest.Crash(t, r.run, "d")
		if r.size("f") != 9 {
			t.Errorf("after the crash the file has %d bytes, want 9", r.size("f"))
		}
	})
}

func TestTriggers(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		if backend != "lossfs" {
			out, err := exec.Command(fitest.Binary(t), "disk", "trigger", "d", "--before", "fsync", "--action", "eio", "--run", newRig(t, backend).run).CombinedOutput()
			var code *exec.ExitError
			if !asExit(err, &code) || code.ExitCode() != 2 {
				t.Errorf("trigger on preload: %v, %s; want exit code 2", err, out)
			}
			return
		}
		r := newRig(t, backend)
		r.fi(nil, "disk", "trigger", "d", "--before", "fsync", "--path", "log.*", "--nth", "2", "--action", "eio")
		r.do("o 0 log.1 c 0 0 0", "o 1 other c 0 0 0")
		r.want("f 1 - - 0 0 0", "0 0")
		r.want(fsync, "0 0")
		r.want("f 1 - - 0 0 0", "0 0")
		r.want(fsync, eio)
		r.want(fsync, "0 0")
		r.do(write9)
		r.want(fsync, "0 0")
		r.do(write9)
		r.fi(nil, "disk", "trigger", "d", "--after", "rename", "--path", "snapshot.tmp", "--action", "crash")
		r.do("o 1 snapshot.tmp c 0 0 0", "w 1 - - 0 50 1", "v 0 snapshot.tmp snapshot.1 0 0 0")
		r.life.End()
		var s struct {
			State struct {
				Crashes []fitest.CrashReport `json:"crashes"`
			} `json:"state"`
		}
		fitest.Await(t, "the crash", func() bool {
			r.fi(&s, "disk", "stat", "d")
			return len(s.State.Crashes) == 1 && r.size("log.1") == 9
		})
		if r.size("snapshot.1") != -1 || r.size("snapshot.tmp") != -1 {
			t.Errorf("the rename survived although nothing was synced after it: %d %d", r.size("snapshot.1"), r.size("snapshot.tmp"))
		}
	})
}

// Not for preload: it refuses (doctor's table).
func TestCorruption(t *testing.T) {
	fitest.On(t, "lossfs", func(t *testing.T, backend string) {
		r := newRig(t, backend)
		r.do(openF, "p 0 - - 0 6000 1", fsync)
		before, err := os.ReadFile(filepath.Join(r.live, "f"))
		fitest.Must(t, err)
		r.fi(nil, "disk", "corrupt", "d", "--path", "f", "--offset", "4000", "--length", "200", "--seed", "3")
		check := func(when string) {
			after, err := os.ReadFile(filepath.Join(r.live, "f"))
			fitest.Must(t, err)
			for i := range before {
				if in := i >= 4000 && i < 4200; (before[i] != after[i]) != in {
					t.Fatalf("%s: byte %d changed: %v", when, i, before[i] != after[i])
				}
			}
		}
		check("at once")
		r.life.End()
		fitest.Crash(t, r.run, "d")
		check("after a crash")
	})
}

// Not for preload: has no daemon.
func TestDaemonKilled(t *testing.T) {
	fitest.On(t, "lossfs", func(t *testing.T, backend string) {
		r := newRig(t, backend)
		var s struct {
			Daemon int `json:"daemon_pid"`
		}
		r.fi(&s, "status")
		fitest.Must(t, syscall.Kill(s.Daemon, syscall.SIGKILL))
		fitest.Await(t, "the end of the daemon", func() bool {
			r.fi(&s, "status")
			return s.Daemon == 0
		})
		r.fi(nil, "heal", "--all")
		r.life.End()
		r.fi(nil, "down", "--all")
		mounts, err := os.ReadFile("/proc/self/mounts")
		fitest.Must(t, err)
		if strings.Contains(string(mounts), r.live) {
			t.Errorf("still mounted: %s", r.live)
		}
		if _, err := os.Stat(r.run); err == nil {
			t.Errorf("the run directory is still there")
		}
	})
}

func TestProcessVerbs(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		r := newRig(t, backend)
		r.life.End()
		r.fi(nil, "host", "add", "h1", "--kind", "loopback")
		script := `import os, signal
f = os.open("f", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
os.write(f, b"synced"); os.fsync(f); os.write(f, b"not")
print("ready", flush=True)
signal.pause()`
		var p struct {
			State string `json:"state"`
			Log   string `json:"log"`
			Pid   int    `json:"pid"`
		}
		r.fi(&p, "proc", "start", "p1", "--host", "h1", "--disk", "d", "--dir", r.live, "--", "python3", "-c", script)
		ready := func(n int) func() bool {
			return func() bool {
				b, _ := os.ReadFile(p.Log)
				return strings.Count(string(b), "ready") == n
			}
		}
		fitest.Await(t, "the process", ready(1))
		r.fi(&p, "proc", "stop", "p1")
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid)); p.State != "stopped" || !strings.Contains(string(b), ") T ") {
			t.Errorf("stopped, but it is %s", b)
		}
		r.fi(&p, "proc", "cont", "p1")
		if p.State != "running" {
			t.Errorf("continued, but it is %s", p.State)
		}
		var l struct {
			Killed []string             `json:"killed"`
			Disks  []fitest.CrashReport `json:"disks"`
		}
		r.fi(&l, "proc", "crash", "p1", "--power")
		if len(l.Killed) != 1 || len(l.Disks) != 1 || l.Disks[0].BytesLost != 3 || r.size("f") != 6 {
			t.Errorf("crash with power: %+v, file of %d bytes", l, r.size("f"))
		}
		r.fi(nil, "proc", "restart", "p1")
		fitest.Await(t, "the process again", ready(2))
		r.fi(&l, "host", "crash", "h1")
		if len(l.Killed) != 1 || r.size("f") != 12 {
			t.Errorf("crash of the host: %+v, file of %d bytes", l, r.size("f"))
		}
		r.fi(nil, "host", "restart", "h1")
		fitest.Await(t, "the process a third time", ready(3))
		r.fi(&p, "proc", "kill", "p1")
		if p.State != "gone" {
			t.Errorf("killed, but it is %s", p.State)
		}
		r.fi(nil, "host", "remove", "h1")
		var hosts, procs []json.RawMessage
		r.fi(&hosts, "host", "list")
		r.fi(&procs, "proc", "list")
		if len(hosts)+len(procs) != 0 {
			t.Errorf("left: %s %s", hosts, procs)
		}
	})
}
