// SPDX-License-Identifier: Apache-2.0

// Package proc starts processes that outlive the command that started them, and
// kills, stops and restarts them. What it knows is in files, so any later
// command finds it; a pid counts only together with its start time.
package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Spec is how a process is started, kept as proc.json in its directory.
type Spec struct {
	Name  string   `json:"name"`
	Host  string   `json:"host,omitempty"`
	Disk  string   `json:"disk,omitempty"`
	Clock string   `json:"clock,omitempty"`
	Dir   string   `json:"dir"`
	Args  []string `json:"args"`
	CPU   float64  `json:"cpu,omitempty"` // processors it is started with, 0 = all
	Env   []string `json:"env"`           // added to the environment of whoever starts it
	Pid   int      `json:"pid"`
	Start uint64   `json:"start_ticks"` // of the kernel, tells a reused pid
}

// Store is the directory of a run's processes.
type Store string

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (s Store) dir(name string) string { return filepath.Join(string(s), name) }

// Load reads one process.
func (s Store) Load(name string) (Spec, error) {
	var p Spec
	if !validName.MatchString(name) {
		return p, fmt.Errorf("bad process name %q: letters, digits, dot, dash and underscore, at most 63", name)
	}
	b, err := os.ReadFile(filepath.Join(s.dir(name), "proc.json"))
	if errors.Is(err, os.ErrNotExist) {
		return p, fmt.Errorf("no process %q; `fi proc list` shows what there is", name)
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(b, &p)
}

func (s Store) save(p Spec) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir(p.Name), "proc.json")
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// List returns all processes, by name.
func (s Store) List() ([]Spec, error) {
	names, err := os.ReadDir(string(s))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Spec
	for _, n := range names {
		if p, err := s.Load(n.Name()); err == nil {
			all = append(all, p)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, nil
}

// stat reads state and start time from /proc.
func stat(pid int) (state string, start uint64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])
	if len(f) < 20 {
		return "", 0, fmt.Errorf("unreadable /proc/%d/stat", pid)
	}
	start, err = strconv.ParseUint(f[19], 10, 64)
	return f[0], start, err
}

// State is "running", "stopped" or "gone".
func (p Spec) State() string {
	state, start, err := stat(p.Pid)
	switch {
	case err != nil || start != p.Start || state == "Z" || state == "X":
		return "gone"
	case state == "T":
		return "stopped"
	}
	return "running"
}

// LogPath is where standard output and error go.
func (s Store) LogPath(name string) string { return filepath.Join(s.dir(name), "output.log") }

// A Place is where a process is started, if not here: it may change what is
// run, and runs it.
type Place interface {
	Command(args []string) ([]string, error)
	Start(cmd *exec.Cmd) error
}

// Start starts a process in a session of its own, so that it gets its own share
// of the CPU and no signal of ours. place is nil for this machine itself.
func (s Store) Start(p Spec, place Place) (Spec, error) {
	if !validName.MatchString(p.Name) {
		return p, fmt.Errorf("bad process name %q: letters, digits, dot, dash and underscore, at most 63", p.Name)
	}
	if len(p.Args) == 0 {
		return p, errors.New("no command to start")
	}
	if old, err := s.Load(p.Name); err == nil && old.State() != "gone" {
		return p, fmt.Errorf("process %q is %s already (pid %d)", p.Name, old.State(), old.Pid)
	}
	if err := os.MkdirAll(s.dir(p.Name), 0o700); err != nil {
		return p, err
	}
	log, err := os.OpenFile(s.LogPath(p.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return p, err
	}
	defer log.Close()
	args := p.Args
	if place != nil {
		if args, err = place.Command(args); err != nil {
			return p, err
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	start := cmd.Start
	if place != nil {
		start = func() error { return place.Start(cmd) }
	}
	if err := start(); err != nil {
		return p, fmt.Errorf("start %s: %w", p.Args[0], err)
	}
	p.Pid = cmd.Process.Pid
	if _, p.Start, err = stat(p.Pid); err != nil {
		return p, err
	}
	cmd.Process.Release()
	return p, s.save(p)
}

// Identify completes the identity of a process that somebody else started.
func Identify(name string, pid int) (Spec, error) {
	_, start, err := stat(pid)
	return Spec{Name: name, Pid: pid, Start: start}, err
}

// Signal sends a signal to exactly this process.
func (p Spec) Signal(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.Pid, 0)
	if err != nil {
		return p.gone()
	}
	defer unix.Close(fd)
	if p.State() == "gone" { // looked up after the descriptor was taken
		return p.gone()
	}
	return unix.PidfdSendSignal(fd, unix.Signal(sig), nil, 0)
}

func (p Spec) gone() error { return fmt.Errorf("process %q (pid %d) is gone", p.Name, p.Pid) }

// Wait waits until the process is gone; false: it is not after so long.
func (p Spec) Wait(limit time.Duration) bool {
	fd, err := unix.PidfdOpen(p.Pid, 0)
	if err != nil || p.State() == "gone" {
		if err == nil {
			unix.Close(fd)
		}
		return true
	}
	defer unix.Close(fd)
	for deadline := time.Now().Add(limit); ; {
		left := time.Until(deadline)
		if left <= 0 {
			return p.State() == "gone"
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, int(left.Milliseconds())+1); n > 0 && err == nil {
			return true
		}
	}
}

// Crash kills the process, whatever it does, and waits until it is gone. A
// process that is gone already is no error.
func (p Spec) Crash(limit time.Duration) error {
	if p.State() == "gone" {
		return nil
	}
	if err := p.Signal(syscall.SIGKILL); err != nil && p.State() != "gone" {
		return err
	}
	if !p.Wait(limit) {
		return fmt.Errorf("process %q (pid %d) does not die within %v", p.Name, p.Pid, limit)
	}
	return nil
}

// Forget removes what is known about a process that is gone.
func (s Store) Forget(name string) error { return os.RemoveAll(s.dir(name)) }
