// SPDX-License-Identifier: Apache-2.0

// Package host makes hosts out of namespaces: each has its own network, process
// numbers and host name, and a first process whose end is the host's end. Hosts
// of a run are joined by a bridge (topology lan).
package host

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// A Lan is the bridge of a run and its addresses. Everything it makes carries
// the run's tag in its name, so that it can be found and removed by whoever comes later.
type Lan struct {
	Tag    string `json:"tag"`    // six characters from the run directory
	Subnet string `json:"subnet"` // three bytes of an IPv4 address: "10.77.3"
}

// Tag of a run directory.
func Tag(run string) string {
	abs, err := filepath.Abs(run)
	if err != nil {
		abs = run
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(abs)))[:6]
}

func (l Lan) bridge() string       { return "fi" + l.Tag }
func (l Lan) veth(n int) string    { return fmt.Sprintf("fi%s-%d", l.Tag, n) }
func (l Lan) Address(n int) string { return fmt.Sprintf("%s.%d", l.Subnet, n) }

// Network finds or chooses the addresses of a run; file remembers them.
func Network(run, file string) (Lan, error) {
	var l Lan
	if b, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(b, &l); err != nil {
			return l, err
		}
	} else {
		l.Tag = Tag(run)
		if l.Subnet, err = freeSubnet(l.Tag); err != nil {
			return l, err
		}
		b, _ := json.Marshal(l)
		if err := os.WriteFile(file, append(b, '\n'), 0o600); err != nil {
			return l, err
		}
	}
	return l, nil
}

// ensureBridge makes the bridge of a run, if it is not there yet.
func (l Lan) ensureBridge() error {
	if _, err := netlink.LinkByName(l.bridge()); err == nil {
		return nil
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = l.bridge()
	// Without an address of its own a bridge takes the least of its ports': it changes as hosts come and go, and what
	// the others are just sending to the old one is lost.
	attrs.HardwareAddr = l.hardware(gateway)
	br := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(br); err != nil {
		return fmt.Errorf("make bridge %s (needs CAP_NET_ADMIN): %w", attrs.Name, err)
	}
	if err := netlink.AddrAdd(br, address(l.Address(gateway))); err != nil {
		return err
	}
	return netlink.LinkSetUp(br)
}

// gateway is the number of the bridge among the hosts.
const gateway = 254

// hardware address of a host: the same after every restart, as others remember it.
func (l Lan) hardware(n int) net.HardwareAddr {
	h := sha256.Sum256([]byte(l.Tag))
	return net.HardwareAddr{0x02, h[0], h[1], h[2], h[3], byte(n)}
}

func address(ip string) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(ip), Mask: net.CIDRMask(24, 32)}}
}

// freeSubnet picks 10.64-191.x.0/24 by tag, stepping over what the machine uses.
func freeSubnet(tag string) (string, error) {
	addrs, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return "", err
	}
	h := sha256.Sum256([]byte(tag))
	for k := range 256 {
		subnet := fmt.Sprintf("10.%d.%d", 64+int(h[0])%128, (int(h[1])+k)%256)
		ip, used := net.ParseIP(subnet+".1"), false
		for _, a := range addrs {
			used = used || a.Contains(ip)
		}
		if !used {
			return subnet, nil
		}
	}
	return "", errors.New("no free /24 network in 10.64.0.0/9")
}

// Plug joins a host's network namespace to the bridge as eth0 with address n.
func (l Lan) Plug(n, holder int) error {
	if err := l.ensureBridge(); err != nil {
		return err
	}
	br, err := netlink.LinkByName(l.bridge())
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = l.veth(n), br.Attrs().Index
	peer := attrs.Name + "p"
	if err := netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: attrs, PeerName: peer, PeerNamespace: netlink.NsPid(holder), PeerHardwareAddr: l.hardware(n),
	}); err != nil {
		return fmt.Errorf("make link %s: %w", attrs.Name, err)
	}
	outer, err := netlink.LinkByName(attrs.Name)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(outer); err != nil {
		return err
	}
	return l.Configure(n, holder, peer)
}

// Configure names a device of a host eth0, gives it the address n and switches it on.
func (l Lan) Configure(n, holder int, device string) error {
	ns, err := netns.GetFromPid(holder)
	if err != nil {
		return err
	}
	defer ns.Close()
	inside, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer inside.Close()
	eth, err := inside.LinkByName(device)
	if err != nil {
		return err
	}
	if device != "eth0" {
		if err := inside.LinkSetName(eth, "eth0"); err != nil {
			return err
		}
	}
	if err := inside.AddrAdd(eth, address(l.Address(n))); err != nil {
		return err
	}
	if err := inside.LinkSetUp(eth); err != nil {
		return err
	}
	lo, err := inside.LinkByName("lo")
	if err != nil {
		return err
	}
	return inside.LinkSetUp(lo)
}

// Cut takes the host's link down: nothing leaves it any more, also no FIN of
// what is killed afterwards.
func (l Lan) Cut(n int) error {
	link, err := netlink.LinkByName(l.veth(n))
	if err != nil {
		return nil // unplugged
	}
	return unlessGone(l.veth(n), netlink.LinkSetDown(link))
}

// Unplug removes the host's link.
func (l Lan) Unplug(n int) error {
	link, err := netlink.LinkByName(l.veth(n))
	if err != nil {
		return nil // it went with its namespace
	}
	return unlessGone(l.veth(n), netlink.LinkDel(link))
}

// unlessGone forgives what failed because the kernel was removing the link
// itself, with the namespace at its other end.
func unlessGone(name string, err error) error {
	if errors.Is(err, unix.ENODEV) || (err != nil && gone(name)) {
		return nil
	}
	return err
}

// RemoveAll removes every interface that carries the run's tag.
func RemoveAll(run string) error {
	links, err := netlink.LinkList()
	if err != nil {
		return err
	}
	prefix := "fi" + Tag(run)
	var failed []error
	for _, link := range links {
		if name := link.Attrs().Name; strings.HasPrefix(name, prefix) {
			if err := unlessGone(name, netlink.LinkDel(link)); err != nil {
				failed = append(failed, fmt.Errorf("remove %s: %w", name, err))
			}
		}
	}
	return errors.Join(failed...)
}

func gone(name string) bool {
	_, err := netlink.LinkByName(name)
	return err != nil
}
