// SPDX-License-Identifier: Apache-2.0

// Package client runs the fi command from Go programs. Every call waits until
// the command has done its work.
package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Client is one run directory; it has no state of its own.
type Client struct {
	Binary string // path of fi
	Run    string // run directory
}

// Error is what the command said.
type Error struct {
	Code int // 2 refused, 254 wrong arguments, 255 failed
	Said string
}

func (e *Error) Error() string { return e.Said }

// Crash is what a power loss took.
type Crash struct {
	Name          string `json:"name"`
	FilesLost     int    `json:"files_lost"`     // names that are gone
	FilesReverted int    `json:"files_reverted"` // files whose content went back
	BytesLost     uint64 `json:"bytes_lost"`     // written, never synced, gone
}

// Call runs any verb and decodes the JSON that it prints, if into is not nil.
func (c Client) Call(into any, args ...string) error {
	cmd := exec.Command(c.Binary, append([]string{"--json", "--run", c.Run}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &Error{exit.ExitCode(), strings.TrimSpace(said.String())}
	}
	if err != nil {
		return err
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("fi %s printed %q: %w", strings.Join(args, " "), out, err)
	}
	return nil
}

// CreateDisk makes a disk of a directory; what is there already is durable.
func (c Client) CreateDisk(name, backend, live string) error {
	return c.Call(nil, "disk", "create", name, "--backend", backend, "--dir", live)
}

// Env is what a process needs in its environment to live on a disk.
func (c Client) Env(disk string) ([]string, error) {
	vars := map[string]string{}
	err := c.Call(&vars, "disk", "env", disk)
	var env []string
	for k, v := range vars {
		env = append(env, k+"="+v)
	}
	return env, err
}

// Latency is how long an operation takes at least, from now on.
func (c Client) Latency(disk, op string, atLeast time.Duration) error {
	return c.Call(nil, "disk", "latency", disk, "--op", op, "--const", atLeast.String())
}

// CrashDisk cuts the power of a disk; processes on it have this long to end.
func (c Client) CrashDisk(name string, wait time.Duration) (Crash, error) {
	var r Crash
	return r, c.Call(&r, "disk", "crash", name, "--wait", wait.String())
}

// Heal takes every fault, delay and pause back.
func (c Client) Heal() error { return c.Call(nil, "heal", "--all") }

// Down ends everything of the run directory; safe at any time.
func (c Client) Down() error { return c.Call(nil, "down", "--all") }
