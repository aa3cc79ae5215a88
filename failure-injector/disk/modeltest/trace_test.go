// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cad/failure-injector/disk"
	"cad/failure-injector/internal/opexec"
)

// A call that changed a traced disk; shim/trace.c lays it out.
type call struct {
	kind         byte
	id           uint32
	dir1, dir2   uint32
	name1, name2 string
	at           int64
	data         []byte
}

const callHeader = 32

func readTrace(file string) ([]call, error) {
	b, err := os.ReadFile(file)
	var calls []call
	for err == nil && len(b) > 0 {
		if len(b) < callHeader || int(binary.LittleEndian.Uint32(b)) > len(b) {
			return nil, fmt.Errorf("the last %d bytes are no record", len(b))
		}
		word := func(k int) uint32 { return binary.LittleEndian.Uint32(b[4*k:]) }
		end := int(word(0))
		name1 := callHeader + int(binary.LittleEndian.Uint16(b[20:]))
		name2 := name1 + int(binary.LittleEndian.Uint16(b[22:]))
		calls = append(calls, call{byte(word(1)), word(2), word(3), word(4), string(b[callHeader:name1]),
			string(b[name1:name2]), int64(binary.LittleEndian.Uint64(b[24:])), b[name2:end]})
		b = b[end:]
	}
	return calls, err
}

// A replayed disk: directories and files by number, the root is 1.
type image struct {
	dirs  map[uint32]map[string]uint32
	files map[uint32][]byte
}

func (m *image) apply(c call) error {
	switch c.kind {
	case 'C':
		m.files[c.id] = nil
		m.dirs[c.dir1][c.name1] = c.id
	case 'M':
		m.dirs[c.id] = map[string]uint32{}
		m.dirs[c.dir1][c.name1] = c.id
	case 'L':
		m.dirs[c.dir1][c.name1] = c.id
	case 'U':
		delete(m.dirs[c.dir1], c.name1)
	case 'R':
		delete(m.dirs[c.dir1], c.name1)
		m.dirs[c.dir2][c.name2] = c.id
	case 'W':
		end := c.at + int64(len(c.data))
		m.files[c.id] = resize(m.files[c.id], max(end, int64(len(m.files[c.id]))))
		copy(m.files[c.id][c.at:], c.data)
	case 'T':
		m.files[c.id] = resize(m.files[c.id], c.at)
	case 'S':
	default:
		return fmt.Errorf("a call that cannot be followed (%q)", c.kind)
	}
	return nil
}

// listing describes it as tree does.
func (m *image) listing() string {
	var lines []string
	first := map[uint32]string{}
	var visit func(dir uint32, p string)
	visit = func(dir uint32, p string) {
		for _, name := range slices.Sorted(maps.Keys(m.dirs[dir])) {
			id, q := m.dirs[dir][name], path.Join(p, name)
			if m.dirs[id] != nil {
				lines = append(lines, q+" dir")
				visit(id, q)
				continue
			}
			if first[id] == "" {
				first[id] = q
			}
			lines = append(lines, fmt.Sprintf("%s file %d %016x same as %s", q, len(m.files[id]), fnv(m.files[id]), first[id]))
		}
	}
	visit(1, "")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// live carries out operations on a traced disk and returns the trace, the tree that is left and what each answered.
func live(t *testing.T, mode string, ops []op) (calls []call, left string, answers []string) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "live")
	s, err := makePreload(root, dir, mode)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Destroy(true)
	env, err := s.Env()
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(root, "trace")
	l, err := opexec.Begin(append(env, "FI_TRACE="+trace), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.End()
	if answers, err = do(l, ops); err != nil {
		t.Fatal(err)
	}
	if calls, err = readTrace(trace); err != nil {
		t.Fatal(err)
	}
	if left, err = tree(dir); err != nil {
		t.Fatal(err)
	}
	return calls, left, answers
}

// Replaying a trace gives the tree that the process left, and every sync is in it.
func TestTraceReplays(t *testing.T) {
	const sequences = 20
	seed := firstSeed()
	for n := range uint64(sequences) {
		// Without what a trace cannot follow (mappings, holes, stdio, symbolic links), and what the test does; O_SYNC would
		// hide how many syncs are asked for.
		ops := slices.DeleteFunc(generate(seed+n), func(o op) bool {
			return strings.ContainsRune("MYezsFG", rune(o.kind)) || o.kind == opCrash || o.kind == opSyncAll || strings.HasPrefix(o.a, "l")
		})
		for i := range ops {
			if ops[i].kind == 'o' {
				ops[i].b = strings.ReplaceAll(ops[i].b, "s", "")
			}
		}
		calls, left, answers := live(t, disk.Strict, ops)
		asked, seen := 0, 0
		for i, o := range ops {
			if strings.ContainsRune("fdD", rune(o.kind)) && shown(answers[i]) != "fail" {
				asked++
			}
		}
		m := &image{dirs: map[uint32]map[string]uint32{1: {}}, files: map[uint32][]byte{}}
		for _, c := range calls {
			if err := m.apply(c); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed+n, err, script(ops))
			}
			if c.kind == 'S' {
				seen++
			}
		}
		if got := m.listing(); got != left {
			t.Fatalf("seed %d: the trace gives\n%s\nthe disk has\n%s\nops:\n%s", seed+n, got, left, script(ops))
		}
		if seen != asked {
			t.Fatalf("seed %d: %d syncs in the trace, %d were asked for\n%s", seed+n, seen, asked, script(ops))
		}
	}
}

// A call that a trace cannot follow says so, wherever it stands: a reader must not go on.
func TestTraceSaysWhatItCannotFollow(t *testing.T) {
	for _, odd := range []op{
		{kind: 'M', h: 0, at: 0, size: 10, seed: 1},
		{kind: 'z', h: 0, at: 0, size: 10},
		{kind: 's', a: "f0", b: "l0"},
		{kind: 'F', a: "f1", b: "w", size: 10, seed: 1},
	} {
		calls, _, answers := live(t, disk.Ext4, []op{
			{kind: 'o', h: 0, a: "f0", b: "c"}, {kind: 'w', h: 0, size: 100, seed: 1}, odd})
		if shown(answers[2]) == "fail" {
			t.Fatalf("%s: %s", odd, answers[2])
		}
		if !slices.ContainsFunc(calls, func(c call) bool { return c.kind == '?' }) {
			t.Errorf("%s left no mark in the trace: %+v", odd, calls)
		}
	}
}
