// SPDX-License-Identifier: Apache-2.0

// Package health tells whether a server works, by a write that it
// acknowledges: a process that runs, a port that answers and a status that
// looks right say nothing of a server whose disk has failed.
package health

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

// An adapter writes through one server and reads the write back.
type adapter func(address string, limit time.Duration) error

var adapters = map[string]adapter{"zookeeper": zooKeeper, "redis": redis}

// Kinds lists the servers that there is an adapter for.
func Kinds() []string {
	var all []string
	for k := range adapters {
		all = append(all, k)
	}
	sort.Strings(all)
	return all
}

// Check writes through the server at address; nil: it has acknowledged.
func Check(kind, address string, limit time.Duration) error {
	a, ok := adapters[kind]
	if !ok {
		return fmt.Errorf("no adapter for %q; there are: %s", kind, strings.Join(Kinds(), ", "))
	}
	result := make(chan error, 1)
	go func() { result <- a(address, limit) }()
	select {
	case err := <-result:
		if err != nil {
			return fmt.Errorf("%s at %s: %w", kind, address, err)
		}
		return nil
	case <-time.After(limit):
		return fmt.Errorf("%s at %s: no acknowledgement within %v", kind, address, limit)
	}
}

// token is a value that no earlier check has written.
func token() string { return fmt.Sprintf("%x", time.Now().UnixNano()) }
