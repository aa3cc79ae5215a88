// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"cad/failure-injector/daemon"
	"cad/failure-injector/disk"
	"cad/failure-injector/host"
	"cad/failure-injector/wan"
)

var netVerbs = []verb{
	{"block", "--from A --to B [--both]", "B receives nothing from A any more; A is not told", netBlock},
	{"unblock", "--from A --to B [--both]", "take a block back", netUnblock},
	{"link", "--from A --to B [--both] [--delay D] [--jitter D] [--loss P] [--duplicate P] [--reorder P] [--corrupt P] [--rate BITS] [--netem]", "what happens to packets between two hosts of network wan, in place of what was set; P is 0 to 1; --netem: of network lan, by the kernel", netLink},
	{"partition", "halves|majority|ring|isolate|one-way [--host H] [--seed N]", "block by pattern over all netns hosts, in place of what was blocked", netPartition},
	{"heal", "", "take all blocks and links back", netHeal},
	{"status", "", "who receives nothing from whom; links that are not perfect", netStatus},
}

// blocks says for each receiver whose packets it does not get.
type blocks map[string][]string

func blocksFile(run disk.Run) string { return filepath.Join(hostsDir(run), "blocks") }

func loadBlocks(run disk.Run) (blocks, error) {
	b := blocks{}
	text, err := os.ReadFile(blocksFile(run))
	if errors.Is(err, os.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	return b, json.Unmarshal(text, &b)
}

func (b blocks) add(from, to string) {
	if from != to && !slices.Contains(b[to], from) {
		b[to] = append(b[to], from)
		sort.Strings(b[to])
	}
}

func (b blocks) remove(from, to string) {
	b[to] = slices.DeleteFunc(b[to], func(s string) bool { return s == from })
	if len(b[to]) == 0 {
		delete(b, to)
	}
}

func (b blocks) save(run disk.Run) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return os.WriteFile(blocksFile(run), append(text, '\n'), 0o600)
}

// netHosts are the hosts that have a network of their own, by name.
func netHosts(run disk.Run) (map[string]hostInfo, error) {
	all, err := allHosts(run)
	if err != nil {
		return nil, err
	}
	out := map[string]hostInfo{}
	for _, h := range all {
		if h.Kind == isolated {
			out[h.Name] = h
		}
	}
	return out, nil
}

// applyBlocks makes every host that is on filter what the file says.
func applyBlocks(run disk.Run) error {
	b, err := loadBlocks(run)
	if err != nil {
		return err
	}
	hosts, err := netHosts(run)
	if err != nil {
		return err
	}
	for name, h := range hosts {
		if !h.On {
			continue // when it is switched on
		}
		var senders []string
		for _, from := range b[name] {
			if o, ok := hosts[from]; ok {
				senders = append(senders, o.Address)
			}
		}
		if err := host.Block(h.Holder.Pid, senders); err != nil {
			return fmt.Errorf("filter of host %s: %w", name, err)
		}
	}
	return nil
}

// dropBlocks forgets a host that is removed.
func dropBlocks(run disk.Run, name string) error {
	b, err := loadBlocks(run)
	if err != nil {
		return err
	}
	delete(b, name)
	for to := range b {
		b.remove(name, to)
	}
	return errors.Join(b.save(run), dropNetem(run, name))
}

// changeBlocks edits the blocks of a run and puts them into force.
func (c *call) changeBlocks(edit func(b blocks, hosts map[string]hostInfo) error) error {
	release, err := lockHosts(c.run)
	if err != nil {
		return err
	}
	defer release()
	b, err := loadBlocks(c.run)
	if err != nil {
		return err
	}
	hosts, err := netHosts(c.run)
	if err != nil {
		return err
	}
	if err := edit(b, hosts); err != nil {
		return err
	}
	if err := b.save(c.run); err != nil {
		return err
	}
	if err := applyBlocks(c.run); err != nil {
		return err
	}
	return c.printBlocks(b)
}

func (c *call) printBlocks(b blocks) error {
	var lines []string
	var w daemon.WanStatus
	if err := daemon.Call(c.run, daemon.Request{Verb: "wan status"}, &w); err != nil && !errors.Is(err, daemon.ErrNotRunning) {
		return err
	}
	hosts, err := netHosts(c.run)
	if err != nil {
		return err
	}
	byIndex := map[int]string{}
	for _, h := range hosts {
		byIndex[h.Index] = h.Name
	}
	links := []map[string]any{}
	for _, l := range w.Links {
		links = append(links, map[string]any{"from": byIndex[l.From], "to": byIndex[l.To], "link": l.Link})
		lines = append(lines, describe(byIndex[l.From], byIndex[l.To], l.Link))
	}
	n, err := loadNetem(c.run)
	if err != nil {
		return err
	}
	for from, all := range n {
		for to, l := range all {
			links = append(links, map[string]any{"from": from, "to": to, "link": l, "netem": true})
			lines = append(lines, describe(from, to, l)+" (netem)")
		}
	}
	for to, from := range b {
		lines = append(lines, fmt.Sprintf("%s receives nothing from %s", to, strings.Join(from, " ")))
	}
	sort.Strings(lines)
	if len(lines) == 0 {
		lines = []string{"nothing is blocked, all links are perfect"}
	}
	return c.print(map[string]any{"blocked": b, "links": links, "wan_packets": w.Stat}, strings.Join(lines, "\n"))
}

func describe(from, to string, l wan.Link) string {
	return fmt.Sprintf("%s to %s: delay %v + %v, loss %v, duplicate %v, reorder %v, corrupt %v, rate %v",
		from, to, l.Delay, l.Jitter, l.Loss, l.Duplicate, l.Reorder, l.Corrupt, l.Rate)
}

func (c *call) pair() (edit func(f func(from, to string)) func(blocks, map[string]hostInfo) error, err error) {
	from := c.flags.String("from", "", "")
	to := c.flags.String("to", "", "")
	both := c.flags.Bool("both", false, "")
	if err := c.parse(0); err != nil {
		return nil, err
	}
	if *from == "" || *to == "" || *from == *to {
		return nil, usagef("give two hosts: --from A --to B")
	}
	return func(f func(from, to string)) func(blocks, map[string]hostInfo) error {
		return func(_ blocks, hosts map[string]hostInfo) error {
			for _, h := range []string{*from, *to} {
				if _, ok := hosts[h]; !ok {
					return fmt.Errorf("%w: %q is no host of kind netns; `fi host list`", errRefused, h)
				}
			}
			f(*from, *to)
			if *both {
				f(*to, *from)
			}
			return nil
		}
	}, nil
}

func netBlock(c *call) error {
	edit, err := c.pair()
	if err != nil {
		return err
	}
	return c.changeBlocks(func(b blocks, hosts map[string]hostInfo) error { return edit(b.add)(b, hosts) })
}

func netUnblock(c *call) error {
	edit, err := c.pair()
	if err != nil {
		return err
	}
	return c.changeBlocks(func(b blocks, hosts map[string]hostInfo) error { return edit(b.remove)(b, hosts) })
}

func netHeal(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	return c.changeBlocks(func(b blocks, _ map[string]hostInfo) error {
		clear(b)
		return errors.Join(healLinks(c.run), healNetem(c.run))
	})
}

// healLinks makes the links of the wan perfect, if there is one.
func healLinks(run disk.Run) error {
	err := daemon.Call(run, daemon.Request{Verb: "wan heal"}, nil)
	if errors.Is(err, daemon.ErrNotRunning) {
		return nil
	}
	return err
}

func netLink(c *call) error {
	var l wan.Link
	c.flags.DurationVar(&l.Delay, "delay", 0, "")
	c.flags.DurationVar(&l.Jitter, "jitter", 0, "")
	c.flags.Float64Var(&l.Loss, "loss", 0, "")
	c.flags.Float64Var(&l.Duplicate, "duplicate", 0, "")
	c.flags.Float64Var(&l.Reorder, "reorder", 0, "")
	c.flags.Float64Var(&l.Corrupt, "corrupt", 0, "")
	c.flags.Float64Var(&l.Rate, "rate", 0, "")
	kernel := c.flags.Bool("netem", false, "")
	edit, err := c.pair()
	if err != nil {
		return err
	}
	if err := l.Check(); err != nil {
		return usagef("%v", err)
	}
	if *kernel {
		return c.netemLink(l, edit)
	}
	hosts, err := netHosts(c.run)
	if err != nil {
		return err
	}
	var failed error
	set := func(from, to string) {
		for _, h := range []string{from, to} {
			if hosts[h].Net != "wan" {
				failed = fmt.Errorf("%w: host %q is on network %s, which has no such links; add it with --net wan, or say --netem", errRefused, h, hosts[h].Net)
				return
			}
		}
		q := daemon.Request{Verb: "wan link", Wan: &daemon.Wan{From: hosts[from].Index, To: hosts[to].Index, Link: l}}
		failed = errors.Join(failed, daemon.Call(c.run, q, nil))
	}
	if err := edit(set)(nil, hosts); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	b, err := loadBlocks(c.run)
	if err != nil {
		return err
	}
	return c.printBlocks(b)
}

func netStatus(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	b, err := loadBlocks(c.run)
	if err != nil {
		return err
	}
	return c.printBlocks(b)
}

func netPartition(c *call) error {
	alone := c.flags.String("host", "", "")
	seed := c.flags.Uint64("seed", 1, "")
	if err := c.parse(1); err != nil {
		return err
	}
	return c.changeBlocks(func(b blocks, hosts map[string]hostInfo) error {
		var names []string
		for n := range hosts {
			names = append(names, n)
		}
		sort.Strings(names) // the seed decides, not the map
		rand.New(rand.NewPCG(*seed, 0x6e6574)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		if *alone != "" {
			if _, ok := hosts[*alone]; !ok {
				return fmt.Errorf("%w: %q is no host of kind netns; `fi host list`", errRefused, *alone)
			}
			k := slices.Index(names, *alone)
			names[0], names[k] = names[k], names[0]
		}
		clear(b)
		return partition(b, c.args[0], names)
	})
}

// partition fills b by pattern; names are in the order that the seed chose.
func partition(b blocks, pattern string, names []string) error {
	n := len(names)
	split := func(first int, backwards bool) {
		for _, x := range names[:first] {
			for _, y := range names[first:] {
				b.add(y, x) // x does not hear y
				if backwards {
					b.add(x, y)
				}
			}
		}
	}
	switch pattern {
	case "halves":
		split(n/2, true)
	case "majority": // the smallest majority on one side
		split((n-1)/2, true)
	case "isolate":
		split(1, true)
	case "one-way": // a minority sends but does not receive
		split(max(1, (n-1)/2), false)
	case "ring": // each hears a majority around it, no two the same
		for i := range names {
			for j := range names {
				apart := min((i-j+n)%n, (j-i+n)%n)
				if apart > (n/2+1)/2 {
					b.add(names[j], names[i])
				}
			}
		}
	default:
		return usagef("no partition %q; there are: halves, majority, ring, isolate, one-way", pattern)
	}
	return nil
}

// healNet takes all blocks and links back, if there are any.
func healNet(run disk.Run) error {
	if err := healLinks(run); err != nil {
		return err
	}
	b, err := loadBlocks(run)
	if err != nil {
		return err
	}
	n, err := loadNetem(run)
	if err != nil || len(b)+len(n) == 0 {
		return err
	}
	release, err := lockHosts(run)
	if err != nil {
		return err
	}
	defer release()
	if err := healNetem(run); err != nil {
		return err
	}
	if err := (blocks{}).save(run); err != nil {
		return err
	}
	return applyBlocks(run)
}
