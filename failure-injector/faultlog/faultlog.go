// SPDX-License-Identifier: Apache-2.0

// Package faultlog records what was done to hosts, disks, networks, clocks and
// processes, with monotonic time stamps that can be joined with histories.
package faultlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"cad/failure-injector/disk"
)

// An Entry is one verb that changed something, or a mark that a plan has set.
// The change happened between Begin and End.
type Entry struct {
	Begin  int64    `json:"begin_ns"` // CLOCK_MONOTONIC of the machine
	End    int64    `json:"end_ns"`
	Wall   int64    `json:"wall_ns"` // CLOCK_REALTIME at Begin
	Do     []string `json:"do,omitempty"`
	Mark   string   `json:"mark,omitempty"`
	Step   int      `json:"step,omitempty"` // of a plan, from 1
	Exit   int      `json:"exit"`
	Error  string   `json:"error,omitempty"`
	Result any      `json:"result,omitempty"` // what the verb answered
}

// Now is the clock of the entries.
func Now() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

// Begin stamps an entry.
func Begin() Entry { return Entry{Begin: Now(), Wall: time.Now().UnixNano()} }

// Name is the log's name in a run directory.
const Name = "faults.jsonl"

// Path is where the log of a run is: FI_LOG, or in its directory.
func Path(run disk.Run) string {
	if p := os.Getenv("FI_LOG"); p != "" {
		return p
	}
	return filepath.Join(string(run), Name)
}

// Append ends an entry and writes it. A run directory that is not there has
// nothing to remember.
func Append(run disk.Run, e Entry) error {
	e.End = Now()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(Path(run), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n')) // in one piece: others append too
	return errors.Join(err, f.Close())
}

// Read returns the entries of a log, in the order in which they ended.
func Read(path string) ([]Entry, error) {
	all := []Entry{}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var e Entry
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s, entry %d: %w", path, len(all)+1, err)
		}
		all = append(all, e)
	}
	return all, in.Err()
}
