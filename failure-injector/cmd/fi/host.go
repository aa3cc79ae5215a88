// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cad/failure-injector/cpu"
	"cad/failure-injector/daemon"
	"cad/failure-injector/disk"
	"cad/failure-injector/host"
	"cad/failure-injector/proc"
)

var hostVerbs = []verb{
	{"add", "NAME... --kind loopback|netns [--net lan|wan]", "a host: the processes and disks that lose power together; netns: with a network, process numbers and a name of its own", hostAdd},
	{"crash", "NAME... [--torn] [--seed N]", "power off: cut the links (netns), kill all processes, then their disks lose what was not synced", hostCrash},
	{"restart", "NAME...", "power on: the host is there again, and its processes are started", hostRestart},
	{"ssh", "NAME", "run an sshd in a netns host, and say how to log in", hostSSH},
	{"remove", "NAME...", "kill its processes and forget it; its disks stay", hostRemove},
	{"list", "", "all hosts", hostList},
}

// Kinds of hosts. A loopback host shares the machine's network: its power loss
// is not silent, since the kernel closes the connections of a killed process.
const (
	loopback = "loopback"
	isolated = "netns"
)

type hostInfo struct {
	Name    string    `json:"name"`
	Kind    string    `json:"kind"`
	Net     string    `json:"net,omitempty"`     // netns: lan or wan
	Index   int       `json:"index,omitempty"`   // netns: of its link and address
	Address string    `json:"address,omitempty"` // netns
	Holder  proc.Spec `json:"holder,omitzero"`   // netns: its first process
	On      bool      `json:"on"`
	Procs   []string  `json:"procs"`
	Disks   []string  `json:"disks"`
}

func (h hostInfo) holderAlive() bool {
	return h.Holder.State() != "gone" && host.Alive(h.Holder.Pid)
}

var validHost = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,30}$`)

func hostsDir(run disk.Run) string { return filepath.Join(string(run), "hosts") }

func hostPath(run disk.Run, name string) string {
	return filepath.Join(hostsDir(run), name+".json")
}

func namesFile(run disk.Run) string { return filepath.Join(hostsDir(run), "etc-hosts") }
func lanFile(run disk.Run) string   { return filepath.Join(hostsDir(run), "lan") }

// place starts processes in a netns host.
type place struct {
	h     hostInfo
	names string
}

func (p place) Command(args []string) ([]string, error) {
	names, err := filepath.Abs(p.names)
	if err != nil {
		return nil, err
	}
	return host.Command(names, args)
}

func (p place) Start(cmd *exec.Cmd) error {
	if !p.h.holderAlive() {
		return fmt.Errorf("host %q is off: `fi host restart %s`", p.h.Name, p.h.Name)
	}
	return host.Start(p.h.Holder.Pid, cmd)
}

// lockHosts lets one command at a time change the hosts of a run.
func lockHosts(run disk.Run) (release func(), err error) {
	if err := os.MkdirAll(hostsDir(run), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(hostsDir(run), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// loadHost reads a host; its processes and disks are found by asking them.
func loadHost(run disk.Run, name string) (hostInfo, error) {
	var h hostInfo
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
	h.On = h.Kind == loopback || h.holderAlive()
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

func allHosts(run disk.Run) ([]hostInfo, error) {
	files, err := filepath.Glob(hostPath(run, "*"))
	if err != nil {
		return nil, err
	}
	all := []hostInfo{}
	for _, f := range files {
		h, err := loadHost(run, strings.TrimSuffix(filepath.Base(f), ".json"))
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

func saveHost(run disk.Run, h hostInfo) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	path := hostPath(run, h.Name)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// writeNames brings the hosts' /etc/hosts up to date, in place: it is mounted.
func writeNames(run disk.Run) error {
	all, err := allHosts(run)
	if err != nil {
		return err
	}
	text := "127.0.0.1 localhost\n"
	for _, h := range all {
		if h.Address != "" {
			text += h.Address + " " + h.Name + "\n"
		}
	}
	return os.WriteFile(namesFile(run), []byte(text), 0o644)
}

// powerOn makes the namespaces of netns hosts, all at once, and joins them to
// their networks. A host that cannot be joined is off again.
func powerOn(run disk.Run, hosts []*hostInfo) error {
	if len(hosts) == 0 {
		return nil
	}
	lan, err := host.Network(string(run), lanFile(run))
	if err != nil {
		return err
	}
	pids, failed := make([]int, len(hosts)), make([]error, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() { pids[i], failed[i] = host.StartHolder(h.Name) })
	}
	all.Wait()
	for i, h := range hosts {
		if failed[i] != nil {
			continue
		}
		if failed[i] = join(run, lan, h, pids[i]); failed[i] != nil {
			host.End(pids[i], 10*time.Second)
			unplug(run, *h)
		}
	}
	return errors.Join(failed...)
}

// join makes a first process and its namespaces a host of the network.
func join(run disk.Run, lan host.Lan, h *hostInfo, pid int) (err error) {
	if h.Holder, err = proc.Identify(h.Name, pid); err != nil {
		return err
	}
	h.Address, h.On = lan.Address(h.Index), true
	if err := plug(run, lan, *h); err != nil {
		return err
	}
	return saveHost(run, *h)
}

// plug joins a host that is on to its network.
func plug(run disk.Run, lan host.Lan, h hostInfo) error {
	if h.Net == "lan" {
		return lan.Plug(h.Index, h.Holder.Pid)
	}
	if err := daemon.Start(run); err != nil {
		return err
	}
	if err := plugWan(run, h.Index, h.Holder.Pid, "eth0"); err != nil {
		return err
	}
	if err := lan.Configure(h.Index, h.Holder.Pid, "eth0"); err != nil {
		return err
	}
	if !lan.MachineOnWan() {
		if err := plugWan(run, host.Machine, os.Getpid(), lan.MachineDevice()); err != nil {
			return err
		}
	}
	return lan.Reach(h.Index)
}

func plugWan(run disk.Run, n, holder int, device string) error {
	return daemon.Call(run, daemon.Request{Verb: "wan plug", Wan: &daemon.Wan{Host: n, Holder: holder, Device: device}}, nil)
}

// unplug takes a host off its network; nothing leaves it any more.
func unplug(run disk.Run, h hostInfo) error {
	if h.Net == "lan" {
		return (host.Lan{Tag: host.Tag(string(run))}).Unplug(h.Index)
	}
	err := daemon.Call(run, daemon.Request{Verb: "wan unplug", Wan: &daemon.Wan{Host: h.Index}}, nil)
	if errors.Is(err, daemon.ErrNotRunning) {
		return nil // the switch went with it
	}
	return err
}

func needRoot() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: hosts of kind netns need root (CAP_SYS_ADMIN, CAP_NET_ADMIN); loopback hosts do not", errRefused)
	}
	return nil
}

func hostAdd(c *call) error {
	var kind, network string
	c.flags.StringVar(&kind, "kind", loopback, "")
	c.flags.StringVar(&network, "net", "lan", "")
	if err := c.parse(-1); err != nil {
		return err
	}
	if len(c.args) == 0 {
		return usagef("what is the host's name?")
	}
	if network != "lan" && network != "wan" {
		return usagef("no network %q; there are: lan (a bridge, fast), wan (every packet through the switch of `fi net link`)", network)
	}
	if kind != loopback && kind != isolated {
		return usagef("no kind of host %q; there are: loopback, netns", kind)
	}
	if kind == loopback {
		network = ""
	} else if err := needRoot(); err != nil {
		return err
	}
	release, err := lockHosts(c.run)
	if err != nil {
		return err
	}
	defer release()
	added := []*hostInfo{}
	for i, name := range c.args {
		if slices.Contains(c.args[:i], name) {
			return usagef("host %q is named twice", name)
		}
		if !validHost.MatchString(name) {
			return usagef("bad host name %q: small letters, digits and dash, at most 31", name)
		}
		if _, err := os.Stat(hostPath(c.run, name)); err == nil {
			return fmt.Errorf("host %q exists already", name)
		}
		added = append(added, &hostInfo{Name: name, Kind: kind, Net: network, Procs: []string{}, Disks: []string{}, On: true})
	}
	if kind == loopback {
		for _, h := range added {
			if err := saveHost(c.run, *h); err != nil {
				return err
			}
		}
	} else if err := addIsolated(c.run, added); err != nil {
		return err
	}
	var lines []string
	for _, h := range added {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("host %s (%s %s) %s", h.Name, h.Kind, h.Net, h.Address)))
	}
	if len(added) == 1 {
		return c.print(added[0], lines[0])
	}
	return c.print(map[string]any{"hosts": added}, strings.Join(lines, "\n"))
}

// addIsolated numbers new netns hosts, switches them on and tells all their names.
func addIsolated(run disk.Run, added []*hostInfo) error {
	all, err := allHosts(run)
	if err != nil {
		return err
	}
	taken := map[int]bool{}
	for _, o := range all {
		taken[o.Index] = true
	}
	const most = 250 // addresses of a /24
	next := 1
	for _, h := range added {
		for ; taken[next]; next++ {
		}
		if next > most {
			return fmt.Errorf("%d hosts of kind netns are the most a run can have", most)
		}
		h.Index, taken[next] = next, true
	}
	if err := writeNames(run); err != nil { // it is mounted below
		return err
	}
	return errors.Join(powerOn(run, added), writeNames(run))
}

// hosts reads the named hosts, and the specs of their processes.
func (c *call) hosts() (hosts []hostInfo, procs []proc.Spec, disks []string, err error) {
	if err := c.parse(-1); err != nil {
		return nil, nil, nil, err
	}
	if len(c.args) == 0 {
		return nil, nil, nil, usagef("which host?")
	}
	for _, name := range c.args {
		h, err := loadHost(c.run, name)
		if err != nil {
			return nil, nil, nil, err
		}
		hosts = append(hosts, h)
		for _, p := range h.Procs {
			spec, err := store(c.run).Load(p)
			if err != nil {
				return nil, nil, nil, err
			}
			procs = append(procs, spec)
		}
		disks = append(disks, h.Disks...)
	}
	return hosts, procs, disks, nil
}

// darken takes hosts off the network and ends them: all links first, so that
// nobody hears of anybody's end.
func darken(run disk.Run, hosts []hostInfo) error {
	for _, h := range hosts {
		if h.Kind == isolated && h.Net == "wan" {
			if err := unplug(run, h); err != nil {
				return err
			}
		} else if h.Kind == isolated {
			if err := (host.Lan{Tag: host.Tag(string(run))}).Cut(h.Index); err != nil {
				return err
			}
		}
	}
	for _, h := range hosts {
		if h.Kind == isolated {
			if h.holderAlive() {
				if err := host.End(h.Holder.Pid, 10*time.Second); err != nil {
					return err
				}
			}
			if err := unplug(run, h); err != nil {
				return err
			}
		}
	}
	return nil
}

func hostCrash(c *call) error {
	o := crashFlags(c)
	hosts, procs, disks, err := c.hosts()
	if err != nil {
		return err
	}
	release, err := lockHosts(c.run)
	if err != nil {
		return err
	}
	defer release()
	var alive []string
	for _, p := range procs {
		if p.State() != "gone" {
			alive = append(alive, p.Name)
		}
	}
	if err := darken(c.run, hosts); err != nil {
		return err
	}
	l, err := cut(c.run, procs, disks, *o)
	if err != nil {
		return err
	}
	l.Killed = append([]string{}, alive...) // some ended with their host
	return c.printLoss(l)
}

func hostRestart(c *call) error {
	hosts, procs, _, err := c.hosts()
	if err != nil {
		return err
	}
	release, err := lockHosts(c.run)
	if err != nil {
		return err
	}
	defer release()
	var off []*hostInfo
	for i := range hosts {
		if hosts[i].Kind == isolated && !hosts[i].On {
			off = append(off, &hosts[i])
		}
	}
	if err := powerOn(c.run, off); err != nil {
		return err
	}
	if err := errors.Join(applyBlocks(c.run), applyNetem(c.run)); err != nil {
		return err
	}
	started := []string{}
	for _, p := range procs {
		if p.State() != "gone" {
			continue
		}
		if _, err := startProc(c.run, p); err != nil {
			return err
		}
		started = append(started, p.Name)
	}
	return c.print(map[string]any{"started": started}, "started: "+strings.Join(started, " "))
}

func hostRemove(c *call) error {
	hosts, procs, _, err := c.hosts()
	if err != nil {
		return err
	}
	release, err := lockHosts(c.run)
	if err != nil {
		return err
	}
	defer release()
	if err := darken(c.run, hosts); err != nil {
		return err
	}
	if _, err := cut(c.run, procs, nil, disk.CrashOptions{}); err != nil {
		return err
	}
	for _, p := range procs {
		if err := errors.Join(cpu.Forget(host.Tag(string(c.run)), p.Name), store(c.run).Forget(p.Name)); err != nil {
			return err
		}
	}
	var names []string
	for _, h := range hosts {
		if err := os.Remove(hostPath(c.run, h.Name)); err != nil {
			return err
		}
		if h.Kind == isolated {
			if err := dropBlocks(c.run, h.Name); err != nil {
				return err
			}
		}
		names = append(names, h.Name)
	}
	if slices.ContainsFunc(hosts, func(h hostInfo) bool { return h.Kind == isolated }) {
		if err := writeNames(c.run); err != nil {
			return err
		}
	}
	return c.print(map[string][]string{"removed": names}, "gone: "+strings.Join(names, ", ")+"; disks stay")
}

func hostList(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	all, err := allHosts(c.run)
	if err != nil {
		return err
	}
	var lines []string
	for _, h := range all {
		power := map[bool]string{true: "on", false: "off"}[h.On]
		lines = append(lines, fmt.Sprintf("%-12s %-9s %-3s %-15s processes %s, disks %s", h.Name, h.Kind, power, h.Address, strings.Join(h.Procs, " "), strings.Join(h.Disks, " ")))
	}
	return c.print(all, strings.Join(lines, "\n"))
}

// removeHosts ends all hosts of a run directory, and whatever network is left of them.
func removeHosts(run disk.Run) error {
	all, err := allHosts(run)
	if err != nil {
		return err
	}
	failed := []error{darken(run, all)}
	if os.Geteuid() == 0 {
		failed = append(failed, host.RemoveAll(string(run)))
	}
	return errors.Join(failed...)
}
