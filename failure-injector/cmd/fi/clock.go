// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"sort"
	"strings"

	"cad/failure-injector/clock"
	"cad/failure-injector/disk"
)

var clockVerbs = []verb{
	{"create", "NAME", "clocks for processes, which run like the machine's until they are set", clockCreate},
	{"env", "NAME", "KEY=VALUE lines for the environment of a process that has these clocks", clockEnv},
	{"set", "NAME --clock realtime|monotonic|raw|all [--offset D] [--rate R]", "how far ahead of the machine's a clock is from now on, and how fast it runs", clockSet},
	{"show", "NAME", "how the clocks run now", clockShow},
	{"destroy", "NAME", "forget them; who has them keeps them as they are", clockDestroy},
	{"list", "", "all clocks of the run directory", clockList},
}

func (c *call) clock() (*clock.Clock, error) {
	if err := c.parse(1); err != nil {
		return nil, err
	}
	return clock.Open(c.run, c.args[0])
}

func clockCreate(c *call) error {
	if err := c.parse(1); err != nil {
		return err
	}
	k, err := clock.Create(c.run, c.args[0])
	if err != nil {
		return err
	}
	return c.printClock(k)
}

func (c *call) printClock(k *clock.Clock) error {
	states, err := k.States()
	if err != nil {
		return err
	}
	var lines []string
	for name, s := range states {
		lines = append(lines, fmt.Sprintf("%-9s of %s is %v ahead, rate %v", name, c.args[0], s.Offset, s.Rate))
	}
	sort.Strings(lines)
	return c.print(map[string]any{"name": c.args[0], "clocks": states}, strings.Join(lines, "\n"))
}

func clockEnv(c *call) error {
	k, err := c.clock()
	if err != nil {
		return err
	}
	env, err := k.Env()
	if err != nil {
		return err
	}
	return c.printEnv(env)
}

func clockSet(c *call) error {
	name := c.flags.String("clock", "all", "")
	var change clock.Change
	offset := c.flags.Duration("offset", 0, "")
	rate := c.flags.Float64("rate", 1, "")
	k, err := c.clock()
	if err != nil {
		return err
	}
	c.flags.Visit(func(f *flag.Flag) { // 0 and 1 are values like others
		switch f.Name {
		case "offset":
			change.Offset = offset
		case "rate":
			change.Rate = rate
		}
	})
	which, err := clock.Parse(*name)
	if err != nil {
		return usagef("%v", err)
	}
	if change == (clock.Change{}) {
		return usagef("give --offset D or --rate R")
	}
	if err := k.Set(which, change); errors.Is(err, clock.ErrBackwards) {
		return fmt.Errorf("%w: %w", errRefused, err)
	} else if err != nil {
		return usagef("%v", err)
	}
	return c.printClock(k)
}

func clockShow(c *call) error {
	k, err := c.clock()
	if err != nil {
		return err
	}
	return c.printClock(k)
}

func clockDestroy(c *call) error {
	k, err := c.clock()
	if err != nil {
		return err
	}
	if err := k.Destroy(); err != nil {
		return err
	}
	return c.print(map[string]string{"name": c.args[0]}, "clock "+c.args[0]+" is forgotten")
}

func clockList(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	all, err := clock.List(c.run)
	if err != nil {
		return err
	}
	return c.print(all, strings.Join(all, "\n"))
}

// healClocks sets the clocks of a run right.
func healClocks(run disk.Run) error {
	all, err := clock.List(run)
	if err != nil {
		return err
	}
	var failed []error
	for _, name := range all {
		k, err := clock.Open(run, name)
		if err == nil {
			err = k.Heal()
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// joinEnv adds environments up: several shared objects go into one variable.
func joinEnv(env, more []string) []string {
	const preloads = "LD_PRELOAD="
	for _, e := range more {
		joined := false
		for i := range env {
			if strings.HasPrefix(e, preloads) && strings.HasPrefix(env[i], preloads) {
				env[i], joined = env[i]+":"+strings.TrimPrefix(e, preloads), true
			}
		}
		if !joined {
			env = append(env, e)
		}
	}
	return env
}
