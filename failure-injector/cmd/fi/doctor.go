// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A check is a condition of the machine and what depends on it.
type check struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Detail  string `json:"detail"`
	Enables string `json:"enables"`
}

func doctor(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	checks := []check{glibc(), birthTimes(string(c.run))}
	var lines []string
	for _, k := range checks {
		mark := "ok     "
		if !k.OK {
			mark = "missing"
		}
		lines = append(lines, fmt.Sprintf("%s %-12s %s (for: %s)", mark, k.Name, k.Detail, k.Enables))
	}
	return c.print(map[string]any{"checks": checks}, strings.Join(lines, "\n"))
}

func glibc() check {
	k := check{Name: "glibc", Enables: "disks with the preload backend"}
	for _, p := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		if _, err := os.Stat(p); err == nil {
			k.OK, k.Detail = true, p
			return k
		}
	}
	k.Detail = "no glibc dynamic linker: LD_PRELOAD of a glibc object cannot work"
	return k
}

// birthTimes tells whether a reused inode number can be told from its past.
func birthTimes(dir string) check {
	k := check{Name: "birth times", Enables: "telling a reused inode number from the deleted file (preload backend)"}
	if _, err := os.Stat(dir); err != nil {
		dir = os.TempDir()
	}
	var sx unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BTIME, &sx)
	k.OK = err == nil && sx.Mask&unix.STATX_BTIME != 0
	k.Detail = "statx at " + dir
	if err != nil {
		k.Detail += ": " + err.Error()
	}
	return k
}
