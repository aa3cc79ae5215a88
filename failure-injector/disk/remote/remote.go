// SPDX-License-Identifier: Apache-2.0

// Package remote is a lossfs disk as the command line sees it: served by the
// daemon of the run directory.
package remote

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"cad/failure-injector/daemon"
	"cad/failure-injector/disk"
	"cad/failure-injector/disk/control"
	"cad/failure-injector/disk/lossfs"
)

// Disk is one lossfs disk.
type Disk struct {
	run  disk.Run
	spec disk.Spec
}

// Create starts the daemon if need be and mounts a new disk.
func Create(run disk.Run, spec disk.Spec, o lossfs.Options) (*Disk, error) {
	if err := os.MkdirAll(spec.Live, 0o755); err != nil {
		return nil, err
	}
	live, err := filepath.Abs(spec.Live)
	if err == nil {
		live, err = filepath.EvalSymlinks(live)
	}
	if err != nil {
		return nil, err
	}
	spec.Live = live
	if err := run.CheckFree(live); err != nil {
		return nil, err
	}
	if err := daemon.Start(run); err != nil {
		return nil, err
	}
	if _, err := run.Reserve(spec.Name); err != nil {
		return nil, err
	}
	d := &Disk{run, spec}
	err = d.call(daemon.Request{Verb: "create", Spec: &spec, Options: &o}, nil)
	if err == nil {
		err = run.Save(spec)
	}
	if err != nil {
		os.RemoveAll(run.Dir(spec.Name))
		return nil, err
	}
	return d, nil
}

// Open finds a disk by its spec.
func Open(run disk.Run, spec disk.Spec) *Disk { return &Disk{run, spec} }

func (d *Disk) call(q daemon.Request, out any) error {
	q.Disk = d.spec.Name
	return daemon.Call(d.run, q, out)
}

// Control opens the disk's control file.
func (d *Disk) Control() (*control.Control, error) {
	return control.Map(filepath.Join(d.run.Dir(d.spec.Name), "control"))
}

// Env is empty: whoever uses the directory lives on the disk.
func (d *Disk) Env() ([]string, error) { return nil, nil }

// Sync makes everything durable.
func (d *Disk) Sync() error { return d.call(daemon.Request{Verb: "sync"}, nil) }

// Crash cuts the power.
func (d *Disk) Crash(o disk.CrashOptions) (disk.Crash, error) {
	var r disk.Crash
	return r, d.call(daemon.Request{Verb: "crash", Crash: &o}, &r)
}

// Stat looks at the volume.
func (d *Disk) Stat() (any, error) {
	var s lossfs.Stat
	return s, d.call(daemon.Request{Verb: "stat"}, &s)
}

// Trigger arms a trigger.
func (d *Disk) Trigger(t lossfs.Trigger) error {
	return d.call(daemon.Request{Verb: "trigger", Trigger: &t}, nil)
}

// ClearTriggers takes all triggers back.
func (d *Disk) ClearTriggers() error { return d.call(daemon.Request{Verb: "untrigger"}, nil) }

// Log returns the last operations.
func (d *Disk) Log() ([]lossfs.Op, error) {
	var l []lossfs.Op
	return l, d.call(daemon.Request{Verb: "log"}, &l)
}

// Corrupt damages a range of a file.
func (d *Disk) Corrupt(c daemon.Corrupt) error {
	return d.call(daemon.Request{Verb: "corrupt", Corrupt: &c}, nil)
}

// Destroy unmounts the disk; also if its daemon is gone. What was on it is gone.
func (d *Disk) Destroy(bool) error {
	err := d.call(daemon.Request{Verb: "destroy"}, nil)
	if err != nil {
		if e := unmountDead(d.spec); e != nil {
			return errors.Join(err, e)
		}
	}
	return os.RemoveAll(d.run.Dir(d.spec.Name))
}

// unmountDead takes away the mount that a killed daemon left, and nothing else.
func unmountDead(spec disk.Spec) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	escaped := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(spec.Live)
	for _, line := range strings.Split(string(mounts), "\n") {
		f := strings.Fields(line)
		if len(f) > 9 && f[4] == escaped && strings.Contains(line, "fuse.lossfs") {
			if err := unix.Unmount(spec.Live, unix.MNT_DETACH); err != nil {
				return fmt.Errorf("unmount %s: %w", spec.Live, err)
			}
		}
	}
	return nil
}
