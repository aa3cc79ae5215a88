// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"cad/failure-injector/disk"
	"cad/failure-injector/proc"
)

// access is how to log in to a host.
type access struct {
	Host    string `json:"host"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	User    string `json:"user"`
	Key     string `json:"key"`         // private key file
	Known   string `json:"known_hosts"` // with the host's own key
	Command string `json:"command"`
}

const sshPort = 22

// sshd finds the server's program, by its absolute path as it demands.
func sshd() (string, error) {
	for _, p := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd"} {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("%w: no sshd: install openssh-server", errRefused)
}

// keys makes a key pair, once.
func keys(path, comment string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path).CombinedOutput(); err != nil {
		return fmt.Errorf("ssh-keygen: %w: %s", err, out)
	}
	return nil
}

// startSSH runs an sshd in a netns host that lets in who has the run's key.
func startSSH(run disk.Run, h hostInfo) (access, error) {
	var a access
	program, err := sshd()
	if err != nil {
		return a, err
	}
	dir, err := filepath.Abs(filepath.Join(hostsDir(run), "ssh-"+h.Name))
	if err != nil {
		return a, err
	}
	for _, d := range []string{dir, "/run/sshd"} { // the second one it wants for itself
		if err := os.MkdirAll(d, 0o755); err != nil {
			return a, err
		}
	}
	client, own := filepath.Join(dir, "key"), filepath.Join(dir, "host_key")
	if err := keys(client, "fi"); err != nil {
		return a, err
	}
	if err := keys(own, h.Name); err != nil {
		return a, err
	}
	public, err := os.ReadFile(own + ".pub")
	if err != nil {
		return a, err
	}
	known, config := filepath.Join(dir, "known_hosts"), filepath.Join(dir, "sshd_config")
	if err := os.WriteFile(known, fmt.Appendf(nil, "%s,%s %s", h.Name, h.Address, public), 0o600); err != nil {
		return a, err
	}
	text := fmt.Sprintf("Port %d\nListenAddress %s\nHostKey %s\nAuthorizedKeysFile %s.pub\nPermitRootLogin prohibit-password\n"+
		"PasswordAuthentication no\nUsePAM no\nStrictModes no\nPidFile none\nPrintMotd no\nSubsystem sftp internal-sftp\n", sshPort, h.Address, own, client)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return a, err
	}
	name := h.Name + "-sshd"
	if old, err := store(run).Load(name); err != nil || old.State() == "gone" {
		if _, err := startProc(run, proc.Spec{Name: name, Host: h.Name, Dir: "/", Args: []string{program, "-D", "-e", "-f", config}}); err != nil {
			return a, err
		}
	}
	a = access{Host: h.Name, Address: h.Address, Port: sshPort, User: "root", Key: client, Known: known}
	a.Command = fmt.Sprintf("ssh -i %s -o UserKnownHostsFile=%s root@%s", client, known, h.Address)
	return a, nil
}

func hostSSH(c *call) error {
	if err := c.parse(1); err != nil {
		return err
	}
	h, err := loadHost(c.run, c.args[0])
	if err != nil {
		return err
	}
	if h.Kind != isolated {
		return fmt.Errorf("%w: host %q is of kind %s: its network is the machine's", errRefused, h.Name, h.Kind)
	}
	a, err := startSSH(c.run, h)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(a.Address, fmt.Sprint(a.Port)), time.Second)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(store(c.run).LogPath(h.Name + "-sshd"))
			return fmt.Errorf("sshd of host %s does not listen: %w: %s", h.Name, err, strings.TrimSpace(string(said)))
		}
	}
	return c.print(a, a.Command)
}
