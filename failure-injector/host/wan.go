// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The machine itself on network wan: a port of the switch like that of a host,
// without links, so that programs outside of all hosts can talk to them.

// Machine is its number there. Hosts have smaller ones, a bridge has the next.
const Machine = 253

// MachineDevice is the name of its device.
func (l Lan) MachineDevice() string { return fmt.Sprintf("fi%s-w", l.Tag) }

// MachineOnWan tells whether the device is there. It goes with the switch.
func (l Lan) MachineOnWan() bool {
	_, err := netlink.LinkByName(l.MachineDevice())
	return err == nil
}

// Reach leads from the machine to host n. One route for each host: those on the
// bridge have addresses of the same subnet.
func (l Lan) Reach(n int) error {
	device, err := netlink.LinkByName(l.MachineDevice())
	if err != nil {
		return err
	}
	own := address(l.Address(Machine))
	own.Flags = unix.IFA_F_NOPREFIXROUTE
	if err := netlink.AddrReplace(device, own); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(device); err != nil {
		return err
	}
	return netlink.RouteReplace(&netlink.Route{
		LinkIndex: device.Attrs().Index, Scope: netlink.SCOPE_LINK, Src: own.IP,
		Dst: &net.IPNet{IP: net.ParseIP(l.Address(n)).To4(), Mask: net.CIDRMask(32, 32)},
	})
}
