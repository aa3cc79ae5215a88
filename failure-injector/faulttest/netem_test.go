// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"os/exec"
	"strings"
	"testing"

	"cad/failure-injector/internal/fitest"
)

// newNetem makes two hosts on the bridge, if there can be any; works tells what
// doctor says of the kernel's netem.
func newNetem(t *testing.T) (l lan, works bool) {
	l = newLan(t, "a", "b")
	var doctor struct {
		Checks []struct {
			Name string
			OK   bool
		}
	}
	l.fi(&doctor, "doctor")
	for _, c := range doctor.Checks {
		if c.Name == "netem" {
			return l, c.OK
		}
	}
	t.Fatal("doctor says nothing of netem")
	return l, false
}

// Where the kernel has no netem, asking for it is refused with the reason and
// changes nothing.
func TestNetemIsRefused(t *testing.T) {
	l, works := newNetem(t)
	if works {
		return // TestNetem uses it
	}
	out, err := exec.Command(fitest.Binary(t), "--run", l.run, "net", "link", "--from", "a", "--to", "b", "--delay", "1ms", "--netem").CombinedOutput()
	var code *exec.ExitError
	if !asExit(err, &code) || code.ExitCode() != 2 || !strings.Contains(string(out), "netem") {
		t.Errorf("doctor says there is no netem; %v: %s", err, out)
	}
	var s struct{ Links []any }
	l.fi(&s, "net", "status")
	if len(s.Links) != 0 {
		t.Errorf("links after a refusal: %v", s.Links)
	}
}

func TestNetem(t *testing.T) {
	l, works := newNetem(t)
	if !works {
		t.Skip("needs the kernel's netem (fi doctor)")
	}
	l.counter("b")
	ping := func(name string) int {
		l.python(name, "a", udpPing, "b")
		return l.number(name, "best")
	}
	link := func(options ...string) {
		l.fi(nil, append([]string{"net", "link", "--from", "a", "--to", "b", "--netem"}, options...)...)
	}
	link("--both", "--delay", "17.5ms")
	if us := ping("ping1"); us < 35000 {
		t.Errorf("with 17.5 ms each way a round trip takes %d us", us)
	}
	link("--delay", "0s")
	if us := ping("ping2"); us < 17500 || us > 34000 {
		t.Errorf("with 17.5 ms back a round trip takes %d us", us)
	}
	l.fi(nil, "heal", "--all")
	if us := ping("ping3"); us > 17000 {
		t.Errorf("after heal a round trip takes %d us", us)
	}
	link("--loss", "1")
	if got := l.received(50, settle); len(got) != 0 {
		t.Errorf("with all lost, %d of 50 arrive", len(got))
	}
	link("--duplicate", "1")
	if got := l.received(50, settle); len(got) != 100 {
		t.Errorf("with all duplicated, %d of 50 arrive", len(got))
	}
	l.fi(nil, "host", "crash", "a")
	l.fi(nil, "host", "restart", "a")
	if got := l.received(50, settle); len(got) != 100 {
		t.Errorf("after a power loss the link is another: %d of 50 arrive", len(got))
	}
}
