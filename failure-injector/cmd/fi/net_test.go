// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"testing"
)

// hears tells whether a packet from one host reaches another.
func (b blocks) hears(to, from string) bool { return !slices.Contains(b[to], from) }

func TestPartitions(t *testing.T) {
	for n := 2; n <= 9; n++ {
		var names []string
		for k := range n {
			names = append(names, fmt.Sprint("h", k))
		}
		for _, pattern := range []string{"halves", "majority", "isolate", "one-way", "ring"} {
			b := blocks{}
			if err := partition(b, pattern, names); err != nil {
				t.Fatal(err)
			}
			heard := map[string]int{}
			oneWay := 0
			for _, x := range names {
				for _, y := range names {
					if b.hears(x, y) {
						heard[x]++
						if !b.hears(y, x) {
							oneWay++
						}
					}
				}
			}
			majority := 0
			for _, x := range names {
				if heard[x] > n/2 {
					majority++
				}
			}
			what := fmt.Sprintf("%s of %d: %v", pattern, n, b)
			switch {
			case pattern != "one-way" && oneWay > 0:
				t.Errorf("not symmetrical: %s", what)
			case pattern == "one-way" && (oneWay == 0 || majority != n-max(1, (n-1)/2)):
				t.Errorf("%s", what)
			case pattern == "halves" && n%2 == 0 && majority > 0:
				t.Errorf("a half is a majority: %s", what)
			case pattern == "majority" && majority != n-(n-1)/2:
				t.Errorf("%d hosts hear a majority: %s", majority, what)
			case pattern == "isolate" && heard[names[0]] != 1:
				t.Errorf("%s", what)
			case pattern == "ring" && (majority != n || n >= 5 && len(b) != n):
				t.Errorf("%d hosts hear a majority: %s", majority, what)
			}
		}
	}
}
