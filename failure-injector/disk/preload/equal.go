// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// makeEqual gives the file at to the content of the file at from (nothing, if
// from does not exist), writing only where they differ, and keeps holes. It
// tells whether anything had to change.
func makeEqual(from, to string) (changed bool, err error) {
	dst, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer dst.Close()
	dstInfo, err := dst.Stat()
	if err != nil {
		return false, err
	}
	src, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return dstInfo.Size() != 0, dst.Truncate(0)
	}
	if err != nil {
		return false, err
	}
	defer src.Close()
	srcInfo, err := src.Stat()
	if err != nil {
		return false, err
	}
	size := srcInfo.Size()
	if dstInfo.Size() != size {
		changed = true
		if err := dst.Truncate(size); err != nil {
			return changed, err
		}
	}
	var next atomic.Int64
	var differ atomic.Bool
	failed := make([]error, min(int64(runtime.GOMAXPROCS(0)), (size+pieceSize-1)/pieceSize))
	var all sync.WaitGroup
	for k := range failed {
		all.Go(func() {
			for at := next.Add(pieceSize) - pieceSize; at < size && failed[k] == nil; at = next.Add(pieceSize) - pieceSize {
				var d bool
				d, failed[k] = equalPiece(src, dst, at, min(at+pieceSize, size))
				if d {
					differ.Store(true)
				}
			}
		})
	}
	all.Wait()
	return changed || differ.Load(), errors.Join(failed...)
}

const (
	pieceSize  = 1 << 20 // of a file, for one processor
	bufferSize = 1 << 16 // stays in the processor's cache
)

// equalPiece does it for the range [at, end), which is all there in both files.
func equalPiece(src, dst *os.File, at, end int64) (changed bool, err error) {
	a, b := make([]byte, bufferSize), make([]byte, bufferSize)
	for {
		// Where both have a hole they are equal.
		if at = min(nextData(src, at, end), nextData(dst, at, end)); at >= end {
			return changed, nil
		}
		n := int(min(bufferSize, end-at))
		if _, err := src.ReadAt(a[:n], at); err != nil && err != io.EOF {
			return changed, err
		}
		if _, err := dst.ReadAt(b[:n], at); err != nil && err != io.EOF {
			return changed, err
		}
		if !bytes.Equal(a[:n], b[:n]) {
			changed = true
			if _, err := dst.WriteAt(a[:n], at); err != nil {
				return changed, err
			}
		}
		at += int64(n)
	}
}

// nextData returns where data begins, from at on; size if there is none.
func nextData(f *os.File, at, size int64) int64 {
	next, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return size
	}
	if err != nil {
		return at
	}
	return next
}
