// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cad/failure-injector/daemon"
	"cad/failure-injector/disk"
	"cad/failure-injector/disk/control"
	"cad/failure-injector/disk/latency"
	"cad/failure-injector/disk/lossfs"
	"cad/failure-injector/disk/preload"
	"cad/failure-injector/disk/remote"
)

// A backend is what the disk verbs need of one.
type backend interface {
	Control() (*control.Control, error)
	Env() ([]string, error)
	Sync() error
	Crash(disk.CrashOptions) (disk.Crash, error)
	Destroy(force bool) error
	Stat() (any, error)
}

var diskVerbs = []verb{
	{"create", "NAME --backend preload|lossfs --dir LIVE [--mode ext4|strict] [--profile P] [--seed N]; lossfs: [--size 4GiB] [--write-back D] [--log N]", "make a disk of LIVE; what is there already is durable", diskCreate},
	{"env", "NAME", "KEY=VALUE lines for the environment of a process that lives on the disk", diskEnv},
	{"latency", "NAME --op read|write|fsync|open|meta|trunc (--const D | --profile P)", "how long an operation takes at least, from now on", diskLatency},
	{"fault", "NAME [--eio-fsync N] [--eio-read N] [--eio-write N] [--short-write N] [--times K] [--enospc on|off] [--freeze on|off] [--clear]", "make the Nth operation from now fail (K times), or all that need space, or make all wait", diskFault},
	{"sync", "NAME", "make everything on the disk durable, also what processes outside wrote", diskSync},
	{"stat", "NAME", "operations seen, delays and faults in force, what is not durable", diskStat},
	{"crash", "NAME... [--torn] [--seed N] [--wait D] [--force]", "cut the power: what was not synced is gone when this returns", diskCrash},
	{"destroy", "NAME [--force]", "forget the disk; LIVE stays as it is", diskDestroy},
	{"trigger", "NAME --before|--after OP --path GLOB [--nth N] --action crash|eio|freeze, or --clear", "lossfs: act at a chosen operation, once", diskTrigger},
	{"corrupt", "NAME --path FILE --offset N --length N [--seed N]", "lossfs: flip a bit in each byte of a range, live and durable", diskCorrupt},
	{"log", "NAME", "lossfs: the last operations, oldest first", diskLog},
	{"list", "", "the disks of the run directory", diskList},
}

func openDisk(c *call, n int) (backend, disk.Spec, error) {
	if err := c.parse(n); err != nil {
		return nil, disk.Spec{}, err
	}
	spec, err := c.run.Load(c.args[0])
	if err != nil {
		return nil, spec, err
	}
	switch spec.Backend {
	case "preload":
		return preload.Open(c.run, spec), spec, nil
	case "lossfs":
		return remote.Open(c.run, spec), spec, nil
	}
	return nil, spec, fmt.Errorf("disk %q has backend %q, unknown to this fi", spec.Name, spec.Backend)
}

func diskCreate(c *call) error {
	var spec disk.Spec
	var profile string
	c.flags.StringVar(&spec.Backend, "backend", "preload", "")
	c.flags.StringVar(&spec.Live, "dir", "", "")
	c.flags.StringVar(&spec.Mode, "mode", disk.Ext4, "")
	c.flags.StringVar(&profile, "profile", "none", "")
	c.flags.Uint64Var(&spec.Seed, "seed", 1, "")
	var options lossfs.Options
	c.flags.Func("size", "", func(s string) (err error) {
		options.Capacity, err = parseSize(s)
		return err
	})
	c.flags.DurationVar(&options.WriteBack, "write-back", 0, "")
	c.flags.IntVar(&options.LogSize, "log", 0, "")
	if err := c.parse(1); err != nil {
		return err
	}
	spec.Name, spec.Created = c.args[0], time.Now().UTC().Truncate(time.Second)
	if spec.Live == "" {
		return usagef("--dir is missing: the directory that becomes the disk")
	}
	if spec.Mode != disk.Ext4 && spec.Mode != disk.Strict {
		return usagef("no mode %q; there are: ext4, strict", spec.Mode)
	}
	p, err := latency.Named(profile)
	if err != nil {
		return usagef("%v", err)
	}
	var d backend
	switch spec.Backend {
	case "preload":
		if options != (lossfs.Options{}) {
			return usagef("--size, --write-back and --log are for --backend lossfs")
		}
		d, err = preload.Create(c.run, spec)
	case "lossfs":
		d, err = remote.Create(c.run, spec, options)
	default:
		return usagef("no backend %q; there are: preload, lossfs", spec.Backend)
	}
	if err != nil {
		return err
	}
	if err := applyProfile(d, control.Fsync, p); err != nil {
		return err
	}
	if spec, err = c.run.Load(spec.Name); err != nil {
		return err
	}
	return c.print(spec, fmt.Sprintf("disk %s (%s, %s) at %s", spec.Name, spec.Backend, spec.Mode, spec.Live))
}

func withControl(d backend, f func(*control.Control) error) error {
	ctl, err := d.Control()
	if err != nil {
		return err
	}
	defer ctl.Close()
	return f(ctl)
}

func applyProfile(d backend, op control.Op, p latency.Profile) error {
	return withControl(d, func(ctl *control.Control) error {
		ctl.SetLatency(op, p.Table)
		if op == control.Fsync {
			ctl.SetRealFsync(p.RealFsync)
		}
		return nil
	})
}

func diskEnv(c *call) error {
	d, _, err := openDisk(c, 1)
	if err != nil {
		return err
	}
	env, err := d.Env()
	if err != nil {
		return err
	}
	return c.printEnv(env)
}

// printEnv shows what a process needs in its environment.
func (c *call) printEnv(env []string) error {
	vars := map[string]string{}
	for _, e := range env {
		k, v, _ := strings.Cut(e, "=")
		vars[k] = v
	}
	if !c.json && len(env) == 0 {
		return nil
	}
	return c.print(vars, strings.Join(env, "\n"))
}

func diskLatency(c *call) error {
	op := c.flags.String("op", "fsync", "")
	constant := c.flags.Duration("const", -1, "")
	profile := c.flags.String("profile", "", "")
	d, spec, err := openDisk(c, 1)
	if err != nil {
		return err
	}
	o, err := control.ParseOp(*op)
	if err != nil {
		return usagef("%v", err)
	}
	if (*constant >= 0) == (*profile != "") {
		return usagef("give one of --const and --profile (%s)", strings.Join(latency.Names(), ", "))
	}
	p := latency.Profile{Name: constant.String(), Table: latency.Const(*constant)}
	if *profile != "" {
		if p, err = latency.Named(*profile); err != nil {
			return usagef("%v", err)
		}
		if p.RealFsync && o != control.Fsync {
			return usagef("profile %s is for --op fsync", p.Name)
		}
	}
	if err := applyProfile(d, o, p); err != nil {
		return err
	}
	return c.print(map[string]string{"name": spec.Name, "op": o.String(), "latency": p.Name},
		fmt.Sprintf("disk %s: %s takes %s", spec.Name, o, p.Name))
}

func onOff(s string) (bool, error) {
	switch s {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, usagef("%q is neither on nor off", s)
}

func diskFault(c *call) error {
	nth := []struct {
		flag  string
		op    control.Op
		errno unix.Errno
		n     *uint64
	}{
		{"eio-fsync", control.Fsync, unix.EIO, nil},
		{"eio-read", control.Read, unix.EIO, nil},
		{"eio-write", control.Write, unix.EIO, nil},
		{"short-write", control.Write, 0, nil},
	}
	for i := range nth {
		nth[i].n = c.flags.Uint64(nth[i].flag, 0, "")
	}
	times := c.flags.Uint64("times", 1, "")
	enospc := c.flags.String("enospc", "", "")
	freeze := c.flags.String("freeze", "", "")
	clearAll := c.flags.Bool("clear", false, "")
	d, spec, err := openDisk(c, 1)
	if err != nil {
		return err
	}
	done := 0
	err = withControl(d, func(ctl *control.Control) error {
		if *clearAll {
			done++
			ctl.Heal()
		}
		for _, f := range nth {
			if *f.n > 0 {
				done++
				ctl.FailNth(f.op, *f.n, *times, f.errno)
			}
		}
		for _, s := range []struct {
			value string
			set   func(bool)
		}{{*enospc, ctl.SetNoSpace}, {*freeze, ctl.SetFreeze}} {
			if s.value != "" {
				on, err := onOff(s.value)
				if err != nil {
					return err
				}
				done++
				s.set(on)
			}
		}
		if done == 0 {
			return usagef("which fault?")
		}
		return c.print(struct {
			Name string `json:"name"`
			control.Stat
		}{spec.Name, ctl.Stat()}, fmt.Sprintf("disk %s: %d settings changed", spec.Name, done))
	})
	return err
}

func diskSync(c *call) error {
	d, spec, err := openDisk(c, 1)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := d.Sync(); err != nil {
		return err
	}
	took := float64(time.Since(start).Microseconds()) / 1000
	return c.print(map[string]any{"name": spec.Name, "took_ms": took}, fmt.Sprintf("disk %s: all durable (%.1f ms)", spec.Name, took))
}

func diskStat(c *call) error {
	d, spec, err := openDisk(c, 1)
	if err != nil {
		return err
	}
	return withControl(d, func(ctl *control.Control) error {
		stat := map[string]any{"disk": spec, "control": ctl.Stat()}
		state, err := d.Stat()
		if err != nil {
			return err
		}
		stat["state"] = state
		text := fmt.Sprintf("%s (%s, %s) at %s\n", spec.Name, spec.Backend, spec.Mode, spec.Live)
		s := ctl.Stat()
		for op := control.Op(0); op < control.Ops; op++ {
			o := s.Ops[op.String()]
			text += fmt.Sprintf("  %-5s %10d ops %14d bytes  median latency %-8v failed on purpose %d\n", op, o.Count, o.Bytes, time.Duration(o.MedianNs), o.Failed)
		}
		text += fmt.Sprintf("  freeze %v, enospc %v", s.Freeze, s.NoSpace)
		return c.print(stat, text)
	})
}

func diskCrash(c *call) error {
	var o disk.CrashOptions
	c.flags.BoolVar(&o.Torn, "torn", false, "")
	c.flags.Uint64Var(&o.Seed, "seed", 1, "")
	c.flags.BoolVar(&o.Force, "force", false, "")
	c.flags.DurationVar(&o.Wait, "wait", 2*time.Second, "")
	if err := c.parse(-1); err != nil {
		return err
	}
	if len(c.args) == 0 {
		return usagef("which disk?")
	}
	all, err := crashDisks(c.run, c.args, o)
	var lines []string
	for _, r := range all {
		text := fmt.Sprintf("power lost on disk %s: %d files and %d bytes gone, %d files went back, %d names are back (%.1f ms)",
			r.Name, r.FilesLost, r.BytesLost, r.FilesReverted, r.FilesRestored, r.Millis)
		if r.Torn {
			text += fmt.Sprintf("; %d unsynced bytes survived; seed %d", r.BytesTorn, r.Seed)
		}
		lines = append(lines, text)
	}
	var answer any = map[string]any{"disks": all}
	if len(c.args) == 1 && len(all) == 1 {
		answer = all[0]
	}
	if len(all) > 0 {
		err = errors.Join(err, c.print(answer, strings.Join(lines, "\n")))
	}
	return err
}

// crashDisks takes the power from several disks at once. Each gets a seed of
// its own. Disks that could be crashed are reported even if others could not.
func crashDisks(run disk.Run, names []string, o disk.CrashOptions) ([]disk.Crash, error) {
	disks := make([]backend, len(names))
	for k, name := range names { // all are there, or no power is lost
		spec, err := run.Load(name)
		if err != nil {
			return nil, err
		}
		disks[k] = backendOf(run, spec)
	}
	reports, failed := make([]disk.Crash, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for k, d := range disks {
		each := o
		each.Seed += uint64(k)
		all.Go(func() { reports[k], failed[k] = d.Crash(each) })
	}
	all.Wait()
	done := []disk.Crash{}
	for k, r := range reports {
		if failed[k] == nil {
			done = append(done, r)
		}
	}
	return done, errors.Join(failed...)
}

func diskDestroy(c *call) error {
	force := c.flags.Bool("force", false, "")
	d, spec, err := openDisk(c, 1)
	if err != nil {
		return err
	}
	if err := d.Destroy(*force); err != nil {
		return err
	}
	os.Remove(c.run.Dir(spec.Name))
	return c.print(map[string]string{"name": spec.Name}, "disk "+spec.Name+" is gone; its files stay at "+spec.Live)
}

func diskList(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	all, err := c.run.List()
	if err != nil {
		return err
	}
	if all == nil {
		all = []disk.Spec{}
	}
	var lines []string
	for _, s := range all {
		lines = append(lines, fmt.Sprintf("%-16s %-8s %-6s %s", s.Name, s.Backend, s.Mode, s.Live))
	}
	return c.print(all, strings.Join(lines, "\n"))
}

func parseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMGiB")
	n, err := strconv.ParseInt(digits, 10, 40)
	shift, ok := map[string]int{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[s[len(digits):]]
	if err != nil || !ok || n <= 0 {
		return 0, fmt.Errorf("%q is no size; write 512MiB or 4GiB", s)
	}
	return n << shift, nil
}

func openLossfs(c *call) (*remote.Disk, disk.Spec, error) {
	d, spec, err := openDisk(c, 1)
	if err != nil {
		return nil, spec, err
	}
	r, ok := d.(*remote.Disk)
	if !ok {
		return nil, spec, fmt.Errorf("%w: disk %s has backend %s, which sees each operation only in the process that does it; create it with --backend lossfs", errRefused, spec.Name, spec.Backend)
	}
	return r, spec, nil
}

func diskTrigger(c *call) error {
	t := lossfs.Trigger{}
	before := c.flags.String("before", "", "")
	after := c.flags.String("after", "", "")
	c.flags.StringVar(&t.Path, "path", "*", "")
	c.flags.Uint64Var(&t.Nth, "nth", 1, "")
	c.flags.StringVar(&t.Action, "action", "", "")
	clearAll := c.flags.Bool("clear", false, "")
	d, spec, err := openLossfs(c)
	if err != nil {
		return err
	}
	if *clearAll {
		if err := d.ClearTriggers(); err != nil {
			return err
		}
		return c.print(map[string]string{"name": spec.Name}, "disk "+spec.Name+": no triggers")
	}
	if (*before == "") == (*after == "") {
		return usagef("give one of --before OP and --after OP")
	}
	t.Before, t.Op = *before != "", *before+*after
	if err := t.Check(); err != nil {
		return usagef("%v", err)
	}
	if err := d.Trigger(t); err != nil {
		return err
	}
	return c.print(t, fmt.Sprintf("disk %s: %s at operation %d of kind %s on %s", spec.Name, t.Action, t.Nth, t.Op, t.Path))
}

func diskCorrupt(c *call) error {
	var r daemon.Corrupt
	c.flags.StringVar(&r.File, "path", "", "")
	c.flags.Int64Var(&r.Start, "offset", 0, "")
	c.flags.Int64Var(&r.Len, "length", 1, "")
	c.flags.Uint64Var(&r.Seed, "seed", 1, "")
	d, spec, err := openLossfs(c)
	if err != nil {
		return err
	}
	if r.File == "" {
		return usagef("--path is missing: the file, relative to the disk")
	}
	if err := d.Corrupt(r); err != nil {
		return err
	}
	return c.print(map[string]any{"name": spec.Name, "path": r.File, "bytes": r.Len, "seed": r.Seed},
		fmt.Sprintf("disk %s: %d bytes of %s damaged; seed %d", spec.Name, r.Len, r.File, r.Seed))
}

func diskLog(c *call) error {
	d, _, err := openLossfs(c)
	if err != nil {
		return err
	}
	ops, err := d.Log()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, o := range ops {
		fmt.Fprintf(&b, "%8d %d.%09d %-9s %s %s @%d +%d %s\n", o.Seq, o.At/1e9, o.At%1e9, o.Kind, o.Path, o.To, o.Offset, o.Size, o.Error)
	}
	return c.print(ops, strings.TrimRight(b.String(), "\n"))
}
