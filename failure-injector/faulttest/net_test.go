// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cad/failure-injector/host"
	"cad/failure-injector/internal/fitest"
)

// A server that echoes lines, and a client that sends one every 20 ms; both say
// what happens to them.
const echo = `
import socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 7000)); s.listen(); print("listening", flush=True)
while True:
    c, _ = s.accept(); print("accepted", flush=True)
    try:
        for line in c.makefile("rb"):
            print("got", flush=True); c.sendall(line)
        print("eof", flush=True)
    except OSError as e:
        print("error", e, flush=True)
`

const caller = `
import socket, sys, threading, time
c = socket.create_connection((sys.argv[1], 7000), 20); c.settimeout(None); print("connected", flush=True)
def send():
    try:
        while True:
            c.sendall(b"x\n"); time.sleep(0.02)
    except OSError as e:
        print("error", e, flush=True)
threading.Thread(target=send, daemon=True).start()
try:
    for line in c.makefile("rb"):
        print("reply", flush=True)
    print("eof", flush=True)
except OSError as e:
    print("error", e, flush=True)
`

type lan struct {
	*testing.T
	run string
}

func newLan(t *testing.T, hosts ...string) lan {
	if os.Geteuid() != 0 {
		t.Skip("needs root (fi doctor)")
	}
	_, run := fitest.NewRun(t)
	for _, h := range hosts {
		fitest.FI(t, run, nil, "host", "add", h, "--kind", "netns")
	}
	return lan{t, run}
}

func (l lan) fi(into any, args ...string) {
	l.Helper()
	fitest.FI(l.T, l.run, into, args...)
}

func (l lan) python(name, host, program string, args ...string) {
	l.Helper()
	l.fi(nil, append([]string{"proc", "start", name, "--host", host, "--", "python3", "-c", program}, args...)...)
}

func (l lan) log(name string) string {
	b, _ := os.ReadFile(filepath.Join(l.run, "procs", name, "output.log"))
	return string(b)
}

func (l lan) count(name, word string) int { return strings.Count(l.log(name), word) }

func (l lan) awaitMore(name, word string) {
	l.Helper()
	n := l.count(name, word)
	fitest.Await(l.T, name+" to say more of "+word, func() bool { return l.count(name, word) > n+2 })
}

// ended tells whether a process has noticed the end of a connection.
func (l lan) ended(name string) bool {
	return strings.Contains(l.log(name), "eof") || strings.Contains(l.log(name), "error")
}

func conversation(t *testing.T) lan {
	l := newLan(t, "a", "b")
	l.counter("b")
	l.python("server", "b", echo)
	fitest.Await(t, "the server", func() bool { return l.count("server", "listening") == 1 })
	l.python("client", "a", caller, "b") // by name
	l.awaitMore("client", "reply")
	return l
}

// A block is one-way, nobody is told, and what was under way arrives later.
func TestBlockIsOneWayAndSilent(t *testing.T) {
	l := conversation(t)
	l.fi(nil, "net", "block", "--from", "b", "--to", "a")
	time.Sleep(50 * time.Millisecond) // what had arrived before is printed
	replies := l.count("client", "reply")
	if got := l.received(20, settle); len(got) != 20 {
		t.Errorf("a does not reach b although only the way back is blocked: %d of 20 arrive", len(got))
	}
	if n := l.count("client", "reply"); n != replies {
		t.Errorf("b reaches a although it is blocked: %d replies more", n-replies)
	}
	if l.ended("client") || l.ended("server") {
		t.Errorf("a connection ended by a block; client: %s server: %s", l.log("client"), l.log("server"))
	}
	l.fi(nil, "net", "heal")
	l.awaitMore("client", "reply")
	if l.ended("client") || l.ended("server") || l.count("server", "accepted") != 1 {
		t.Errorf("not the same connection after the heal")
	}

	l.fi(nil, "net", "partition", "isolate", "--host", "b")
	if got := l.received(20, settle); len(got) != 0 {
		t.Errorf("a reaches b although it is isolated: %d of 20 arrive", len(got))
	}
	l.fi(nil, "heal", "--all")
	l.awaitMore("client", "reply")
}

// A killed process is heard of; a host without power is not.
func TestPowerLossIsSilent(t *testing.T) {
	l := conversation(t)
	l.fi(nil, "proc", "crash", "server")
	fitest.Await(t, "the client to notice", func() bool { return l.ended("client") })

	l.fi(nil, "proc", "restart", "server")
	fitest.Await(t, "the server", func() bool { return l.count("server", "listening") == 2 })
	l.python("client2", "a", caller, "b")
	l.awaitMore("client2", "reply")
	l.fi(nil, "host", "crash", "b")
	time.Sleep(700 * time.Millisecond) // what must not be noticed has this long to be noticed
	if l.ended("client2") {
		t.Errorf("the client noticed: %s", l.log("client2"))
	}
	var hosts []struct {
		Name string
		On   bool
	}
	l.fi(&hosts, "host", "list")
	if len(hosts) != 2 || !hosts[0].On || hosts[1].On {
		t.Errorf("after the power loss of b: %+v", hosts)
	}
	l.fi(nil, "host", "restart", "b")
	fitest.Await(t, "the server", func() bool { return l.count("server", "listening") == 3 })
	l.python("client3", "a", caller, "b")
	l.awaitMore("client3", "reply")
}

// The disk of a host's process loses power with the host, on both backends, and
// the restarted process sees the new life of the disk.
func TestHostAndDisk(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		l := newLan(t, "a")
		live := filepath.Join(t.TempDir(), "disk")
		fitest.NewDisk(t, l.run, backend, "d", live)
		program := `
import os, signal
f = os.open("f", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
os.write(f, b"synced"); os.fsync(f); os.write(f, b"not")
print("ready", os.fstat(f).st_size, flush=True); signal.pause()`
		l.fi(nil, "proc", "start", "p", "--host", "a", "--disk", "d", "--dir", live, "--", "python3", "-c", program)
		fitest.Await(t, "the process", func() bool { return l.count("p", "ready 9") == 1 })
		var loss struct {
			Killed []string
			Disks  []fitest.CrashReport
		}
		l.fi(&loss, "host", "crash", "a")
		if len(loss.Killed) != 1 || len(loss.Disks) != 1 || loss.Disks[0].BytesLost != 3 {
			t.Errorf("%+v", loss)
		}
		l.fi(nil, "host", "restart", "a")
		fitest.Await(t, "the process again", func() bool { return l.count("p", "ready 15") == 1 })
	})
}

// A host has process numbers, a name and names of its own; many of them leave nothing.
func TestHostsAreIsolatedAndLeaveNothing(t *testing.T) {
	l := newLan(t, "a", "b")
	l.fi(nil, "proc", "start", "look", "--host", "a", "--", "sh", "-c", "hostname; cat /etc/hosts; echo pids $(ls /proc | grep -c '^[0-9]')")
	fitest.Await(t, "its output", func() bool { return l.count("look", "pids") == 1 })
	out := l.log("look")
	if !strings.HasPrefix(out, "a\n") || !strings.Contains(out, " b\n") || strings.Contains(out, "pids 1") && len(strings.TrimSpace(out[strings.Index(out, "pids ")+5:])) > 1 {
		t.Errorf("a process of host a sees:\n%s", out)
	}
	for k := range 20 {
		h := fmt.Sprint("h", k%3)
		l.fi(nil, "host", "add", h, "--kind", "netns")
		l.fi(nil, "proc", "start", h, "--host", h, "--", "sleep", "1000")
		if k%2 == 0 {
			l.fi(nil, "host", "crash", h)
		}
		l.fi(nil, "host", "remove", h)
	}
	l.fi(nil, "down", "--all")
	links, err := os.ReadDir("/sys/class/net")
	fitest.Must(t, err)
	tag := l.tag()
	for _, e := range links {
		if strings.HasPrefix(e.Name(), tag) {
			t.Errorf("left: link %s", e.Name())
		}
	}
	if _, err := os.Stat(l.run); err == nil {
		t.Error("left: the run directory")
	}
	if out, err := exec.Command(fitest.Binary(t), "--run", l.run, "status").CombinedOutput(); err != nil {
		t.Errorf("status after down: %v %s", err, out)
	}
}

// Whoever talks through the bridge is not disturbed by hosts that come and go: its address stays, for what is sent to
// another one is lost.
func TestTheBridgeKeepsItsAddress(t *testing.T) {
	l := newLan(t, "a")
	address := func() string {
		b, err := os.ReadFile(filepath.Join("/sys/class/net", l.tag(), "address"))
		fitest.Must(t, err)
		return string(b)
	}
	before := address()
	for k := range 8 {
		l.fi(nil, "host", "add", fmt.Sprint("h", k), "--kind", "netns")
	}
	l.fi(nil, "host", "crash", "a")
	for k := range 8 {
		l.fi(nil, "host", "crash", fmt.Sprint("h", k))
		l.fi(nil, "host", "restart", "a")
		if now := address(); now != before {
			t.Fatalf("the bridge was %s and is %s when h%d has lost its power", before, now, k)
		}
		l.fi(nil, "host", "crash", "a")
	}
}

// tag is the prefix of the names of everything that a run makes in the network.
func (l lan) tag() string { return "fi" + host.Tag(l.run) }
