// SPDX-License-Identifier: Apache-2.0

//go:build seededbugs

package modeltest

import (
	"strconv"
	"testing"

	"cad/failure-injector/internal/bug"
)

func TestLossfsSeededBugs(t *testing.T) {
	needFUSE(t)
	defer bug.Set(0)
	for n := 1; n < len(bugs); n++ {
		t.Run(strconv.Itoa(n)+" "+bugs[n], func(t *testing.T) {
			bug.Set(n)
			hunt(t, makeLossfs)
		})
	}
}
