// Command crash kills the engine on SQLite at random moments and at named
// failpoints, and judges what is left. Its last line is the result; it exits
// with 1 if anything was found.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/lastlook/lastlook/bench/internal/result"
	"github.com/lastlook/lastlook/internal/crash"
)

func main() {
	if err := register(); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(2)
	}
	if code, child := crash.Main(backend{}); child {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, err)
		}
		stop()
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	crash.Plan
	quick bool
	out   string
	keep  string
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("crash", flag.ContinueOnError)
	fs.IntVar(&o.Kills, "kills", 200, "random moments at which the child is killed")
	fs.IntVar(&o.Each, "each", 3, "deaths at each failpoint")
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of what the world, the channels and the parent do")
	fs.BoolVar(&o.quick, "quick", false, "40 kills and each failpoint once, for CI")
	fs.StringVar(&o.out, "out", "", "write the result to `FILE` (default results/crash.json, or nothing with -quick)")
	fs.StringVar(&o.keep, "dir", "", "keep the database and the journals in this empty `FOLDER`")
	plant := fs.String("plant", "", "build in a mistake, to see it found")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.Plant, o.Poison = crash.Plant(*plant), !o.quick
	o.TTL, o.Drain = 30*time.Second, 90*time.Second
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case !o.quick && !given["out"]:
		o.out = filepath.Join("results", "crash.json")
	case o.quick:
		o.TTL = 10 * time.Second
		if !given["kills"] {
			o.Kills = 40
		}
		if !given["each"] {
			o.Each = 1
		}
	}
	return o, nil
}

func run(ctx context.Context, args []string) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("crash: %w", err)
	}
	if o.Dir = o.keep; o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "lastlook-crash-"); err != nil {
			return fmt.Errorf("crash: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	} else if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("crash: %w", err)
	}
	o.Backend, o.Progress = backend{}, os.Stderr
	o.Command = func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, exe) }
	out, err := crash.Drive(ctx, o.Plan)
	if err != nil {
		return err
	}
	return report(ctx, &out, o.out)
}

func report(ctx context.Context, out *crash.Outcome, path string) error {
	const shown = 20
	for i, f := range out.Findings {
		if i == shown {
			fmt.Fprintf(os.Stderr, "… and %d more\n", len(out.Findings)-shown)
			break
		}
		fmt.Fprintf(os.Stderr, "%s: row %d, %s: %s\n", f.Fault, f.ID, f.Key, f.Text)
	}
	for _, r := range out.Details() {
		fmt.Printf("%-18s %-36s %6d\n", r.What, r.Name, r.Count)
	}
	if path != "" {
		if err := result.New(ctx, out.Summary(), out.Details()).Write(path); err != nil {
			return err
		}
	}
	fmt.Println(out.Line())
	return out.Err()
}
