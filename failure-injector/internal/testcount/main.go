// SPDX-License-Identifier: Apache-2.0

// Command testcount reads `go test -json`, shows what failed or was skipped and
// why, and closes with the counts. It fails if a test or a package failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	output := map[string][]string{}
	parents := map[string]bool{}
	result := map[string]string{}
	var order []string
	broken := 0
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text()) // a compiler message
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "run":
			if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
				parents[e.Package+" "+e.Test[:i]] = true
			}
		case "output", "build-output":
			output[key] = append(output[key], e.Output)
		case "pass", "fail", "skip":
			if e.Test == "" {
				if e.Action == "skip" { // a package without tests
					continue
				}
				fmt.Printf("%-4s %6.1fs %s\n", e.Action, e.Elapsed, e.Package)
				if e.Action == "fail" {
					broken++
				}
				continue
			}
			result[key] = e.Action
			order = append(order, key)
			if !strings.Contains(e.Test, "/") {
				fmt.Printf("%-4s %6.1fs   %s\n", e.Action, e.Elapsed, e.Test)
			}
		}
	}
	count := map[string]int{}
	for _, key := range order {
		if !parents[key] {
			count[result[key]]++
		}
		if result[key] == "fail" || (result[key] == "skip" && !parents[key]) {
			fmt.Printf("\n%s\n%s", key, strings.Join(output[key], ""))
		}
	}
	if broken > 0 && count["fail"] == 0 {
		for key, lines := range output {
			if strings.HasSuffix(key, " ") {
				fmt.Printf("%s%s", key, strings.Join(lines, ""))
			}
		}
		count["fail"] = broken // a package that did not build or died
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"])
	if count["fail"] > 0 || count["pass"] == 0 {
		os.Exit(1)
	}
}
