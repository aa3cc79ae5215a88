// SPDX-License-Identifier: Apache-2.0

// Package opexec runs file operations in a process of their own, which calls
// the C library like any server does and can be killed. For tests.
package opexec

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed c/opexec.c
var source []byte

var program string

// Main compiles the program and runs the tests of a package.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fi-opexec-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "opexec")
	cmd := exec.Command("gcc", "-O1", "-x", "c", "-o", program, "-")
	cmd.Stdin = strings.NewReader(string(source))
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	return m.Run()
}

// Program is the path of the compiled program; its argument is a directory.
func Program() string { return program }

// A Life is one process on a disk.
type Life struct {
	Out   *bufio.Scanner // a line per operation, "done" after each script
	cmd   *exec.Cmd
	in    io.WriteCloser
	errs  strings.Builder
	watch *time.Timer
}

// Begin starts a process in a directory.
func Begin(env []string, dir string) (*Life, error) {
	l := &Life{cmd: exec.Command(program, dir)}
	l.cmd.Env = env
	l.cmd.Stderr = &l.errs
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.Out = bufio.NewScanner(out)
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	l.watch = time.AfterFunc(60*time.Second, l.Kill)
	return l, nil
}

// Do carries out operations and returns the result line of each.
func (l *Life) Do(ops []string) ([]string, error) {
	go l.Send(ops)
	var lines []string
	for l.Out.Scan() {
		if l.Out.Text() == "done" {
			return lines, nil
		}
		lines = append(lines, l.Out.Text())
	}
	l.End()
	return lines, fmt.Errorf("opexec ended after %d of %d operations: %s", len(lines), len(ops), l.errs.String())
}

// Send sends a script; its answers are for the caller to read.
func (l *Life) Send(ops []string) {
	io.WriteString(l.in, strings.Join(append(ops, "."), "\n")+"\n")
}

// Pid of the process.
func (l *Life) Pid() int { return l.cmd.Process.Pid }

// Kill kills the process with all its files open.
func (l *Life) Kill() { l.cmd.Process.Kill() }

// End kills the process and waits until it is gone.
func (l *Life) End() {
	l.watch.Stop()
	l.Kill()
	l.cmd.Wait()
}
