// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cad/failure-injector/faultlog"
)

// Figure 13 of the paper, and what its notation means.
func TestSequenceNotation(t *testing.T) {
	const figure = "[1]2345 -> 245 -> 1[2]45 -> 145 -> 134[5] -> 12345"
	for _, text := range []string{figure, strings.ReplaceAll(figure, "->", "→")} {
		stages, err := ParseSequence(text, 5)
		if err != nil {
			t.Fatal(err)
		}
		if len(stages) != 6 || stages[0].Delayed != 1 || stages[1].Delayed != 0 || stages[4].Delayed != 5 || !slices.Equal(stages[3].Up, []int{1, 4, 5}) {
			t.Errorf("read as %+v", stages)
		}
		if FormatSequence(stages) != figure {
			t.Errorf("%q becomes %q", text, FormatSequence(stages))
		}
	}
	for _, wrong := range []string{"", "12 -> ", "126", "21", "1[2][3]", "1[2", "11", "1x"} {
		if _, err := ParseSequence(wrong, 5); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
}

func TestRandomSequences(t *testing.T) {
	seen := map[string]bool{}
	delayed, crashes := 0, 0
	for seed := range uint64(500) {
		stages := RandomSequence(seed, 5)
		text := FormatSequence(stages)
		seen[text] = true
		if FormatSequence(RandomSequence(seed, 5)) != text {
			t.Errorf("seed %d gives two sequences", seed)
		}
		for i, s := range stages {
			if len(s.Up) < 3 {
				t.Errorf("seed %d: no majority in %s", seed, text)
			}
			if i > 0 && slices.Equal(s.Up, stages[i-1].Up) {
				t.Errorf("seed %d: nothing happens in %s", seed, text)
			}
			if s.Delayed != 0 {
				delayed++
				if !s.has(s.Delayed) {
					t.Errorf("seed %d: a node that is off is delayed in %s", seed, text)
				}
			}
			if i > 0 && len(s.Up) < len(stages[i-1].Up) {
				crashes++
			}
		}
		if len(stages[0].Up) != 5 || len(stages[len(stages)-1].Up) != 5 {
			t.Errorf("seed %d: %s does not begin and end with all nodes", seed, text)
		}
	}
	if len(seen) < 490 || delayed < 500 || crashes < 500 {
		t.Errorf("500 seeds: %d different sequences, %d delays, %d crashes", len(seen), delayed, crashes)
	}
}

// The steps of a sequence lead from stage to stage, and no node is left delayed.
func TestStepsOfASequence(t *testing.T) {
	hosts := []string{"a", "b", "c"}
	for seed := range uint64(100) {
		stages := RandomSequence(seed, 3)
		up := map[string]bool{"a": true, "b": true, "c": true}
		late := map[string]bool{}
		at := 0
		for _, s := range FromSequence(stages, Setting{Hosts: hosts, Lag: "50ms"}).Steps {
			switch {
			case len(s.Do) > 0 && s.Do[0] == "host":
				for _, h := range s.Do[2:] {
					if up[h] == (s.Do[1] == "restart") {
						t.Fatalf("seed %d: %v twice", seed, s.Do)
					}
					up[h] = s.Do[1] == "restart"
				}
			case len(s.Do) > 0:
				late[s.Do[5]] = s.Do[7] != "0s"
			default:
				var now Stage
				for k, h := range hosts {
					if up[h] {
						now.Up = append(now.Up, k+1)
					}
					if late[h] {
						now.Delayed = k + 1
					}
				}
				if s.Mark != stages[at].String() || !reflect.DeepEqual(now, stages[at]) {
					t.Fatalf("seed %d: at %s the nodes are %s", seed, s.Mark, now)
				}
				at++
			}
		}
		if at != len(stages) {
			t.Errorf("seed %d: %d of %d stages", seed, at, len(stages))
		}
	}
}

func TestRandomPlans(t *testing.T) {
	space := Space{Hosts: []string{"a", "b", "c"}, Procs: []string{"a", "b", "c"}, Disks: []string{"d", "e"}, Clocks: []string{"k"},
		Down: 1, Settle: []Predicate{{Proc: "a", Is: "running"}}}
	begun := map[string]bool{}
	for seed := range uint64(200) {
		p, err := Random(seed, 12, space)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := Random(seed, 12, space)
		if !reflect.DeepEqual(p, again) {
			t.Errorf("seed %d gives two plans", seed)
		}
		off := 0
		changes := 0
		for _, s := range p.Steps {
			if len(s.Do) == 0 {
				continue
			}
			changes++
			begun[strings.Join(s.Do[:2], " ")] = true
			switch what := strings.Join(s.Do, " "); {
			case strings.HasPrefix(what, "host crash"), strings.HasPrefix(what, "proc crash"), strings.HasPrefix(what, "proc stop"), strings.HasSuffix(what, "--freeze on"):
				off++
			case strings.HasPrefix(what, "host restart"), strings.HasPrefix(what, "proc restart"), strings.HasPrefix(what, "proc cont"), strings.HasSuffix(what, "--freeze off"):
				off--
			}
			if off < 0 || off > space.Down {
				t.Fatalf("seed %d: %d are off at %v", seed, off, s.Do)
			}
		}
		if off != 0 || changes < 12 || changes > 13 || len(p.Steps) != 2*changes {
			t.Errorf("seed %d: %d changes, %d steps, %d left off", seed, changes, len(p.Steps), off)
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := Parse(text); err != nil || !reflect.DeepEqual(read, p) {
			t.Errorf("seed %d: written and read it differs: %v", seed, err)
		}
	}
	for _, verb := range []string{"host crash", "host restart", "proc stop", "proc crash", "net partition", "net heal", "disk latency", "disk fault", "clock set"} {
		if !begun[verb] {
			t.Errorf("200 plans never %s", verb)
		}
	}
	for _, wrong := range []Space{{}, {Hosts: []string{"a"}, Faults: []string{"flood"}}, {Hosts: []string{"a"}, Faults: []string{"clock"}}, {Procs: []string{"p"}}} {
		if _, err := Random(1, 5, wrong); err == nil {
			t.Errorf("a plan is made of %+v", wrong)
		}
	}
}

func TestPlansAreChecked(t *testing.T) {
	for _, wrong := range []string{
		`{}`, `{"steps": []}`, `{"steps": [{}]}`, `{"steps": [{"do": ["heal"], "wait": "1s"}]}`, `{"steps": [{"wait": "-1s"}]}`,
		`{"steps": [{"du": ["heal"]}]}`, `{"steps": [{"do": ["heal"], "within": "1s"}]}`, `{"steps": [{"settle": [{}]}]}`,
		`{"steps": [{"settle": [{"proc": "p", "is": "tired"}]}]}`, `{"steps": [{"settle": [{"proc": "p", "is": "gone", "says": "x"}]}]}`,
		`{"steps": [{"settle": [{"healthy": "redis"}]}]}`, `{"steps": [{"settle": [{"proc": "p", "is": "gone", "command": ["true"]}]}]}`,
	} {
		if _, err := Parse([]byte(wrong)); err == nil {
			t.Errorf("read: %s", wrong)
		}
	}
}

func TestShrink(t *testing.T) {
	var list []int
	for i := range 40 {
		list = append(list, i)
	}
	needs := func(need ...int) func([]int) bool {
		return func(l []int) bool {
			for _, n := range need {
				if !slices.Contains(l, n) {
					return false
				}
			}
			return true
		}
	}
	for _, need := range [][]int{{7}, {0, 39}, {3, 17, 18, 30}, {0}, {39}} {
		got, asked := Shrink(list, 1000, needs(need...))
		if !slices.Equal(got, need) {
			t.Errorf("of 40, %v are needed; %v are left after %d tries", need, got, asked)
		}
	}
	got, asked := Shrink(list, 10, needs(3, 30))
	if asked > 10 || !needs(3, 30)(got) || len(got) == 40 {
		t.Errorf("with a budget of 10: %d tries, %v left", asked, got)
	}
}

func TestFromLog(t *testing.T) {
	const ms = 1_000_000
	p := FromLog([]faultlog.Entry{
		{Begin: 5 * ms, End: 6 * ms, Do: []string{"host", "crash", "a"}},
		{Begin: 106 * ms, End: 107 * ms, Mark: "stage"},
		{Begin: 107 * ms, End: 108 * ms, Do: []string{"host", "crash", "x"}, Exit: 255},
		{Begin: 108 * ms, End: 109 * ms, Do: []string{"host", "restart", "a"}},
	})
	want := []Step{{Do: []string{"host", "crash", "a"}}, {Wait: 100 * ms}, {Mark: "stage"}, {Do: []string{"host", "restart", "a"}}}
	if !reflect.DeepEqual(p.Steps, want) {
		t.Errorf("%+v", p.Steps)
	}
}
