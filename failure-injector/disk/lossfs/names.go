// SPDX-License-Identifier: Apache-2.0

package lossfs

import (
	"time"

	"cad/failure-injector/disk"
	"cad/failure-injector/internal/bug"
)

// A change of names that no crash leaves yet: one or two entries.
type change struct {
	seq  uint64
	dirs [2]*inode
	name [2]string
	to   [2]*inode // nil = the entry goes
	n    int
	when time.Time
}

func (c *change) touches(dirs map[*inode]bool) bool {
	for k := range c.n {
		if dirs[c.dirs[k]] {
			return true
		}
	}
	return false
}

func (c *change) apply() {
	for k := range c.n {
		if c.to[k] == nil {
			delete(c.dirs[k].kept, c.name[k])
		} else {
			c.dirs[k].kept[c.name[k]] = c.to[k]
		}
	}
}

// A journal holds the changes of names in order, until a sync commits them.
type journal struct {
	waiting []*change
	next    uint64 // ordinal of the next change
}

func (j *journal) add(c *change) {
	c.seq, c.when = j.next, time.Now()
	j.next++
	j.waiting = append(j.waiting, c)
}

func (j *journal) entry(dir *inode, name string, to *inode) {
	j.add(&change{dirs: [2]*inode{dir}, name: [2]string{name}, to: [2]*inode{to}, n: 1})
}

func (j *journal) two(d1 *inode, n1 string, to1 *inode, d2 *inode, n2 string, to2 *inode) {
	j.add(&change{dirs: [2]*inode{d1, d2}, name: [2]string{n1, n2}, to: [2]*inode{to1, to2}, n: 2})
}

// commitUpto commits everything before an ordinal (mode ext4).
func (j *journal) commitUpto(ordinal uint64) {
	for len(j.waiting) > 0 && j.waiting[0].seq < ordinal {
		j.waiting[0].apply()
		j.waiting[0] = nil
		j.waiting = j.waiting[1:]
	}
}

// commitDir commits the changes that touch dir, and whatever came before them
// in any directory that they touch too (mode strict).
func (j *journal) commitDir(dir *inode, upto uint64) {
	touched := map[*inode]bool{dir: true}
	now := map[*change]bool{}
	for k := len(j.waiting) - 1; k >= 0; k-- {
		c := j.waiting[k]
		if c.seq < upto && c.touches(touched) {
			now[c] = true
			for i := range c.n {
				touched[c.dirs[i]] = true
			}
		}
	}
	var rest []*change
	for _, c := range j.waiting {
		if now[c] {
			c.apply()
		} else {
			rest = append(rest, c)
		}
	}
	j.waiting = rest
}

// synced commits what an fsync of in, begun when the journal ended at upto, promises.
func (j *journal) synced(mode string, in *inode, upto uint64) {
	if bug.On(10) && in.isDir() {
		return
	}
	if mode == disk.Ext4 {
		j.commitUpto(upto)
	} else if in.isDir() {
		j.commitDir(in, upto)
	}
}
