// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cad/failure-injector/disk"
)

// The seeded bugs: a model test that does not find them proves nothing.
var bugs = []string{
	1:  "sync copies only the last extent",
	2:  "sync copies only this handle's writes",
	3:  "sync omits a size change",
	4:  "rename is durable without a sync",
	5:  "unlink is undone although the directory was synced",
	6:  "truncate, then extend, shows old bytes",
	7:  "the offset of O_APPEND is wrong after a crash",
	8:  "a hard link loses the shared data",
	9:  "an old handle writes into the new life",
	10: "a synced file is lost although its directory was synced",
}

// hunt looks for a difference in both modes, within a bounded number of sequences.
func hunt(t *testing.T, make maker) {
	const limit = 600
	root := scratch(t)
	seed := firstSeed()
	for k := range uint64(limit) {
		mode := []string{disk.Ext4, disk.Strict}[k%2]
		ops := generate(seed + k)
		d, err := check(make, root, mode, ops)
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed+k, mode, err)
		}
		if d != "" {
			small, why := shrink(make, root, mode, ops)
			t.Logf("found by sequence %d (seed %d, %s), shrunk from %d to %d operations:\n%s%s",
				k+1, seed+k, mode, len(ops), len(small), script(small), why)
			return
		}
	}
	t.Errorf("not found in %d sequences from seed %d", limit, seed)
}

// withBug is a preload disk whose shared object has the seeded bugs compiled in.
type withBug struct {
	subject
	so  string
	bug int
}

func (w withBug) Env() ([]string, error) {
	env, err := w.subject.Env()
	return append(withShim(env, w.so), "FI_BUG="+strconv.Itoa(w.bug)), err
}

// withShim changes the shared object that a process gets.
func withShim(env []string, so string) []string {
	for i, e := range env {
		if strings.HasPrefix(e, "LD_PRELOAD=") {
			env[i] = "LD_PRELOAD=" + so
		}
	}
	return env
}

// buggyShim compiles the shared object with the seeded bugs and the points at
// which a process can be told to kill itself.
func buggyShim(t *testing.T) string {
	so := filepath.Join(t.TempDir(), "buggy.so")
	sources, err := filepath.Glob("../preload/shim/*.c")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-O1", "-std=gnu11", "-D_GNU_SOURCE", "-DFI_SEEDED_BUGS", "-fPIC", "-shared", "-o", so}, sources...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return so
}

func TestPreloadSeededBugs(t *testing.T) {
	so := buggyShim(t)
	for n := 1; n < len(bugs); n++ {
		t.Run(strconv.Itoa(n)+" "+bugs[n], func(t *testing.T) {
			hunt(t, func(root, live, mode string) (subject, error) {
				s, err := makePreload(root, live, mode)
				return withBug{s, so, n}, err
			})
		})
	}
}

// scratch is a directory in memory where there is one.
func scratch(t *testing.T) string {
	if _, err := os.Stat("/dev/shm"); err != nil {
		return t.TempDir()
	}
	root, err := os.MkdirTemp("/dev/shm", "fi-model-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	return root
}
