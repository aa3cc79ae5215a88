// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cad/failure-injector/clock"
	"cad/failure-injector/cpu"
	"cad/failure-injector/disk"
	"cad/failure-injector/host"
	"cad/failure-injector/proc"
)

var procVerbs = []verb{
	{"start", "NAME [--host H] [--disk D] [--clock C] [--cpu X] [--dir DIR] -- COMMAND...", "start a process, on a disk and with clocks if they are named; it outlives this command", procStart},
	{"kill", "NAME [--signal TERM] [--wait D]", "send a signal and wait until the process is gone", procKill},
	{"stop", "NAME", "pause (SIGSTOP)", procStop},
	{"cont", "NAME", "go on (SIGCONT)", procCont},
	{"crash", "NAME [--power [--torn] [--seed N]]", "SIGKILL and wait; with --power its disk loses power too", procCrash},
	{"cpu", "NAME --limit X|none", "give it and its children so many processors (0.5 = half of one) until heal", procCPU},
	{"restart", "NAME", "start again as it was started; it must be gone", procRestart},
	{"remove", "NAME", "kill it if it runs, and forget it", procRemove},
	{"list", "", "all processes", procList},
}

func store(run disk.Run) proc.Store { return proc.Store(filepath.Join(string(run), "procs")) }

// processView is what the verbs answer.
type processView struct {
	proc.Spec
	State string `json:"state"`
	Log   string `json:"log"`
}

func (c *call) printProc(p proc.Spec) error {
	v := processView{p, p.State(), store(c.run).LogPath(p.Name)}
	return c.print(v, fmt.Sprintf("process %s (pid %d) is %s; output in %s", p.Name, p.Pid, v.State, v.Log))
}

func procStart(c *call) error {
	var p proc.Spec
	c.flags.StringVar(&p.Host, "host", "", "")
	c.flags.StringVar(&p.Disk, "disk", "", "")
	c.flags.StringVar(&p.Clock, "clock", "", "")
	c.flags.StringVar(&p.Dir, "dir", "", "")
	c.flags.Float64Var(&p.CPU, "cpu", 0, "")
	p.Args = c.commandAfter()
	if err := c.parse(1); err != nil {
		return err
	}
	if len(p.Args) == 0 {
		return usagef("the command is missing: fi proc start NAME -- COMMAND...")
	}
	p.Name = c.args[0]
	if p.Dir == "" {
		p.Dir, _ = os.Getwd()
	}
	if p.Disk != "" {
		spec, err := c.run.Load(p.Disk)
		if err != nil {
			return err
		}
		if p.Env, err = backendOf(c.run, spec).Env(); err != nil {
			return err
		}
	}
	if p.Clock != "" {
		k, err := clock.Open(c.run, p.Clock)
		if err != nil {
			return err
		}
		env, err := k.Env()
		if err != nil {
			return err
		}
		p.Env = joinEnv(p.Env, env)
	}
	p, err := startProc(c.run, p)
	if err != nil {
		return err
	}
	return c.printProc(p)
}

// startProc starts a process where its host is.
func startProc(run disk.Run, p proc.Spec) (proc.Spec, error) {
	var where proc.Place
	if p.Host != "" {
		h, err := loadHost(run, p.Host)
		if err != nil {
			return p, err
		}
		if h.Kind != loopback {
			where = place{h, namesFile(run)}
		}
	}
	if p.CPU != 0 { // before there is a process that would have to be ended
		if err := canLimit(); err != nil {
			return p, err
		}
	}
	p, err := store(run).Start(p, where)
	if err == nil && p.CPU != 0 {
		err = cpu.Limit(host.Tag(string(run)), p.Name, p.Pid, p.CPU)
	}
	return p, err
}

func canLimit() error {
	if err := cpu.Check(); err != nil {
		return fmt.Errorf("%w: limiting the CPU: %w", errRefused, err)
	}
	return nil
}

func procCPU(c *call) error {
	limit := c.flags.String("limit", "", "")
	p, err := c.proc()
	if err != nil {
		return err
	}
	processors := 0.0
	if *limit != "none" {
		if processors, err = strconv.ParseFloat(*limit, 64); err != nil || processors <= 0 {
			return usagef("--limit is a number of processors, like 0.5, or none")
		}
	}
	if err := canLimit(); err != nil {
		return err
	}
	if p.State() == "gone" {
		return fmt.Errorf("process %q is gone; `fi proc restart %s`", p.Name, p.Name)
	}
	if err := cpu.Limit(host.Tag(string(c.run)), p.Name, p.Pid, processors); err != nil {
		return err
	}
	return c.printProc(p)
}

func (c *call) proc() (proc.Spec, error) {
	if err := c.parse(1); err != nil {
		return proc.Spec{}, err
	}
	return store(c.run).Load(c.args[0])
}

func procKill(c *call) error {
	name := c.flags.String("signal", "TERM", "")
	wait := c.flags.Duration("wait", 10*time.Second, "")
	p, err := c.proc()
	if err != nil {
		return err
	}
	sig := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(*name), "SIG"))
	if sig == 0 {
		return usagef("no signal %q", *name)
	}
	if err := p.Signal(sig); err != nil {
		return err
	}
	if !p.Wait(*wait) {
		return fmt.Errorf("process %q (pid %d) is still there %v after signal %s", p.Name, p.Pid, *wait, *name)
	}
	return c.printProc(p)
}

func (c *call) signal(sig syscall.Signal, want string) error {
	p, err := c.proc()
	if err != nil {
		return err
	}
	if err := p.Signal(sig); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); p.State() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %q (pid %d) is %s, not %s", p.Name, p.Pid, p.State(), want)
		}
	}
	return c.printProc(p)
}

func procStop(c *call) error { return c.signal(syscall.SIGSTOP, "stopped") }
func procCont(c *call) error { return c.signal(syscall.SIGCONT, "running") }

// powerLoss is what a crash with --power did.
type powerLoss struct {
	Killed []string     `json:"killed"`
	Disks  []disk.Crash `json:"disks"`
}

// cut kills processes and then takes the power from disks. (Hosts with a network
// of their own lose their links before: see hostCrash.)
func cut(run disk.Run, procs []proc.Spec, disks []string, o disk.CrashOptions) (powerLoss, error) {
	loss := powerLoss{Killed: []string{}, Disks: []disk.Crash{}}
	for _, p := range procs { // all of them first: none is to see another's end
		if p.State() != "gone" {
			if err := p.Signal(syscall.SIGKILL); err != nil && p.State() != "gone" {
				return loss, err
			}
			loss.Killed = append(loss.Killed, p.Name)
		}
	}
	for _, p := range procs {
		if err := p.Crash(10 * time.Second); err != nil {
			return loss, err
		}
	}
	var err error
	loss.Disks, err = crashDisks(run, disks, o)
	return loss, err
}

func (c *call) printLoss(l powerLoss) error {
	text := fmt.Sprintf("killed: %s", strings.Join(l.Killed, " "))
	for _, d := range l.Disks {
		text += fmt.Sprintf("\npower lost on disk %s: %d files and %d bytes gone", d.Name, d.FilesLost, d.BytesLost)
	}
	return c.print(l, text)
}

func crashFlags(c *call) *disk.CrashOptions {
	o := &disk.CrashOptions{Wait: 5 * time.Second}
	c.flags.BoolVar(&o.Torn, "torn", false, "")
	c.flags.Uint64Var(&o.Seed, "seed", 1, "")
	return o
}

func procCrash(c *call) error {
	power := c.flags.Bool("power", false, "")
	o := crashFlags(c)
	p, err := c.proc()
	if err != nil {
		return err
	}
	var disks []string
	if *power {
		if p.Disk == "" {
			return fmt.Errorf("process %q lives on no disk: start it with --disk", p.Name)
		}
		disks = append(disks, p.Disk)
	}
	l, err := cut(c.run, []proc.Spec{p}, disks, *o)
	if err != nil {
		return err
	}
	return c.printLoss(l)
}

func procRestart(c *call) error {
	p, err := c.proc()
	if err != nil {
		return err
	}
	if p, err = startProc(c.run, p); err != nil {
		return err
	}
	return c.printProc(p)
}

func procRemove(c *call) error {
	p, err := c.proc()
	if err != nil {
		return err
	}
	if err := p.Crash(10 * time.Second); err != nil {
		return err
	}
	if err := errors.Join(cpu.Forget(host.Tag(string(c.run)), p.Name), store(c.run).Forget(p.Name)); err != nil {
		return err
	}
	return c.print(map[string]string{"name": p.Name}, "process "+p.Name+" is forgotten")
}

func procList(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	all, err := store(c.run).List()
	if err != nil {
		return err
	}
	views, lines := []processView{}, []string{}
	for _, p := range all {
		views = append(views, processView{p, p.State(), store(c.run).LogPath(p.Name)})
		lines = append(lines, fmt.Sprintf("%-16s %-8s pid %-8d host %s disk %s", p.Name, p.State(), p.Pid, p.Host, p.Disk))
	}
	return c.print(views, strings.Join(lines, "\n"))
}

// removeProcs ends all processes of a run directory.
func removeProcs(run disk.Run) error {
	all, err := store(run).List()
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range all {
		failed = append(failed, p.Crash(10*time.Second))
	}
	return errors.Join(append(failed, cpu.RemoveAll(host.Tag(string(run))))...)
}

// contAll lets every stopped process of a run directory go on, with the
// processors that it was started with.
func contAll(run disk.Run) error {
	all, err := store(run).List()
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range all {
		if p.State() == "stopped" {
			failed = append(failed, p.Signal(syscall.SIGCONT))
		}
		if p.State() != "gone" && cpu.Check() == nil {
			failed = append(failed, cpu.Limit(host.Tag(string(run)), p.Name, p.Pid, p.CPU))
		}
	}
	return errors.Join(failed...)
}
