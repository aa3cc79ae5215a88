// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"bytes"
	"errors"
	"io"
	"os"

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
	a, b := make([]byte, 1<<18), make([]byte, 1<<18)
	for at := int64(0); at < size; {
		// Where both have a hole they are equal.
		next := min(nextData(src, at, size), nextData(dst, at, size))
		if next >= size {
			break
		}
		at = next
		n := int(min(int64(len(a)), size-at))
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
	return changed, nil
}

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
