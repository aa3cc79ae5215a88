// SPDX-License-Identifier: Apache-2.0

package host

import (
	"math"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"cad/failure-injector/wan"
)

// What the kernel is asked for, since not every kernel can be asked.
func TestShape(t *testing.T) {
	l := Lan{Subnet: "10.77.3"}
	q := l.shape(5, map[int]wan.Link{
		9: {Delay: 17500 * time.Microsecond, Jitter: 5 * time.Millisecond, Loss: 0.25, Duplicate: 0.5, Reorder: 0.1, Corrupt: 1},
		2: {Rate: 12e6, Delay: 100 * time.Millisecond},
	})
	if q.Root.LinkIndex != 5 || q.Root.Parent != netlink.HANDLE_ROOT || q.Root.Defcls != 0 {
		t.Errorf("the root is %+v: what no filter takes must pass", q.Root)
	}
	if len(q.Classes) != 2 || len(q.Leaves) != 2 || len(q.Filters) != 2 {
		t.Fatalf("%d classes, %d leaves, %d filters for two links", len(q.Classes), len(q.Leaves), len(q.Filters))
	}
	for k, want := range []struct {
		class   uint32
		rate    uint64 // bytes per second
		limit   uint32
		address uint32
	}{
		{netlink.MakeHandle(1, 2), 12e6 / 8, 201, 10<<24 | 77<<16 | 3<<8 | 2}, // 200 ms of 1,500 bytes
		{netlink.MakeHandle(1, 9), unlimited / 8, underWay, 10<<24 | 77<<16 | 3<<8 | 9},
	} {
		class, leaf, filter := q.Classes[k], q.Leaves[k], q.Filters[k]
		if class.Handle != want.class || class.Parent != q.Root.Handle || class.Rate != want.rate {
			t.Errorf("class %d is %+v", k, class)
		}
		if leaf.Parent != want.class || leaf.Handle == q.Root.Handle || leaf.Limit != want.limit {
			t.Errorf("leaf %d is %+v", k, leaf)
		}
		key := filter.Sel.Keys[0]
		if filter.ClassId != want.class || filter.Parent != q.Root.Handle || key.Off != 16 || key.Mask != math.MaxUint32 || key.Val != want.address {
			t.Errorf("filter %d is %+v", k, filter)
		}
	}
	// Netem's units: ticks of the kernel, and shares of 2^32.
	ask := func(latency, jitter uint32) *netlink.Netem {
		return netlink.NewNetem(netlink.QdiscAttrs{}, netlink.NetemQdiscAttrs{Latency: latency, Jitter: jitter})
	}
	far, want := q.Leaves[1], ask(20000, 2500) // 17.5 to 22.5 ms
	if far.Latency != want.Latency || far.Jitter != want.Jitter {
		t.Errorf("delay %d and jitter %d ticks, want %d and %d", far.Latency, far.Jitter, want.Latency, want.Jitter)
	}
	share := func(of uint32) float64 { return float64(of) / math.MaxUint32 }
	for name, got := range map[string][2]float64{"loss": {share(far.Loss), 0.25}, "duplicate": {share(far.Duplicate), 0.5},
		"reorder": {share(far.ReorderProb), 0.1}, "corrupt": {share(far.CorruptProb), 1}} {
		if math.Abs(got[0]-got[1]) > 1e-6 {
			t.Errorf("%s is %v, want %v", name, got[0], got[1])
		}
	}
	if far.Gap != 1 {
		t.Errorf("gap %d: netem reorders only with 1", far.Gap)
	}
	if q := l.shape(5, nil); len(q.Classes) != 0 {
		t.Errorf("classes without a link: %+v", q.Classes)
	}
}
