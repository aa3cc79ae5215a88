// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Who logs in is in the host: its name, its network, its processes; and not on
// the machine. A crash of the host ends the server, a restart brings it back.
func TestSSHIntoAHost(t *testing.T) {
	l := newLan(t, "a", "b")
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		t.Skip("needs openssh-server (fi doctor)")
	}
	var access struct {
		Key     string
		Address string
		Known   string `json:"known_hosts"`
	}
	login := func() (string, error) {
		out, err := exec.Command("ssh", "-i", access.Key, "-o", "UserKnownHostsFile="+access.Known, "-o", "BatchMode=yes",
			"-o", "ConnectTimeout=20", "root@"+access.Address, "hostname; cat /proc/1/comm; grep -c eth0 /proc/net/dev; getent hosts b").Output()
		return string(out), err
	}
	l.fi(&access, "host", "ssh", "a")
	out, err := login()
	if f := strings.Fields(out); err != nil || len(f) < 5 || f[0] != "a" || f[1] != "fi" || f[2] != "1" || f[4] != "b" {
		t.Errorf("logged in: %v %q", err, out)
	}
	l.fi(nil, "host", "crash", "a")
	l.fi(nil, "host", "restart", "a")
	l.fi(&access, "host", "ssh", "a") // waits until it listens
	if out, err := login(); err != nil || !strings.HasPrefix(out, "a\n") {
		t.Errorf("after a power cycle: %v %q", err, out)
	}
}
