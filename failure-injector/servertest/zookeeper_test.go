// SPDX-License-Identifier: Apache-2.0

// Package servertest cuts the power under stock servers.
package servertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// fi runs the binary and decodes its JSON.
func fi(t *testing.T, run string, into any, args ...string) {
	t.Helper()
	cmd := exec.Command(binary(t), append(args, "--json", "--run", run)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fi %s: %v: %s", strings.Join(args, " "), err, errs.String())
	}
	if into != nil {
		if err := json.Unmarshal(out, into); err != nil {
			t.Fatalf("fi %s printed %q: %v", strings.Join(args, " "), out, err)
		}
	}
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../build/fi")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make -C failure-injector build` first", err)
	}
	return path
}

type crashReport struct {
	FilesLost     int    `json:"files_lost"`
	FilesReverted int    `json:"files_reverted"`
	BytesLost     uint64 `json:"bytes_lost"`
}

// freePorts asks the kernel for ports on loopback; all are held until all are known.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// await polls a condition of another process; the bound is generous.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

type ensemble struct {
	t       *testing.T
	run     string
	servers []*zkServer
}

type zkServer struct {
	id      int
	live    string
	client  string
	env     []string
	args    []string
	logPath string
	cmd     *exec.Cmd
}

func newEnsemble(t *testing.T, n int, backend, forceSync string) *ensemble {
	jars, err := filepath.Glob("../build/zookeeper/*.jar")
	if err != nil || len(jars) == 0 {
		t.Fatal("no stock ZooKeeper in build/zookeeper: run `make -C failure-injector servers`")
	}
	root := t.TempDir()
	e := &ensemble{t: t, run: filepath.Join(root, "run")}
	ports := freePorts(t, 3*n)
	for i := range n {
		s := &zkServer{id: i + 1, live: filepath.Join(root, fmt.Sprint("disk", i+1))}
		s.client = fmt.Sprintf("127.0.0.1:%d", ports[3*i])
		data := filepath.Join(s.live, "data")
		name := fmt.Sprint("zk", s.id)
		fi(t, e.run, nil, "disk", "create", name, "--backend", backend, "--dir", s.live)
		must(t, os.MkdirAll(data, 0o755))
		must(t, os.WriteFile(filepath.Join(data, "myid"), fmt.Appendln(nil, s.id), 0o644))
		cfg := fmt.Sprintf("dataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\ntickTime=500\ninitLimit=20\nsyncLimit=10\nadmin.enableServer=false\n4lw.commands.whitelist=*\nforceSync=%s\nmaxClientCnxns=0\n", data, ports[3*i], forceSync)
		for j := range n {
			cfg += fmt.Sprintf("server.%d=127.0.0.1:%d:%d\n", j+1, ports[3*j+1], ports[3*j+2])
		}
		cfgPath := filepath.Join(root, name+".cfg")
		must(t, os.WriteFile(cfgPath, []byte(cfg), 0o644))
		fi(t, e.run, nil, "disk", "sync", name)
		env := map[string]string{}
		fi(t, e.run, &env, "disk", "env", name)
		s.env = os.Environ()
		for k, v := range env {
			s.env = append(s.env, k+"="+v)
		}
		s.logPath = filepath.Join(root, name+".log")
		s.args = []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", strings.Join(jars, ":"),
			"org.apache.zookeeper.server.quorum.QuorumPeerMain", cfgPath}
		e.servers = append(e.servers, s)
	}
	t.Cleanup(e.kill)
	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *ensemble) start() {
	for _, s := range e.servers {
		log, err := os.OpenFile(s.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		must(e.t, err)
		s.cmd = exec.Command("java", s.args...)
		s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.env, log, log
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
		must(e.t, s.cmd.Start())
		log.Close()
	}
	for _, s := range e.servers {
		await(e.t, "server "+s.client+", log "+s.logPath, func() bool {
			answer := s.ask("srvr")
			return strings.Contains(answer, "Mode: leader") || strings.Contains(answer, "Mode: follower")
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
			s.cmd.Process.Kill()
			s.cmd.Wait()
			s.cmd = nil
		}
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func (e *ensemble) connect(s *zkServer) *zk.Conn {
	c, _, err := zk.Connect([]string{s.client}, 10*time.Second, zk.WithLogger(quiet{}))
	must(e.t, err)
	return c
}

// load creates nodes from many clients until enough are acknowledged, cuts the
// power in the middle of it, and returns what had been acknowledged.
func (e *ensemble) loadAndCut(enough int64) (acked []string, lost crashReport) {
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
					if stop.Load() {
						return
					}
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
		var r crashReport
		fi(e.t, e.run, &r, "disk", "crash", fmt.Sprint("zk", s.id))
		lost.FilesLost += r.FilesLost
		lost.FilesReverted += r.FilesReverted
		lost.BytesLost += r.BytesLost
	}
	wg.Wait()
	return acked, lost
}

func (e *ensemble) missing(acked []string) int {
	c := e.connect(e.servers[0])
	defer c.Close()
	_, err := c.Sync("/")
	must(e.t, err)
	missing := 0
	for _, p := range acked {
		there, _, err := c.Exists(p)
		must(e.t, err)
		if !there {
			missing++
		}
	}
	return missing
}

func testPowerLoss(t *testing.T, backend, forceSync string) (acked, missing int, lost crashReport) {
	e := newEnsemble(t, 3, backend, forceSync)
	e.start()
	for _, s := range e.servers { // the first snapshot is not synced by ZooKeeper
		fi(t, e.run, nil, "disk", "sync", fmt.Sprint("zk", s.id))
	}
	paths, lost := e.loadAndCut(1500)
	e.start()
	missing = e.missing(paths)
	t.Logf("%s forceSync=%s: %d acknowledged, %d missing after power loss of all servers; %+v", backend, forceSync, len(paths), missing, lost)
	return len(paths), missing, lost
}

func TestZooKeeperPowerLoss(t *testing.T) {
	for _, backend := range []string{"preload"} {
		t.Run(backend+"/forceSync=yes", func(t *testing.T) {
			if _, missing, _ := testPowerLoss(t, backend, "yes"); missing != 0 {
				t.Errorf("%d acknowledged writes are missing", missing)
			}
		})
		t.Run(backend+"/forceSync=no", func(t *testing.T) {
			_, missing, lost := testPowerLoss(t, backend, "no")
			if missing == 0 || lost.BytesLost == 0 {
				t.Errorf("nothing was lost (%d missing, %+v): the disk kept what was never synced", missing, lost)
			}
		})
	}
}
