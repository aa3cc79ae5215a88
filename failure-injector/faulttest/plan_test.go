// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cad/failure-injector/faultlog"
	"cad/failure-injector/internal/fitest"
	"cad/failure-injector/plan"
)

// A writer that never syncs says what it has written.
const writer = `
import os, time
f = os.open("f", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
os.write(f, b"0123456789"); print("written", flush=True)
time.sleep(1000)
`

type planned struct {
	*testing.T
	root, run string
}

// newPlanned is a loopback host h with a process p on disk d.
func newPlanned(t *testing.T) planned {
	root, run := fitest.NewRun(t)
	fitest.FI(t, run, nil, "disk", "create", "d", "--backend", "preload", "--dir", filepath.Join(root, "live"))
	fitest.FI(t, run, nil, "host", "add", "h")
	fitest.FI(t, run, nil, "proc", "start", "p", "--host", "h", "--disk", "d", "--dir", filepath.Join(root, "live"), "--", "python3", "-c", writer)
	return planned{t, root, run}
}

func (p planned) file(name string, steps ...plan.Step) string {
	p.Helper()
	text, err := json.Marshal(plan.Plan{Steps: steps})
	fitest.Must(p.T, err)
	path := filepath.Join(p.root, name)
	fitest.Must(p.T, os.WriteFile(path, text, 0o600))
	return path
}

func (p planned) command(args ...string) (out string, code int) {
	p.Helper()
	cmd := exec.Command(fitest.Binary(p.T), append([]string{"--run", p.run}, args...)...)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !asExit(err, &exit) {
		p.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

func (p planned) log() []faultlog.Entry {
	p.Helper()
	var all []faultlog.Entry
	fitest.FI(p.T, p.run, &all, "log")
	return all
}

func do(verb string) plan.Step { return plan.Step{Do: strings.Fields(verb)} }

func TestPlanRuns(t *testing.T) {
	p := newPlanned(t)
	written := plan.Step{Settle: []plan.Predicate{{Proc: "p", Says: "written"}, {Proc: "p", Is: "running"}, {Command: []string{"test", "-s", filepath.Join(p.root, "live", "f")}}}}
	before := faultlog.Now()
	file := p.file("plan.json", written, do("host crash h --seed 3"), plan.Step{Settle: []plan.Predicate{{Proc: "p", Is: "gone"}}},
		plan.Step{Mark: "dark"}, do("host restart h"), plan.Step{Settle: []plan.Predicate{{Proc: "p", Is: "running"}}},
		do("proc stop p"), plan.Step{Settle: []plan.Predicate{{Proc: "p", Is: "stopped"}}}, do("heal --all"))
	out, code := p.command("plan", "run", file)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	var got []string
	last := before
	for _, e := range p.log() {
		if e.Step == 0 {
			continue // from before the plan
		}
		got = append(got, fmt.Sprintf("%d %s%s", e.Step, strings.Join(e.Do, " "), e.Mark))
		if e.Begin < last || e.End < e.Begin || e.End > faultlog.Now() {
			t.Errorf("step %d from %d to %d, after %d", e.Step, e.Begin, e.End, last)
		}
		last = e.End
		if len(e.Do) > 1 && e.Do[1] == "crash" && !strings.Contains(fmt.Sprint(e.Result), "bytes_lost:10") {
			t.Errorf("the log does not say what the crash took: %v", e.Result)
		}
	}
	if want := "2 host crash h --seed 3, 4 dark, 5 host restart h, 7 proc stop p, 9 heal --all"; strings.Join(got, ", ") != want {
		t.Errorf("logged: %s\nwant: %s", strings.Join(got, ", "), want)
	}

	// What cannot come true is not waited for as if it had.
	out, code = p.command("plan", "run", p.file("never.json", plan.Step{Settle: []plan.Predicate{{Proc: "p", Is: "gone"}}, Within: 50_000_000}, do("proc stop p")))
	if code != 2 || !strings.Contains(out, "not settled") {
		t.Errorf("a plan that does not settle: exit code %d: %s", code, out)
	}
	out, code = p.command("plan", "run", p.file("broken.json", do("host crash nobody"), do("proc stop p")))
	if code != 255 || !strings.Contains(out, "step 1 of 2") {
		t.Errorf("a plan with a step that fails: exit code %d: %s", code, out)
	}
	var s struct{ State string }
	var procs []struct{ State string }
	fitest.FI(t, p.run, &procs, "proc", "list")
	if s = struct{ State string }(procs[0]); s.State != "running" {
		t.Errorf("the step after one that failed was carried out: p is %s", s.State)
	}
}

// What was done by hand is recorded and can be done again on a fresh run.
func TestPlanReplays(t *testing.T) {
	first := newPlanned(t)
	settled := func(p planned) {
		fitest.Await(p.T, "the writer", func() bool {
			b, _ := os.ReadFile(filepath.Join(p.run, "procs", "p", "output.log"))
			return strings.Contains(string(b), "written")
		})
	}
	settled(first)
	skip := len(first.log())
	fitest.FI(t, first.run, nil, "host", "crash", "h")
	fitest.FI(t, first.run, nil, "host", "restart", "h")
	fitest.FI(t, first.run, nil, "disk", "latency", "d", "--op", "fsync", "--const", "3ms")
	var recorded plan.Plan
	fitest.FI(t, first.run, &recorded, "plan", "record")
	var steps []plan.Step // without the setting-up, which the second run has had
	for _, s := range recorded.Steps {
		if len(s.Do) > 0 {
			if skip--; skip < 0 {
				steps = append(steps, s)
			}
		}
	}
	second := newPlanned(t)
	settled(second)
	if out, code := second.command("plan", "run", second.file("again.json", steps...)); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	entries := second.log()
	if n := len(entries); n < 3 || !strings.Contains(fmt.Sprint(entries[n-3].Result), "bytes_lost:10") || entries[n-1].Do[1] != "latency" {
		t.Errorf("done again: %+v", entries)
	}
}

// A long plan that makes a check fail is reduced to the steps that it takes.
func TestPlanShrinks(t *testing.T) {
	root, run := fitest.NewRun(t)
	p := planned{t, root, run}
	file := p.file("long.json", do("disk latency d --op read --const 0"), do("disk latency d --op write --const 0"), do("proc stop p"), do("proc cont p"),
		do("disk fault d --clear"), do("host crash h"), do("disk latency d --op fsync --profile none"), do("disk sync d"))
	script := filepath.Join(root, "try")
	fitest.Must(t, os.WriteFile(script, fmt.Appendf(nil, `#!/bin/sh
# Ends with 1 if the plan, on a fresh host, takes what the process wrote.
fi=%s; run=$(mktemp -d %s/run.XXXXXX); export FI_RUN=$run/run
trap '$fi down --all >/dev/null' EXIT
$fi disk create d --dir $run/live && $fi host add h && $fi proc start p --host h --disk d --dir $run/live -- python3 -c '%s' || exit 2
until grep -q written $FI_RUN/procs/p/output.log; do sleep 0.02; done
$fi plan run $1 || exit 2
test -s $run/live/f || exit 1
`, fitest.Binary(t), root, writer), 0o700))
	var small plan.Plan
	fitest.FI(t, run, &small, "plan", "shrink", file, "--", "sh", script)
	if len(small.Steps) != 1 || strings.Join(small.Steps[0].Do, " ") != "host crash h" {
		t.Errorf("what is left: %+v", small.Steps)
	}

	var s struct{ Sequence string }
	needs2down := filepath.Join(root, "try2")
	fitest.Must(t, os.WriteFile(needs2down, []byte("#!/bin/sh\ncase \"$1\" in *145*) exit 1;; esac\nexit 0\n"), 0o700))
	fitest.FI(t, run, &s, "plan", "shrink", "--sequence", "[1]2345 -> 245 -> 1[2]45 -> 145 -> 134[5] -> 12345", "--", "sh", needs2down)
	if s.Sequence != "145" {
		t.Errorf("the shortest sequence is %q", s.Sequence)
	}
}

// What a trigger does, at a moment that nobody chose, is in the log too.
func TestTriggersAreLogged(t *testing.T) {
	fitest.On(t, "lossfs", func(t *testing.T, backend string) {
		r := newRig(t, backend)
		r.do(openF, write9)
		r.fi(nil, "disk", "trigger", "d", "--before", "fsync", "--path", "f", "--action", "eio")
		before := faultlog.Now()
		r.want(fsync, eio)
		after := faultlog.Now()
		fitest.Await(t, "the log", func() bool {
			var all []faultlog.Entry
			r.fi(&all, "log")
			e := all[len(all)-1]
			if e.Mark == "" {
				return false
			}
			if !strings.Contains(e.Mark, "eio of disk d before fsync of f") || e.Begin < before || e.Begin > after {
				t.Errorf("%+v, expected between %d and %d", e, before, after)
			}
			return true
		})
	})
}

// Healthy is who acknowledges a write: not who listens, nor who answers.
func TestHealthIsAWrite(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server (`make -C failure-injector servers`)")
	}
	root, run := fitest.NewRun(t)
	p := planned{t, root, run}
	live, port := filepath.Join(root, "live"), fmt.Sprint(fitest.FreePorts(t, 1)[0])
	at := "127.0.0.1:" + port
	if out, code := p.command("health", "redis", "--at", at); code != 2 {
		t.Errorf("nobody listens: exit code %d: %s", code, out)
	}
	env := fitest.NewDisk(t, run, "preload", "d", live)
	fitest.Start(t, env, "", filepath.Join(root, "log"), "redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", live, "--appendonly", "yes", "--appendfsync", "always", "--save", "")
	fitest.Await(t, "redis", func() bool { _, code := p.command("health", "redis", "--at", at); return code == 0 })
	fitest.FI(t, run, nil, "disk", "fault", "d", "--freeze", "on")
	if out, code := p.command("health", "redis", "--at", at, "--wait", "300ms"); code != 2 {
		t.Errorf("it cannot write, but: exit code %d: %s", code, out)
	}
	fitest.FI(t, run, nil, "heal", "--all")
	fitest.Await(t, "redis", func() bool { _, code := p.command("health", "redis", "--at", at); return code == 0 })
	// Who refuses, or answers something else, is not healthy.
	for _, answer := range []string{"-READONLY You can't write against a read only replica.", "+PONG"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		fitest.Must(t, err)
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				bufio.NewReader(c).ReadString('\n')
				fmt.Fprintf(c, "%s\r\n", answer)
				c.Close()
			}
		}()
		if out, code := p.command("health", "redis", "--at", l.Addr().String()); code != 2 || !strings.Contains(out, "answered") {
			t.Errorf("it answers %q, but: exit code %d: %s", answer, code, out)
		}
	}
}

func TestCrashOfSeveralDisks(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		root, run := fitest.NewRun(t)
		p := planned{t, root, run}
		names := []string{"d1", "d2", "d3"}
		for _, d := range names {
			env := fitest.NewDisk(t, run, backend, d, filepath.Join(root, d))
			cmd := exec.Command("sh", "-c", "echo unsynced > f")
			cmd.Dir, cmd.Env = filepath.Join(root, d), env
			fitest.Must(t, cmd.Run())
		}
		if out, code := p.command("disk", "crash", "d1", "nothing", "d2"); code != 255 || !strings.Contains(out, "nothing") {
			t.Errorf("exit code %d: %s", code, out)
		}
		if _, err := os.Stat(filepath.Join(root, "d1", "f")); err != nil {
			t.Error("a command with a wrong name has taken the power from the others")
		}
		var r struct {
			Disks []fitest.CrashReport `json:"disks"`
		}
		fitest.FI(t, run, &r, append([]string{"disk", "crash", "--wait", "20s"}, names...)...)
		if len(r.Disks) != 3 {
			t.Fatalf("%+v", r)
		}
		for k, d := range names {
			if _, err := os.Stat(filepath.Join(root, d, "f")); err == nil || r.Disks[k].FilesLost != 1 {
				t.Errorf("disk %s: %+v, %v", d, r.Disks[k], err)
			}
		}
	})
}

// A plan waits for a server that only another host can reach; and does not
// settle when that host cannot reach it any more.
func TestPlanAsksFromAHost(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server (`make -C failure-injector servers`)")
	}
	l := newLan(t, "a", "b")
	p := planned{t, t.TempDir(), l.run}
	settle := plan.Step{Settle: []plan.Predicate{{Healthy: "redis", At: "b:7379", Host: "a"}}}
	file := p.file("up.json", do("proc start server --host b --dir "+p.root+" -- redis-server --port 7379 --protected-mode no"), settle)
	if out, code := p.command("plan", "run", file); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, l.log("server"))
	}
	settle.Within = 100_000_000
	if out, code := p.command("plan", "run", p.file("cut.json", do("net block --from b --to a"), settle)); code != 2 {
		t.Errorf("a does not hear b, but: exit code %d: %s", code, out)
	}
}
