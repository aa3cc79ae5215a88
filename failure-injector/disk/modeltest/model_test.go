// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
)

// An op is one operation of a sequence. Its text form is what opexec reads.
type op struct {
	kind     byte
	h        int
	a, b     string
	at, size int64
	seed     int64
}

func (o op) String() string {
	a, b := o.a, o.b
	if a == "" {
		a = "-"
	}
	if b == "" {
		b = "-"
	}
	return fmt.Sprintf("%c %d %s %s %d %d %d", o.kind, o.h, a, b, o.at, o.size, o.seed)
}

// Operations that the test itself carries out, not opexec.
const (
	opCrash   = '!'
	opSyncAll = '*'
)

// The model: what a disk should hold, in plain maps and byte slices. It shares
// no code with either backend, and decides nothing by journals or extents.

type node struct {
	id       int
	kind     byte // 'f', 'd', 'l'
	target   string
	now      []byte // content that processes see
	safe     []byte // content that a crash leaves
	children map[string]*node
	kept     map[string]*node // children that a crash leaves
}

type handle struct {
	n      *node
	pos    int64
	append bool
	sync   bool
	read   bool
}

// A change of names that is not durable yet, in strict mode.
type change struct {
	dirs  []*node
	apply func()
	done  bool
}

type model struct {
	strict  bool
	root    *node
	handles [8]*handle
	changes []*change
	nextID  int
}

func newModel(strict bool) *model {
	m := &model{strict: strict}
	m.root = m.node('d')
	return m
}

func (m *model) node(kind byte) *node {
	m.nextID++
	return &node{id: m.nextID, kind: kind, children: map[string]*node{}, kept: map[string]*node{}}
}

func (m *model) find(p string) *node {
	n := m.root
	if p == "." {
		return n
	}
	for _, part := range strings.Split(p, "/") {
		if n == nil || n.kind != 'd' {
			return nil
		}
		n = n.children[part]
	}
	return n
}

func (m *model) parent(p string) (*node, string) {
	d := m.find(path.Dir(p))
	if d != nil && d.kind != 'd' {
		d = nil
	}
	return d, path.Base(p)
}

// follow resolves a symbolic link at the end of a path, once.
func (m *model) follow(p string) string {
	if n := m.find(p); n != nil && n.kind == 'l' {
		return path.Join(path.Dir(p), n.target)
	}
	return p
}

func (m *model) changed(apply func(), dirs ...*node) {
	m.changes = append(m.changes, &change{dirs: dirs, apply: apply})
}

func (m *model) setChild(d *node, name string, n *node) {
	if n == nil {
		delete(d.children, name)
	} else {
		d.children[name] = n
	}
}

func keep(d *node, name string, n *node) {
	if n == nil {
		delete(d.kept, name)
	} else {
		d.kept[name] = n
	}
}

// commit makes one change durable, after everything before it in its directories.
func (m *model) commit(k int) {
	c := m.changes[k]
	if c.done {
		return
	}
	c.done = true
	for j := range m.changes[:k] {
		for _, d := range c.dirs {
			if slices.Contains(m.changes[j].dirs, d) {
				m.commit(j)
			}
		}
	}
	c.apply()
}

func (m *model) commitDir(d *node) {
	for k, c := range m.changes {
		if !c.done && slices.Contains(c.dirs, d) {
			m.commit(k)
		}
	}
	m.changes = slices.DeleteFunc(m.changes, func(c *change) bool { return c.done })
}

func (m *model) commitAll() {
	for k := range m.changes {
		m.commit(k)
	}
	m.changes = nil
}

func (m *model) fsync(n *node) {
	if n.kind == 'f' {
		n.safe = slices.Clone(n.now)
	}
	if !m.strict {
		m.commitAll()
	} else if n.kind == 'd' {
		m.commitDir(n)
	}
}

func (m *model) syncAll() {
	m.commitAll()
	var visit func(n *node)
	visit = func(n *node) {
		n.safe = slices.Clone(n.now)
		for _, c := range n.children {
			visit(c)
		}
	}
	visit(m.root)
}

func (m *model) crash() {
	m.handles = [8]*handle{}
	m.changes = nil
	seen := map[*node]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		n.now = slices.Clone(n.safe)
		n.children = maps.Clone(n.kept)
		for _, c := range n.children {
			visit(c)
		}
	}
	visit(m.root)
}

func resize(b []byte, size int64) []byte {
	if int64(len(b)) >= size {
		return b[:size:size]
	}
	return append(slices.Clone(b), make([]byte, size-int64(len(b)))...)
}

func pattern(seed, pos int64) byte { return byte(1 + (seed*37+pos*7+pos/251)%255) }

func (n *node) write(at, size, seed int64) {
	if end := at + size; int64(len(n.now)) < end {
		n.now = resize(n.now, end)
	} else {
		n.now = slices.Clone(n.now)
	}
	for i := range size {
		n.now[at+i] = pattern(seed, at+i)
	}
}

func fnv(b []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range b {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}

// step carries out an operation; the result is opexec's line without errno, or
// "fail".
func (m *model) step(o op) string {
	h := m.handles[o.h]
	needsHandle := strings.ContainsRune("cwprtfdezMYx", rune(o.kind))
	if needsHandle && h == nil {
		return "fail"
	}
	switch o.kind {
	case 'o':
		return m.open(o)
	case 'c':
		m.handles[o.h] = nil
		return "0"
	case 'w':
		if h.append {
			h.pos = int64(len(h.n.now))
		}
		h.n.write(h.pos, o.size, o.seed)
		h.pos += o.size
		m.wrote(h)
		return fmt.Sprint(o.size)
	case 'p':
		at := o.at
		if h.append { // Linux: the offset of pwrite is ignored then
			at = int64(len(h.n.now))
			for i := range o.size {
				if end := at + i + 1; int64(len(h.n.now)) < end {
					h.n.now = resize(h.n.now, end)
				}
				h.n.now[at+i] = pattern(o.seed, o.at+i)
			}
		} else {
			h.n.write(at, o.size, o.seed)
		}
		m.wrote(h)
		return fmt.Sprint(o.size)
	case 'r':
		if !h.read {
			return "fail"
		}
		end := min(o.at+o.size, int64(len(h.n.now)))
		b := h.n.now[min(o.at, end):end]
		return fmt.Sprintf("%016x %d", fnv(b), len(b))
	case 't':
		h.n.now = resize(h.n.now, o.size)
		return "0"
	case 'T':
		n := m.find(m.follow(o.a))
		if n == nil || n.kind != 'f' {
			return "fail"
		}
		n.now = resize(n.now, o.size)
		return "0"
	case 'f', 'd':
		m.fsync(h.n)
		return "0"
	case 'D':
		n := m.find(m.follow(o.a))
		if n == nil || n.kind != 'd' {
			return "fail"
		}
		m.fsync(n)
		return "0"
	case 'v':
		return m.rename(o.a, o.b)
	case 'u', 'R':
		return m.remove(o.a, o.kind == 'R')
	case 'm', 's':
		name := o.a
		if o.kind == 's' {
			name = o.b
		}
		d, base := m.parent(name)
		if d == nil || d.children[base] != nil {
			return "fail"
		}
		n := m.node('d')
		if o.kind == 's' {
			n.kind, n.target = 'l', o.a
		}
		m.setChild(d, base, n)
		m.changed(func() { keep(d, base, n) }, d)
		return "0"
	case 'l':
		n := m.find(o.a)
		d, base := m.parent(o.b)
		if n == nil || n.kind == 'd' || d == nil || d.children[base] != nil {
			return "fail"
		}
		m.setChild(d, base, n)
		m.changed(func() { keep(d, base, n) }, d)
		return "0"
	case 'e':
		if int64(len(h.n.now)) < o.at+o.size {
			h.n.now = resize(h.n.now, o.at+o.size)
		}
		return "0"
	case 'z':
		h.n.now = slices.Clone(h.n.now)
		for i := o.at; i < min(o.at+o.size, int64(len(h.n.now))); i++ {
			h.n.now[i] = 0
		}
		return "0"
	case 'M', 'Y':
		if o.at+o.size > int64(len(h.n.now)) || !h.read {
			return "fail"
		}
		h.n.write(o.at, o.size, o.seed)
		if o.kind == 'Y' {
			m.fsync(h.n)
		}
		return "0"
	case 'F', 'G':
		return m.stdio(o)
	case 'x':
		return "0"
	}
	panic("no operation " + string(o.kind))
}

func (m *model) wrote(h *handle) {
	if h.sync {
		m.fsync(h.n)
	}
}

func (m *model) create(p string) *node {
	d, base := m.parent(p)
	if d == nil {
		return nil
	}
	n := m.node('f')
	m.setChild(d, base, n)
	m.changed(func() { keep(d, base, n) }, d)
	return n
}

func (m *model) open(o op) string {
	m.handles[o.h] = nil
	p := m.follow(o.a)
	if strings.Contains(o.b, "x") {
		p = o.a
	}
	n := m.find(p)
	switch {
	case n != nil && (n.kind == 'd' || strings.Contains(o.b, "x") || n.kind == 'l'):
		return "fail"
	case n == nil && !strings.Contains(o.b, "c"):
		return "fail"
	case n == nil:
		if n = m.create(p); n == nil {
			return "fail"
		}
	case strings.Contains(o.b, "t"):
		n.now = nil
	}
	m.handles[o.h] = &handle{n: n, append: strings.Contains(o.b, "a"), sync: strings.Contains(o.b, "s"), read: !strings.Contains(o.b, "w")}
	return "0"
}

func (m *model) stdio(o op) string {
	p := m.follow(o.a)
	n := m.find(p)
	if n != nil && n.kind != 'f' {
		return "fail"
	}
	if n == nil {
		if n = m.create(p); n == nil {
			return "fail"
		}
	}
	if o.b == "w" {
		n.now = nil
	}
	n.write(int64(len(n.now)), o.size, o.seed)
	if o.kind == 'G' {
		m.fsync(n)
	}
	return "0"
}

func (m *model) remove(p string, dirsToo bool) string {
	n := m.find(p)
	if n == nil || (n.kind == 'd' && (!dirsToo || len(n.children) > 0)) {
		return "fail"
	}
	d, base := m.parent(p)
	m.setChild(d, base, nil)
	m.changed(func() { keep(d, base, nil) }, d)
	return "0"
}

func (m *model) rename(from, to string) string {
	n := m.find(from)
	d1, b1 := m.parent(from)
	d2, b2 := m.parent(to)
	if n == nil || d1 == nil || d2 == nil {
		return "fail"
	}
	old := d2.children[b2]
	if old == n {
		return "0"
	}
	if strings.HasPrefix(to+"/", from+"/") || strings.HasPrefix(from+"/", to+"/") {
		return "fail"
	}
	if old != nil && ((old.kind == 'd') != (n.kind == 'd') || len(old.children) > 0) {
		return "fail"
	}
	m.setChild(d1, b1, nil)
	m.setChild(d2, b2, n)
	m.changed(func() { keep(d1, b1, nil); keep(d2, b2, n) }, d1, d2)
	return "0"
}

// listing describes the tree: a line per path; files that are the same carry
// the same first path.
func (m *model) listing() string {
	var lines []string
	first := map[*node]string{}
	var visit func(n *node, p string)
	visit = func(n *node, p string) {
		for _, name := range slices.Sorted(maps.Keys(n.children)) {
			c, q := n.children[name], path.Join(p, name)
			switch c.kind {
			case 'd':
				lines = append(lines, q+" dir")
				visit(c, q)
			case 'l':
				lines = append(lines, q+" -> "+c.target)
			default:
				if first[c] == "" {
					first[c] = q
				}
				lines = append(lines, fmt.Sprintf("%s file %d %016x same as %s", q, len(c.now), fnv(c.now), first[c]))
			}
		}
	}
	visit(m.root, "")
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}
