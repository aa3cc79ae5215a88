// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cad/failure-injector/disk"
	"cad/failure-injector/internal/opexec"
)

// TestPreloadKilled kills the process behind a system call or a store into
// shared memory, which the seed chooses. What was acknowledged has happened; the
// operation under way has happened wholly or not at all; a second process goes
// on; then the power goes.
func TestPreloadKilled(t *testing.T) {
	so := buggyShim(t)
	killedOften(t, false, func(env []string, ops int, r *rand.Rand) ([]string, func(*opexec.Life)) {
		env = append(withShim(env, so), fmt.Sprint("FI_KILL_AT=", 1+r.IntN(8*ops)))
		return env, func(*opexec.Life) {}
	})
}

// killedOften kills many; inCalls: also inside of system calls.
func killedOften(t *testing.T, inCalls bool, moment moment) {
	seed := firstSeed()
	count := max(*flagCount/2, 50)
	root := scratch(t)
	inside := 0
	for k := range uint64(count) {
		for _, mode := range []string{disk.Ext4, disk.Strict} {
			d, unfinished, err := killed(root, mode, seed+k, inCalls, moment)
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed+k, mode, err)
			}
			if d != "" {
				t.Fatalf("seed %d, %s: %s", seed+k, mode, d)
			}
			if unfinished {
				inside++
			}
		}
	}
	if inside == 0 {
		t.Error("no process was killed before it was done: the test proved nothing")
	}
	t.Logf("%d of %d processes were killed before their last operation; first seed %d", inside, 2*count, seed)
}

// What one process leaves half done, and what the next one does first.
var halfDone = []struct{ ops, more string }{
	{"o 0 f0 c 0 0 0; w 0 - - 0 300 1; f 0 - - 0 0 0; p 0 - - 50 20 2; p 0 - - 200 20 3; f 0 - - 0 0 0", "u 0 f0 - 0 0 0"},
	{"o 0 f0 c 0 0 0; w 0 - - 0 300 1; f 0 - - 0 0 0; p 0 - - 50 20 2; p 0 - - 200 20 3; f 0 - - 0 0 0", "o 0 f1 c 0 0 0; v 0 f1 f0 0 0 0"},
	{"o 0 f0 c 0 0 0; w 0 - - 0 300 1; f 0 - - 0 0 0; p 0 - - 50 20 2; p 0 - - 200 20 3; f 0 - - 0 0 0", "F 0 f0 w 0 20 3"},
	{"o 0 f0 c 0 0 0; w 0 - - 0 300 1; f 0 - - 0 0 0; p 0 - - 50 20 2; p 0 - - 200 20 3; f 0 - - 0 0 0", "F 0 f0 a 0 20 3"},
	{"o 0 f0 c 0 0 0; w 0 - - 0 300 1; f 0 - - 0 0 0; p 0 - - 50 20 2; p 0 - - 200 20 3; f 0 - - 0 0 0", "o 0 f0 r 0 0 0; M 0 - - 60 100 3"},
	{"o 0 f0 c 0 0 0; w 0 - - 0 300 1; f 0 - - 0 0 0; p 0 - - 50 20 2; p 0 - - 200 20 3; f 0 - - 0 0 0", "o 0 f0 tr 0 0 0; w 0 - - 0 10 3"},
	{"o 0 f0 c 0 0 0; w 0 - - 0 300 1; f 0 - - 0 0 0; u 0 f0 - 0 0 0; p 0 - - 50 20 2; p 0 - - 200 20 3; f 0 - - 0 0 0", ""},
	{"o 0 f0 c 0 0 0; o 1 f1 c 0 0 0; f 1 - - 0 0 0; v 0 f0 f2 0 0 0", "o 0 f1 r 0 0 0; f 0 - - 0 0 0"},
	{"o 0 f0 c 0 0 0; o 1 f1 c 0 0 0; f 1 - - 0 0 0; u 0 f0 - 0 0 0", "o 0 f1 r 0 0 0; f 0 - - 0 0 0"},
	{"m 0 d0 - 0 0 0; s 0 f0 l0 0 0 0; D 0 . - 0 0 0", "D 0 . - 0 0 0"},
	{"o 0 f0 c 0 0 0; w 0 - - 0 30 1; l 0 f0 f1 0 0 0; f 0 - - 0 0 0; D 0 . - 0 0 0", "u 0 f0 - 0 0 0; D 0 . - 0 0 0"},
}

// TestPreloadKilledAnywhere tries every point of short lives.
func TestPreloadKilledAnywhere(t *testing.T) {
	so, root := buggyShim(t), scratch(t)
	lives := 0
	for _, h := range halfDone {
		ops, more := parse(t, h.ops), parse(t, h.more)
		for _, mode := range []string{disk.Ext4, disk.Strict} {
			for point := 1; ; point++ {
				d, unfinished, err := killedThen(root, mode, ops, more, false, func(env []string) ([]string, func(*opexec.Life)) {
					return append(withShim(env, so), fmt.Sprint("FI_KILL_AT=", point)), func(*opexec.Life) {}
				})
				if err != nil || d != "" {
					t.Errorf("%s | %s, %s, point %d: %v%s", h.ops, h.more, mode, point, err, d)
				}
				lives++
				if d != "" || !unfinished {
					break
				}
			}
		}
	}
	t.Logf("%d lives", lives)
}

func parse(t *testing.T, script string) []op {
	var ops []op
	for _, line := range strings.Split(script, ";") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var o op
		if _, err := fmt.Sscanf(line, "%c %d %s %s %d %d %d", &o.kind, &o.h, &o.a, &o.b, &o.at, &o.size, &o.seed); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		o.a, o.b = strings.TrimPrefix(o.a, "-"), strings.TrimPrefix(o.b, "-")
		ops = append(ops, o)
	}
	return ops
}

// A moment decides when a process dies that does so many operations: by its
// environment, or by what is called at its first answer.
type moment func(env []string, ops int, r *rand.Rand) ([]string, func(*opexec.Life))

// killed lets the first seed's life end at a moment, and another begin.
func killed(root, mode string, seed uint64, inCalls bool, moment moment) (difference string, unfinished bool, err error) {
	r := rand.New(rand.NewPCG(seed, 0x6b696c6c))
	ops := slices.DeleteFunc(generate(seed), func(o op) bool {
		// stdio is several operations, and so is a mapping that is synced
		return slices.Contains([]byte{opCrash, opSyncAll, 'F', 'G', 'M', 'Y'}, o.kind)
	})
	for i := range ops { // a synchronous write is two operations too
		if ops[i].kind == 'o' {
			ops[i].b = strings.ReplaceAll(ops[i].b, "s", "")
		}
	}
	more := slices.DeleteFunc(generate(seed+1<<32), func(o op) bool { return o.kind == opCrash || o.kind == opSyncAll })
	more = more[:r.IntN(len(more))]
	return killedThen(root, mode, ops, more, inCalls, func(env []string) ([]string, func(*opexec.Life)) { return moment(env, len(ops), r) })
}

// killedThen carries out ops in a process that dies, and then more in another one.
func killedThen(root, mode string, ops, more []op, inCalls bool, dies func(env []string) ([]string, func(*opexec.Life))) (difference string, unfinished bool, err error) {
	live := filepath.Join(root, "live")
	s, err := makePreload(root, live, mode)
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(live)
	defer s.Destroy(true)
	env, err := s.Env()
	if err != nil {
		return "", false, err
	}
	dying, first := dies(append(slices.Clone(env), "OPEXEC_ACK=1"))
	l, err := opexec.Begin(dying, live)
	if err != nil {
		return "", false, err
	}
	defer l.End()
	go l.Send(lines(ops))
	acked := 0
	for l.Out.Scan() && l.Out.Text() != "done" {
		if acked++; acked == 1 {
			first(l)
		}
	}
	l.End()

	// What may have happened: the acknowledged operations, and perhaps one more.
	candidates := [][]op{ops[:acked]}
	if acked < len(ops) {
		candidates = append(candidates, ops[:acked+1])
	}
	got, err := tree(live)
	if err != nil {
		return "", false, err
	}
	candidates = slices.DeleteFunc(candidates, func(c []op) bool { return replay(mode, c).listing() != got })
	if len(candidates) == 0 && inCalls && acked < len(ops) && (ops[acked].kind == 'w' || ops[acked].kind == 'p') {
		return "", true, nil // the kernel ends a write at a page when its process is killed
	}
	if len(candidates) == 0 {
		return fmt.Sprintf("killed after %d operations, the live tree is that of neither %d nor %d:\n%s\nmodel:\n%s\nops:\n%s", acked, acked, acked+1, got, replay(mode, ops[:acked]).listing(), script(ops[:min(acked+1, len(ops))])), false, nil
	}

	// Another process on the same disk; its handles are its own.
	second, err := opexec.Begin(env, live)
	if err != nil {
		return "", false, err
	}
	defer second.End()
	if _, err := do(second, more); err != nil {
		return "", false, err
	}
	second.End()
	if _, err := s.Crash(disk.CrashOptions{Wait: 10 * time.Second}); err != nil {
		return "", false, err
	}
	if got, err = tree(live); err != nil {
		return "", false, err
	}
	var wanted string
	for _, c := range candidates {
		m := replay(mode, c)
		m.handles = [8]*handle{}
		for _, o := range more {
			m.step(o)
		}
		m.crash()
		if m.listing() == got {
			return "", acked < len(ops), nil
		}
		wanted += "\nor:\n" + m.listing()
	}
	return fmt.Sprintf("killed after %d operations, %d more, then a crash; the disk has:\n%s%s\nops:\n%smore:\n%s",
		acked, len(more), got, wanted, script(ops[:min(acked+1, len(ops))]), script(more)), false, nil
}

func replay(mode string, ops []op) *model {
	m := newModel(mode == disk.Strict)
	for _, o := range ops {
		m.step(o)
	}
	return m
}

// A process that is killed while a link is refused, because the name is taken,
// has changed nothing. (Once, whoever came next took the name for the link.)
func TestPreloadKilledInRefusedLink(t *testing.T) {
	root := scratch(t)
	for k := range 60 {
		live := filepath.Join(root, "live")
		s, err := makePreload(root, live, disk.Ext4)
		if err != nil {
			t.Fatal(err)
		}
		env, err := s.Env()
		if err != nil {
			t.Fatal(err)
		}
		l, err := opexec.Begin(append(env, "OPEXEC_ACK=1"), live)
		if err != nil {
			t.Fatal(err)
		}
		before := []string{"o 0 f0 c 0 0 0", "w 0 - - 0 5 1", "o 1 f1 c 0 0 0", "w 1 - - 0 50 2", "f 0 - - 0 0 0", "f 1 - - 0 0 0"}
		go l.Send(append(slices.Clone(before), slices.Repeat([]string{"l 0 f1 f0 0 0 0"}, 1000)...))
		for acked := 0; l.Out.Scan() && acked < len(before)+k; acked++ {
		}
		l.Kill()
		l.End()
		second, err := opexec.Begin(env, live)
		if err != nil {
			t.Fatal(err)
		}
		if answers, err := second.Do([]string{"o 0 f2 c 0 0 0", "f 0 - - 0 0 0"}); err != nil || answers[1] != "0 0" {
			t.Fatal(answers, err)
		}
		second.End()
		if _, err := s.Crash(disk.CrashOptions{Wait: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		for name, size := range map[string]int64{"f0": 5, "f1": 50, "f2": 0} {
			if st, err := os.Stat(filepath.Join(live, name)); err != nil || st.Size() != size {
				t.Fatalf("try %d: %s: %v bytes, %v; want %d", k, name, st.Size(), err, size)
			}
		}
		s.Destroy(true)
		os.RemoveAll(live)
	}
}
