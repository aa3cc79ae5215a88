// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"cad/failure-injector/disk"
	"cad/failure-injector/faultlog"
	"cad/failure-injector/health"
	"cad/failure-injector/plan"
)

var planVerbs = []verb{
	{"run", "FILE", "carry out the steps of a plan (- = standard input); exit code 2: it did not settle", planRun},
	{"random", "--seed N [--steps K] [--hosts A,B] [--procs P,Q] [--disks D,E] [--clocks C] [--faults F,G] [--down N] [--settle JSON]", "print a plan of random faults that all end", planRandom},
	{"paper", "--hosts A,B,C,... (--sequence S | --seed N) [--lag D] [--settle JSON] [-- COMMAND...]", "print the plan of a sequence in the CAD paper's notation, `12345 -> 245 -> 1[2]45`; COMMAND gets each stage", planPaper},
	{"sequences", "--nodes N --seed N [--count K]", "print random sequences in that notation", planSequences},
	{"record", "", "print a plan of what was done in this run directory, to be run again", planRecord},
	{"shrink", "(FILE | --sequence S --nodes N) [--budget N] -- COMMAND...", "leave out what is not needed: COMMAND gets a file (or a sequence) and ends with 1 as long as it fails", planShrink},
}

// commandAfter takes what follows -- off the arguments.
func (c *call) commandAfter() []string {
	for i, a := range c.args {
		if a == "--" {
			command := c.args[i+1:]
			c.args = c.args[:i]
			return command
		}
	}
	return nil
}

func loadPlan(file string) (plan.Plan, error) {
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if file == "-" {
		read = func() ([]byte, error) { return io.ReadAll(os.Stdin) }
	}
	text, err := read()
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Parse(text)
	if err != nil {
		return p, usagef("%s: %v", file, err)
	}
	return p, nil
}

// world carries steps out by the verbs of this command.
type world struct{ run disk.Run }

func (w world) Do(step int, do []string) error {
	if len(do) > 0 && do[0] == "plan" {
		return usagef("a plan does not run plans")
	}
	var out, errs bytes.Buffer
	code := runStep(append([]string{"--json", "--run", string(w.run)}, do...), &out, &errs, step)
	if code != 0 {
		return fmt.Errorf("exit code %d: %s", code, strings.TrimSpace(errs.String()))
	}
	return nil
}

func (w world) Mark(step int, text string) error {
	e := faultlog.Begin()
	e.Mark, e.Step = text, step
	return faultlog.Append(w.run, e)
}

func (w world) Holds(p plan.Predicate) (bool, error) {
	if p.Healthy != "" {
		return checkHealth(w.run, p.Healthy, p.At, p.Host, 2*time.Second) == nil, nil
	}
	spec, err := store(w.run).Load(p.Proc)
	if err != nil {
		return false, err
	}
	if p.Is != "" {
		return spec.State() == p.Is, nil
	}
	said, err := os.ReadFile(store(w.run).LogPath(p.Proc))
	return bytes.Contains(said, []byte(p.Says)), err
}

func planRun(c *call) error {
	if err := c.parse(1); err != nil {
		return err
	}
	p, err := loadPlan(c.args[0])
	if err != nil {
		return err
	}
	begin := time.Now()
	err = plan.Run(p, world{c.run}, func(step int, s plan.Step) {
		if !c.json {
			fmt.Fprintf(c.out, "%8.3f s  step %d of %d: %s\n", time.Since(begin).Seconds(), step, len(p.Steps), s)
		}
	})
	if errors.Is(err, plan.ErrUnsettled) {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	if err != nil {
		return err
	}
	took := time.Since(begin).Seconds()
	return c.print(map[string]any{"steps": len(p.Steps), "seed": p.Seed, "took_s": took, "log": faultlog.Path(c.run)},
		fmt.Sprintf("%d steps in %.1f s; seed %d; log %s", len(p.Steps), took, p.Seed, faultlog.Path(c.run)))
}

// printPlan shows a plan as a file for `fi plan run`.
func (c *call) printPlan(p plan.Plan) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return c.print(p, string(text))
}

// list is a flag of names with commas in between.
func (c *call) list(name string) *[]string {
	var all []string
	c.flags.Func(name, "", func(s string) error {
		all = strings.Split(s, ",")
		return nil
	})
	return &all
}

func (c *call) settleFlag() *[]plan.Predicate {
	var all []plan.Predicate
	c.flags.Func("settle", "", func(s string) error { return json.Unmarshal([]byte(s), &all) })
	return &all
}

func planRandom(c *call) error {
	seed := c.flags.Uint64("seed", 1, "")
	steps := c.flags.Int("steps", 10, "")
	down := c.flags.Int("down", 1, "")
	hosts, procs, disks, clocks, faults := c.list("hosts"), c.list("procs"), c.list("disks"), c.list("clocks"), c.list("faults")
	settle := c.settleFlag()
	if err := c.parse(0); err != nil {
		return err
	}
	p, err := plan.Random(*seed, *steps, plan.Space{Hosts: *hosts, Procs: *procs, Disks: *disks, Clocks: *clocks,
		Faults: *faults, Down: *down, Settle: *settle})
	if err != nil {
		return usagef("%v", err)
	}
	return c.printPlan(p)
}

func planPaper(c *call) error {
	command := c.commandAfter()
	hosts, settle := c.list("hosts"), c.settleFlag()
	sequence := c.flags.String("sequence", "", "")
	seed := c.flags.Uint64("seed", 1, "")
	lag := c.flags.String("lag", "", "")
	if err := c.parse(0); err != nil {
		return err
	}
	if len(*hosts) == 0 || len(*hosts) > 9 {
		return usagef("--hosts: 1 to 9 names, node 1 first")
	}
	stages := plan.RandomSequence(*seed, len(*hosts))
	if *sequence != "" {
		var err error
		if stages, err = plan.ParseSequence(*sequence, len(*hosts)); err != nil {
			return usagef("%v", err)
		}
		*seed = 0
	}
	p := plan.FromSequence(stages, plan.Setting{Hosts: *hosts, Lag: *lag, Each: command, Settle: *settle})
	p.Seed = *seed
	return c.printPlan(p)
}

func planSequences(c *call) error {
	nodes := c.flags.Int("nodes", 5, "")
	seed := c.flags.Uint64("seed", 1, "")
	count := c.flags.Uint64("count", 1, "")
	if err := c.parse(0); err != nil {
		return err
	}
	if *nodes < 2 || *nodes > 9 {
		return usagef("--nodes is 2 to 9")
	}
	all := []string{}
	for k := range *count {
		all = append(all, plan.FormatSequence(plan.RandomSequence(*seed+k, *nodes)))
	}
	return c.print(map[string]any{"seed": *seed, "sequences": all}, strings.Join(all, "\n"))
}

func planRecord(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	entries, err := faultlog.Read(faultlog.Path(c.run))
	if err != nil {
		return err
	}
	return c.printPlan(plan.FromLog(entries))
}

func planShrink(c *call) error {
	command := c.commandAfter()
	sequence := c.flags.String("sequence", "", "")
	nodes := c.flags.Int("nodes", 5, "")
	budget := c.flags.Int("budget", 200, "")
	if err := c.parse(-1); err != nil {
		return err
	}
	if len(command) == 0 || (*sequence == "") == (len(c.args) == 0) || len(c.args) > 1 {
		return usagef("give a plan or --sequence, and after -- the command that tries it")
	}
	// fails runs the command with one more argument; only exit code 1 counts.
	fails := func(argument string) bool {
		cmd := exec.Command(command[0], append(append([]string{}, command[1:]...), argument)...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		return exitCode(cmd.Run()) == 1
	}
	if *sequence != "" {
		stages, err := plan.ParseSequence(*sequence, *nodes)
		if err != nil {
			return usagef("%v", err)
		}
		fail := func(s []plan.Stage) bool { return fails(plan.FormatSequence(s)) }
		if !fail(stages) {
			return fmt.Errorf("%w: the whole sequence does not make the command end with 1", errRefused)
		}
		small, asked := plan.Shrink(stages, *budget, fail)
		text := plan.FormatSequence(small)
		return c.print(map[string]any{"sequence": text, "tries": asked}, text)
	}
	p, err := loadPlan(c.args[0])
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "fi-plan-*.json")
	if err != nil {
		return err
	}
	file.Close()
	defer os.Remove(file.Name())
	var broken error
	fail := func(steps []plan.Step) bool {
		text, err := json.Marshal(plan.Plan{About: p.About, Seed: p.Seed, Steps: steps})
		if err == nil {
			err = os.WriteFile(file.Name(), text, 0o600)
		}
		broken = errors.Join(broken, err)
		return err == nil && fails(file.Name())
	}
	if !fail(p.Steps) {
		return errors.Join(broken, fmt.Errorf("%w: the whole plan does not make the command end with 1", errRefused))
	}
	p.Steps, _ = plan.Shrink(p.Steps, *budget, fail)
	if broken != nil {
		return broken
	}
	return c.printPlan(p)
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return exitFailed
	}
	return 0
}

// showLog prints what was done to this run directory.
func showLog(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	entries, err := faultlog.Read(faultlog.Path(c.run))
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		what := "fi " + strings.Join(e.Do, " ")
		if e.Mark != "" {
			what = "mark " + e.Mark
		}
		if e.Exit != 0 {
			what += fmt.Sprintf(" (exit code %d: %s)", e.Exit, e.Error)
		}
		lines = append(lines, fmt.Sprintf("%d.%09d %7.1f ms  %s", e.Begin/1e9, e.Begin%1e9, float64(e.End-e.Begin)/1e6, what))
	}
	return c.print(entries, strings.Join(lines, "\n"))
}

// checkHealth writes through a server, from a host if one is named.
func checkHealth(run disk.Run, kind, at, from string, limit time.Duration) error {
	if from == "" {
		return health.Check(kind, at, limit)
	}
	h, err := loadHost(run, from)
	if err != nil {
		return err
	}
	if h.Kind == loopback {
		return health.Check(kind, at, limit)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	there := place{h, namesFile(run)}
	args, err := there.Command([]string{self, "health", kind, "--at", at, "--wait", limit.String()})
	if err != nil {
		return err
	}
	cmd := exec.Command(args[0], args[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := there.Start(cmd); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("from host %s: %s", from, strings.TrimSpace(said.String()))
	}
	return nil
}

func checkServer(c *call) error {
	at := c.flags.String("at", "", "")
	from := c.flags.String("host", "", "")
	wait := c.flags.Duration("wait", 5*time.Second, "")
	if err := c.parse(1); err != nil {
		return err
	}
	if *at == "" {
		return usagef("--at ADDRESS:PORT is missing")
	}
	begin := time.Now()
	if err := checkHealth(c.run, c.args[0], *at, *from, *wait); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	took := float64(time.Since(begin).Microseconds()) / 1000
	return c.print(map[string]any{"kind": c.args[0], "at": *at, "took_ms": took}, fmt.Sprintf("%s at %s acknowledged a write (%.1f ms)", c.args[0], *at, took))
}
