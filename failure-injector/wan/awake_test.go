// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The processors are asked to stay awake from the first packet until none has
// come for a while, and only changes are told.
func TestAwakeWhilePacketsCome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "request")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	a := awake{request: f, asked: true}
	defer a.close()
	a.ask(false)
	if left := a.rest(0); left != -1 {
		t.Errorf("before any packet the loop is to look again after %d ns", left)
	}
	a.packets(1000)
	a.packets(2000)
	if left := a.rest(2000 + quiet/2); left != quiet/2 {
		t.Errorf("half-way the loop is to look again after %d ns, want %d", left, quiet/2)
	}
	if left := a.rest(2000 + quiet); left != -1 {
		t.Errorf("after the quiet time the loop is to look again after %d ns", left)
	}
	told, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []uint32{math.MaxInt32, 0, math.MaxInt32}
	if len(told) != 4*len(want) {
		t.Fatalf("told %d bytes, want %d words", len(told), len(want))
	}
	for k, w := range want {
		if got := binary.NativeEndian.Uint32(told[4*k:]); got != w {
			t.Errorf("word %d is %d, want %d", k, got, w)
		}
	}
}
