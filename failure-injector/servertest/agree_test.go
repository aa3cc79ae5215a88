// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"cad/failure-injector/internal/fitest"
)

// Both backends watch one and the same run of ZooKeeper: a preload disk whose
// live directory is a lossfs mount, with flushes passed on. When the power goes
// they must have kept byte-equal trees.
func TestBackendsAgreeOnZooKeeper(t *testing.T) {
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil || os.Geteuid() != 0 {
		t.Skip("needs root and /dev/fuse (fi doctor)")
	} else {
		f.Close()
	}
	for _, forceSync := range []string{"yes", "no"} {
		t.Run("forceSync="+forceSync, func(t *testing.T) {
			e := newEnsemble(t, 1, "lossfs", forceSync)
			s := e.servers[0]
			live := strings.TrimSuffix(e.dataDirs[0], "/data")
			_, above := fitest.NewRun(t)
			s.env = fitest.NewDisk(t, above, "preload", "above", live, "--profile", "raw")
			e.start()
			c := e.connect(s)
			for i := range 300 {
				_, err := c.Create(fmt.Sprintf("/n%d", i), make([]byte, 200), 0, zk.WorldACL(zk.PermAll))
				fitest.Must(t, err)
				if i == 150 {
					fitest.FI(t, above, nil, "disk", "sync", "above")
					fitest.FI(t, e.run, nil, "disk", "sync", s.disk)
				}
			}
			c.Close()
			// Let it finish what it does: a flush under way at the kill may have
			// reached one disk and not the other.
			e.awaitQuiet(s)
			e.kill()

			lost := fitest.Crash(t, e.run, s.disk)
			lossfs := snapshot(t, live)
			fitest.Crash(t, above, "above")
			preload := snapshot(t, live)
			if lossfs != preload {
				t.Errorf("lossfs kept:\n%s\npreload kept:\n%s", lossfs, preload)
			}
			if len(lossfs) == 0 || (forceSync == "no" && lost.BytesLost == 0) {
				t.Errorf("the comparison proves nothing: %+v", lost)
			}
			t.Logf("forceSync=%s: equal trees, %+v:\n%s", forceSync, lost, lossfs)
		})
	}
}

// awaitQuiet waits until two looks in a row at the disk's counters agree.
func (e *ensemble) awaitQuiet(s *zkServer) {
	var last string
	fitest.Await(e.t, "the server to be idle", func() bool {
		var st struct {
			Control struct {
				Ops map[string]struct {
					Count uint64 `json:"count"`
				} `json:"ops"`
			} `json:"control"`
		}
		fitest.FI(e.t, e.run, &st, "disk", "stat", s.disk)
		now := fmt.Sprint(st.Control.Ops["write"], st.Control.Ops["fsync"], st.Control.Ops["meta"])
		same := now == last
		last = now
		return same
	})
}

// snapshot lists a tree with the sum of each file's content.
func snapshot(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	fitest.Must(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if e.IsDir() {
			fmt.Fprintf(&b, "%s/\n", rel)
			return nil
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %d %x\n", rel, len(content), sha256.Sum256(content))
		return err
	}))
	return b.String()
}
