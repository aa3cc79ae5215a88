// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"cad/failure-injector/disk"
	"cad/failure-injector/proc"
)

var hostVerbs = []verb{
	{"add", "NAME --kind loopback", "a host: the processes and disks that lose power together", hostAdd},
	{"crash", "NAME... [--torn] [--seed N]", "power off: kill the host's processes, then its disks lose what was not synced", hostCrash},
	{"restart", "NAME...", "power on: start its processes again", hostRestart},
	{"remove", "NAME", "kill its processes and forget it; its disks stay", hostRemove},
	{"list", "", "all hosts", hostList},
}

// A host is a name and a kind. A loopback host shares the machine's network:
// its power loss is not silent, since the kernel closes the connections of a
// killed process.
type host struct {
	Name  string   `json:"name"`
	Kind  string   `json:"kind"`
	Procs []string `json:"procs"`
	Disks []string `json:"disks"`
}

const loopback = "loopback"

var validHost = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,30}$`)

func hostPath(run disk.Run, name string) string {
	return filepath.Join(string(run), "hosts", name+".json")
}

// loadHost reads a host; its processes and disks are found by asking them.
func loadHost(run disk.Run, name string) (host, error) {
	var h host
	if !validHost.MatchString(name) {
		return h, fmt.Errorf("bad host name %q: small letters, digits and dash, at most 31", name)
	}
	b, err := os.ReadFile(hostPath(run, name))
	if errors.Is(err, os.ErrNotExist) {
		return h, fmt.Errorf("no host %q; `fi host list` shows what there is", name)
	}
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err != nil {
		return h, err
	}
	h.Procs, h.Disks = []string{}, []string{}
	procs, err := store(run).List()
	if err != nil {
		return h, err
	}
	seen := map[string]bool{}
	for _, p := range procs {
		if p.Host != name {
			continue
		}
		h.Procs = append(h.Procs, p.Name)
		if p.Disk != "" && !seen[p.Disk] {
			seen[p.Disk] = true
			h.Disks = append(h.Disks, p.Disk)
		}
	}
	return h, nil
}

func hostAdd(c *call) error {
	h := host{Procs: []string{}, Disks: []string{}}
	c.flags.StringVar(&h.Kind, "kind", loopback, "")
	if err := c.parse(1); err != nil {
		return err
	}
	h.Name = c.args[0]
	if h.Kind != loopback {
		return usagef("no kind of host %q; there is: loopback", h.Kind)
	}
	if !validHost.MatchString(h.Name) {
		return usagef("bad host name %q: small letters, digits and dash, at most 31", h.Name)
	}
	if _, err := os.Stat(hostPath(c.run, h.Name)); err == nil {
		return fmt.Errorf("host %q exists already", h.Name)
	}
	if err := os.MkdirAll(filepath.Dir(hostPath(c.run, h.Name)), 0o700); err != nil {
		return err
	}
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := os.WriteFile(hostPath(c.run, h.Name), append(b, '\n'), 0o600); err != nil {
		return err
	}
	return c.print(h, fmt.Sprintf("host %s (%s)", h.Name, h.Kind))
}

// hosts reads the named hosts, and the specs of their processes.
func (c *call) hosts() (procs []proc.Spec, disks []string, err error) {
	if err := c.parse(-1); err != nil {
		return nil, nil, err
	}
	if len(c.args) == 0 {
		return nil, nil, usagef("which host?")
	}
	for _, name := range c.args {
		h, err := loadHost(c.run, name)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range h.Procs {
			spec, err := store(c.run).Load(p)
			if err != nil {
				return nil, nil, err
			}
			procs = append(procs, spec)
		}
		disks = append(disks, h.Disks...)
	}
	return procs, disks, nil
}

func hostCrash(c *call) error {
	o := crashFlags(c)
	procs, disks, err := c.hosts()
	if err != nil {
		return err
	}
	l, err := cut(c.run, procs, disks, *o)
	if err != nil {
		return err
	}
	return c.printLoss(l)
}

func hostRestart(c *call) error {
	procs, _, err := c.hosts()
	if err != nil {
		return err
	}
	started := []string{}
	for _, p := range procs {
		if p.State() != "gone" {
			continue
		}
		if _, err := store(c.run).Start(p); err != nil {
			return err
		}
		started = append(started, p.Name)
	}
	return c.print(map[string]any{"started": started}, "started: "+strings.Join(started, " "))
}

func hostRemove(c *call) error {
	if err := c.parse(1); err != nil {
		return err
	}
	name := c.args[0]
	procs, _, err := c.hosts()
	if err != nil {
		return err
	}
	if _, err := cut(c.run, procs, nil, disk.CrashOptions{}); err != nil {
		return err
	}
	for _, p := range procs {
		if err := store(c.run).Forget(p.Name); err != nil {
			return err
		}
	}
	if err := os.Remove(hostPath(c.run, name)); err != nil {
		return err
	}
	return c.print(map[string]string{"name": name}, "host "+name+" is gone; its disks stay")
}

func hostList(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	files, err := filepath.Glob(hostPath(c.run, "*"))
	if err != nil {
		return err
	}
	all, lines := []host{}, []string{}
	for _, f := range files {
		h, err := loadHost(c.run, strings.TrimSuffix(filepath.Base(f), ".json"))
		if err != nil {
			return err
		}
		all = append(all, h)
		lines = append(lines, fmt.Sprintf("%-12s %-9s processes %s, disks %s", h.Name, h.Kind, strings.Join(h.Procs, " "), strings.Join(h.Disks, " ")))
	}
	return c.print(all, strings.Join(lines, "\n"))
}
