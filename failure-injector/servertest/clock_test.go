// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cad/failure-injector/client"
	"cad/failure-injector/internal/fitest"
)

// Stock servers on a disk of ours and with clocks of ours, both shared objects
// in one process: they serve while the clocks change, and after a power loss.
func TestServersOnWrongClocks(t *testing.T) {
	e := newEnsemble(t, 1, "preload", "yes")
	s := e.servers[0]
	c := client.Client{Binary: fitest.Binary(t), Run: e.run}
	fitest.Must(t, c.Call(nil, "clock", "create", "wrong"))
	start := append([]string{"proc", "start", "zk", "--disk", s.disk, "--clock", "wrong", "--"}, s.args...)
	fitest.Must(t, c.Call(nil, start...))
	fitest.LogTail(t, filepath.Join(e.run, "procs", "zk", "output.log"))
	healthy := func() bool { return c.Call(nil, "health", "zookeeper", "--at", s.client) == nil }
	fitest.Await(t, "ZooKeeper", healthy)
	fitest.Must(t, c.Call(nil, "clock", "set", "wrong", "--clock", "all", "--rate", "1.2"))
	fitest.Must(t, c.Call(nil, "clock", "set", "wrong", "--clock", "realtime", "--offset", "-1h"))
	fitest.Await(t, "ZooKeeper on fast clocks", healthy)
	if log := s.ask("srvr"); !strings.Contains(log, "Mode: standalone") && !strings.Contains(log, "Mode: leader") {
		t.Errorf("srvr says %q", log)
	}
	conn := e.connect(s)
	defer conn.Close()
	_, stat, err := conn.Get("/fi-health")
	fitest.Must(t, err)
	if ahead := time.Until(time.UnixMilli(stat.Mtime)); ahead > -59*time.Minute || ahead < -61*time.Minute {
		t.Errorf("its last write is stamped %v from now, want an hour ago", ahead)
	}
	fitest.Must(t, c.Call(nil, "disk", "sync", s.disk)) // stock does not sync its first snapshot
	fitest.Must(t, c.Call(nil, "proc", "crash", "zk", "--power"))
	fitest.Must(t, c.Call(nil, "proc", "restart", "zk"))
	fitest.Await(t, "ZooKeeper after a power loss", healthy)

	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server (`make -C failure-injector servers`)")
	}
	port := fitest.FreePorts(t, 1)[0]
	fitest.Must(t, c.Call(nil, "proc", "start", "redis", "--clock", "wrong", "--dir", t.TempDir(), "--", "redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", ""))
	fitest.Await(t, "redis", func() bool { return c.Call(nil, "health", "redis", "--at", "127.0.0.1:"+strconv.Itoa(port)) == nil })
	r, err := dialRedis(port)
	fitest.Must(t, err)
	lines, err := r.do("TIME") // an array: its first line is the count, then a bulk
	fitest.Must(t, err)
	if lines != "*2" {
		t.Fatalf("TIME answers %q", lines)
	}
	if _, err = r.in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	text, err := r.in.ReadString('\n')
	fitest.Must(t, err)
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	fitest.Must(t, err)
	if ahead := time.Until(time.Unix(seconds, 0)); ahead > -59*time.Minute || ahead < -61*time.Minute {
		t.Errorf("Redis is %v ahead, want an hour behind", ahead)
	}
}
