// SPDX-License-Identifier: Apache-2.0

// Package clienttest uses the clients in other languages.
package clienttest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"cad/failure-injector/internal/fitest"
)

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
