// SPDX-License-Identifier: Apache-2.0

// Package disk is what every backend of a failing disk offers, and the run
// directory in which disks are registered.
package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"
)

// Modes say when a directory entry is durable.
const (
	Ext4   = "ext4"   // any fsync on the disk commits all earlier directory operations
	Strict = "strict" // an entry is durable after an fsync of its directory
)

// Spec is the identity of a disk, kept in its directory as disk.json.
type Spec struct {
	Name    string    `json:"name"`
	Backend string    `json:"backend"`
	Live    string    `json:"dir"`  // where processes see it
	Mode    string    `json:"mode"` // Ext4 or Strict
	Seed    uint64    `json:"seed"` // of latency samples
	Created time.Time `json:"created"`
}

// CrashOptions say how the power goes.
type CrashOptions struct {
	Torn  bool          // some unsynced sectors and entries survive
	Seed  uint64        // chooses which
	Force bool          // although processes still use the disk
	Wait  time.Duration // for processes that are being killed
}

// Crash is what a power loss took.
type Crash struct {
	Name          string   `json:"name"`
	FilesLost     int      `json:"files_lost"`     // names that are gone
	FilesReverted int      `json:"files_reverted"` // files whose content went back
	FilesRestored int      `json:"files_restored"` // names whose removal or rename went back
	BytesLost     uint64   `json:"bytes_lost"`     // written, never synced, gone
	BytesTorn     uint64   `json:"bytes_torn"`     // unsynced, but survived (torn)
	Lost          []string `json:"lost,omitempty"` // the first names of files_lost
	Torn          bool     `json:"torn"`
	Seed          uint64   `json:"seed"`
	Millis        float64  `json:"took_ms"`
}

// ErrInUse is returned by a crash of a disk on which processes live.
var ErrInUse = errors.New("processes still live on the disk")

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Run is a run directory: the registry of everything `fi` made there.
type Run string

// Dir is the directory of a disk.
func (r Run) Dir(name string) string { return filepath.Join(string(r), "disks", name) }

// Load reads the spec of a disk.
func (r Run) Load(name string) (Spec, error) {
	var s Spec
	if !validName.MatchString(name) {
		return s, fmt.Errorf("bad disk name %q: letters, digits, dot, dash and underscore, at most 63", name)
	}
	b, err := os.ReadFile(filepath.Join(r.Dir(name), "disk.json"))
	if errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("no disk %q in run directory %s; `fi disk list` shows what is there, --run or FI_RUN choose another", name, r)
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

// Save registers a new disk in a directory made by the caller.
func (r Run) Save(s Spec) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(r.Dir(s.Name), "disk.json")
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Reserve makes the directory of a new disk.
func (r Run) Reserve(name string) (string, error) {
	if !validName.MatchString(name) {
		return "", fmt.Errorf("bad disk name %q: letters, digits, dot, dash and underscore, at most 63", name)
	}
	if err := os.MkdirAll(filepath.Join(string(r), "disks"), 0o700); err != nil {
		return "", err
	}
	err := os.Mkdir(r.Dir(name), 0o700)
	if errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("disk %q exists already; `fi disk destroy %s` removes it", name, name)
	}
	return r.Dir(name), err
}

// Within tells whether a path is another one or below it.
func Within(inner, outer string) bool {
	return inner == outer || strings.HasPrefix(inner, outer+"/")
}

// CheckFree refuses a directory that overlaps a disk of the run directory.
func (r Run) CheckFree(live string) error {
	others, err := r.List()
	if err != nil {
		return err
	}
	for _, o := range others {
		if Within(o.Live, live) || Within(live, o.Live) {
			return fmt.Errorf("%s overlaps disk %q at %s", live, o.Name, o.Live)
		}
	}
	return nil
}

// List returns the disks in order of name.
func (r Run) List() ([]Spec, error) {
	names, err := os.ReadDir(filepath.Join(string(r), "disks"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Spec
	for _, n := range names {
		if s, err := r.Load(n.Name()); err == nil {
			all = append(all, s)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, nil
}
