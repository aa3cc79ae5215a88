// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A World is what steps act on.
type World interface {
	Do(step int, verb []string) error // carries out a verb of fi and logs it
	Mark(step int, text string) error
	Holds(Predicate) (bool, error) // an error ends the plan: it will never hold
}

// ErrUnsettled: a settle step ran out of time; nothing is decided.
var ErrUnsettled = errors.New("not settled")

const usualWithin = 30 * time.Second

// Run carries out all steps, and tells of each before it begins.
func Run(p Plan, w World, tell func(step int, s Step)) error {
	for i, s := range p.Steps {
		tell(i+1, s)
		if err := s.run(i+1, w); err != nil {
			return fmt.Errorf("step %d of %d (%s): %w", i+1, len(p.Steps), s, err)
		}
	}
	return nil
}

func (s Step) run(number int, w World) error {
	switch {
	case len(s.Do) > 0:
		return w.Do(number, s.Do)
	case len(s.Run) > 0:
		cmd := exec.Command(s.Run[0], s.Run[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		return cmd.Run()
	case s.Mark != "":
		return w.Mark(number, s.Mark)
	case s.Wait > 0:
		time.Sleep(time.Duration(s.Wait))
		return nil
	}
	return s.settle(w)
}

func (s Step) settle(w World) error {
	within := time.Duration(s.Within)
	if within == 0 {
		within = usualWithin
	}
	deadline := time.Now().Add(within)
	for _, p := range s.Settle {
		for {
			ok, err := p.holds(w)
			if err != nil {
				return err
			}
			if ok {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%w: %s does not hold within %v", ErrUnsettled, p, within)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return nil
}

func (p Predicate) holds(w World) (bool, error) {
	if len(p.Command) == 0 {
		return w.Holds(p)
	}
	err := exec.Command(p.Command[0], p.Command[1:]...).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return false, nil
	}
	return err == nil, err
}

func (s Step) String() string {
	switch {
	case len(s.Do) > 0:
		return "fi " + strings.Join(s.Do, " ")
	case len(s.Run) > 0:
		return strings.Join(s.Run, " ")
	case s.Mark != "":
		return "mark " + s.Mark
	case s.Wait > 0:
		return "wait " + time.Duration(s.Wait).String()
	}
	var all []string
	for _, p := range s.Settle {
		all = append(all, p.String())
	}
	return "settle: " + strings.Join(all, ", ")
}

func (p Predicate) String() string {
	switch {
	case p.Is != "":
		return fmt.Sprintf("process %s is %s", p.Proc, p.Is)
	case p.Says != "":
		return fmt.Sprintf("process %s says %q", p.Proc, p.Says)
	case p.Healthy != "":
		return fmt.Sprintf("%s at %s is healthy", p.Healthy, p.At)
	}
	return strings.Join(p.Command, " ")
}
