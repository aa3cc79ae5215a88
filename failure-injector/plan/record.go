// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"cad/failure-injector/faultlog"
)

// FromLog makes a plan of what was done: the same verbs and marks, as far apart
// in time as they were. What failed is left out.
func FromLog(entries []faultlog.Entry) Plan {
	p := Plan{About: "as recorded"}
	var last int64
	for _, e := range entries {
		if e.Exit != 0 || (len(e.Do) == 0 && e.Mark == "") {
			continue
		}
		if gap := time.Duration(e.Begin - last); last != 0 && gap > time.Millisecond {
			p.Steps = append(p.Steps, Step{Wait: Duration(gap.Round(time.Millisecond))})
		}
		p.Steps = append(p.Steps, Step{Do: e.Do, Mark: e.Mark})
		last = e.End
	}
	return p
}
