// SPDX-License-Identifier: Apache-2.0

//go:build seededbugs

// Package bug switches on mistakes made on purpose, in test builds only
// (go test -tags seededbugs): the model test must find each of them.
package bug

import "sync/atomic"

var chosen atomic.Int32

// Set switches the n-th seeded bug on, and all others off.
func Set(n int) { chosen.Store(int32(n)) }

// On tells whether the n-th seeded bug is switched on.
func On(n int) bool { return chosen.Load() == int32(n) }
