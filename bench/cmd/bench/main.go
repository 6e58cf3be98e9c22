// Command bench measures the outbox on SQLite, Web Push, how fast pages are read,
// how fast due listings are looked at, and what a slow and a dead lane cost a healthy
// one; it writes results/sqlite.json, results/push.json, results/extract.json,
// results/detect.json, results/lanes.json and the tables in
// docs/benchmarks.md. Asked to, it measures other queues beside the outbox, on
// PostgreSQL and SQLite: results/peers.json.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook/bench/internal/detectbench"
	"github.com/lastlook/lastlook/bench/internal/peersbench"
	"github.com/lastlook/lastlook/bench/internal/pushbench"
	"github.com/lastlook/lastlook/bench/internal/result"
	"github.com/lastlook/lastlook/bench/internal/sqlitebench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		stop()
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	quick               bool
	out, doc, dir, prof string
	parts               []string
	// Of the part peers: its parts, and how much of two things there is.
	peers   []string
	held    time.Duration
	history int
}

// part is a group of measurements.
type part struct {
	name string
	run  func(*sqlitebench.Bench, context.Context) error
	// asked says that it is measured only if it is asked for.
	asked bool
}

var parts = []part{
	{name: "enqueue", run: (*sqlitebench.Bench).Enqueue},
	{name: "drain", run: (*sqlitebench.Bench).Drain},
	{name: "claim", run: (*sqlitebench.Bench).Claim},
	{name: "backlog", run: (*sqlitebench.Bench).Backlog},
	{name: "memory", run: (*sqlitebench.Bench).Memory},
	{name: "engine", run: (*sqlitebench.Bench).Engine, asked: true}, // to be profiled
}

// ownParts have a file and a table of their own.
var ownParts = []string{pushPart, extractPart, detectPart, lanesPart, peersPart}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.BoolVar(&o.quick, "quick", false, "few rows and rounds, for CI: it shows that all runs, not how fast")
	only := fs.String("only", "", "measure only these `PARTS`, separated by commas: enqueue, drain, claim, backlog, memory, engine (the drain alone), peers (beside other queues, on PostgreSQL and SQLite), push (Web Push), extract (reading pages), detect (sweeping due listings), lanes (a healthy one beside a slow and a dead one)")
	fs.StringVar(&o.out, "out", "", "write the result to `FILE` (default results/sqlite.json for a whole run)")
	fs.StringVar(&o.doc, "doc", "", "write the table into `FILE` (default ../docs/benchmarks.md for a whole run)")
	fs.StringVar(&o.dir, "dir", "", "make the databases in `FOLDER` (default: where temporary files go): its disk is measured")
	peers := fs.String("peers", "", "of the part peers, only these `PARTS`: "+strings.Join(peersbench.Parts, ", ")+", sqlite")
	fs.DurationVar(&o.held, "held", 0, "of peers: how long a transaction is held open elsewhere (default 5m, with -quick 2s)")
	fs.IntVar(&o.history, "history", 0, "of peers: how many notifications have ended before (default 10000000, with -quick 20000)")
	fs.StringVar(&o.prof, "cpuprofile", "", "write a profile to `FILE`")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if *only != "" {
		o.parts = strings.Split(*only, ",")
	} else if !o.quick {
		o.out = orElse(o.out, filepath.Join("results", "sqlite.json"))
		o.doc = orElse(o.doc, filepath.Join("..", "docs", "benchmarks.md"))
	}
	if *peers != "" {
		o.peers = strings.Split(*peers, ",")
	}
	for _, name := range o.peers {
		if name != "sqlite" && !slices.Contains(peersbench.Parts, name) {
			return o, fmt.Errorf("no part %q of peers", name)
		}
	}
	o.held, o.history = cmp.Or(o.held, pick(o.quick, 2*time.Second, 5*time.Minute)), cmp.Or(o.history, pick(o.quick, 20_000, 10_000_000))
	for _, name := range o.parts {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) && !slices.Contains(ownParts, name) {
			return o, fmt.Errorf("no part %q", name)
		}
	}
	return o, nil
}

// pick returns one of two values: for a quick run, and for a whole one.
func pick[T any](quick bool, few, many T) T {
	if quick {
		return few
	}
	return many
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) == 3 && args[0] == sqlitebench.MemoryCommand {
		use, err := sqlitebench.DrainAndReport(ctx, args[1], args[2])
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(use))
	}
	if len(args) == 1 && args[0] == pushbench.ServeCommand {
		return pushbench.Serve(ctx, os.Stdin, os.Stdout)
	}
	if len(args) == 1 && args[0] == detectbench.ShopCommand {
		return detectbench.ServeShop(ctx, os.Stdin, os.Stdout)
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.prof != "" {
		f, err := os.Create(o.prof)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		defer func() {
			pprof.StopCPUProfile()
			_ = f.Close() // a profile that is cut short cannot be read, and says so
		}()
	}
	if len(o.parts) == 0 || slices.ContainsFunc(o.parts, func(p string) bool { return !slices.Contains(ownParts, p) }) {
		b, err := measure(ctx, o)
		if err != nil {
			return err
		}
		if err := publish(ctx, o.out, o.doc, sqliteTable, b.Summary, b.Rows); err != nil {
			return err
		}
	}
	if err := runPush(ctx, o); err != nil {
		return err
	}
	if err := runExtract(ctx, o); err != nil {
		return err
	}
	if err := runDetect(ctx, o); err != nil {
		return err
	}
	if err := runLanes(ctx, o); err != nil {
		return err
	}
	return runPeers(ctx, o)
}

// publish writes what a run came to: the file, the table, and a line for people.
func publish(ctx context.Context, out, doc, name string, summary map[string]float64, rows []sqlitebench.Row) error {
	file := result.New(ctx, summary, rows)
	if out != "" {
		if err := file.Write(out); err != nil {
			return err
		}
	}
	if doc != "" {
		if err := writeTable(doc, name, file, rows); err != nil {
			return err
		}
	}
	text, err := json.Marshal(summary)
	if err != nil {
		return err
	}
	fmt.Printf("bench: %s\n", text)
	return nil
}

func measure(ctx context.Context, o options) (*sqlitebench.Bench, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &sqlitebench.Bench{
		Dir: o.dir, Quick: o.quick, Summary: map[string]float64{},
		Say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
		Self: func(ctx context.Context, args ...string) ([]byte, error) {
			cmd := exec.CommandContext(ctx, self, args...)
			cmd.Stderr = os.Stderr
			return cmd.Output()
		},
	}
	for _, p := range parts {
		if asked := slices.Contains(o.parts, p.name); !asked && (p.asked || len(o.parts) > 0) {
			continue
		}
		if err := p.run(b, ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return b, nil
}
