// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"encoding/binary"
	"fmt"
)

// A record of the directory journal.
type record struct {
	kind         uint32
	dir1, dir2   uint32
	id, id2      uint32
	name1, name2 string
	end          uint64 // offset behind it
}

// parse decodes the journal. A record is there whole or not at all, so a
// malformed one means that the state file is damaged.
func parse(log []byte) ([]record, error) {
	const header = 32
	var all []record
	for at := 0; at < len(log); {
		if len(log)-at < header {
			return nil, fmt.Errorf("journal ends inside a record at %d", at)
		}
		b, le := log[at:], binary.LittleEndian
		size := int(le.Uint32(b))
		n1, n2 := int(le.Uint16(b[24:])), int(le.Uint16(b[26:]))
		if size%8 != 0 || size < header+n1+n2 || size > len(b) {
			return nil, fmt.Errorf("journal has a malformed record at %d", at)
		}
		at += size
		all = append(all, record{
			kind: le.Uint32(b[4:]), dir1: le.Uint32(b[8:]), dir2: le.Uint32(b[12:]),
			id: le.Uint32(b[16:]), id2: le.Uint32(b[20:]),
			name1: string(b[header : header+n1]), name2: string(b[header+n1 : header+n1+n2]),
			end: uint64(at),
		})
	}
	return all, nil
}

// names is a set of directories by id, each a map from name to inode id.
type names struct {
	dirs    map[uint32]map[string]uint32
	targets map[uint32]string // of symbolic links
	scan    *names            // being filled by a scan that has not ended
}

func newNames() *names {
	return &names{dirs: map[uint32]map[string]uint32{}, targets: map[uint32]string{}}
}

func (n *names) dir(id uint32) map[string]uint32 {
	d := n.dirs[id]
	if d == nil {
		d = map[string]uint32{}
		n.dirs[id] = d
	}
	return d
}

func (n *names) apply(r record) {
	switch r.kind {
	case recScan:
		n.scan = newNames()
	case recEnd:
		if n.scan != nil {
			*n = *n.scan
		}
	case recAbort:
		n.scan = nil
	case recAdd:
		into := n
		if n.scan != nil {
			into = n.scan
		}
		into.dir(r.dir1)[r.name1] = r.id
		if r.name2 != "" {
			into.targets[r.id] = r.name2
		}
	case recDel:
		delete(n.dir(r.dir1), r.name1)
	case recMove:
		delete(n.dir(r.dir1), r.name1)
		n.dir(r.dir2)[r.name2] = r.id
	case recSwap:
		n.dir(r.dir1)[r.name1] = r.id2
		n.dir(r.dir2)[r.name2] = r.id
	}
}

// durableExt4 applies what a sync committed: a prefix of the journal.
func durableExt4(all []record, committed uint64) *names {
	n := newNames()
	for _, r := range all {
		if r.end > committed {
			break
		}
		n.apply(r)
	}
	n.scan = nil
	return n
}

// durableStrict applies the operations on directories that were synced since.
// An operation that touches two directories is durable in both as soon as one
// of them is synced, and then so is all that came before it in either.
func durableStrict(all []record, also []uint32) *names {
	n := newNames()
	var waiting []record
	syncDir := func(dir uint32) {
		touched := map[uint32]bool{dir: true}
		now := make([]bool, len(waiting))
		for i := len(waiting) - 1; i >= 0; i-- {
			r := waiting[i]
			if touched[r.dir1] || (r.dir2 != 0 && touched[r.dir2]) {
				now[i] = true
				touched[r.dir1] = true
				if r.dir2 != 0 {
					touched[r.dir2] = true
				}
			}
		}
		var rest []record
		for i, r := range waiting {
			if now[i] {
				n.apply(r)
			} else {
				rest = append(rest, r)
			}
		}
		waiting = rest
	}
	var scan *names
	for _, r := range all {
		switch {
		case r.kind == recScan:
			scan = newNames()
		case r.kind == recAbort:
			scan = nil
		case r.kind == recEnd:
			if scan != nil {
				n, scan, waiting = scan, nil, nil
			}
		case scan != nil:
			scan.apply(r)
		case r.kind == recDirsync:
			syncDir(r.dir1)
		default:
			waiting = append(waiting, r)
		}
	}
	for _, d := range also {
		syncDir(d)
	}
	return n
}
