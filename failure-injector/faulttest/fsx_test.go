//go:build testfull

// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"cad/failure-injector/internal/fitest"
)

// Somebody else's exerciser of file systems, which knows nothing of power
// losses: reads, writes, truncation and shared mappings agree with its own memory.
func TestFsx(t *testing.T) {
	program, err := filepath.Abs("../build/fsx/bin/fsx")
	fitest.Must(t, err)
	fitest.Backends(t, func(t *testing.T, backend string) {
		for _, seed := range []string{"1", "2", "3"} {
			root, run := fitest.NewRun(t)
			live := filepath.Join(root, "live")
			env := fitest.NewDisk(t, run, backend, "d", live)
			cmd := exec.Command(program, "-S", seed, "-N", "10000", filepath.Join(live, "file"))
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("seed %s: %v: %s", seed, err, out[max(0, len(out)-3000):])
			}
		}
	})
}
