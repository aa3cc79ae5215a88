// SPDX-License-Identifier: Apache-2.0

// Package clienttest uses the clients in other languages.
package clienttest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cad/failure-injector/client"
	"cad/failure-injector/internal/fitest"
)

func TestGoClient(t *testing.T) {
	root, run := fitest.NewRun(t)
	c := client.Client{Binary: fitest.Binary(t), Run: run}
	live := filepath.Join(root, "live")
	fitest.Must(t, c.CreateDisk("d", "preload", live))
	env, err := c.Env("d")
	fitest.Must(t, err)
	fitest.Must(t, c.Latency("d", "fsync", 3*time.Millisecond))
	var s struct {
		Control struct {
			Ops map[string]struct {
				Median uint64 `json:"latency_median_ns"`
			}
		}
	}
	fitest.Must(t, c.Call(&s, "disk", "stat", "d"))
	if s.Control.Ops["fsync"].Median != 3e6 {
		t.Errorf("fsync takes %d ns", s.Control.Ops["fsync"].Median)
	}
	fitest.Must(t, c.Heal())
	cmd := exec.Command("sh", "-c", "echo unsynced > f")
	cmd.Dir, cmd.Env = live, append(os.Environ(), env...)
	fitest.Must(t, cmd.Run())
	lost, err := c.CrashDisk("d", 10*time.Second)
	if err != nil || lost.FilesLost != 1 || lost.Name != "d" {
		t.Errorf("%+v, %v", lost, err)
	}
	var refused *client.Error
	if _, err := c.CrashDisk("nothing", 0); !errors.As(err, &refused) || refused.Code != 255 || !strings.Contains(refused.Said, "no disk \"nothing\"") {
		t.Errorf("a crash of no disk: %v", err)
	}
	fitest.Must(t, c.Down())
}

func TestClojureClient(t *testing.T) {
	jars, err := filepath.Glob("../build/clojure/*.jar")
	fitest.Must(t, err)
	if _, err := exec.LookPath("java"); err != nil || len(jars) == 0 {
		t.Skip("needs a JDK, and Clojure (`make -C failure-injector servers`)")
	}
	root, run := fitest.NewRun(t)
	path := strings.Join(append(jars, "../clients/clojure/src"), ":")
	out, err := exec.Command("java", "-cp", path, "clojure.main", "use.clj", fitest.Binary(t), run, root).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestJavaClient(t *testing.T) {
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skip("needs a JDK")
	}
	dir := t.TempDir()
	classes := filepath.Join(dir, "classes")
	out, err := exec.Command("javac", "--release", "17", "-Xlint:all", "-Werror", "-d", classes,
		"../clients/java/src/main/java/io/cad/fi/Fi.java", "Use.java").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := filepath.Join(dir, "run")
	t.Cleanup(func() { fitest.FI(t, run, nil, "down", "--all") })
	out, err = exec.Command("java", "-cp", classes, "Use", fitest.Binary(t), run, filepath.Join(dir, "live")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
