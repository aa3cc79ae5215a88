// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cad/failure-injector/internal/fitest"
)

// How each verb is used on a disk named d at LIVE, or on a host h with a
// process p; in this order.
var uses = map[string][]string{
	"disk create":   {"disk", "create", "d2", "--backend", "BACKEND", "--dir", "LIVE2"},
	"disk env":      {"disk", "env", "d"},
	"disk latency":  {"disk", "latency", "d", "--op", "fsync", "--const", "1ms"},
	"disk fault":    {"disk", "fault", "d", "--eio-fsync", "3"},
	"disk sync":     {"disk", "sync", "d"},
	"disk stat":     {"disk", "stat", "d"},
	"disk crash":    {"disk", "crash", "d"},
	"disk trigger":  {"disk", "trigger", "d", "--before", "fsync", "--action", "eio"},
	"disk corrupt":  {"disk", "corrupt", "d", "--path", "f", "--length", "1"},
	"disk log":      {"disk", "log", "d"},
	"disk list":     {"disk", "list"},
	"disk destroy":  {"disk", "destroy", "d"},
	"host add":      {"host", "add", "h2", "--kind", "KIND"},
	"host list":     {"host", "list"},
	"host ssh":      {"host", "ssh", "h"},
	"host crash":    {"host", "crash", "h"},
	"host restart":  {"host", "restart", "h"},
	"host remove":   {"host", "remove", "h"},
	"proc start":    {"proc", "start", "p2", "--host", "h", "--", "sleep", "100"},
	"proc stop":     {"proc", "stop", "p"},
	"proc cont":     {"proc", "cont", "p"},
	"proc cpu":      {"proc", "cpu", "p", "--limit", "0.5"},
	"proc crash":    {"proc", "crash", "p"},
	"proc restart":  {"proc", "restart", "p"},
	"proc kill":     {"proc", "kill", "p"},
	"proc list":     {"proc", "list"},
	"proc remove":   {"proc", "remove", "p"},
	"clock create":  {"clock", "create", "c2"},
	"clock env":     {"clock", "env", "c"},
	"clock set":     {"clock", "set", "c", "--clock", "raw", "--rate", "1.1"},
	"clock show":    {"clock", "show", "c"},
	"clock list":    {"clock", "list"},
	"clock destroy": {"clock", "destroy", "c"},
	"net block":     {"net", "block", "--from", "h", "--to", "g"},
	"net unblock":   {"net", "unblock", "--from", "h", "--to", "g"},
	"net link":      {"net", "link", "--from", "h", "--to", "g", "--delay", "1ms"},
	"net partition": {"net", "partition", "isolate", "--host", "h"},
	"net heal":      {"net", "heal"},
	"net status":    {"net", "status"},
}

// Every cell of doctor's table is called: what it says works does, what it says
// does not is refused with the reason. And every verb is in the table.
func TestDoctorTellsTheTruth(t *testing.T) {
	var doctor struct {
		Verbs []struct {
			Verb, On, Why string
			OK            bool
		}
	}
	_, run := fitest.NewRun(t)
	fitest.FI(t, run, &doctor, "doctor")
	help, err := exec.Command(fitest.Binary(t), "help").Output()
	fitest.Must(t, err)
	listed := map[string]bool{}
	for _, c := range doctor.Verbs {
		listed[c.Verb] = true
		t.Run(c.Verb+" on "+c.On, func(t *testing.T) {
			root, run := fitest.NewRun(t)
			live := filepath.Join(root, "live")
			args := uses[c.Verb]
			if args == nil {
				t.Fatal("this test does not know how to call it")
			}
			if c.OK && strings.HasPrefix(c.Verb, "disk") && c.Verb != "disk list" || !c.OK && strings.Contains(c.Why, "only in the process") || strings.Contains(c.Why, "rots") {
				fitest.NewDisk(t, run, c.On, "d", live)
				fitest.Must(t, os.WriteFile(filepath.Join(live, "f"), []byte("content"), 0o600))
			}
			if c.On == "loopback" || (c.On == "netns" && os.Geteuid() == 0) {
				network := "lan"
				if c.Verb == "net link" {
					network = "wan"
				}
				fitest.FI(t, run, nil, "host", "add", "h", "--kind", c.On, "--net", network)
				fitest.FI(t, run, nil, "host", "add", "g", "--kind", c.On, "--net", network)
				start := []string{"proc", "start", "p", "--host", "h"}
				if strings.HasPrefix(c.Verb, "clock") {
					fitest.FI(t, run, nil, "clock", "create", "c")
					start = append(start, "--clock", "c")
				}
				fitest.FI(t, run, nil, append(start, "--", "sleep", "100")...)
				if c.Verb == "proc restart" {
					fitest.FI(t, run, nil, "proc", "crash", "p")
				}
			}
			var line []string
			for _, a := range args {
				a = strings.ReplaceAll(a, "LIVE2", filepath.Join(root, "live2"))
				line = append(line, strings.NewReplacer("BACKEND", c.On, "KIND", c.On).Replace(a))
			}
			out, err := exec.Command(fitest.Binary(t), append([]string{"--json", "--run", run}, line...)...).CombinedOutput()
			var code *exec.ExitError
			switch {
			case c.OK && err != nil:
				t.Errorf("doctor says it works; %v: %s", err, out)
			case !c.OK && (!asExit(err, &code) || (code.ExitCode() != 2 && code.ExitCode() != 255)):
				t.Errorf("doctor says it does not work (%s), but: %v: %s", c.Why, err, out)
			}
		})
	}
	for _, l := range strings.Split(string(help), "\n") {
		f := strings.Fields(l)
		if len(f) > 2 && f[0] == "fi" && (f[1] == "disk" || f[1] == "host" || f[1] == "proc" || f[1] == "net" || f[1] == "clock") && !listed[f[1]+" "+f[2]] {
			t.Errorf("doctor does not list %s %s", f[1], f[2])
		}
	}
}
