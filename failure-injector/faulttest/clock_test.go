// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cad/failure-injector/internal/fitest"
)

// Ways to wait that waits.c knows.
var waits = strings.Fields(`nanosleep usleep clock_nanosleep clock_nanosleep_realtime poll ppoll select pselect
	epoll_wait epoll_pwait2 cond_realtime cond_monotonic cond_clockwait forked_cond_monotonic sem_timedwait sem_clockwait
	mutex_timedlock mutex_clocklock rwlock_timedrdlock rwlock_clockwrlock timedjoin futex futex_monotonic
	futex_realtime timerfd timerfd_realtime timerfd_at_monotonic timerfd_at_realtime timerfd_every forked_timerfd
	timer timer_at_monotonic timer_at_realtime timer_thread setitimer setitimer_every forked_setitimer`)

// clocks makes clocks named c and returns the environment of a process that has them.
func clocks(t *testing.T) (run string, env []string) {
	_, run = fitest.NewRun(t)
	fitest.FI(t, run, nil, "clock", "create", "c")
	vars := map[string]string{}
	fitest.FI(t, run, &vars, "clock", "env", "c")
	env = os.Environ()
	for k, v := range vars {
		env = append(env, k+"="+v)
	}
	return run, env
}

func set(t *testing.T, run, which string, args ...string) {
	t.Helper()
	fitest.FI(t, run, nil, append([]string{"clock", "set", "c", "--clock", which}, args...)...)
}

// compileC compiles a program of testdata.
func compileC(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	out, err := exec.Command("gcc", "-O1", "-o", program, "testdata/"+name+".c", "-lpthread").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// A wait as the program saw it.
type wait struct{ machine, own time.Duration }

func parseWaits(t *testing.T, out string) map[string][]wait {
	t.Helper()
	all := map[string][]wait{}
	for _, line := range strings.Split(out, "\n") {
		var name string
		var w wait
		if n, _ := fmt.Sscan(line, &name, &w.machine, &w.own); n == 3 {
			all[name] = append(all[name], w)
		}
	}
	return all
}

func shortest(of []wait) time.Duration {
	least := of[0].machine
	for _, w := range of {
		least = min(least, w.machine)
	}
	return least
}

func TestClocksAreSetApart(t *testing.T) {
	run, env := clocks(t)
	program := compileC(t, "waits")
	ahead := map[string]time.Duration{"realtime": -time.Hour, "monotonic": 2 * time.Hour, "raw": 3 * time.Hour, "process": 0,
		"gettimeofday": -time.Hour, "time": -time.Hour, "timespec_get": -time.Hour, "realtime_coarse": -time.Hour, "boottime": 2 * time.Hour}
	for _, which := range []string{"realtime", "monotonic", "raw"} {
		set(t, run, which, "--offset", ahead[which].String())
	}
	compare := func(what string) {
		t.Helper()
		cmd := exec.Command(program, "show")
		cmd.Env = env
		out, err := cmd.Output()
		fitest.Must(t, err)
		seen := parseWaits(t, string(out))
		if len(seen) != len(ahead) {
			t.Fatalf("%d clocks shown, %d expected: %s", len(seen), len(ahead), out)
		}
		for name, w := range seen { // the program may be slow in between, but not for a minute
			if d := w[0].own - w[0].machine - ahead[name]; d < -time.Minute || d > time.Minute {
				t.Errorf("%s: %s is %v ahead, want %v", what, name, w[0].own-w[0].machine, ahead[name])
			}
		}
	}
	compare("set")
	out, err := exec.Command(fitest.Binary(t), "--run", run, "clock", "set", "c", "--clock", "monotonic", "--offset", "1h").CombinedOutput()
	var code *exec.ExitError
	if !asExit(err, &code) || code.ExitCode() != 2 {
		t.Errorf("a monotonic clock was set back: %v %s", err, out)
	}
	fitest.FI(t, run, nil, "heal", "--all")
	for _, name := range []string{"realtime", "gettimeofday", "time", "timespec_get", "realtime_coarse"} {
		ahead[name] = 0
	}
	compare("healed")
}

// Whatever a process waits by, it takes a quarter of the time on clocks that
// run at four times the speed, and ends when they show that the time has come.
func TestWaitsFollowTheClocks(t *testing.T) {
	run, env := clocks(t)
	program := compileC(t, "waits")
	set(t, run, "all", "--offset", "1h", "--rate", "4") // untranslated deadlines would be an hour away
	const asked, real = 200 * time.Millisecond, 50 * time.Millisecond
	for _, kind := range append(waits, "setitimer_repeated") {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("timeout", "100", program, kind, "200", "3")
			cmd.Env = env
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got := parseWaits(t, string(out))["waited"]
			if len(got) != 3 {
				t.Fatalf("printed %s", out)
			}
			for _, w := range got {
				if w.own < asked || w.machine < real {
					t.Errorf("ended too early: after %v, on its own clock %v", w.machine, w.own)
				}
			}
			if least := shortest(got); least > asked*3/4 {
				t.Errorf("three waits of %v, at four times the speed, all took longer than %v", asked, least)
			}
		})
	}
}

// Who waits when the clocks change looks at them again.
func TestWaitsNoticeAChange(t *testing.T) {
	run, env := clocks(t)
	program := compileC(t, "waits")
	type waiting struct {
		kind string
		out  *bufio.Reader
		cmd  *exec.Cmd
	}
	var all []waiting
	for _, kind := range waits {
		// A length of time is not moved by an offset: only by the rate, below.
		cmd := exec.Command(program, kind, fmt.Sprint(time.Hour.Milliseconds()), "1")
		cmd.Env = env
		out, err := cmd.StdoutPipe()
		fitest.Must(t, err)
		fitest.Must(t, cmd.Start())
		t.Cleanup(func() { fitest.Kill(cmd) })
		w := waiting{kind, bufio.NewReader(out), cmd}
		if !strings.HasPrefix(kind, "forked_") { // those wait a moment before
			line, err := w.out.ReadString('\n')
			if err != nil || line != "waiting\n" {
				t.Fatalf("%s: %q %v", kind, line, err)
			}
		}
		all = append(all, w)
	}
	time.Sleep(200 * time.Millisecond) // most of them do wait by now; for the others the test is easy
	set(t, run, "all", "--rate", "0.5")
	set(t, run, "all", "--offset", "1h")
	ended := make(chan string)
	for _, w := range all {
		go func() {
			rest, err := io.ReadAll(w.out)
			if err == nil && !strings.Contains(string(rest), "waited") {
				err = fmt.Errorf("printed %q", rest)
			}
			if err != nil {
				ended <- w.kind + ": " + err.Error()
			} else {
				ended <- ""
			}
		}()
	}
	limit := time.After(60 * time.Second)
	for range all {
		select {
		case wrong := <-ended:
			if wrong != "" {
				t.Error(wrong)
			}
		case <-limit:
			for _, w := range all {
				if w.cmd.ProcessState == nil {
					t.Logf("perhaps still waiting: %s (pid %d)", w.kind, w.cmd.Process.Pid)
				}
			}
			t.Fatal("somebody still waits an hour after the clocks say that it has passed")
		}
	}
}

// A server's JVM on a monotonic clock that is 5 % fast: 100 ms last 95 ms, at
// the start and later. The naive shared object, which only answers for the
// functions that read clocks, gets this wrong by as much as the clock is ahead.
func TestJavaWaits(t *testing.T) {
	for _, p := range []string{"java", "javac"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip("needs a JDK")
		}
	}
	after, limit := 2*time.Second, 60*time.Second
	if os.Getenv("FI_TEST_FULL") != "" {
		after, limit = 60*time.Second, 120*time.Second
	}
	classes := t.TempDir()
	out, err := exec.Command("javac", "--release", "17", "-d", classes, "testdata/Waits.java").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// follow runs the program and hands over every wait, until enough says so.
	follow := func(env []string, enough func(kind string, w wait, since time.Duration) bool) {
		t.Helper()
		cmd := exec.Command("java", "-cp", classes, "Waits")
		cmd.Env = env
		var errs strings.Builder
		cmd.Stderr = &errs
		in, err := cmd.StdinPipe()
		fitest.Must(t, err)
		out, err := cmd.StdoutPipe()
		fitest.Must(t, err)
		fitest.Must(t, cmd.Start())
		defer fitest.Kill(cmd)
		begin, stopped := time.Now(), false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			for kind, w := range parseWaits(t, lines.Text()) {
				if !stopped && enough(kind, w[0], time.Since(begin)) {
					in.Write([]byte("\n"))
					stopped = true
				}
			}
		}
		if err := cmd.Wait(); err != nil || !stopped {
			t.Fatalf("%v: %s", err, errs.String())
		}
	}
	run, env := clocks(t)
	set(t, run, "monotonic", "--offset", "1h", "--rate", "1.05")
	const asked = 100 * time.Millisecond
	real := asked * 100 / 105
	late := map[string]time.Duration{} // the shortest wait of each kind after some time
	follow(env, func(kind string, w wait, since time.Duration) bool {
		// The two clocks are read one after the other: own brackets real.
		if w.own < asked*99/100 || w.machine < real*99/100 {
			t.Errorf("%s: ended after %v, on its own clock %v", kind, w.machine, w.own)
		}
		if since < after {
			return false
		}
		if l, ok := late[kind]; !ok || w.machine < l {
			late[kind] = w.machine
		}
		for _, l := range late { // others may keep this machine busy: until each was in time once
			if l > asked-time.Millisecond && since < limit {
				return false
			}
		}
		return len(late) == 6
	})
	for kind, l := range late {
		t.Logf("%s: after %v the shortest of waits of 100 ms took %v", kind, after, l)
		if l > asked-time.Millisecond {
			t.Errorf("%s: at 1.05 no wait of 100 ms after %v was shorter than %v, want about %v", kind, after, l, real)
		}
	}

	naive := filepath.Join(t.TempDir(), "libnaive.so")
	script := naive + ".map"
	fitest.Must(t, os.WriteFile(script, []byte("{ global: clock_gettime; gettimeofday; time; local: *; };\n"), 0o600))
	sources, err := filepath.Glob("../clock/shim/*.c")
	fitest.Must(t, err)
	args := append([]string{"-O2", "-std=gnu11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-Wl,--version-script=" + script, "-o", naive}, sources...)
	if out, err := exec.Command("gcc", append(args, "-lpthread", "-ldl")...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run, env = clocks(t)
	set(t, run, "monotonic", "--offset", "300ms")
	for i, e := range env {
		if strings.HasPrefix(e, "LD_PRELOAD=") {
			env[i] = "LD_PRELOAD=" + naive
		}
	}
	follow(env, func(kind string, w wait, _ time.Duration) bool {
		if (kind == "park" || kind == "sleep") && w.machine < 300*time.Millisecond {
			t.Errorf("control: with deadlines that are not translated %s took %v, and the test would not have noticed", kind, w.machine)
		}
		return kind == "sleep"
	})
}
