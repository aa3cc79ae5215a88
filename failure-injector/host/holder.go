// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Subcommands of fi that run inside a host; nobody calls them by hand.
const (
	InitVerb = "host-init" // the first process of a host
	ExecVerb = "host-exec" // becomes a process of a host
)

// StartHolder makes a host's namespaces and starts its first process in them.
func StartHolder(name string) (pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, InitVerb, name)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWNS,
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("make namespaces (needs CAP_SYS_ADMIN): %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		cmd.Process.Kill()
		cmd.Wait()
		return 0, fmt.Errorf("the first process of host %s ended at once: %q", name, line)
	}
	pid = cmd.Process.Pid
	return pid, cmd.Process.Release()
}

// Init is the first process of a host: it collects the processes that nobody
// waits for, until it is killed and all of them with it.
func Init(name string) error {
	if err := ownMounts(""); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(name)); err != nil {
		return err
	}
	// The usual congestion control, not what this machine may prefer.
	os.WriteFile("/proc/sys/net/ipv4/tcp_congestion_control", []byte("cubic"), 0)
	children := make(chan os.Signal, 16)
	signal.Notify(children, unix.SIGCHLD)
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	fmt.Println("ready")
	os.Stdout.Close()
	for range children {
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
	}
	return nil
}

// ownMounts gives this process, which must have a mount namespace of its own,
// a /proc of its host and its host's names.
func ownMounts(hostsFile string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if hostsFile == "" {
		return nil
	}
	if err := unix.Mount(hostsFile, "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s to /etc/hosts: %w", hostsFile, err)
	}
	return nil
}

// Command turns a command into one that runs in the host of a holder: the
// caller starts it with Start, below. Each process gets a mount namespace that
// is a copy of the machine's at that moment, so it sees the disks of now.
func Command(hostsFile string, args []string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Looked up here: in the host it would be looked up with fi's PATH as well.
	path, err := exec.LookPath(args[0])
	if err != nil {
		return nil, err
	}
	return append([]string{self, ExecVerb, hostsFile, path}, args[1:]...), nil
}

// Start starts cmd, made by Command, in the namespaces of holder.
func Start(holder int, cmd *exec.Cmd) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with its namespaces
		result <- func() error {
			for _, ns := range []struct {
				name string
				kind int
			}{{"net", unix.CLONE_NEWNET}, {"uts", unix.CLONE_NEWUTS}, {"pid", unix.CLONE_NEWPID}} {
				fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/%s", holder, ns.name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
				if err != nil {
					return errors.New("the host is off: `fi host restart` it")
				}
				err = unix.Setns(fd, ns.kind)
				unix.Close(fd)
				if err != nil {
					return fmt.Errorf("enter the host's %s namespace: %w", ns.name, err)
				}
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWNS}
			return cmd.Start()
		}()
	}()
	return <-result
}

// Exec is what Command runs: it sets the mounts up and becomes the command.
func Exec(hostsFile string, args []string) error {
	if err := ownMounts(hostsFile); err != nil {
		return err
	}
	return fmt.Errorf("exec %s: %w", strings.Join(args, " "), syscall.Exec(args[0], args, os.Environ()))
}

// Alive tells whether a first process still has its namespaces. (One that was
// killed may linger until somebody has collected the host's last process.)
func Alive(holder int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", holder))
	return err == nil
}

// End kills a host's first process and so all others, and waits until they
// have let go of the network.
func End(holder int, limit time.Duration) error {
	unix.Kill(holder, unix.SIGKILL)
	for deadline := time.Now().Add(limit); Alive(holder); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("the first process (pid %d) of a host does not end within %v", holder, limit)
		}
	}
	return nil
}
