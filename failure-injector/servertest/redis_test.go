// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cad/failure-injector/internal/fitest"
)

type redis struct {
	conn net.Conn
	in   *bufio.Reader
}

func dialRedis(port int) (*redis, error) {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(60 * time.Second))
	return &redis{c, bufio.NewReader(c)}, nil
}

// do sends an inline command and returns a one-line or bulk answer.
func (r *redis) do(command string) (string, error) {
	if _, err := r.conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	line, err := r.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "$") {
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", err
		}
		b := make([]byte, n+2)
		for got := 0; got < len(b); {
			k, err := r.in.Read(b[got:])
			if err != nil {
				return "", err
			}
			got += k
		}
		return string(b[:n]), nil
	}
	if strings.HasPrefix(line, "-") {
		return "", fmt.Errorf("%s: %s", command, line)
	}
	return line, nil
}

// Stock Redis with an append-only file: fsync at every write keeps all that
// was acknowledged; fsync every second does not. A rewrite of the file happens
// in between, in a forked child.
func TestRedisPowerLoss(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server (`make -C failure-injector servers`)")
	}
	fitest.Backends(t, func(t *testing.T, backend string) {
		for _, fsync := range []string{"always", "everysec"} {
			t.Run(fsync, func(t *testing.T) {
				root, run := fitest.NewRun(t)
				live := filepath.Join(root, "disk")
				env := fitest.NewDisk(t, run, backend, "redis", live)
				port, log := fitest.FreePorts(t, 1)[0], filepath.Join(root, "redis.log")
				fitest.LogTail(t, log)
				args := []string{"redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", live,
					"--appendonly", "yes", "--appendfsync", fsync, "--save", ""}
				var r *redis
				up := func() *exec.Cmd {
					cmd := fitest.Start(t, env, "", log, args...)
					fitest.Await(t, "redis", func() bool {
						c, err := dialRedis(port)
						if err != nil {
							return false
						}
						if _, err := c.do("PING"); err != nil { // loading
							c.conn.Close()
							return false
						}
						r = c
						return true
					})
					return cmd
				}
				cmd := up()
				acked := 0
				write := func(n int) {
					for range n {
						if _, err := r.do(fmt.Sprintf("SET k%d %d", acked, acked)); err != nil {
							t.Fatal(err)
						}
						acked++
					}
				}
				write(2000)
				_, err := r.do("BGREWRITEAOF")
				fitest.Must(t, err)
				write(500)
				fitest.Await(t, "the rewrite", func() bool {
					info, err := r.do("INFO persistence")
					fitest.Must(t, err)
					return strings.Contains(info, "aof_rewrite_in_progress:0")
				})
				write(2500)
				fitest.Kill(cmd)
				lost := fitest.Crash(t, run, "redis")
				up()
				size, err := r.do("DBSIZE")
				fitest.Must(t, err)
				n, err := strconv.Atoi(strings.TrimPrefix(size, ":"))
				fitest.Must(t, err)
				t.Logf("appendfsync %s: %d acknowledged, %d there after the power loss; %+v", fsync, acked, n, lost)
				if fsync == "always" && n != acked {
					t.Errorf("%d acknowledged writes are missing", acked-n)
				}
				if fsync == "everysec" && (n >= acked || lost.BytesLost == 0) {
					t.Error("nothing was lost: the disk kept what was never synced")
				}
			})
		}
	})
}
