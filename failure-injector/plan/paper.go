// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Sequences in the notation of the CAD paper (section 5.3), ASCII arrows and
// brackets for boxes: "12345 -> 245 -> 1[2]45". A stage names the nodes that are
// up; one in brackets is up and delayed.

// A Stage is who is up, and who of those is delayed (0 = nobody). Nodes count from 1.
type Stage struct {
	Up      []int
	Delayed int
}

func (s Stage) has(node int) bool {
	for _, n := range s.Up {
		if n == node {
			return true
		}
	}
	return false
}

func (s Stage) String() string {
	var b strings.Builder
	for _, n := range s.Up {
		if n == s.Delayed {
			fmt.Fprintf(&b, "[%d]", n)
		} else {
			fmt.Fprint(&b, n)
		}
	}
	return b.String()
}

// FormatSequence writes stages as a string.
func FormatSequence(stages []Stage) string {
	var parts []string
	for _, s := range stages {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, " -> ")
}

// ParseSequence reads one for so many nodes (at most 9).
func ParseSequence(text string, nodes int) ([]Stage, error) {
	var stages []Stage
	for _, part := range strings.Split(strings.ReplaceAll(text, "→", "->"), "->") {
		var s Stage
		part = strings.TrimSpace(part)
		for rest := part; rest != ""; {
			delayed := false
			if strings.HasPrefix(rest, "[") && len(rest) >= 3 && rest[2] == ']' {
				rest, delayed = rest[1:2]+rest[3:], true
			}
			n, err := strconv.Atoi(rest[:1])
			if err != nil || n < 1 || n > nodes || s.has(n) || (len(s.Up) > 0 && s.Up[len(s.Up)-1] > n) || (delayed && s.Delayed != 0) {
				return nil, fmt.Errorf("stage %q: nodes are 1 to %d, in order, each once, at most one in brackets", part, nodes)
			}
			s.Up = append(s.Up, n)
			if delayed {
				s.Delayed = n
			}
			rest = rest[1:]
		}
		if len(s.Up) == 0 {
			return nil, fmt.Errorf("a stage of %q has no node", text)
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// RandomSequence draws one as the paper does: from all nodes up, by crashes and
// recoveries that leave a majority, to all nodes up; at each stage one node may
// be delayed.
func RandomSequence(seed uint64, nodes int) []Stage {
	r := rand.New(rand.NewPCG(seed, 0x7061706572))
	up := make([]bool, nodes+1)
	alive := nodes
	for n := 1; n <= nodes; n++ {
		up[n] = true
	}
	stage := func() Stage {
		var s Stage
		for n := 1; n <= nodes; n++ {
			if up[n] {
				s.Up = append(s.Up, n)
			}
		}
		if r.IntN(2) == 0 {
			s.Delayed = s.Up[r.IntN(len(s.Up))]
		}
		return s
	}
	stages := []Stage{stage()}
	for length := 4 + r.IntN(5); len(stages) < length; {
		before := alive
		for range 1 + r.IntN(2) { // nodes that change at once, all in one direction
			n := 1 + r.IntN(nodes)
			if up[n] && alive <= before && alive-1 >= nodes/2+1 {
				up[n], alive = false, alive-1
			} else if !up[n] && alive >= before {
				up[n], alive = true, alive+1
			}
		}
		if alive != before {
			stages = append(stages, stage())
		}
	}
	for n := 1; n <= nodes; n++ { // one after the other, back to all
		if !up[n] {
			up[n] = true
			stages = append(stages, stage())
		}
	}
	return stages
}

// A Setting is how the stages of a sequence are carried out.
type Setting struct {
	Hosts  []string    // node k is Hosts[k-1]
	Lag    string      // a delayed node hears the others so much later ("" = the stage is only marked)
	Each   []string    // a command after each stage, with the stage as its last argument
	Settle []Predicate // before it
}

// FromSequence spells a sequence out.
func FromSequence(stages []Stage, s Setting) Plan {
	p := Plan{About: FormatSequence(stages)}
	all := Stage{}
	for k := range s.Hosts {
		all.Up = append(all.Up, k+1)
	}
	before := all
	for _, now := range stages {
		var down, back []string
		for n, h := range s.Hosts {
			switch was, is := before.has(n+1), now.has(n+1); {
			case was && !is:
				down = append(down, h)
			case !was && is:
				back = append(back, h)
			}
		}
		if s.Lag != "" && before.Delayed != now.Delayed {
			p.lag(s, before.Delayed, "0s")
		}
		if len(down) > 0 {
			p.Steps = append(p.Steps, Step{Do: append([]string{"host", "crash"}, down...)})
		}
		if len(back) > 0 {
			p.Steps = append(p.Steps, Step{Do: append([]string{"host", "restart"}, back...)})
		}
		if s.Lag != "" && before.Delayed != now.Delayed {
			p.lag(s, now.Delayed, s.Lag)
		}
		p.Steps = append(p.Steps, Step{Mark: now.String()})
		if len(s.Settle) > 0 {
			p.Steps = append(p.Steps, Step{Settle: s.Settle})
		}
		if len(s.Each) > 0 {
			p.Steps = append(p.Steps, Step{Run: append(append([]string{}, s.Each...), now.String())})
		}
		before = now
	}
	return p
}

// lag makes a node (0 = none) hear all others later.
func (p *Plan) lag(s Setting, node int, by string) {
	for k, h := range s.Hosts {
		if node != 0 && k+1 != node {
			p.Steps = append(p.Steps, Step{Do: []string{"net", "link", "--from", h, "--to", s.Hosts[node-1], "--delay", by}})
		}
	}
}
