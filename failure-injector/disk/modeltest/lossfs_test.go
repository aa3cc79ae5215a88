// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"os"
	"path/filepath"
	"testing"

	"cad/failure-injector/disk"
	"cad/failure-injector/disk/control"
	"cad/failure-injector/disk/lossfs"
)

// mounted is a lossfs volume whose daemon is the test itself.
type mounted struct {
	*lossfs.Volume
	ctl     *control.Control
	ctlPath string
}

func (m mounted) Env() ([]string, error) { return []string{"PATH=/usr/bin:/bin"}, nil }

func (m mounted) Destroy(bool) error {
	err := m.Volume.Destroy()
	m.ctl.Close()
	os.Remove(m.ctlPath)
	return err
}

func makeLossfs(root, live, mode string) (subject, error) {
	if err := os.MkdirAll(live, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(root, "control")
	os.Remove(path)
	if err := control.Create(path, 1); err != nil {
		return nil, err
	}
	ctl, err := control.Map(path)
	if err != nil {
		return nil, err
	}
	v, err := lossfs.Create(disk.Spec{Name: "m", Live: live, Mode: mode}, ctl, lossfs.Options{})
	return mounted{v, ctl, path}, err
}

func needFUSE(t *testing.T) {
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil || os.Geteuid() != 0 {
		t.Skip("needs root and /dev/fuse (fi doctor)")
	} else {
		f.Close()
	}
}

func TestLossfs(t *testing.T) {
	needFUSE(t)
	for _, mode := range []string{disk.Ext4, disk.Strict} {
		t.Run(mode, func(t *testing.T) { sweep(t, "lossfs", makeLossfs, mode, firstSeed(), *flagCount) })
	}
}
