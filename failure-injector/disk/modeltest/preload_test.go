// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
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
