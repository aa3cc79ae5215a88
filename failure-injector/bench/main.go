// SPDX-License-Identifier: Apache-2.0

// Command bench measures what the disks cost and how exact their delays are. It
// prints a table, and with --json one object a line.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

type flush struct {
	Backend string  `json:"backend"`
	Added   string  `json:"added"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	PerS    float64 `json:"per_s"`
}

type crashes struct {
	Backend string  `json:"backend"`
	Disks   int     `json:"disks"`
	Millis  float64 `json:"crash_ms"`
}

func main() {
	asJSON := flag.Bool("json", false, "one JSON object a line")
	fi := flag.String("fi", "build/fi", "the binary")
	flag.Parse()
	if err := bench(*fi, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(255)
	}
}

func bench(fi string, asJSON bool) error {
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	root, err := os.MkdirTemp(base, "fi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	program := filepath.Join(root, "append")
	if out, err := exec.Command("gcc", "-O2", "-o", program, "bench/append/append.c").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	run := filepath.Join(root, "run")
	call := func(args ...string) ([]byte, error) {
		out, err := exec.Command(fi, append([]string{"--json", "--run", run}, args...)...).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("fi %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return out, nil
	}
	defer call("down", "--all")
	emit := func(v any, text string) {
		if asJSON {
			b, _ := json.Marshal(v)
			text = string(b)
		}
		fmt.Println(text)
	}
	for _, backend := range []string{"preload", "lossfs"} {
		if backend == "lossfs" && os.Geteuid() != 0 {
			fmt.Fprintln(os.Stderr, "lossfs needs root: not measured")
			continue
		}
		var env []string
		for k := range 5 {
			name := fmt.Sprint(backend, k)
			if _, err := call("disk", "create", name, "--backend", backend, "--dir", filepath.Join(root, name)); err != nil {
				return err
			}
			out, err := call("disk", "env", name)
			if err != nil {
				return err
			}
			vars := map[string]string{}
			if err := json.Unmarshal(out, &vars); err != nil {
				return err
			}
			env = os.Environ()
			for k, v := range vars {
				env = append(env, k+"="+v)
			}
			counts := map[string]string{"0": "20000", "100us": "3000", "1ms": "1000", "3ms": "500"}
			for _, added := range []string{"0", "100us", "1ms", "3ms"} {
				if k > 0 && added != "0" {
					continue
				}
				if _, err := call("disk", "latency", name, "--op", "fsync", "--const", added); err != nil {
					return err
				}
				cmd := exec.Command(program, filepath.Join(root, name, "log"), counts[added])
				cmd.Env = env
				out, err := cmd.Output()
				if err != nil {
					return fmt.Errorf("append on %s: %w", name, err)
				}
				if k > 0 {
					continue
				}
				f := flush{Backend: backend, Added: added}
				if err := json.Unmarshal(out, &f); err != nil {
					return err
				}
				emit(f, fmt.Sprintf("%-8s append 512 B and flush, +%-6s p50 %8.1f us  p99 %8.1f us  %8.0f/s", backend, added, f.P50, f.P99, f.PerS))
			}
		}
		crash := []string{"disk", "crash"}
		for k := range 5 {
			crash = append(crash, fmt.Sprint(backend, k))
		}
		start := time.Now()
		if _, err := call(crash...); err != nil {
			return err
		}
		c := crashes{backend, 5, float64(time.Since(start).Microseconds()) / 1000}
		emit(c, fmt.Sprintf("%-8s power loss of 5 disks with 10 MB each, by one command: %.1f ms", backend, c.Millis))
	}
	return nil
}
