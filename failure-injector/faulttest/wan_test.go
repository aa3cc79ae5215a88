// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"cad/failure-injector/internal/fitest"
)

// Counts the datagrams that it gets, and echoes those that ask for it.
const udpServer = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("", 7001)); print("listening", flush=True)
while True:
    d, a = s.recvfrom(4096)
    if d[:4] == b"echo": s.sendto(d, a)
    else: print("got", int(d.split()[0]), flush=True)
`

// Sends numbered datagrams, 1 ms apart.
const udpSender = `
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect((sys.argv[1], 7001))
for i in range(int(sys.argv[2])):
    s.send(b"%d " % i + b"." * 500); time.sleep(0.001)
print("sent", flush=True)
`

// Measures round trips and prints the shortest, in microseconds.
const udpPing = `
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect((sys.argv[1], 7001)); s.settimeout(20)
best = 1e9
for i in range(10):
    t = time.monotonic(); s.send(b"echo"); s.recv(100); best = min(best, (time.monotonic() - t) * 1e6)
print("best %d" % best, flush=True)
`

const tcpSink = `
import socket
s = socket.socket(); s.bind(("", 7000)); s.listen(); print("listening", flush=True)
while True:
    c, _ = s.accept(); n = 0
    while True:
        d = c.recv(65536)
        if not d: break
        n += len(d)
    c.sendall(b"done"); print("took", n, flush=True)
`

const tcpPush = `
import socket, sys, time
c = socket.create_connection((sys.argv[1], 7000)); t = time.monotonic()
c.sendall(b"x" * int(sys.argv[2])); c.shutdown(socket.SHUT_WR); c.recv(10)
print("millis %d" % ((time.monotonic() - t) * 1000), flush=True)
`

func newWan(t *testing.T) lan {
	if os.Geteuid() != 0 {
		t.Skip("needs root (fi doctor)")
	}
	if f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err != nil {
		t.Skip("needs /dev/net/tun (fi doctor)")
	} else {
		f.Close()
	}
	_, run := fitest.NewRun(t)
	l := lan{t, run}
	for _, h := range []string{"a", "b", "c"} {
		l.fi(nil, "host", "add", h, "--kind", "netns", "--net", "wan")
	}
	l.counter("b")
	return l
}

// counter starts what received() asks, on a host.
func (l lan) counter(host string) {
	l.Helper()
	l.python("udp", host, udpServer)
	fitest.Await(l.T, "the receiver", func() bool { return l.count("udp", "listening") == 1 })
}

func (l lan) link(options ...string) {
	l.Helper()
	l.fi(nil, append([]string{"net", "link", "--from", "a", "--to", "b"}, options...)...)
}

// number reads what follows a word in a process's output.
func (l lan) number(name, word string) int {
	l.Helper()
	fitest.Await(l.T, name+" to say "+word, func() bool { return strings.Contains(l.log(name), word+" ") })
	n, err := strconv.Atoi(strings.Fields(strings.SplitN(l.log(name), word+" ", 2)[1])[0])
	fitest.Must(l.T, err)
	return n
}

var probes int

// received sends n datagrams from a to b and returns the numbers that arrived.
func (l lan) received(n int, settle time.Duration) []int {
	l.Helper()
	before := len(strings.Split(l.log("udp"), "\n"))
	probes++
	name := fmt.Sprint("send", probes)
	l.python(name, "a", udpSender, "b", strconv.Itoa(n))
	fitest.Await(l.T, name, func() bool { return l.count(name, "sent") == 1 })
	time.Sleep(settle) // what is lost never arrives: it has this long
	var out []int
	for _, line := range strings.Split(l.log("udp"), "\n")[before-1:] {
		if k, err := strconv.Atoi(strings.TrimPrefix(line, "got ")); err == nil {
			out = append(out, k)
		}
	}
	return out
}

func sorted(l []int) bool {
	for i := 1; i < len(l); i++ {
		if l[i] < l[i-1] {
			return false
		}
	}
	return true
}

const settle = 300 * time.Millisecond

func TestWanDelay(t *testing.T) {
	l := newWan(t)
	ping := func(name, to string) int {
		l.python(name, "a", udpPing, to)
		return l.number(name, "best")
	}
	near := ping("ping0", "b")
	l.link("--both", "--delay", "17.5ms")
	far := ping("ping1", "b")
	l.fi(nil, "net", "link", "--from", "a", "--to", "b") // only back
	half := ping("ping2", "b")
	t.Logf("shortest of 10 round trips: %d us without, %d with 17.5 ms each way, %d with 17.5 ms back", near, far, half)
	if far < 35000 || half < 17500 || near > 17000 {
		t.Error("a delay is not what was asked for")
	}
	// Another pair is not touched.
	l.python("udp-c", "c", udpServer)
	fitest.Await(t, "the receiver", func() bool { return l.count("udp-c", "listening") == 1 })
	if other := ping("ping3", "c"); other > 17000 {
		t.Errorf("a to c takes %d us, although only a and b are far", other)
	}
}

func TestWanLinks(t *testing.T) {
	l := newWan(t)
	if got := l.received(100, settle); len(got) != 100 || !sorted(got) {
		t.Errorf("without faults %d of 100 arrive, in order: %v", len(got), sorted(got))
	}
	l.link("--loss", "0.5")
	if got := l.received(200, settle); len(got) < 10 || len(got) > 190 {
		t.Errorf("with half lost, %d of 200 arrive", len(got))
	}
	l.link("--loss", "1")
	if got := l.received(50, settle); len(got) != 0 {
		t.Errorf("with all lost, %d of 50 arrive", len(got))
	}
	l.link("--duplicate", "1")
	if got := l.received(50, settle); len(got) != 100 {
		t.Errorf("with all duplicated, %d of 50 arrive", len(got))
	}
	l.link("--delay", "10ms", "--jitter", "30ms")
	if got := l.received(100, settle); len(got) != 100 || !sorted(got) {
		t.Errorf("with jitter %d of 100 arrive, in order: %v", len(got), sorted(got))
	}
	l.link("--delay", "20ms", "--reorder", "0.3")
	if got := l.received(100, settle); len(got) != 100 || sorted(got) {
		t.Errorf("with reordering %d of 100 arrive, in order: %v", len(got), sorted(got))
	}
	l.link("--corrupt", "1") // the checksum tells, so nothing reaches the process
	if got := l.received(50, settle); len(got) != 0 {
		t.Errorf("with all corrupted, %d of 50 arrive", len(got))
	}
	var s struct {
		Packets struct{ Lost, Duplicated, Reordered, Corrupted int } `json:"wan_packets"`
	}
	l.fi(&s, "net", "status")
	if p := s.Packets; p.Lost < 60 || p.Duplicated != 50 || p.Reordered < 5 || p.Corrupted < 50 {
		t.Errorf("counted: %+v", p)
	}
	l.fi(nil, "heal", "--all")
	if got := l.received(50, settle); len(got) != 50 {
		t.Errorf("after heal %d of 50 arrive", len(got))
	}
	l.python("sink", "b", tcpSink)
	fitest.Await(t, "the sink", func() bool { return l.count("sink", "listening") == 1 })
	l.link("--rate", "2e6")
	l.python("push", "a", tcpPush, "b", "300000")
	if ms := l.number("push", "millis"); ms < 1100 { // 2.4 Mbit, less what a queue holds
		t.Errorf("300 kB at 2 Mbit/s took %d ms", ms)
	}
}

// The machine itself talks to hosts, through no link, also to one that was off
// and to those on the bridge of the same run.
func TestWanMachine(t *testing.T) {
	l := newWan(t)
	l.fi(nil, "host", "add", "d", "--kind", "netns", "--net", "lan")
	var all []struct{ Name, Address string }
	l.fi(&all, "host", "list")
	address := map[string]string{}
	for _, h := range all {
		address[h.Name] = h.Address
	}
	answers := func(name string) {
		t.Helper()
		conn, err := net.DialTimeout("tcp", address[name]+":7000", 20*time.Second)
		fitest.Must(t, err)
		defer conn.Close()
		fmt.Fprintln(conn, "x")
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "x\n" {
			t.Errorf("host %s answers %q, %v", name, line, err)
		}
	}
	for _, h := range []string{"b", "c", "d"} {
		l.python("server-"+h, h, echo)
		fitest.Await(t, "the server", func() bool { return l.count("server-"+h, "listening") == 1 })
	}
	l.link("--loss", "1") // between a and b only
	answers("b")
	answers("c")
	answers("d")
	l.fi(nil, "host", "crash", "b")
	l.fi(nil, "host", "restart", "b")
	fitest.Await(t, "the server", func() bool { return l.count("server-b", "listening") == 2 })
	answers("b")
}

// The kinds of faults of hosts are the same on both networks.
func TestWanHosts(t *testing.T) {
	l := newWan(t)
	l.python("server", "b", echo)
	fitest.Await(t, "the server", func() bool { return l.count("server", "listening") == 1 })
	l.python("client", "a", caller, "b")
	l.awaitMore("client", "reply")
	l.fi(nil, "net", "block", "--from", "b", "--to", "a")
	time.Sleep(50 * time.Millisecond)
	replies := l.count("client", "reply")
	if got := l.received(20, settle); len(got) != 20 {
		t.Errorf("a does not reach b although only the way back is blocked: %d of 20 arrive", len(got))
	}
	if n := l.count("client", "reply"); n != replies {
		t.Errorf("b reaches a although it is blocked")
	}
	l.fi(nil, "net", "heal")
	l.awaitMore("client", "reply")
	l.fi(nil, "host", "crash", "b")
	time.Sleep(settle)
	if l.ended("client") {
		t.Errorf("the client noticed the power loss: %s", l.log("client"))
	}
	l.fi(nil, "host", "restart", "b")
	fitest.Await(t, "the server", func() bool { return l.count("server", "listening") == 2 })
	l.python("client2", "a", caller, "b")
	l.awaitMore("client2", "reply")
}
