// SPDX-License-Identifier: Apache-2.0

// Command bench measures what the faults cost and how exact they are: disks,
// hosts, the switch. It prints a table with the targets beside it, or with
// --json one object a line. Half a minute on an idle machine; on a busy one it
// measures the others.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"time"

	"cad/failure-injector/client"
)

// A row is one figure. Target is what it must stay below, 0 = none.
type row struct {
	What   string  `json:"what"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Target float64 `json:"target,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

type bench struct {
	client.Client
	root   string
	asJSON bool
}

// Targets: microseconds of the prototype's append and flush (median 12), and
// what was asked of the rest.
const (
	prototypeFlush = 12.0
	crashTarget    = 20
	hostsTarget    = 200
	loadedError    = 500
	idleError      = 300
)

func main() {
	asJSON := flag.Bool("json", false, "one JSON object a line")
	fi := flag.String("fi", "build/fi", "the binary")
	flag.Parse()
	if err := run(*fi, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(255)
	}
}

func run(fi string, asJSON bool) error {
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	root, err := os.MkdirTemp(base, "fi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	b := &bench{client.Client{Binary: fi, Run: filepath.Join(root, "run")}, root, asJSON}
	defer b.Down()
	busy := foreignLoad(time.Second)
	b.emit(row{What: "machine", Value: float64(runtime.NumCPU()), Unit: "cores", Detail: fmt.Sprintf("kernel %s, %s", kernel(), time.Now().UTC().Format(time.DateTime))})
	b.emit(row{What: "load of others before", Value: busy, Unit: "cores"})
	for _, backend := range []string{"preload", "lossfs"} {
		if backend == "lossfs" && os.Geteuid() != 0 {
			fmt.Fprintln(os.Stderr, "lossfs and hosts need root: not measured")
			return nil
		}
		if err := b.disks(backend); err != nil {
			return err
		}
	}
	if err := b.hosts(); err != nil {
		return err
	}
	return b.links()
}

func (b *bench) emit(r row) {
	if b.asJSON {
		text, _ := json.Marshal(r)
		fmt.Println(string(text))
		return
	}
	verdict := ""
	if r.Target != 0 {
		verdict = fmt.Sprintf("target < %g: met", r.Target)
		if r.Value >= r.Target {
			verdict = fmt.Sprintf("target < %g: MISSED", r.Target)
		}
	}
	fmt.Printf("%-58s %10.1f %-6s %-22s %s\n", r.What, r.Value, r.Unit, verdict, r.Detail)
}

func (b *bench) compile(name string) (string, error) {
	program := filepath.Join(b.root, name)
	out, err := exec.Command("gcc", "-O2", "-o", program, fmt.Sprintf("bench/%s/%s.c", name, name)).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return program, err
}

// median of some runs: a single one says little on a small machine.
func median(n int, once func() (float64, error)) (float64, error) {
	var all []float64
	for range n {
		v, err := once()
		if err != nil {
			return 0, err
		}
		all = append(all, v)
	}
	sort.Float64s(all)
	return all[n/2], nil
}

// disks measures append and flush on one disk, and a power loss of five.
func (b *bench) disks(backend string) error {
	program, err := b.compile("append")
	if err != nil {
		return err
	}
	var names []string
	var env []string
	for k := range 5 {
		name := fmt.Sprint(backend, k)
		names = append(names, name)
		if err := b.CreateDisk(name, backend, filepath.Join(b.root, name)); err != nil {
			return err
		}
	}
	write := func(name, count string) (f struct{ P50_us, P99_us, Per_s float64 }, err error) {
		if env, err = b.Env(name); err != nil {
			return f, err
		}
		cmd := exec.Command(program, filepath.Join(b.root, name, "log"), count)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.Output()
		if err != nil {
			return f, fmt.Errorf("append on %s: %w", name, err)
		}
		return f, json.Unmarshal(out, &f)
	}
	for _, c := range []struct {
		added time.Duration
		count string
	}{{0, "20000"}, {100 * time.Microsecond, "3000"}, {time.Millisecond, "1000"}, {3 * time.Millisecond, "300"}} {
		if err := b.Latency(names[0], "fsync", c.added); err != nil {
			return err
		}
		var detail string
		p50, err := median(3, func() (float64, error) {
			f, err := write(names[0], c.count)
			detail = fmt.Sprintf("p99 %.1f, %.0f/s", f.P99_us, f.Per_s)
			return f.P50_us, err
		})
		if err != nil {
			return err
		}
		r := row{What: fmt.Sprintf("%s: append 512 B and fdatasync, +%v, median", backend, c.added), Value: p50, Unit: "us", Detail: detail}
		if backend == "lossfs" && c.added == 0 {
			r.Target = 2 * prototypeFlush
		}
		b.emit(r)
	}
	if err := b.Latency(names[0], "fsync", 0); err != nil {
		return err
	}
	crash := append([]string{"disk", "crash"}, names...)
	ms, err := median(5, func() (float64, error) {
		for _, n := range names {
			if _, err := write(n, "2000"); err != nil {
				return 0, err
			}
		}
		begin := time.Now()
		err := b.Call(nil, crash...)
		return float64(time.Since(begin).Microseconds()) / 1000, err
	})
	if err != nil {
		return err
	}
	b.emit(row{What: backend + ": power loss of 5 disks by one command", Value: ms, Unit: "ms", Target: crashTarget, Detail: "median of 5, 1 MB more on each disk every time; the first one has 37 MB before"})
	for _, n := range names {
		if err := b.Call(nil, "disk", "destroy", n); err != nil {
			return err
		}
	}
	return nil
}

// hosts measures how long nine hosts take until they can be used.
func (b *bench) hosts() error {
	for _, network := range []string{"lan", "wan"} {
		ms, err := median(3, func() (float64, error) {
			args := []string{"host", "add", "--kind", "netns", "--net", network}
			for k := range 9 {
				args = append(args, fmt.Sprint("h", k))
			}
			begin := time.Now()
			err := b.Call(nil, args...)
			took := float64(time.Since(begin).Microseconds()) / 1000
			return took, errors.Join(err, b.Down())
		})
		if err != nil {
			return err
		}
		b.emit(row{What: "9 hosts up, network " + network, Value: ms, Unit: "ms", Target: hostsTarget, Detail: "median of 3"})
	}
	return nil
}

// figures are what packets prints.
type figures struct {
	Packets                int
	P50_us, P99_us, Max_us float64
}

// links measures how exact delays of the switch are, in one direction.
func (b *bench) links() error {
	program, err := b.compile("packets")
	if err != nil {
		return err
	}
	out, err := exec.Command(program, "sleep", "100", "200").Output()
	if err != nil {
		return fmt.Errorf("sleep: %w", err)
	}
	var late figures
	if err := json.Unmarshal(out, &late); err != nil {
		return err
	}
	b.emit(row{What: "this machine, idle: a thread that sleeps wakes up late, p99", Value: late.P99_us, Unit: "us",
		Detail: fmt.Sprintf("p50 %+.1f, max %+.1f", late.P50_us, late.Max_us)})
	var added struct{ Hosts []struct{ Address string } }
	if err := b.Call(&added, "host", "add", "a", "b", "--kind", "netns", "--net", "wan"); err != nil {
		return err
	}
	for k, c := range []struct {
		rate, count int
		delay       time.Duration
		target      float64
	}{
		{100, 200, time.Millisecond, idleError}, {100, 200, 17500 * time.Microsecond, idleError},
		{5000, 10000, time.Millisecond, loadedError}, {5000, 10000, 17500 * time.Microsecond, loadedError}, {20000, 40000, 17500 * time.Microsecond, 0},
	} {
		if err := b.Call(nil, "net", "link", "--from", "a", "--to", "b", "--delay", c.delay.String()); err != nil {
			return err
		}
		port, taker, sender := fmt.Sprint(7000+k), fmt.Sprint("take", k), fmt.Sprint("send", k)
		var log struct{ Log string }
		if err := b.Call(&log, "proc", "start", taker, "--host", "b", "--", program, "take", port, fmt.Sprint(c.count)); err != nil {
			return err
		}
		if _, err := said(log.Log, "ready"); err != nil {
			return err
		}
		if err := b.Call(nil, "proc", "start", sender, "--host", "a", "--", program, "send", added.Hosts[1].Address, port, fmt.Sprint(c.rate), fmt.Sprint(c.count)); err != nil {
			return err
		}
		line, err := said(log.Log, "{")
		if err != nil {
			return err
		}
		var f figures
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return err
		}
		asked := float64(c.delay.Microseconds())
		b.emit(row{What: fmt.Sprintf("switch: %v at %d packets/s, error of one way, p99", c.delay, c.rate), Value: f.P99_us - asked, Unit: "us", Target: c.target,
			Detail: fmt.Sprintf("p50 %+.1f, max %+.1f, %d of %d packets", f.P50_us-asked, f.Max_us-asked, f.Packets, c.count)})
	}
	return nil
}

// said waits for a line of a process' output that begins like this.
func said(log, begin string) (string, error) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(log)
		if err != nil {
			return "", err
		}
		for _, line := range strings.SplitAfter(string(text), "\n") {
			if strings.HasPrefix(line, begin) && strings.HasSuffix(line, "\n") {
				return line, nil
			}
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("no %q in %s: %s", begin, log, text)
		}
	}
}

func kernel() string {
	b, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(b))
}

// foreignLoad is how many processors others keep busy.
func foreignLoad(over time.Duration) float64 {
	read := func() (busy, all float64) {
		b, _ := os.ReadFile("/proc/stat")
		var v [8]float64
		fmt.Sscanf(string(b), "cpu %f %f %f %f %f %f %f %f", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7])
		for i, x := range v {
			all += x
			if i != 3 && i != 4 { // idle, waiting for disks
				busy += x
			}
		}
		return busy, all
	}
	busy0, all0 := read()
	time.Sleep(over)
	busy1, all1 := read()
	if all1 == all0 {
		return 0
	}
	return (busy1 - busy0) / (all1 - all0) * float64(runtime.NumCPU())
}
