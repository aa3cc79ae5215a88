// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"cad/failure-injector/disk"
	"cad/failure-injector/host"
	"cad/failure-injector/wan"
)

// netemLinks are the links that the kernel makes: from, to.
type netemLinks map[string]map[string]wan.Link

func netemFile(run disk.Run) string { return filepath.Join(hostsDir(run), "netem") }

func loadNetem(run disk.Run) (netemLinks, error) {
	n := netemLinks{}
	text, err := os.ReadFile(netemFile(run))
	if errors.Is(err, os.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return nil, err
	}
	return n, json.Unmarshal(text, &n)
}

func (n netemLinks) save(run disk.Run) error {
	maps.DeleteFunc(n, func(_ string, to map[string]wan.Link) bool { return len(to) == 0 })
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return os.WriteFile(netemFile(run), append(text, '\n'), 0o600)
}

// applyNetem makes the links of some hosts, or of all, what the file says, as
// far as they are on.
func applyNetem(run disk.Run, only ...string) error {
	n, err := loadNetem(run)
	if err != nil {
		return err
	}
	hosts, err := netHosts(run)
	if err != nil {
		return err
	}
	lan, err := host.Network(string(run), lanFile(run))
	if err != nil {
		return err
	}
	if len(only) == 0 {
		only = slices.Sorted(maps.Keys(n))
	}
	for _, from := range only {
		h := hosts[from]
		if !h.On {
			continue // when it is switched on
		}
		links := map[int]wan.Link{}
		for to, l := range n[from] {
			links[hosts[to].Index] = l
		}
		if err := lan.Netem(h.Holder.Pid, links); err != nil {
			return fmt.Errorf("links of host %s: %w", from, err)
		}
	}
	return nil
}

// netemLink gives pairs of hosts on the bridge a link.
func (c *call) netemLink(l wan.Link, edit func(func(from, to string)) func(blocks, map[string]hostInfo) error) error {
	if err := needRoot(); err != nil {
		return err
	}
	if err := host.TryNetem(); err != nil {
		return fmt.Errorf("%w: %w; hosts on network wan have the same links without it", errRefused, err)
	}
	release, err := lockHosts(c.run)
	if err != nil {
		return err
	}
	defer release()
	hosts, err := netHosts(c.run)
	if err != nil {
		return err
	}
	n, err := loadNetem(c.run)
	if err != nil {
		return err
	}
	var failed error
	set := func(from, to string) {
		for _, h := range []string{from, to} {
			if hosts[h].Net != "lan" {
				failed = fmt.Errorf("%w: host %q is on network %s, where the switch makes the links; leave --netem away", errRefused, h, hosts[h].Net)
				return
			}
		}
		if n[from] == nil {
			n[from] = map[string]wan.Link{}
		}
		n[from][to] = l
		if l == (wan.Link{}) {
			delete(n[from], to)
		}
	}
	if err := edit(set)(nil, hosts); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	if err := n.save(c.run); err != nil {
		return err
	}
	if err := applyNetem(c.run, slices.Sorted(maps.Keys(hosts))...); err != nil {
		return err
	}
	b, err := loadBlocks(c.run)
	if err != nil {
		return err
	}
	return c.printBlocks(b)
}

// healNetem takes all links of the kernel back.
func healNetem(run disk.Run) error {
	n, err := loadNetem(run)
	if err != nil || len(n) == 0 {
		return err
	}
	from := slices.Sorted(maps.Keys(n))
	if err := os.Remove(netemFile(run)); err != nil {
		return err
	}
	return applyNetem(run, from...)
}

// dropNetem forgets a host that is removed.
func dropNetem(run disk.Run, name string) error {
	n, err := loadNetem(run)
	if err != nil || len(n) == 0 {
		return err
	}
	delete(n, name)
	for _, to := range n {
		delete(to, name)
	}
	return n.save(run)
}
