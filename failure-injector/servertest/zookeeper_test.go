// SPDX-License-Identifier: Apache-2.0

// Package servertest cuts the power under stock servers.
package servertest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"cad/failure-injector/internal/fitest"
)

type ensemble struct {
	t       *testing.T
	run     string
	servers []*zkServer

	dataDirs []string
}

type zkServer struct {
	disk   string
	client string
	env    []string
	args   []string
	log    string
	cmd    *exec.Cmd
}

func newEnsemble(t *testing.T, n int, backend, forceSync string) *ensemble {
	jars, err := filepath.Glob("../build/zookeeper/*.jar")
	if err != nil || len(jars) == 0 {
		t.Fatal("no stock ZooKeeper in build/zookeeper: run `make -C failure-injector servers`")
	}
	root, run := fitest.NewRun(t)
	e := &ensemble{t: t, run: run}
	ports := fitest.FreePorts(t, 3*n)
	for i := range n {
		id := i + 1
		live := filepath.Join(root, fmt.Sprint("disk", id))
		s := &zkServer{disk: fmt.Sprint("zk", id), client: fmt.Sprintf("127.0.0.1:%d", ports[3*i])}
		s.env = fitest.NewDisk(t, run, backend, s.disk, live)
		data := filepath.Join(live, "data")
		e.dataDirs = append(e.dataDirs, data)
		fitest.Must(t, os.MkdirAll(data, 0o755))
		fitest.Must(t, os.WriteFile(filepath.Join(data, "myid"), fmt.Appendln(nil, id), 0o644))
		fitest.FI(t, run, nil, "disk", "sync", s.disk)
		cfg := fmt.Sprintf("dataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\ntickTime=500\ninitLimit=20\nsyncLimit=10\nadmin.enableServer=false\n4lw.commands.whitelist=*\nforceSync=%s\nmaxClientCnxns=0\n", data, ports[3*i], forceSync)
		for j := range n {
			cfg += fmt.Sprintf("server.%d=127.0.0.1:%d:%d\n", j+1, ports[3*j+1], ports[3*j+2])
		}
		path := filepath.Join(root, s.disk+".cfg")
		fitest.Must(t, os.WriteFile(path, []byte(cfg), 0o644))
		s.log = filepath.Join(root, s.disk+".log")
		fitest.LogTail(t, s.log)
		s.args = []string{"java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", strings.Join(jars, ":"),
			"org.apache.zookeeper.server.quorum.QuorumPeerMain", path}
		e.servers = append(e.servers, s)
	}
	t.Cleanup(e.kill)
	return e
}

func (e *ensemble) start() {
	for _, s := range e.servers {
		s.cmd = fitest.Start(e.t, s.env, "", s.log, s.args...)
	}
	for _, s := range e.servers {
		fitest.Await(e.t, "server "+s.client, func() bool {
			answer := s.ask("srvr")
			return strings.Contains(answer, "Mode: ") && !strings.Contains(answer, "Mode: observer")
		})
	}
}

// ask sends a four-letter word.
func (s *zkServer) ask(word string) string {
	c, err := net.DialTimeout("tcp", s.client, time.Second)
	if err != nil {
		return ""
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	c.Write([]byte(word))
	answer, _ := io.ReadAll(c)
	return string(answer)
}

func (e *ensemble) kill() {
	for _, s := range e.servers {
		if s.cmd != nil {
			fitest.Kill(s.cmd)
			s.cmd = nil
		}
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func (e *ensemble) connect(s *zkServer) *zk.Conn {
	c, _, err := zk.Connect([]string{s.client}, 10*time.Second, zk.WithLogger(quiet{}))
	fitest.Must(e.t, err)
	return c
}

// loadAndCut creates nodes from many clients until enough are acknowledged,
// cuts the power in the middle of it, and returns what had been acknowledged.
func (e *ensemble) loadAndCut(enough int64) (acked []string, lost fitest.CrashReport) {
	var mu sync.Mutex
	var count atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	full := make(chan struct{})
	for client := range 8 {
		c := e.connect(e.servers[client%len(e.servers)])
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer c.Close()
			for i := 0; !stop.Load(); i++ {
				path := fmt.Sprintf("/c%d-%d", client, i)
				if _, err := c.Create(path, make([]byte, 100), 0, zk.WorldACL(zk.PermAll)); err != nil {
					continue
				}
				mu.Lock()
				acked = append(acked, path)
				mu.Unlock()
				if count.Add(1) == enough {
					close(full)
				}
			}
		}()
	}
	select {
	case <-full:
	case <-time.After(60 * time.Second):
		e.t.Errorf("only %d of %d writes were acknowledged in a minute", count.Load(), enough)
	}
	e.kill()
	stop.Store(true)
	for _, s := range e.servers {
		lost.Add(fitest.Crash(e.t, e.run, s.disk))
	}
	wg.Wait()
	return acked, lost
}

func (e *ensemble) missing(acked []string) int {
	c := e.connect(e.servers[0])
	defer c.Close()
	_, err := c.Sync("/")
	fitest.Must(e.t, err)
	missing := 0
	for _, p := range acked {
		there, _, err := c.Exists(p)
		fitest.Must(e.t, err)
		if !there {
			missing++
		}
	}
	return missing
}

// Stock ZooKeeper, power off under all servers: with forceSync nothing that
// was acknowledged is lost, without it something is.
func TestZooKeeperPowerLoss(t *testing.T) {
	fitest.Backends(t, func(t *testing.T, backend string) {
		for _, forceSync := range []string{"yes", "no"} {
			t.Run("forceSync="+forceSync, func(t *testing.T) {
				e := newEnsemble(t, 3, backend, forceSync)
				e.start()
				for _, s := range e.servers { // ZooKeeper does not sync its first snapshot
					fitest.FI(t, e.run, nil, "disk", "sync", s.disk)
				}
				acked, lost := e.loadAndCut(1500)
				e.start()
				missing := e.missing(acked)
				t.Logf("%d acknowledged, %d missing after the power loss of all servers; %+v", len(acked), missing, lost)
				if forceSync == "yes" && missing > 0 {
					t.Errorf("%d acknowledged writes are missing", missing)
				}
				if forceSync == "no" && (missing == 0 || lost.BytesLost == 0) {
					t.Error("nothing was lost: the disk kept what was never synced")
				}
			})
		}
	})
}
