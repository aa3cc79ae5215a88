// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"net"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netns"
)

// A filter drops packets by sender, where they arrive: before routing. (Dropped
// where they leave, TCP would notice at once and not back off, as no network does.)

const filterTable = "fi"

// Block sets whose packets a host does not receive, in place of what was set before.
func Block(holder int, senders []string) error {
	ns, err := netns.GetFromPid(holder)
	if err != nil {
		return fmt.Errorf("the host is off: %w", err)
	}
	defer ns.Close()
	c, err := nftables.New(nftables.WithNetNSFd(int(ns)))
	if err != nil {
		return err
	}
	table := &nftables.Table{Name: filterTable, Family: nftables.TableFamilyIPv4}
	c.AddTable(table) // so that there is one to delete
	c.DelTable(table)
	if len(senders) > 0 {
		c.AddTable(table)
		set := &nftables.Set{Table: table, Name: "blocked", KeyType: nftables.TypeIPAddr}
		var elements []nftables.SetElement
		for _, s := range senders {
			elements = append(elements, nftables.SetElement{Key: net.ParseIP(s).To4()})
		}
		if err := c.AddSet(set, elements); err != nil {
			return err
		}
		chain := c.AddChain(&nftables.Chain{
			Name: "arrive", Table: table, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityRaw,
		})
		const ipv4Source = 12 // offset in the header
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: ipv4Source, Len: 4},
			&expr.Lookup{SourceRegister: 1, SetName: set.Name, SetID: set.ID},
			&expr.Counter{},
			&expr.Verdict{Kind: expr.VerdictDrop},
		}})
	}
	return c.Flush() // all of it or nothing
}
