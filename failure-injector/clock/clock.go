// SPDX-License-Identifier: Apache-2.0

package clock

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cad/failure-injector/disk"
	"cad/failure-injector/internal/unpack"
)

//go:embed shim/libfi-clock.so
var sharedObject []byte

// Which is one of the clocks of a process.
type Which int

// The clocks, in the order of the layout. Others follow one of them.
const (
	Realtime Which = iota
	Monotonic
	Raw
	clocks
)

var (
	names = [clocks]string{"realtime", "monotonic", "raw"}
	ids   = [clocks]int32{unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC, unix.CLOCK_MONOTONIC_RAW}
)

// Parse finds clocks by name; "all" is all of them.
func Parse(s string) ([]Which, error) {
	if s == "all" {
		return []Which{Realtime, Monotonic, Raw}, nil
	}
	for w, n := range names {
		if n == s {
			return []Which{Which(w)}, nil
		}
	}
	return nil, fmt.Errorf("no clock %q; there are: realtime, monotonic, raw, all", s)
}

// ErrBackwards refuses what no kernel does.
var ErrBackwards = errors.New("a monotonic clock does not go back")

// Rates beyond these are wrong by accident.
const minRate, maxRate = 0.01, 100

// Clock is the clocks of some processes.
type Clock struct {
	run  disk.Run
	path string
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func directory(run disk.Run) string { return filepath.Join(string(run), "clocks") }

func now(w Which) int64 {
	var t unix.Timespec
	unix.ClockGettime(ids[w], &t)
	return t.Nano()
}

// Create makes clocks that run like the machine's.
func Create(run disk.Run, name string) (*Clock, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("bad clock name %q: letters, digits, dot, dash and underscore, at most 63", name)
	}
	if err := os.MkdirAll(directory(run), 0o700); err != nil {
		return nil, err
	}
	a := area{magic: magic, version: version, size: uint32(unsafe.Sizeof(area{}))}
	for w := range a.lines[0] {
		t := now(Which(w))
		a.lines[0][w] = line{real: t, shown: t}
	}
	content := unsafe.Slice((*byte)(unsafe.Pointer(&a)), unsafe.Sizeof(a))
	c := &Clock{run, filepath.Join(directory(run), name)}
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("clock %q exists already; `fi clock destroy %s` removes it", name, name)
	}
	if err != nil {
		return nil, err
	}
	_, err = f.Write(content)
	return c, errors.Join(err, f.Close())
}

// Open finds clocks by name.
func Open(run disk.Run, name string) (*Clock, error) {
	c := &Clock{run, filepath.Join(directory(run), name)}
	if _, err := os.Stat(c.path); err != nil || !validName.MatchString(name) {
		return nil, fmt.Errorf("no clock %q; `fi clock list` shows what there is", name)
	}
	return c, nil
}

// List returns the names of the clocks of a run.
func List(run disk.Run) ([]string, error) {
	entries, err := os.ReadDir(directory(run))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all, nil
}

// Env is what a process needs in its environment to have these clocks.
func (c *Clock) Env() ([]string, error) {
	so, err := unpack.File(c.run, "libfi-clock.so", sharedObject)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(c.path)
	return []string{"LD_PRELOAD=" + so, "FI_CLOCK=" + path}, err
}

// A State is how one clock runs.
type State struct {
	Offset time.Duration `json:"offset_ns"` // ahead of the machine's clock, now
	Rate   float64       `json:"rate"`      // seconds shown in a second
}

func (l line) at(real int64) int64 {
	passed := real - l.real
	return l.shown + passed + int64(l.drift*float64(passed))
}

// States reads all clocks.
func (c *Clock) States() (map[string]State, error) {
	a, release, err := mapArea(c.path)
	if err != nil {
		return nil, err
	}
	defer release()
	out := map[string]State{}
	for w, l := range a.current() {
		t := now(Which(w))
		out[names[w]] = State{time.Duration(l.at(t) - t), 1 + l.drift}
	}
	return out, nil
}

// A Change is what to change of a clock; nil leaves it as it is.
type Change struct {
	Offset *time.Duration // ahead of the machine's clock, from now
	Rate   *float64
}

// Set changes some clocks at once. Without a new offset a clock goes on from
// what it shows.
func (c *Clock) Set(which []Which, change Change) error {
	if change.Rate != nil && !(*change.Rate >= minRate && *change.Rate <= maxRate) {
		return fmt.Errorf("rate %v is outside of %v to %v", *change.Rate, minRate, maxRate)
	}
	a, release, err := mapArea(c.path)
	if err != nil {
		return err
	}
	defer release()
	next := *a.current()
	for _, w := range which {
		t := now(w)
		l := line{real: t, shown: next[w].at(t), drift: next[w].drift}
		if change.Offset != nil {
			offset := t + int64(*change.Offset)
			if w != Realtime && offset < l.shown {
				return fmt.Errorf("%w: %s is %v ahead of the machine's", ErrBackwards, names[w], time.Duration(l.shown-t))
			}
			l.shown = offset
		}
		if change.Rate != nil {
			l.drift = *change.Rate - 1
		}
		next[w] = l
	}
	a.publish(next)
	return nil
}

// Heal lets all clocks run as fast as the machine's, and sets the wall clock
// right. What monotonic clocks are ahead they stay ahead.
func (c *Clock) Heal() error {
	one, zero := 1.0, time.Duration(0)
	if err := c.Set([]Which{Monotonic, Raw}, Change{Rate: &one}); err != nil {
		return err
	}
	return c.Set([]Which{Realtime}, Change{Offset: &zero, Rate: &one})
}

// Destroy forgets the clocks. Processes that have them keep them as they are.
func (c *Clock) Destroy() error { return os.Remove(c.path) }
