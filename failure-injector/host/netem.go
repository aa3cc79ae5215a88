// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"cad/failure-injector/wan"
)

// Links between hosts on the bridge, made by the kernel's netem at the sender's
// device: an HTB tree with one class for each receiver that is not near, a
// filter by address that leads there, and netem below the class. What no filter
// takes is sent directly.

// ErrNoNetem means that this kernel has no netem, or not what leads to it.
var ErrNoNetem = errors.New("this kernel has no netem")

// A queueing is what Netem asks of the kernel, in the order in which it is made.
type queueing struct {
	Root    *netlink.Htb
	Classes []*netlink.HtbClass
	Leaves  []*netlink.Netem
	Filters []*netlink.U32
}

const (
	unlimited  = 32e9    // bits per second of a class whose link has no rate; in bytes it fits 32 bits
	atOnce     = 1 << 20 // bytes that such a class sends without looking at its rate
	underWay   = 1 << 16 // packets
	destOffset = 16      // of the destination's address in an IPv4 header
)

// shape translates links, by the last byte of the receiver's address.
func (l Lan) shape(device int, links map[int]wan.Link) queueing {
	root := netlink.MakeHandle(1, 0)
	q := queueing{Root: netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: device, Handle: root, Parent: netlink.HANDLE_ROOT})}
	for to := 1; to < 255; to++ {
		link, ok := links[to]
		if !ok {
			continue
		}
		class := netlink.MakeHandle(1, uint16(to))
		speed := netlink.HtbClassAttrs{Rate: uint64(link.Rate), Quantum: 1 << 16}
		if link.Rate == 0 {
			speed.Rate, speed.Buffer, speed.Cbuffer = unlimited, atOnce, atOnce
		}
		q.Classes = append(q.Classes, netlink.NewHtbClass(
			netlink.ClassAttrs{LinkIndex: device, Parent: root, Handle: class}, speed))
		limit := uint32(underWay)
		if link.Rate > 0 { // what queues behind the rate, and what is under way
			const packet = 1500 * 8
			limit = uint32(math.Ceil(link.Rate*(wan.QueueFor+link.Delay+link.Jitter).Seconds()/packet)) + 1
		}
		// netem's jitter goes both ways from the middle, ours is added.
		middle := link.Delay + link.Jitter/2
		if middle == 0 && link.Reorder > 0 {
			middle = time.Microsecond // without a delay netem refuses to reorder
		}
		q.Leaves = append(q.Leaves, netlink.NewNetem(
			netlink.QdiscAttrs{LinkIndex: device, Parent: class, Handle: netlink.MakeHandle(uint16(to)+1, 0)},
			netlink.NetemQdiscAttrs{
				Latency: uint32(middle.Microseconds()), Jitter: uint32((link.Jitter / 2).Microseconds()), Limit: limit,
				Loss: percent(link.Loss), Duplicate: percent(link.Duplicate), ReorderProb: percent(link.Reorder), CorruptProb: percent(link.Corrupt),
			}))
		q.Filters = append(q.Filters, &netlink.U32{
			FilterAttrs: netlink.FilterAttrs{LinkIndex: device, Parent: root, Priority: 1, Protocol: unix.ETH_P_IP},
			ClassId:     class,
			Sel: &netlink.TcU32Sel{Flags: nl.TC_U32_TERMINAL, Keys: []netlink.TcU32Key{{
				Mask: math.MaxUint32, Off: destOffset, Val: binary.BigEndian.Uint32(net.ParseIP(l.Address(to)).To4()),
			}}},
		})
	}
	return q
}

func percent(share float64) float32 { return float32(share * 100) }

// make asks the kernel for all of it.
func (q queueing) make(h *netlink.Handle) error {
	if err := h.QdiscAdd(q.Root); err != nil {
		return lacks("htb", err)
	}
	for k := range q.Classes {
		if err := h.ClassAdd(q.Classes[k]); err != nil {
			return lacks("class of htb", err)
		}
		if err := h.QdiscAdd(q.Leaves[k]); err != nil {
			return lacks("netem", err)
		}
		if err := h.FilterAdd(q.Filters[k]); err != nil {
			return lacks("u32 filter", err)
		}
	}
	return nil
}

// lacks names what the kernel refused: ENOENT is its word for a kind that it does not have.
func lacks(what string, err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w: %s: %w", ErrNoNetem, what, err)
	}
	return fmt.Errorf("make %s: %w", what, err)
}

// Netem gives the packets of a host on the bridge links, by the receivers'
// numbers, in place of those it had. Packets that wait are lost.
func (l Lan) Netem(holder int, links map[int]wan.Link) error {
	ns, err := netns.GetFromPid(holder)
	if err != nil {
		return fmt.Errorf("the host is off: %w", err)
	}
	defer ns.Close()
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	return l.netem(h, "eth0", links)
}

func (l Lan) netem(h *netlink.Handle, device string, links map[int]wan.Link) error {
	eth, err := h.LinkByName(device)
	if err != nil {
		return err
	}
	q := l.shape(eth.Attrs().Index, links)
	if err := clear(h, q.Root); err != nil || len(links) == 0 {
		return err
	}
	if err := q.make(h); err != nil { // all of it or nothing
		return errors.Join(err, clear(h, q.Root))
	}
	return nil
}

// clear removes the tree; there may be none.
func clear(h *netlink.Handle, root *netlink.Htb) error {
	err := h.QdiscDel(root)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}

// TryNetem tells whether the kernel has all that Netem needs, by making it in a
// network namespace of its own that ends with the thread.
func TryNetem() error {
	if os.Geteuid() != 0 {
		return errors.New("trying it needs root (CAP_NET_ADMIN)")
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked
		result <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("make a network namespace: %w", err)
			}
			h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
			if err != nil {
				return err
			}
			defer h.Close()
			return Lan{Subnet: "10.0.0"}.netem(h, "lo", map[int]wan.Link{2: {Delay: time.Millisecond}})
		}()
	}()
	return <-result
}
