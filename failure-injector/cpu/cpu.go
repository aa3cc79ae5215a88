// SPDX-License-Identifier: Apache-2.0

// Package cpu limits how much of the processors a process gets, by a control
// group of the kernel (version 1 or 2).
package cpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A group hierarchy that can limit the CPU.
type hierarchy struct {
	root string
	v2   bool
}

// find looks for one that is mounted.
func find() (hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return hierarchy{}, err
	}
	for _, line := range strings.Split(string(mounts), "\n") {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		switch g[0] {
		case "cgroup":
			for _, o := range strings.Split(g[2], ",") {
				if o == "cpu" {
					return hierarchy{root: f[4]}, nil
				}
			}
		case "cgroup2":
			b, _ := os.ReadFile(filepath.Join(f[4], "cgroup.subtree_control"))
			for _, c := range strings.Fields(string(b)) {
				if c == "cpu" {
					return hierarchy{root: f[4], v2: true}, nil
				}
			}
		}
	}
	return hierarchy{}, errors.New("no control groups with the cpu controller are mounted")
}

// Check says why processes cannot be limited here.
func Check() error {
	h, err := find()
	if err == nil && os.Geteuid() != 0 {
		err = errors.New("making control groups needs root")
	}
	if err != nil {
		return err
	}
	probe := filepath.Join(h.root, fmt.Sprintf("fi-probe-%d", os.Getpid()))
	if err := os.Mkdir(probe, 0o755); err != nil {
		return err
	}
	return os.Remove(probe)
}

const prefix = "fi-"

func (h hierarchy) group(tag, name string) string {
	return filepath.Join(h.root, prefix+tag+"-"+name)
}

// Limit gives the processes of a session so many processors (0.5 = half of
// one) to share; 0 = no limit. tag is of the run, name of the session's leader.
func Limit(tag, name string, leader int, processors float64) error {
	const least, most = 0.01, 1024
	if processors != 0 && !(processors >= least && processors <= most) {
		return fmt.Errorf("a limit of %v processors is outside of %v to %v", processors, least, most)
	}
	h, err := find()
	if err != nil {
		return err
	}
	group := h.group(tag, name)
	if processors == 0 {
		if _, err := os.Stat(group); errors.Is(err, os.ErrNotExist) {
			return nil // it never had one
		}
	}
	if err := os.MkdirAll(group, 0o755); err != nil {
		return err
	}
	// Short periods, so that a limited process is slow and not jerky; a kernel
	// gives no less than a millisecond of each.
	period := 10 * time.Millisecond
	if processors < 0.1 {
		period = 100 * time.Millisecond
	}
	quota := int64(processors * float64(period.Microseconds()))
	write := func(file, value string) {
		if err == nil {
			err = os.WriteFile(filepath.Join(group, file), []byte(value), 0o644)
		}
	}
	switch {
	case h.v2 && processors == 0:
		write("cpu.max", "max")
	case h.v2:
		write("cpu.max", fmt.Sprintf("%d %d", quota, period.Microseconds()))
	case processors == 0:
		write("cpu.cfs_quota_us", "-1")
	default:
		write("cpu.cfs_quota_us", "-1") // any period fits that
		write("cpu.cfs_period_us", strconv.FormatInt(period.Microseconds(), 10))
		write("cpu.cfs_quota_us", strconv.FormatInt(quota, 10))
	}
	if err != nil {
		return err
	}
	return h.move(group, leader)
}

// move puts a whole session into a group. New children are born in their
// parent's group, so it looks again until it finds nobody outside.
func (h hierarchy) move(group string, leader int) error {
	for range 10 {
		inside, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err != nil {
			return err
		}
		in := map[string]bool{}
		for _, pid := range strings.Fields(string(inside)) {
			in[pid] = true
		}
		moved := false
		stats, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			return err
		}
		for _, path := range stats {
			pid := strings.Split(path, "/")[2]
			b, err := os.ReadFile(path)
			if err != nil || in[pid] {
				continue // it has ended, or is there
			}
			f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])
			const state, session = 0, 3
			if len(f) <= session || f[session] != strconv.Itoa(leader) || f[state] == "Z" {
				continue
			}
			if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(pid), 0o644); err == nil {
				moved = true
			}
		}
		if !moved {
			return nil
		}
	}
	return errors.New("its processes fork faster than they can be put into a control group")
}

// Forget removes the group of a process that is gone; without it, nothing.
func Forget(tag, name string) error { return remove(tag + "-" + name) }

// RemoveAll removes all groups of a run.
func RemoveAll(tag string) error { return remove(tag + "-*") }

func remove(pattern string) error {
	h, err := find()
	if err != nil {
		return nil // then there is none
	}
	groups, err := filepath.Glob(filepath.Join(h.root, prefix+pattern))
	if err != nil {
		return err
	}
	var failed []error
	for _, g := range groups {
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(2 * time.Millisecond) {
			// A child may have outlived its parent: it goes on outside.
			left, _ := os.ReadFile(filepath.Join(g, "cgroup.procs"))
			for _, pid := range strings.Fields(string(left)) {
				os.WriteFile(filepath.Join(h.root, "cgroup.procs"), []byte(pid), 0o644)
			}
			err := os.Remove(g)
			if err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			if time.Now().After(deadline) { // the kernel lets go of the dead a little later
				failed = append(failed, err)
				break
			}
		}
	}
	return errors.Join(failed...)
}
