// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"cad/failure-injector/disk"
	"cad/failure-injector/disk/preload"
)

func makePreload(root, live, mode string) (subject, error) {
	return preload.Create(disk.Run(filepath.Join(root, "run")), disk.Spec{Name: "d", Backend: "preload", Live: live, Mode: mode})
}

func TestPreload(t *testing.T) {
	for _, mode := range []string{disk.Ext4, disk.Strict} {
		t.Run(mode, func(t *testing.T) { sweep(t, "preload", makePreload, mode, firstSeed(), *flagCount) })
	}
}

// What lies beside the disk is nobody's business here.
func TestPreloadProgramsMakeFilesElsewhere(t *testing.T) {
	root := scratch(t)
	s, err := makePreload(root, filepath.Join(root, "live"), disk.Ext4)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Destroy(true)
	env, err := s.Env()
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]string{"new": "echo a >new", "appended": "echo a >>appended"} {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != "a\n" {
			t.Fatalf("%s: %q, %v", command, got, err)
		}
	}
}

// O_TRUNC empties a file whatever the descriptor may do with it.
func TestPreloadEmptiedByAReader(t *testing.T) {
	ops := parse(t, "o 0 f0 c 0 0 0; w 0 - - 0 300 1; f 0 - - 0 0 0; o 1 f0 Rt 0 0 0; f 1 - - 0 0 0; ! 0 - - 0 0 0")
	for _, mode := range []string{disk.Ext4, disk.Strict} {
		if d, err := check(makePreload, scratch(t), mode, ops); err != nil || d != "" {
			t.Errorf("%s: %v%s", mode, err, d)
		}
	}
}
