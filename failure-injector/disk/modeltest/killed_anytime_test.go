// SPDX-License-Identifier: Apache-2.0

//go:build testfull

package modeltest

import (
	"math/rand/v2"
	"testing"
	"time"

	"cad/failure-injector/internal/opexec"
)

// TestPreloadKilledAnyTime kills from outside, also inside a system call. No
// seed brings such a moment back: TestPreloadKilled is the one to add to.
func TestPreloadKilledAnyTime(t *testing.T) {
	killedOften(t, true, func(env []string, _ int, r *rand.Rand) ([]string, func(*opexec.Life)) {
		delay := time.Duration(r.Int64N(int64(600 * time.Microsecond)))
		// The moment is counted from the first answer: before it, the process starts.
		return env, func(l *opexec.Life) { time.AfterFunc(delay, l.Kill) }
	})
}
