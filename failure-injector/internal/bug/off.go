// SPDX-License-Identifier: Apache-2.0

//go:build !seededbugs

// Package bug switches on mistakes made on purpose, in test builds only
// (go test -tags seededbugs): the model test must find each of them.
package bug

// On tells whether the n-th seeded bug is switched on.
func On(int) bool { return false }
