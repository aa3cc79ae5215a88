// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"fmt"
	"os/exec"
	"testing"

	"cad/failure-injector/disk"
)

// What was unpacked can be run at once, whatever else this process starts.
func TestUnpackedFilesRun(t *testing.T) {
	stop := make(chan struct{})
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					exec.Command("true").Run()
				}
			}
		}()
	}
	defer close(stop)
	for k := range 150 {
		path, err := File(disk.Run(t.TempDir()), "tool", fmt.Appendf(nil, "#!/bin/sh\n# %d\nexit 0\n", k))
		if err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(path).Run(); err != nil {
			t.Fatalf("file %d: %v", k, err)
		}
	}
}
