// SPDX-License-Identifier: Apache-2.0

// Package plan is faults in an order: read from JSON, drawn from a seed, made
// from what was done before, and made smaller.
package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A Plan is a list of steps. The same plan on the same servers does the same;
// what the seed chose is spelt out in the steps.
type Plan struct {
	About string `json:"about,omitempty"`
	Seed  uint64 `json:"seed,omitempty"` // that it was drawn from
	Steps []Step `json:"steps"`
}

// A Step is exactly one of its fields (with its companion).
type Step struct {
	Do     []string    `json:"do,omitempty"`     // a verb of fi with its arguments
	Run    []string    `json:"run,omitempty"`    // a command that must end with 0
	Wait   Duration    `json:"wait,omitempty"`   // time passes
	Mark   string      `json:"mark,omitempty"`   // a line in the log of faults
	Settle []Predicate `json:"settle,omitempty"` // until all of these hold,
	Within Duration    `json:"within,omitempty"` // at most for so long (30 s)
}

// A Predicate is one thing to wait for.
type Predicate struct {
	Proc    string   `json:"proc,omitempty"`    // a process of fi
	Is      string   `json:"is,omitempty"`      // its state: running, stopped, gone
	Says    string   `json:"says,omitempty"`    // or what is in its output
	Healthy string   `json:"healthy,omitempty"` // a kind of server that acknowledges a write
	At      string   `json:"at,omitempty"`      // its address
	Host    string   `json:"host,omitempty"`    // from where to ask
	Command []string `json:"command,omitempty"` // ends with 0
}

// A Duration is written as 1.5s in JSON.
type Duration time.Duration

func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads 1.5s.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err == nil && v < 0 {
		err = fmt.Errorf("%v is in the past", v)
	}
	*d = Duration(v)
	return err
}

// IsZero leaves it out of JSON.
func (d Duration) IsZero() bool { return d == 0 }

// Parse reads a plan and refuses what it does not know.
func Parse(text []byte) (Plan, error) {
	var p Plan
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&p); err != nil {
		return p, fmt.Errorf("a plan is {\"steps\": [...]}: %w", err)
	}
	if len(p.Steps) == 0 {
		return p, errors.New("the plan has no steps")
	}
	for i, s := range p.Steps {
		if err := s.check(); err != nil {
			return p, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return p, nil
}

func (s Step) check() error {
	kinds := 0
	for _, is := range []bool{len(s.Do) > 0, len(s.Run) > 0, s.Wait > 0, s.Mark != "", len(s.Settle) > 0} {
		if is {
			kinds++
		}
	}
	if kinds != 1 || (s.Within > 0 && len(s.Settle) == 0) {
		return errors.New("give exactly one of do, run, wait, mark, settle (and within with settle only)")
	}
	for _, p := range s.Settle {
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}

func (p Predicate) check() error {
	proc, health, command := p.Proc != "", p.Healthy != "", len(p.Command) > 0
	switch {
	case proc && !health && !command && (p.Is != "") != (p.Says != "") && p.At == "" && p.Host == "":
		if p.Is != "" && p.Is != "running" && p.Is != "stopped" && p.Is != "gone" {
			return fmt.Errorf("a process is running, stopped or gone, never %q", p.Is)
		}
		return nil
	case health && !proc && !command && p.At != "" && p.Is == "" && p.Says == "":
		return nil
	case command && !proc && !health && p.At == "" && p.Host == "" && p.Is == "" && p.Says == "":
		return nil
	}
	return errors.New("a predicate is proc with is or says, healthy with at (and host), or command")
}
