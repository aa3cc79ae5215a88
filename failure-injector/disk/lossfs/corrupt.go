// SPDX-License-Identifier: Apache-2.0

package lossfs

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
)

// Corrupt changes bytes of a file in its live and in its durable state, as a
// medium does that rots: in each byte of the range one bit, chosen by seed.
func (v *Volume) Corrupt(file string, at, size int64, seed uint64) error {
	v.mu.Lock()
	in := v.root
	for _, part := range strings.Split(path.Clean(file), "/") {
		if in = in.children[part]; in == nil {
			v.mu.Unlock()
			return fmt.Errorf("disk %s has no file %s", v.Spec.Name, file)
		}
	}
	l := v.life
	if !in.isFile() || at < 0 || size <= 0 || at+size > in.now.size {
		end := in.now.size
		v.mu.Unlock()
		return fmt.Errorf("the range %d+%d is not within the file %s of %d bytes", at, size, file, end)
	}
	r := rand.New(rand.NewPCG(seed, 0x726f74))
	for pos := at; pos < at+size; pos++ {
		flip := byte(1) << r.IntN(8)
		for _, c := range []*content{&in.now, &in.safe} {
			if pos >= c.size {
				continue
			}
			p := &page{shared: true}
			if old := c.pages[pos/pageSize]; old != nil {
				p.data = old.data
			}
			p.data[pos%pageSize] ^= flip
			c.pages[pos/pageSize] = p
		}
	}
	v.mu.Unlock()
	l.mount.server.InodeNotify(in.id, at, size) // what the kernel has in memory is not what the disk has
	return nil
}
