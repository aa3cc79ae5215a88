// SPDX-License-Identifier: Apache-2.0

package lossfs

import (
	"fmt"
	"path"
	"sync"

	"cad/failure-injector/disk/control"
)

// Actions of a trigger.
const (
	ActCrash  = "crash"  // power off; the operation fails with EIO
	ActEIO    = "eio"    // the operation fails with EIO
	ActFreeze = "freeze" // the disk freezes
)

// A Trigger waits for the Nth operation of a kind on a file and then acts, once.
type Trigger struct {
	Op     string `json:"op"`     // class of operations, or create, rename, unlink, link, mkdir, rmdir, truncate
	Path   string `json:"path"`   // glob; without a slash it is matched with the last component
	Before bool   `json:"before"` // before the operation, else after it
	Nth    uint64 `json:"nth"`
	Action string `json:"action"`
	Seen   uint64 `json:"seen"`
	Fired  bool   `json:"fired"`
	tell   func(path string)
}

// Check says what is wrong with a trigger.
func (t *Trigger) Check() error {
	switch t.Action {
	case ActCrash, ActEIO, ActFreeze:
	default:
		return fmt.Errorf("no action %q; there are: crash, eio, freeze", t.Action)
	}
	if t.Action == ActEIO && !t.Before {
		return fmt.Errorf("action eio is for --before: after an operation its result is known")
	}
	if _, err := path.Match(t.Path, ""); err != nil {
		return fmt.Errorf("bad pattern %q: %w", t.Path, err)
	}
	if !kinds[t.Op] {
		return fmt.Errorf("no operation %q to wait for", t.Op)
	}
	if t.Nth == 0 {
		t.Nth = 1
	}
	return nil
}

var kinds = map[string]bool{
	"read": true, "write": true, "fsync": true, "open": true, "create": true, "rename": true,
	"unlink": true, "link": true, "mkdir": true, "rmdir": true, "symlink": true, "truncate": true, "fallocate": true,
}

func (t *Trigger) matches(kind, p string) bool {
	if t.Op != kind || t.Fired {
		return false
	}
	ok, _ := path.Match(t.Path, p)
	if !ok {
		ok, _ = path.Match(t.Path, path.Base(p))
	}
	return ok
}

// AddTrigger arms a trigger; tell is called when it acts, and must not wait.
func (v *Volume) AddTrigger(t Trigger, tell func(path string)) error {
	t.tell = tell
	if err := t.Check(); err != nil {
		return err
	}
	const limit = 64
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.triggers) >= limit {
		return fmt.Errorf("disk %s has %d triggers, the limit; clear them first", v.Spec.Name, limit)
	}
	v.triggers = append(v.triggers, &t)
	return nil
}

// ClearTriggers takes all triggers back.
func (v *Volume) ClearTriggers() {
	v.mu.Lock()
	v.triggers = nil
	v.mu.Unlock()
}

// An Op is an operation in the log.
type Op struct {
	Seq    uint64 `json:"seq"`
	At     int64  `json:"monotonic_ns"`
	Kind   string `json:"op"`
	Path   string `json:"path"`
	To     string `json:"to,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Error  string `json:"error,omitempty"`
}

// opLog is a ring of the last operations.
type opLog struct {
	mu   sync.Mutex
	ring []Op
	next uint64
}

func newOpLog(size int) *opLog {
	if size <= 0 {
		size = 4096
	}
	return &opLog{ring: make([]Op, size)}
}

func (l *opLog) add(o Op) {
	l.mu.Lock()
	o.Seq, o.At = l.next, control.Now()
	l.ring[l.next%uint64(len(l.ring))] = o
	l.next++
	l.mu.Unlock()
}

// Log returns the last operations, oldest first.
func (v *Volume) Log() []Op {
	l := v.log
	l.mu.Lock()
	defer l.mu.Unlock()
	n := uint64(len(l.ring))
	var out []Op
	for k := max(l.next, n) - n; k < l.next; k++ {
		out = append(out, l.ring[k%n])
	}
	return out
}
