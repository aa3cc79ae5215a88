// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cad/failure-injector/daemon"
	"cad/failure-injector/disk"
	"cad/failure-injector/disk/control"
	"cad/failure-injector/disk/preload"
	"cad/failure-injector/disk/remote"
	"cad/failure-injector/faultlog"
)

// Verbs on a whole run directory.

var groupOrder = []string{"host", "disk", "proc", "net", "clock", "plan", "health", "log", "status", "heal", "down", "daemon", "doctor"}

func backendOf(run disk.Run, spec disk.Spec) backend {
	if spec.Backend == "lossfs" {
		return remote.Open(run, spec)
	}
	return preload.Open(run, spec)
}

func serveDaemon(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	return daemon.Serve(c.run)
}

type diskStatus struct {
	disk.Spec
	Served bool `json:"served"` // false: a lossfs disk whose daemon is gone
}

type status struct {
	Run    string       `json:"run"`
	Daemon int          `json:"daemon_pid"` // 0 = none
	Disks  []diskStatus `json:"disks"`
}

func runStatus(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	s := status{Run: string(c.run), Disks: []diskStatus{}}
	var ping struct{ Pid int }
	served := map[string]bool{}
	if daemon.Call(c.run, daemon.Request{Verb: "ping"}, &ping) == nil {
		s.Daemon = ping.Pid
		var names []string
		if err := daemon.Call(c.run, daemon.Request{Verb: "list"}, &names); err != nil {
			return err
		}
		for _, n := range names {
			served[n] = true
		}
	}
	all, err := c.run.List()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("run directory %s, daemon %d", c.run, s.Daemon)
	for _, d := range all {
		st := diskStatus{d, d.Backend != "lossfs" || served[d.Name]}
		s.Disks = append(s.Disks, st)
		note := ""
		if !st.Served {
			note = " (its daemon is gone; `fi disk destroy` or `fi down --all`)"
		}
		text += fmt.Sprintf("\ndisk %-12s %-8s %-6s %s%s", d.Name, d.Backend, d.Mode, d.Live, note)
	}
	return c.print(s, text)
}

// heal takes every fault, delay and pause back; nothing is restarted or destroyed.
func heal(c *call) error {
	everything := c.flags.Bool("all", false, "")
	if err := c.parse(0); err != nil {
		return err
	}
	if !*everything {
		return usagef("say --all")
	}
	all, err := c.run.List()
	if err != nil {
		return err
	}
	healed := []string{}
	for _, spec := range all {
		d := backendOf(c.run, spec)
		if err := withControl(d, func(ctl *control.Control) error { ctl.Heal(); return nil }); err != nil {
			return err
		}
		if r, ok := d.(*remote.Disk); ok {
			if err := r.ClearTriggers(); err != nil && !errors.Is(err, daemon.ErrNotRunning) {
				return err
			}
		}
		healed = append(healed, spec.Name)
	}
	if err := contAll(c.run); err != nil {
		return err
	}
	if err := errors.Join(healNet(c.run), healClocks(c.run)); err != nil {
		return err
	}
	return c.print(map[string]any{"healed": healed}, "no faults on "+strings.Join(healed, ", "))
}

// down ends everything of the run directory, whatever state it is in.
func down(c *call) error {
	everything := c.flags.Bool("all", false, "")
	if err := c.parse(0); err != nil {
		return err
	}
	if !*everything {
		return usagef("say --all")
	}
	all, err := c.run.List()
	if err != nil {
		return err
	}
	gone := []string{}
	var failed []error
	failed = append(failed, removeHosts(c.run), removeProcs(c.run))
	for _, spec := range all {
		if err := backendOf(c.run, spec).Destroy(true); err != nil {
			failed = append(failed, err)
			continue
		}
		gone = append(gone, spec.Name)
	}
	if err := daemon.Call(c.run, daemon.Request{Verb: "shutdown"}, nil); err != nil && !errors.Is(err, daemon.ErrNotRunning) {
		failed = append(failed, err)
	}
	for deadline := time.Now().Add(10 * time.Second); daemon.Call(c.run, daemon.Request{Verb: "ping"}, nil) == nil; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			failed = append(failed, errors.New("the daemon does not end"))
			break
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for _, f := range []string{"daemon.sock", "daemon.lock", "daemon.log", "lib", "disks", "procs", "hosts", "clocks", faultlog.Name} {
		os.RemoveAll(filepath.Join(string(c.run), f))
	}
	os.Remove(string(c.run)) // if nothing else is in it
	return c.print(map[string]any{"destroyed": gone}, fmt.Sprintf("nothing is left of run directory %s (%d disks destroyed)", c.run, len(gone)))
}
