// SPDX-License-Identifier: Apache-2.0

// Package unpack puts files that are embedded in the binary where processes can
// load or run them.
package unpack

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"cad/failure-injector/disk"
)

// File writes an embedded file into the run directory, once, and returns its path.
func File(run disk.Run, name string, content []byte) (string, error) {
	sum := sha256.Sum256(content)
	path, err := filepath.Abs(filepath.Join(string(run), "lib", fmt.Sprintf("%x", sum[:6]), name))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// A child that is forked meanwhile would hold the file open for writing, and
	// nobody could run it ("text file busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	temp, err := os.CreateTemp(filepath.Dir(path), name)
	if err != nil {
		return "", err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(content)
	if err == nil {
		err = temp.Chmod(0o755)
	}
	if e := temp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return "", err
	}
	return path, os.Rename(temp.Name(), path)
}
