// SPDX-License-Identifier: Apache-2.0

// Package modeltest compares disks with a model of them: random sequences of
// operations, carried out through the kernel by a program that lives on the
// disk, with power losses in between.
package modeltest

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cad/failure-injector/disk"
	"cad/failure-injector/internal/opexec"
)

var (
	flagSeed  = flag.Uint64("seed", 0, "first seed; 0 takes the time")
	flagCount = flag.Int("sequences", 100, "sequences per backend and mode")
)

// A subject is a disk under test.
type subject interface {
	Env() ([]string, error)
	Sync() error
	Crash(disk.CrashOptions) (disk.Crash, error)
	Destroy(force bool) error
}

// A maker makes a fresh disk at a new live directory below root.
type maker func(root, live, mode string) (subject, error)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(opexec.Main(m))
}

// tree describes the live directory as model.listing does.
func tree(root string) (string, error) {
	var lines []string
	first := map[uint64]string{}
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			lines = append(lines, rel+" dir")
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			lines = append(lines, rel+" -> "+target)
		default:
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			ino := info.Sys().(*syscall.Stat_t).Ino
			if first[ino] == "" {
				first[ino] = rel
			}
			if int64(len(b)) != info.Size() {
				return fmt.Errorf("%s: size %d but %d bytes", rel, info.Size(), len(b))
			}
			lines = append(lines, fmt.Sprintf("%s file %d %016x same as %s", rel, len(b), fnv(b), first[ino]))
		}
		return nil
	})
	sort.Strings(lines)
	return strings.Join(lines, "\n"), err
}

// do carries out operations and returns the result line of each.
func do(l *opexec.Life, ops []op) ([]string, error) { return l.Do(lines(ops)) }

func lines(ops []op) []string {
	var l []string
	for _, o := range ops {
		l = append(l, o.String())
	}
	return l
}

// shown turns a line of opexec into what the model says.
func shown(line string) string {
	if i := strings.LastIndexByte(line, ' '); i >= 0 {
		if strings.HasPrefix(line, "-1 ") {
			return "fail"
		}
		return line[:i]
	}
	return line
}

// What a process tries that outlives a crash of its disk.
var zombie = []op{
	{kind: 'p', h: 0, size: 100, seed: 1},
	{kind: 'w', h: 1, size: 100, seed: 2},
	{kind: 'f', h: 0},
	{kind: 't', h: 1, size: 7},
	{kind: 'd', h: 2},
	{kind: 'o', h: 3, a: "zombie", b: "c"},
	{kind: 'w', h: 3, size: 100, seed: 3},
	{kind: 'v', a: "f0", b: "f1"},
	{kind: 'm', a: "zombies"},
}

// check runs one sequence and describes the first difference, "" if none.
func check(make maker, root, mode string, ops []op) (difference string, err error) {
	live := filepath.Join(root, "live")
	s, err := make(root, live, mode)
	if err != nil {
		return "", err
	}
	defer func() {
		if e := s.Destroy(true); err == nil {
			err = e
		}
		if e := os.RemoveAll(live); err == nil {
			err = e
		}
	}()
	env, err := s.Env()
	if err != nil {
		return "", err
	}
	m := newModel(mode == disk.Strict)
	compare := func(when string) (string, error) {
		got, err := tree(live)
		if want := m.listing(); err == nil && got != want {
			return fmt.Sprintf("%s\nthe disk has:\n%s\nthe model has:\n%s", when, got, want), nil
		}
		return "", err
	}
	for from := 0; from < len(ops); {
		to := from
		for to < len(ops) && ops[to].kind != opCrash && ops[to].kind != opSyncAll {
			to++
		}
		l, err := opexec.Begin(env, live)
		if err != nil {
			return "", err
		}
		lines, err := do(l, ops[from:to])
		if err != nil {
			return "", err
		}
		d, err := func() (string, error) {
			defer l.End()
			for i, line := range lines {
				if want := m.step(ops[from+i]); shown(line) != want {
					return fmt.Sprintf("operation %d (%s): the disk says %q, the model %q", from+i, ops[from+i], line, want), nil
				}
			}
			if d, err := compare(fmt.Sprintf("before operation %d", to)); d != "" || err != nil || to == len(ops) {
				return d, err
			}
			if ops[to].kind == opSyncAll { // while the process lives
				m.syncAll()
				return "", s.Sync()
			}
			if ops[to].seed%2 == 0 {
				l.End()
				_, err := s.Crash(disk.CrashOptions{Wait: 10 * time.Second})
				m.crash()
				return "", err
			}
			// The process survives the crash of its disk: it may do nothing more there.
			if _, err := s.Crash(disk.CrashOptions{Force: true}); err != nil {
				return "", err
			}
			m.crash()
			lines, err := do(l, zombie)
			for i, line := range lines {
				if shown(line) != "fail" {
					return fmt.Sprintf("after the crash at operation %d an old handle can still: %s (%q)", to, zombie[i], line), nil
				}
			}
			return "", err
		}()
		if d != "" || err != nil || to == len(ops) {
			return d, err
		}
		m.handles = [8]*handle{}
		if d, err := compare(fmt.Sprintf("after operation %d", to)); d != "" || err != nil {
			return d, err
		}
		from = to + 1
	}
	return "", nil
}

// shrink removes operations as long as a difference remains.
func shrink(make maker, root, mode string, ops []op) ([]op, string) {
	best, why := ops, ""
	fails := func(o []op) string {
		d, err := check(make, root, mode, o)
		if err != nil {
			return ""
		}
		return d
	}
	why = fails(best)
	for size := len(best) / 2; size > 0; {
		progress := false
		for at := 0; at+size <= len(best); {
			less := append(append([]op{}, best[:at]...), best[at+size:]...)
			if d := fails(less); d != "" {
				best, why, progress = less, d, true
			} else {
				at += size
			}
		}
		if !progress || size > len(best) {
			size /= 2
		}
	}
	return best, why
}

func script(ops []op) string {
	var b strings.Builder
	for _, o := range ops {
		b.WriteString("  " + o.String() + "\n")
	}
	return b.String()
}

// sweep runs sequences from two workers and reports the first failure, shrunk.
func sweep(t *testing.T, name string, fresh maker, mode string, seed uint64, count int) {
	t.Logf("%s %s: %d sequences, first seed %d (replay with -args -seed=%d -sequences=1)", name, mode, count, seed, seed)
	var next atomic.Int64
	var failed atomic.Bool
	done := 0
	results := make(chan string, 16)
	for range 2 {
		root := scratch(t)
		go func() {
			for k := next.Add(1) - 1; k < int64(count) && !failed.Load(); k = next.Add(1) - 1 {
				ops := generate(seed + uint64(k))
				d, err := check(fresh, root, mode, ops)
				if err != nil {
					d = err.Error()
				}
				if d != "" && failed.CompareAndSwap(false, true) {
					small, why := shrink(fresh, root, mode, ops)
					results <- fmt.Sprintf("seed %d: %s\nshrunk to %d operations:\n%s%s", seed+uint64(k), d, len(small), script(small), why)
				} else {
					results <- ""
				}
			}
			results <- "end"
		}()
	}
	for ends := 0; ends < 2; {
		switch r := <-results; r {
		case "end":
			ends++
		case "":
			done++
		default:
			t.Error(r)
		}
	}
	t.Logf("%s %s: %d sequences held, first seed %d", name, mode, done, seed)
}

func firstSeed() uint64 {
	if *flagSeed != 0 {
		return *flagSeed
	}
	return uint64(time.Now().UnixNano() / 1000)
}
