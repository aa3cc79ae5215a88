// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
)

// A Space is what random faults may be done to.
type Space struct {
	Hosts, Procs, Disks, Clocks []string
	Faults                      []string // kinds; none = all that have a target
	Down                        int      // hosts or processes that may be off at once
	Settle                      []Predicate
}

// A kind of fault: how to begin it and how to end it. Both get the target and
// a random number.
type kind struct {
	targets func(Space) []string
	off     bool // its target answers nobody meanwhile
	single  bool // one at a time, whatever the target
	begin   func(target string, r *rand.Rand) []string
	end     func(target string) []string
}

func hosts(s Space) []string  { return s.Hosts }
func procs(s Space) []string  { return s.Procs }
func disks(s Space) []string  { return s.Disks }
func clocks(s Space) []string { return s.Clocks }

func seed(r *rand.Rand) string { return strconv.Itoa(r.IntN(1000)) }

var kinds = map[string]kind{
	"crash": {targets: hosts, off: true,
		begin: func(t string, r *rand.Rand) []string {
			cut := []string{"host", "crash", t, "--seed", seed(r)}
			if r.IntN(2) == 0 {
				cut = append(cut, "--torn")
			}
			return cut
		},
		end: func(t string) []string { return []string{"host", "restart", t} }},
	"kill": {targets: procs, off: true,
		begin: func(t string, _ *rand.Rand) []string { return []string{"proc", "crash", t} },
		end:   func(t string) []string { return []string{"proc", "restart", t} }},
	"pause": {targets: procs, off: true,
		begin: func(t string, _ *rand.Rand) []string { return []string{"proc", "stop", t} },
		end:   func(t string) []string { return []string{"proc", "cont", t} }},
	"partition": {targets: hosts, single: true,
		begin: func(t string, r *rand.Rand) []string {
			pattern := []string{"halves", "majority", "ring", "isolate", "one-way"}[r.IntN(5)]
			return []string{"net", "partition", pattern, "--host", t, "--seed", seed(r)}
		},
		end: func(string) []string { return []string{"net", "heal"} }},
	"slow": {targets: disks,
		begin: func(t string, r *rand.Rand) []string {
			return []string{"disk", "latency", t, "--op", "fsync", "--profile", []string{"ssd", "gp2", "slow"}[r.IntN(3)]}
		},
		end: func(t string) []string { return []string{"disk", "latency", t, "--op", "fsync", "--profile", "none"} }},
	"stall": {targets: disks, off: true,
		begin: func(t string, _ *rand.Rand) []string { return []string{"disk", "fault", t, "--freeze", "on"} },
		end:   func(t string) []string { return []string{"disk", "fault", t, "--freeze", "off"} }},
	"clock": {targets: clocks,
		begin: func(t string, r *rand.Rand) []string {
			return []string{"clock", "set", t, "--clock", "monotonic", "--rate", []string{"0.9", "0.95", "1.05", "1.1"}[r.IntN(4)]}
		},
		end: func(t string) []string { return []string{"clock", "set", t, "--clock", "monotonic", "--rate", "1"} }},
}

// Kinds lists the kinds of random faults.
func Kinds() []string {
	var all []string
	for k := range kinds {
		all = append(all, k)
	}
	sort.Strings(all)
	return all
}

// Random draws so many changes from a seed: faults that begin and faults that
// end, and at last all have ended.
func Random(from uint64, changes int, s Space) (Plan, error) {
	wanted := s.Faults
	if len(wanted) == 0 {
		for _, name := range Kinds() {
			if len(kinds[name].targets(s)) > 0 {
				wanted = append(wanted, name)
			}
		}
	}
	for _, name := range wanted {
		if k, ok := kinds[name]; !ok {
			return Plan{}, fmt.Errorf("no random fault %q; there are: %s", name, strings.Join(Kinds(), ", "))
		} else if len(k.targets(s)) == 0 {
			return Plan{}, fmt.Errorf("fault %q has nothing to act on: name its hosts, processes, disks or clocks", name)
		}
	}
	if len(wanted) == 0 {
		return Plan{}, fmt.Errorf("name hosts, processes, disks or clocks to act on")
	}
	r := rand.New(rand.NewPCG(from, 0x66617573))
	p := Plan{Seed: from, About: fmt.Sprintf("%d random changes: %s", changes, strings.Join(wanted, ", "))}
	type active struct{ name, target string }
	var on []active
	down := func() (n int) {
		for _, a := range on {
			if kinds[a.name].off {
				n++
			}
		}
		return n
	}
	taken := func(name, target string) bool {
		for _, a := range on {
			if a.target == target || (kinds[name].single && a.name == name) {
				return true
			}
		}
		return false
	}
	step := func(do []string) {
		p.Steps = append(p.Steps, Step{Do: do})
		if len(s.Settle) > 0 {
			p.Steps = append(p.Steps, Step{Settle: s.Settle})
		}
	}
	end := func(i int) {
		step(kinds[on[i].name].end(on[i].target))
		on = append(on[:i], on[i+1:]...)
	}
	for done := 0; done+len(on) < changes; {
		name := wanted[r.IntN(len(wanted))]
		k := kinds[name]
		targets := k.targets(s)
		target := targets[r.IntN(len(targets))]
		switch {
		case len(on) > 0 && r.IntN(2) == 0:
			end(r.IntN(len(on)))
		case taken(name, target) || (k.off && down() >= s.Down):
			if len(on) == 0 {
				return p, fmt.Errorf("nothing may be off at once: --down %d", s.Down)
			}
			end(r.IntN(len(on)))
		default:
			step(k.begin(target, r))
			on = append(on, active{name, target})
		}
		done++
	}
	for len(on) > 0 {
		end(r.IntN(len(on)))
	}
	return p, nil
}
