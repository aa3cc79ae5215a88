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

// TestPreloadKilled kills the process at a random moment, inside whatever it
// does then. What was acknowledged has happened; the operation under way has
// happened wholly or not at all; a second process goes on; then the power goes.
func TestPreloadKilled(t *testing.T) {
	seed := firstSeed()
	count := max(*flagCount/2, 50)
	t.Logf("%d sequences, first seed %d", count, seed)
	root := scratch(t)
	inside := 0
	for k := range uint64(count) {
		for _, mode := range []string{disk.Ext4, disk.Strict} {
			d, unfinished, err := killed(root, mode, seed+k)
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

func killed(root, mode string, seed uint64) (difference string, unfinished bool, err error) {
	r := rand.New(rand.NewPCG(seed, 0x6b696c6c))
	ops := slices.DeleteFunc(generate(seed), func(o op) bool {
		// stdio is several operations; what mmap writes is not undone by a kill
		return slices.Contains([]byte{opCrash, opSyncAll, 'F', 'G', 'M', 'Y'}, o.kind)
	})
	for i := range ops { // a synchronous write is two operations too
		if ops[i].kind == 'o' {
			ops[i].b = strings.ReplaceAll(ops[i].b, "s", "")
		}
	}
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
	l, err := opexec.Begin(append(env, "OPEXEC_ACK=1"), live)
	if err != nil {
		return "", false, err
	}
	defer l.End()
	// The moment is counted from the first answer: before it, the process starts.
	var kill *time.Timer
	delay := time.Duration(r.Int64N(int64(600 * time.Microsecond)))
	go l.Send(lines(ops))
	acked := 0
	for l.Out.Scan() && l.Out.Text() != "done" {
		if acked++; acked == 1 {
			kill = time.AfterFunc(delay, func() { l.Kill() })
			defer kill.Stop()
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
	if len(candidates) == 0 && acked < len(ops) && (ops[acked].kind == 'w' || ops[acked].kind == 'p') {
		return "", true, nil // the kernel ends a write at a page when its process is killed
	}
	if len(candidates) == 0 {
		return fmt.Sprintf("killed after %d operations, the live tree is that of neither %d nor %d:\n%s\nmodel:\n%s\nops:\n%s", acked, acked, acked+1, got, replay(mode, ops[:acked]).listing(), script(ops[:min(acked+1, len(ops))])), false, nil
	}

	// Another process on the same disk; its handles are its own.
	more := slices.DeleteFunc(generate(seed+1<<32), func(o op) bool { return o.kind == opCrash || o.kind == opSyncAll })
	more = more[:r.IntN(len(more))]
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
