// SPDX-License-Identifier: Apache-2.0

// Package latency describes how long an operation of a device takes, as an
// inverse cumulative distribution that any process can sample from shared memory.
package latency

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"time"
)

// Quantiles is the number of points of a table: quantile i/256 for i = 0..256.
const Quantiles = 257

// Table is an inverse cumulative distribution in nanoseconds, never decreasing.
type Table [Quantiles]uint64

// Const is a latency without spread.
func Const(d time.Duration) Table {
	var t Table
	for i := range t {
		t[i] = uint64(max(d, 0))
	}
	return t
}

// Skewed is a log-normal body through the median and the 99th percentile, cut
// at max; the lower half is a third as wide, since devices have a floor.
func Skewed(median, p99, max time.Duration) Table {
	const z99 = 2.3263
	sigma := math.Log(float64(p99)/float64(median)) / z99
	var t Table
	for i := range t {
		u := (float64(i) + 0.5) / (Quantiles)
		z := math.Sqrt2 * math.Erfinv(2*u-1)
		if z < 0 {
			z /= 3
		}
		t[i] = uint64(math.Min(float64(median)*math.Exp(sigma*z), float64(max)))
	}
	t[Quantiles-1] = uint64(max)
	return t
}

// A Profile is the flush latency of a kind of device.
type Profile struct {
	Name, What string
	Table      Table
	RealFsync  bool // flush the device below as well (and instead)
}

var profiles = map[string]Profile{
	"none": {Name: "none", What: "no delay: a flush costs what copying in memory costs"},
	"raw":  {Name: "raw", What: "the device below really flushes", RealFsync: true},
	"plp":  {Name: "plp", What: "datacenter SSD with capacitors: median 30 us, p99 0.2 ms", Table: Skewed(30*us, 200*us, 400*us)},
	"ssd":  {Name: "ssd", What: "client SSD without capacitors: median 0.9 ms, p99 5 ms", Table: Skewed(900*us, 5*ms, 10*ms)},
	"gp3":  {Name: "gp3", What: "EBS gp3: mean 0.70 ms, max 5 ms", Table: Skewed(660*us, 1600*us, 5*ms)},
	"gp2":  {Name: "gp2", What: "EBS gp2: mean 1.42 ms, p99 2.7 ms", Table: Skewed(1380*us, 2700*us, 8*ms)},
	"io2":  {Name: "io2", What: "EBS io2 Block Express: mean below 0.5 ms", Table: Skewed(440*us, 900*us, 2*ms)},
	"slow": {Name: "slow", What: "10 ms, the limit that etcd recommends", Table: Skewed(10*ms, 25*ms, 100*ms)},
}

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// Named finds a profile; the error lists the names there are.
func Named(name string) (Profile, error) {
	if p, ok := profiles[name]; ok {
		return p, nil
	}
	return Profile{}, fmt.Errorf("no latency profile %q; there are: %s", name, strings.Join(Names(), ", "))
}

// Names lists the profiles in alphabetical order.
func Names() []string {
	var names []string
	for n := range profiles {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
