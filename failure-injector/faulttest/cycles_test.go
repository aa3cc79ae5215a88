//go:build testfull

// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cad/failure-injector/cpu"
	"cad/failure-injector/host"
	"cad/failure-injector/internal/fitest"
)

// Thousands of hosts, with processes, disks and delays, on both networks, are
// made and ended in every way there is, one of them `kill -9` of all that runs
// for the run; the machine has nothing of them afterwards.
func TestThousandsOfHosts(t *testing.T) {
	const rounds, hosts = 100, 20
	l := newLan(t)
	made := 0
	for round := range rounds {
		network := []string{"lan", "wan"}[round%2]
		if network == "wan" && !exists("/dev/net/tun") {
			network = "lan"
		}
		var names []string
		for k := range hosts {
			names = append(names, fmt.Sprint("h", k))
		}
		l.fi(nil, append(append([]string{"host", "add"}, names...), "--kind", "netns", "--net", network)...)
		made += hosts
		live := filepath.Join(t.TempDir(), "disk")
		fitest.NewDisk(t, l.run, "preload", "d", live)
		start := []string{"proc", "start", "p", "--host", "h0", "--disk", "d"}
		if cpu.Check() == nil {
			start = append(start, "--cpu", "0.5")
		}
		l.fi(nil, append(start, "--", "sleep", "1000")...)
		if network == "wan" {
			l.fi(nil, "net", "link", "--from", "h0", "--to", "h1", "--delay", "5ms")
		} else {
			l.fi(nil, "net", "block", "--from", "h0", "--to", "h1")
		}
		switch round % 4 {
		case 0:
			l.fi(nil, append([]string{"host", "crash"}, names...)...)
			l.fi(nil, append([]string{"host", "restart"}, names[:3]...)...)
			l.fi(nil, append([]string{"host", "remove"}, names...)...)
		case 1:
			for _, pid := range ofRun(t, l.run) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			l.fi(nil, "heal", "--all")
		case 2:
			l.fi(nil, "heal", "--all")
		}
		l.fi(nil, "down", "--all")
		if round%10 == 9 {
			t.Logf("%d hosts", made)
		}
	}
	links, err := os.ReadDir("/sys/class/net")
	fitest.Must(t, err)
	for _, e := range links {
		if strings.HasPrefix(e.Name(), l.tag()) {
			t.Errorf("left: link %s", e.Name())
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	fitest.Must(t, err)
	for _, line := range strings.Split(string(mounts), "\n") {
		if strings.Contains(line, l.run) {
			t.Errorf("left: mount %s", line)
		}
	}
	if pids := ofRun(t, l.run); len(pids) > 0 {
		t.Errorf("left: processes %v", pids)
	}
	if out, err := exec.Command("nft", "list", "tables").Output(); err == nil && strings.Contains(string(out), l.tag()) {
		t.Errorf("left: %s", out)
	}
	for _, depth := range []string{"", "*/"} { // version 2, version 1
		groups, err := filepath.Glob("/sys/fs/cgroup/" + depth + "*" + host.Tag(l.run) + "*")
		fitest.Must(t, err)
		if len(groups) > 0 {
			t.Errorf("left: %v", groups)
		}
	}
	if exists(l.run) {
		t.Error("left: the run directory")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ofRun lists the processes that have a run's directory in their arguments or environment.
func ofRun(t *testing.T, run string) []int {
	entries, err := os.ReadDir("/proc")
	fitest.Must(t, err)
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		for _, f := range []string{"cmdline", "environ"} {
			b, _ := os.ReadFile(filepath.Join("/proc", e.Name(), f))
			if strings.Contains(string(b), run) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
