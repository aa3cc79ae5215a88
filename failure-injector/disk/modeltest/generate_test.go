// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"math/rand/v2"
	"path"
)

var (
	fileNames = []string{"f0", "f1", "f2", "f3", "d0/f0", "d0/f1", "d1/f0", "d1/f1", "d0/s/f0"}
	dirNames  = []string{"d0", "d1", "d0/s"}
	linkNames = []string{"l0", "d0/l1"} // symbolic; never renamed, so that none leads to another
)

// generate makes a sequence of at least 30 operations with at least one crash.
// Every sequence starts with four files that have been written.
func generate(seed uint64) []op {
	r := rand.New(rand.NewPCG(seed, 0x6d6f64656c))
	pick := func(l []string) string { return l[r.IntN(len(l))] }
	anyName := func() string {
		if r.IntN(8) == 0 {
			return pick(dirNames)
		}
		return pick(fileNames)
	}
	size := func() int64 {
		switch r.IntN(4) {
		case 0:
			return 1 + r.Int64N(20)
		case 1:
			return 1 + r.Int64N(9000)
		}
		return 1 + r.Int64N(700)
	}
	at := func() int64 {
		if r.IntN(3) == 0 {
			return r.Int64N(30000)
		}
		return r.Int64N(3000)
	}
	flags := func() string {
		f := ""
		for _, x := range []struct {
			c    string
			odds int
		}{{"c", 75}, {"t", 15}, {"a", 30}, {"s", 7}, {"w", 20}} {
			if r.IntN(100) < x.odds {
				f += x.c
			}
		}
		if r.IntN(12) == 0 {
			f = "cx"
		}
		return f + "r" // never empty
	}
	var ops []op
	add := func(o op) { ops = append(ops, o) }
	for i, n := range []string{"f0", "f1", "f2", "f3"} {
		add(op{kind: 'o', h: i, a: n, b: "c"})
		add(op{kind: 'w', h: i, size: size(), seed: r.Int64N(1000)})
	}
	add(op{kind: 'm', a: "d0"})
	add(op{kind: 'm', a: "d1"})
	// A few sequences hammer one file, so that its extents overflow.
	narrow := r.IntN(10) == 0
	length, crashes := 30+r.IntN(40), 0
	for len(ops) < length || crashes == 0 {
		o := op{h: r.IntN(8), seed: r.Int64N(1000)}
		if narrow || r.IntN(2) == 0 {
			o.h = r.IntN(2)
		}
		switch k := r.IntN(100); {
		case narrow && k < 60:
			o.kind, o.at, o.size = 'p', r.Int64N(60000), 1+r.Int64N(100)
		case k < 14:
			o.kind, o.a, o.b = 'o', pick(fileNames), flags()
			if r.IntN(15) == 0 {
				o.a = pick(linkNames)
			}
		case k < 28:
			o.kind, o.size = 'w', size()
		case k < 40:
			o.kind, o.at, o.size = 'p', at(), size()
		case k < 45:
			o.kind, o.size = 't', at()
		case k < 46:
			o.kind, o.a, o.size = 'T', pick(fileNames), at()
		case k < 54:
			o.kind = 'f'
		case k < 58:
			o.kind = 'd'
		case k < 63:
			o.kind, o.a = 'D', pick([]string{".", ".", "d0", "d1", "d0/s"})
		case k < 70:
			o.kind, o.a, o.b = 'v', anyName(), anyName()
		case k < 74:
			o.kind, o.a = 'u', pick(fileNames)
			if r.IntN(10) == 0 {
				o.a = pick(linkNames)
			}
		case k < 76:
			o.kind, o.a = 'R', anyName()
		case k < 78:
			o.kind, o.a = 'm', pick(dirNames)
		case k < 81:
			o.kind, o.a, o.b = 'l', pick(fileNames), pick(fileNames)
		case k < 82:
			o.kind, o.a, o.b = 's', path.Base(pick(fileNames)), pick(linkNames)
		case k < 84:
			o.kind = 'c'
		case k < 86:
			o.kind, o.at, o.size = 'e', at(), size()
		case k < 87:
			o.kind, o.at, o.size = 'z', at(), size()
		case k < 89:
			o.kind, o.at, o.size = 'M', r.Int64N(400), 1+r.Int64N(400)
		case k < 90:
			o.kind, o.at, o.size = 'Y', r.Int64N(400), 1+r.Int64N(400)
		case k < 91:
			o.kind, o.a, o.b, o.size = 'F', pick(fileNames), pick([]string{"w", "a"}), size()
		case k < 92:
			o.kind, o.a, o.b, o.size = 'G', pick(fileNames), pick([]string{"w", "a"}), size()
		case k < 93:
			o.kind = 'x'
		case k < 94:
			o.kind = opSyncAll
		case k < 97:
			o.kind = opCrash
			crashes++
		default:
			o.kind, o.at, o.size = 'r', at(), 20000
		}
		add(o)
		if o.kind == 't' && r.IntN(2) == 0 { // what was cut off must not come back
			add(op{kind: 't', h: o.h, size: o.size + at()})
			add(op{kind: 'f', h: o.h})
		}
	}
	if ops[len(ops)-1].kind != opCrash {
		add(op{kind: opCrash, seed: r.Int64N(2)})
	}
	return ops
}
