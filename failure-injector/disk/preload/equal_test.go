// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Files of several pieces, with holes, of different sizes, that differ here and
// there become equal, and the answer tells whether they were.
func TestMakeEqual(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	write := func(path string, size int64, parts map[int64][]byte) {
		t.Helper()
		f, err := os.Create(path)
		if err == nil {
			err = f.Truncate(size)
		}
		for at, b := range parts {
			if err == nil {
				_, err = f.WriteAt(b, at)
			}
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	parts := func(size int64, n int) map[int64][]byte {
		all := map[int64][]byte{}
		for range n {
			b := make([]byte, min(size, 1+random.Int64N(3*bufferSize)))
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			all[random.Int64N(size-int64(len(b))+1)] = b
		}
		return all
	}
	for round := range 20 {
		size := 1 + random.Int64N(5*pieceSize)
		write(from, size, parts(size, round%7))
		other := max(1, size+[]int64{0, 0, -1, 1, pieceSize, -pieceSize}[round%6])
		write(to, other, parts(other, round%5))
		want, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		changed, err := makeEqual(from, to)
		if err != nil || changed != !bytes.Equal(before, want) {
			t.Errorf("round %d: changed %v, %v; they were equal: %v", round, changed, err, bytes.Equal(before, want))
		}
		got, err := os.ReadFile(to)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("round %d: not equal after it: %v", round, err)
		}
		if changed, err := makeEqual(from, to); changed || err != nil {
			t.Errorf("round %d: again: changed %v, %v", round, changed, err)
		}
		// One byte in the middle of nowhere.
		at := random.Int64N(size)
		got[at] ^= 1
		write(to, size, map[int64][]byte{0: got})
		if changed, err := makeEqual(from, to); !changed || err != nil {
			t.Errorf("round %d: byte %d of %d not noticed: %v", round, at, size, err)
		}
	}
}
