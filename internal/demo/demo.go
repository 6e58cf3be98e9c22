// Package demo plays a simulated day in a few small shops under three ways to
// notify, and counts what each of them told that was not true. lastlook reads the
// shops' pages, of several countries, with the real extractor.
package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/lastlook/lastlook/internal/server"
)

// Options are those of the demo.
type Options struct {
	Seed uint64
	// JSON prints one object instead of the story and the table.
	JSON bool
	// Quiet leaves the story out.
	Quiet bool

	simulated time.Duration // 0: the whole night
}

// Result is what the demo prints as JSON.
type Result struct {
	Seed     uint64            `json:"seed"`
	Policies map[string]Counts `json:"policies"`
}

// ErrFalse says that lastlook told something stale, or left out what was true.
var ErrFalse = errors.New("lastlook told something stale, or never told what was true: please report the seed")

// Run plays the day and prints what happened. It returns [ErrFalse] if
// lastlook failed its own promise.
func Run(ctx context.Context, opt Options, out io.Writer) error {
	res, plays, err := simulate(ctx, opt, out)
	if err != nil {
		return err
	}
	if opt.JSON {
		if err := json.NewEncoder(out).Encode(res); err != nil {
			return err
		}
	} else if err := table(out, res, plays); err != nil {
		return err
	}
	return verdict(opt.Seed, res.Policies["lastlook"])
}

// verdict says whether lastlook kept its promise.
func verdict(seed uint64, c Counts) error {
	if c.FalseStale > 0 || c.NeverTold > 0 {
		return fmt.Errorf("seed %d: %w", seed, ErrFalse)
	}
	return nil
}

func simulate(ctx context.Context, opt Options, out io.Writer) (Result, map[string]*play, error) {
	dir, err := os.MkdirTemp("", "lastlook-demo-")
	if err != nil {
		return Result{}, nil, fmt.Errorf("the demo needs a temporary directory: %w", err)
	}
	defer os.RemoveAll(dir)
	outbox, watches, closeStores, err := server.OpenStores(ctx, dir)
	if err != nil {
		return Result{}, nil, err
	}
	defer func() { _ = closeStores() }() // a temporary file; nothing is to be kept
	length := cmp.Or(opt.simulated, simulated)
	w := newWorld(opt.Seed, length)
	us, err := newOurs(ctx, w, outbox, watches)
	if err != nil {
		return Result{}, nil, err
	}
	res := Result{Seed: opt.Seed, Policies: map[string]Counts{}}
	plays := map[string]*play{}
	if !opt.JSON && !opt.Quiet {
		fmt.Fprintf(out, "Shops in %d countries, %d products, %d hours, seed %d. Prices and stock move also while pages load and\nmessages travel. This is what lastlook does; it reads the shops' pages as it reads real ones:\n\n",
			len(markets), products, int(length.Hours()), opt.Seed)
	}
	for _, pol := range []policy{us, newOriginal(), newDirect()} {
		tell := func(string, ...any) {}
		if pol == policy(us) && !opt.JSON && !opt.Quiet {
			tell = func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
		}
		pl, err := run(w, pol, tell)
		if err != nil {
			return res, nil, err
		}
		res.Policies[pol.name()] = judge(pl)
		plays[pol.name()] = pl
		if err := ctx.Err(); err != nil {
			return res, nil, err
		}
	}
	return res, plays, nil
}

func table(out io.Writer, res Result, plays map[string]*play) error {
	fmt.Fprintf(out, "\nThe same day under three policies, counted against the shop's own log:\n\n")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "policy\tsent\tfalse, stale\tfalse, in the gap\tduplicates\tnever told\twithheld\t")
	for _, name := range []string{"direct", "original", "lastlook"} {
		c := res.Policies[name]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, c.Sent, c.FalseStale, c.FalseInGap, c.Duplicates, c.NeverTold, c.Withheld)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	pl, c := plays["lastlook"], res.Policies["lastlook"]
	fmt.Fprintf(out, `
direct    sends what it noticed at once; a failed call is made again later.
original  the design that lastlook began from: a queue and a re-check, one baseline per watch.
lastlook  this program: %d runs of its dispatcher were killed, %d overlapped another.
false, stale       untrue when accepted, and not seen true within the last 10 s
false, in the gap  became untrue between a fresh look and the acceptance: nobody can prevent it
duplicates         of lastlook's, %d of %d carry the delivery key of the first, so that a receiver can tell
never told         true at two sweeps in a row, the receiver up, and nobody heard of it
`, pl.died, pl.overlaps, c.recognizable, c.Duplicates)
	return nil
}
