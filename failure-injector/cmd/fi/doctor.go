// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"cad/failure-injector/cpu"
	"cad/failure-injector/host"
)

// A check is a condition of the machine and what depends on it.
type check struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Detail  string `json:"detail"`
	Enables string `json:"enables"`
	backend string // that cannot work without
}

// A cell says whether a verb works on a backend or a kind of host, here.
type cell struct {
	Verb string `json:"verb"`
	On   string `json:"on"`
	OK   bool   `json:"ok"`
	Why  string `json:"why,omitempty"` // it does not
}

// Verbs that do not work on a backend or kind, wherever.
var never = map[[2]string]string{
	{"disk trigger", "preload"}: "it sees an operation only in the process that does it",
	{"disk corrupt", "preload"}: "what rots below is the directory itself: change the file",
	{"disk log", "preload"}:     "it sees an operation only in the process that does it",
}

func doctor(c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	checks := []check{glibc(), birthTimes(string(c.run)), fuseMounts(), namespaces(), tun(), netem(), cpuGroups()}
	why := map[string]string{"loopback": ""}
	for _, k := range checks {
		if !k.OK {
			why[k.backend] = k.Name + ": " + k.Detail
		}
	}
	var cells []cell
	for _, group := range groupOrder {
		on := map[string][]string{"disk": {"preload", "lossfs"}, "host": {"loopback", "netns"}, "proc": {"loopback", "netns"}, "net": {"loopback", "netns"}, "clock": {"loopback", "netns"}}[group]
		for _, v := range groups[group] {
			for _, o := range on {
				name := group + " " + v.name
				w := why[o]
				switch {
				case v.name == "list" || v.name == "status" || name == "net heal": // need nothing
					w = ""
				case name == "net link" && o == isolated && w == "":
					w = tun().Detail
					if tun().OK {
						w = ""
					}
				case name == "host ssh" && o == loopback:
					w = "its network is the machine's"
				case name == "host ssh" && w == "":
					if _, err := sshd(); err != nil {
						w = err.Error()
					}
				case name == "proc cpu" && w == "":
					if k := cpuGroups(); !k.OK {
						w = k.Detail
					}
				case group == "clock" && w == "":
					w = why["preload"] // the same C library
				case group == "net" && o == loopback:
					w = "its network is the machine's"
				}
				if n := never[[2]string{name, o}]; n != "" {
					w = n
				}
				cells = append(cells, cell{name, o, w == "", w})
			}
		}
	}
	var lines []string
	for _, k := range checks {
		mark := "ok     "
		if !k.OK {
			mark = "missing"
		}
		lines = append(lines, fmt.Sprintf("%s %-12s %s (for: %s)", mark, k.Name, k.Detail, k.Enables))
	}
	lines = append(lines, "")
	for _, k := range cells {
		mark := "yes"
		if !k.OK {
			mark = "no: " + k.Why
		}
		lines = append(lines, fmt.Sprintf("%-14s on %-9s %s", k.Verb, k.On, mark))
	}
	return c.print(map[string]any{"checks": checks, "verbs": cells}, strings.Join(lines, "\n"))
}

func glibc() check {
	k := check{Name: "glibc", backend: "preload", Enables: "disks with the preload backend, clocks"}
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

// fuseMounts tries what a lossfs disk needs.
func fuseMounts() check {
	k := check{Name: "fuse", backend: "lossfs", Enables: "disks with the lossfs backend"}
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		k.Detail = err.Error()
		return k
	}
	f.Close()
	if os.Geteuid() != 0 {
		k.Detail = "mounting needs root (CAP_SYS_ADMIN)"
		return k
	}
	k.OK, k.Detail = true, "/dev/fuse"
	return k
}

// namespaces tells whether hosts of kind netns can be made.
func namespaces() check {
	k := check{Name: "namespaces", backend: isolated, Enables: "hosts of kind netns, and net verbs between them"}
	if os.Geteuid() != 0 {
		k.Detail = "making them needs root (CAP_SYS_ADMIN, CAP_NET_ADMIN)"
		return k
	}
	for _, ns := range []string{"net", "pid", "uts", "mnt"} {
		if _, err := os.Stat("/proc/self/ns/" + ns); err != nil {
			k.Detail = "the kernel has no " + ns + " namespaces"
			return k
		}
	}
	k.OK, k.Detail = true, "net, pid, uts, mnt"
	return k
}

// cpuGroups tells whether processes can be given less of the CPU.
func cpuGroups() check {
	k := check{Name: "control groups", Enables: "fi proc cpu, fi proc start --cpu", OK: true, Detail: "cpu"}
	if err := cpu.Check(); err != nil {
		k.OK, k.Detail = false, err.Error()
	}
	return k
}

// tun tells whether hosts can be joined by the switch in user space.
func tun() check {
	k := check{Name: "tun", Enables: "hosts on network wan, and net link between them"}
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		k.Detail = err.Error()
		return k
	}
	f.Close()
	if os.Geteuid() != 0 {
		k.Detail = "making devices needs root (CAP_NET_ADMIN)"
		return k
	}
	k.OK, k.Detail = true, "/dev/net/tun"
	return k
}

// netem tells whether the kernel itself can make links.
func netem() check {
	k := check{Name: "netem", Enables: "fi net link --netem, between hosts on network lan"}
	if err := host.TryNetem(); err != nil {
		k.Detail = err.Error()
		return k
	}
	k.OK, k.Detail = true, "htb, netem, u32"
	return k
}
