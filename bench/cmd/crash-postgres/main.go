// Command crash-postgres runs the engine as three processes on a PostgreSQL server
// of its own, disturbs processes and server as badly as it can, and judges what is
// left. Its last line is the result; it exits with 1 if anything was found.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/lastlook/lastlook/bench/internal/result"
	"github.com/lastlook/lastlook/internal/crash"
)

func main() {
	if code, child := crash.Main(backend{dsn: os.Getenv(dsnEnv)}); child {
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
	crash.TeamPlan
	quick bool
	out   string
	keep  string
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("crash-postgres", flag.ContinueOnError)
	fs.IntVar(&o.Members, "dispatchers", 3, "processes that dispatch")
	fs.IntVar(&o.Kills, "kills", 100, "times that one of them is killed")
	fs.IntVar(&o.Stops, "stops", 12, "times that one of them is stopped past its lease, and continued")
	fs.IntVar(&o.Terminations, "terminations", 20, "seconds during which all connections are ended once a second")
	fs.IntVar(&o.Restarts, "restarts", 20, "times that the server is stopped at once, and started")
	fs.IntVar(&o.Failovers, "failovers", 3, "times that the server is killed, and its synchronous standby promoted")
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of what the world, the channels and the parent do")
	fs.BoolVar(&o.quick, "quick", false, "a few of each, for CI")
	fs.StringVar(&o.out, "out", "", "write the result to `FILE` (default results/crash-postgres.json, or nothing with -quick)")
	fs.StringVar(&o.keep, "dir", "", "keep the journals in this empty `FOLDER`")
	plant := fs.String("plant", "", "build in a mistake, to see it found")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.Plant = crash.Plant(*plant)
	o.TTL, o.Drain = 30*time.Second, 90*time.Second
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !o.quick {
		if !given["out"] {
			o.out = filepath.Join("results", "crash-postgres.json")
		}
		return o, nil
	}
	o.TTL = 8 * time.Second
	for name, few := range map[string]*int{"kills": &o.Kills, "stops": &o.Stops, "terminations": &o.Terminations, "restarts": &o.Restarts, "failovers": &o.Failovers} {
		if !given[name] {
			*few = map[string]int{"kills": 10, "stops": 2, "terminations": 2, "restarts": 2, "failovers": 1}[name]
		}
	}
	return o, nil
}

func run(ctx context.Context, args []string) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.Dir = o.keep; o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "lastlook-crash-"); err != nil {
			return fmt.Errorf("crash: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	} else if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("crash: %w", err)
	}
	began := time.Now()
	r, err := newRig()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	out, err := drive(ctx, o.TeamPlan, r)
	if err != nil {
		return err
	}
	return report(ctx, &out, o, time.Since(began))
}

// drive runs a plan on a rig, with this program as the children.
func drive(ctx context.Context, p crash.TeamPlan, r *rig) (crash.Outcome, error) {
	exe, err := os.Executable()
	if err != nil {
		return crash.Outcome{}, fmt.Errorf("crash: %w", err)
	}
	p.Server, p.Backend, p.Progress = r, backend{dsn: r.dsn()}, os.Stderr
	if err := os.Setenv(dsnEnv, r.dsn()); err != nil { // the children inherit it
		return crash.Outcome{}, fmt.Errorf("crash: %w", err)
	}
	p.Command = func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, exe) }
	return crash.DriveTeam(ctx, p)
}

func report(ctx context.Context, out *crash.Outcome, o options, took time.Duration) error {
	const shown = 20
	for i, f := range out.Findings {
		if i == shown {
			fmt.Fprintf(os.Stderr, "… and %d more\n", len(out.Findings)-shown)
			break
		}
		fmt.Fprintf(os.Stderr, "%s: row %d, %s: %s\n", f.Fault, f.ID, f.Key, f.Text)
	}
	rows := out.Details()
	for _, r := range rows {
		fmt.Printf("%-18s %-36s %6d\n", r.What, r.Name, r.Count)
	}
	for _, kind := range slices.Sorted(maps.Keys(out.Resumed)) {
		fmt.Printf("%-18s %-36s %6.2f s at most, %d times\n", "resumed after", kind, slices.Max(out.Resumed[kind]), len(out.Resumed[kind]))
	}
	summary := out.Summary()
	maps.Copy(summary, map[string]float64{
		"dispatchers": float64(o.Members), "stops_past_lease": float64(o.Stops), "refused_after_stop": float64(out.Refused),
		"terminations": float64(o.Terminations), "restarts": float64(o.Restarts), "failovers": float64(o.Failovers), "seconds": took.Seconds(),
	})
	for kind, list := range out.Resumed {
		summary[kind+"_resumed_worst_s"] = slices.Max(list)
	}
	if o.out != "" {
		if err := result.New(ctx, summary, rows).Write(o.out); err != nil {
			return err
		}
	}
	fmt.Println(out.Line())
	return errors.Join(out.Err(), proven(out, o))
}

// proven says what a run did not show, although it was to.
func proven(out *crash.Outcome, o options) error {
	switch {
	case o.Plant != "":
		return nil
	case o.Stops > 0 && out.Refused == 0:
		return errors.New("crash: nothing was refused to those who had been stopped: that proves nothing")
	case len(out.Resumed["failover"]) < o.Failovers || len(out.Resumed["restart"]) < o.Restarts || len(out.Resumed["terminate"]) < o.Terminations:
		return fmt.Errorf("crash: dispatch did not resume each time: %v", out.Resumed)
	}
	return nil
}
