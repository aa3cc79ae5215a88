// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cad/failure-injector/internal/fitest"
)

const sqliteWriter = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode=" + sys.argv[2])
db.execute("PRAGMA synchronous=" + sys.argv[3])
db.execute("CREATE TABLE IF NOT EXISTS t (i INTEGER PRIMARY KEY, x TEXT)")
i = 0
while True:
    i += 1
    db.execute("INSERT INTO t VALUES (?, ?)", (i, "x" * 300))
    print(i, flush=True)
`

const sqliteReader = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("PRAGMA integrity_check").fetchone()[0], db.execute("SELECT count(*) FROM t").fetchone()[0])
`

// SQLite keeps its promise on both backends, with either kind of journal; told
// not to sync, it does not.
func TestSQLitePowerLoss(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		for _, mode := range [][2]string{{"DELETE", "EXTRA"}, {"DELETE", "FULL"}, {"WAL", "FULL"}, {"WAL", "OFF"}} {
			t.Run(mode[0]+"/"+mode[1], func(t *testing.T) {
				root, run := fitest.NewRun(t)
				live := filepath.Join(root, "disk")
				env := fitest.NewDisk(t, run, backend, "db", live)
				file := filepath.Join(live, "db")
				cmd := exec.Command("python3", "-c", sqliteWriter, file, mode[0], mode[1])
				cmd.Env = env
				out, err := cmd.StdoutPipe()
				fitest.Must(t, err)
				fitest.Must(t, cmd.Start())
				defer fitest.Kill(cmd)
				acked := 0
				for s := bufio.NewScanner(out); s.Scan(); {
					if acked, err = strconv.Atoi(s.Text()); err != nil {
						t.Fatal(err)
					}
					if acked == 300 {
						cmd.Process.Kill()
					}
				}
				fitest.Kill(cmd)
				lost := fitest.Crash(t, run, "db")
				reader := exec.Command("python3", "-c", sqliteReader, file)
				reader.Env = env
				answer, err := reader.CombinedOutput()
				t.Logf("%d acknowledged; after the power loss: %s; %+v", acked, strings.TrimSpace(string(answer)), lost)
				if mode[1] == "OFF" {
					if lost.BytesLost == 0 {
						t.Error("nothing was lost: the disk kept what was never synced")
					}
					return
				}
				fitest.Must(t, err)
				ok, n, _ := strings.Cut(strings.TrimSpace(string(answer)), " ")
				count, err := strconv.Atoi(n)
				fitest.Must(t, err)
				promised := acked
				if mode == [2]string{"DELETE", "FULL"} {
					// It commits by unlinking its journal, and syncs the directory
					// after that only if told EXTRA: the last commit may go back.
					promised--
				}
				if ok != "ok" || count < promised || count > acked+1 {
					t.Errorf("%d rows were acknowledged, %d are there, integrity %s", acked, count, ok)
				}
			})
		}
	})
}
