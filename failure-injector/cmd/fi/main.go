// SPDX-License-Identifier: Apache-2.0

// Command fi makes hosts, disks, networks and clocks fail on command.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"cad/failure-injector/disk"
	"cad/failure-injector/faultlog"
	"cad/failure-injector/host"
)

// Exit codes: 0 done; 2 refused as things are (a disk in use, a kind of host
// that cannot do it); 254 wrong arguments; 255 failed.
const (
	exitRefused = 2
	exitUsage   = 254
	exitFailed  = 255
)

var (
	errUsage   = errors.New("wrong arguments")
	errRefused = errors.New("refused")
)

func usagef(format string, a ...any) error {
	return fmt.Errorf("%w: %s", errUsage, fmt.Sprintf(format, a...))
}

// A verb is one subcommand: it gets its flags and positional arguments.
type verb struct {
	name, args, what string
	do               func(c *call) error
}

// A call is one run of a verb.
type call struct {
	flags *flag.FlagSet
	args  []string // positional, as given
	json  bool
	run   disk.Run
	out   io.Writer
	said  any // what it answered, for the log
}

// parse takes flags anywhere among n positional arguments; n < 0: any number.
func (c *call) parse(n int) error {
	var rest []string
	args := c.args
	for len(args) > 0 {
		if err := c.flags.Parse(args); err != nil {
			return usagef("%v", err)
		}
		args = c.flags.Args()
		if len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	if n >= 0 && len(rest) != n {
		return usagef("%d positional arguments wanted, %d given", n, len(rest))
	}
	c.args = rest
	return nil
}

// print writes v as JSON, or as text if the caller did not ask for JSON.
func (c *call) print(v any, text string) error {
	c.said = v
	if !c.json {
		_, err := fmt.Fprintln(c.out, text)
		return err
	}
	e := json.NewEncoder(c.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func defaultRun() string {
	if r := os.Getenv("FI_RUN"); r != "" {
		return r
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("fi-%d", os.Getuid()))
}

var groups map[string][]verb

func init() { // verbs print the table, so it cannot be an initial value
	groups = map[string][]verb{
		"host":   hostVerbs,
		"disk":   diskVerbs,
		"proc":   procVerbs,
		"net":    netVerbs,
		"clock":  clockVerbs,
		"plan":   planVerbs,
		"health": {{"", "zookeeper|redis --at ADDRESS:PORT [--host H] [--wait D]", "does the server acknowledge a write? Exit code 2: it does not", checkServer}},
		"log":    {{"", "", "what was done, with monotonic time stamps", showLog}},
		"status": {{"", "", "the daemon and the disks of the run directory", runStatus}},
		"heal":   {{"", "--all", "take every fault and delay back", heal}},
		"down":   {{"", "--all", "end everything of the run directory; safe at any time, also after the daemon was killed", down}},
		"daemon": {{"", "", "serve lossfs disks in the foreground (disk create starts one in the background)", serveDaemon}},
		"doctor": {{"", "", "what works on this machine", doctor}},
	}
}

func main() {
	if len(os.Args) > 2 { // what runs inside a host
		var err error
		switch os.Args[1] {
		case host.InitVerb:
			err = host.Init(os.Args[2])
		case host.ExecVerb:
			err = host.Exec(os.Args[2], os.Args[3:])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "fi:", err)
			os.Exit(exitFailed)
		}
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, errs io.Writer) int { return runStep(args, out, errs, 0) }

// Verbs that change nothing that a history could show.
var looking = map[string]bool{"list": true, "env": true, "stat": true, "log": true, "show": true, "status": true}

var lookingGroups = map[string]bool{"status": true, "doctor": true, "daemon": true, "plan": true, "health": true, "log": true}

// runStep is run as a step of a plan (from 1; 0: by itself).
func runStep(args []string, out, errs io.Writer, step int) int {
	// --json and --run may also come first: what follows -- belongs to others.
	general := flag.NewFlagSet("fi", flag.ContinueOnError)
	general.SetOutput(io.Discard)
	asJSON := general.Bool("json", false, "")
	runDir := general.String("run", defaultRun(), "")
	if err := general.Parse(args); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(errs, "fi: %v; `fi help` lists the commands\n", err)
		return exitUsage
	}
	args = general.Args()
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		help(out)
		return 0
	}
	verbs, ok := groups[args[0]]
	if !ok {
		fmt.Fprintf(errs, "fi: no command %q; `fi help` lists them\n", args[0])
		return exitUsage
	}
	path, rest := args[0], args[1:]
	v, found := verbs[0], len(verbs) == 1 && verbs[0].name == ""
	for i := 0; !found && i < len(verbs) && len(rest) > 0; i++ {
		if verbs[i].name == rest[0] {
			v, found = verbs[i], true
			path, rest = path+" "+rest[0], rest[1:]
		}
	}
	if !found {
		fmt.Fprintf(errs, "fi %s: which verb? `fi help` lists them\n", args[0])
		return exitUsage
	}
	c := &call{flags: flag.NewFlagSet(path, flag.ContinueOnError), args: rest, out: out}
	c.flags.SetOutput(io.Discard)
	c.flags.BoolVar(&c.json, "json", *asJSON, "JSON on standard output")
	c.flags.StringVar((*string)(&c.run), "run", *runDir, "run directory (also FI_RUN)")
	entry := faultlog.Begin()
	entry.Do, entry.Step = ownArgs(args), step
	err := v.do(c)
	code := explain(err, path, v.args, errs)
	// The end of a run takes its log with it, unless that is kept elsewhere.
	if code == exitUsage || looking[v.name] || lookingGroups[args[0]] || (args[0] == "down" && os.Getenv("FI_LOG") == "") {
		return code
	}
	entry.Exit, entry.Result = code, c.said
	if err != nil {
		entry.Error = err.Error()
	}
	if err := faultlog.Append(c.run, entry); err != nil {
		fmt.Fprintf(errs, "fi %s: not written to the log of faults: %v\n", path, err)
	}
	return code
}

// ownArgs leaves out what is the same for all verbs of a run.
func ownArgs(args []string) []string {
	var own []string
	for i := 0; i < len(args); i++ {
		switch name := strings.TrimLeft(args[i], "-"); {
		case args[i] == "--":
			return append(own, args[i:]...)
		case len(name) < len(args[i]) && name == "run":
			i++
		case len(name) < len(args[i]) && (name == "json" || strings.HasPrefix(name, "run=")):
		default:
			own = append(own, args[i])
		}
	}
	return own
}

// explain says why a verb did not do its work, and chooses the exit code.
func explain(err error, path, usage string, errs io.Writer) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp), errors.Is(err, errUsage):
		fmt.Fprintf(errs, "fi %s: %v\nusage: fi %s %s\n", path, err, path, usage)
		return exitUsage
	case errors.Is(err, disk.ErrInUse), errors.Is(err, errRefused):
		fmt.Fprintf(errs, "fi %s: %v\n", path, err)
		return exitRefused
	default:
		fmt.Fprintf(errs, "fi %s: %v\n", path, err)
		return exitFailed
	}
}

func help(out io.Writer) {
	fmt.Fprintln(out, "fi: hosts, disks, networks and clocks that fail on command\n\nAll take --json and --run DIR (or FI_RUN).")
	for _, g := range groupOrder {
		fmt.Fprintln(out)
		for _, v := range groups[g] {
			fmt.Fprintf(out, "  fi %s\n      %s\n", strings.Join(strings.Fields(g+" "+v.name+" "+v.args), " "), v.what)
		}
	}
}
