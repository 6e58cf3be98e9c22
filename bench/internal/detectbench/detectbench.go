// Package detectbench measures detection: sweeps over many due listings, with the
// real page source, extractor and store, against a shop on loopback that is a
// process of its own; what the processor does meanwhile; what memory it takes; and
// what many watchers of one listing cost its shop.
//
// Hosts are asked no more often than the server asks them: the listings are spread
// over many hosts, as those of many people are.
package detectbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/lastlook/lastlook/internal/door"
	"github.com/lastlook/lastlook/source/page"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
	"github.com/lastlook/lastlook/watch/watchsqlite"
)

// Bench is a run of all measurements.
type Bench struct {
	// Quick makes few listings and rounds do.
	Quick bool
	// Dir is where databases are made; "" is where temporary files go.
	Dir string
	// Say is told what is going on.
	Say func(format string, args ...any)
	// Self prepares to run this program again, as the shop.
	Self func(ctx context.Context, args ...string) *exec.Cmd

	Rows    []Row
	Summary map[string]float64
}

// Row is one measurement.
type Row struct {
	Name string `json:"name"`
	// Value is the median of Rounds.
	Value  float64   `json:"value"`
	Unit   string    `json:"unit"`
	Rounds []float64 `json:"rounds,omitempty"`
	Note   string    `json:"note,omitempty"`
}

// The server's own numbers.
const (
	sweepLimit     = 500
	looksPerSecond = 2
	looksAtOnce    = 20
)

const (
	hosts    = 500
	interval = time.Hour
)

// begin is when the first listings are due; the rounds are a day apart.
var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Run measures everything.
func (b *Bench) Run(ctx context.Context) error {
	return cmp.Or(b.sweeps(ctx), b.watchers(ctx))
}

// rig is a service with its store, and the shop that it looks at.
type rig struct {
	db      *sqlite.Store
	watches *watchsqlite.Store
	service *watch.Service
	shop    *shop
	client  *http.Client
	clock   *clock
}

// withRig runs f with a fresh database and a shop.
func (b *Bench) withRig(ctx context.Context, f func(*rig) error) (err error) {
	dir, err := os.MkdirTemp(b.Dir, "bench-")
	if err != nil {
		return fmt.Errorf("detectbench: %w", err)
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	s, err := openShop(ctx, b.Self)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "bench.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := &rig{db: db, shop: s, clock: &clock{at: begin, since: time.Now()}}
	if r.watches, err = watchsqlite.Open(ctx, db); err != nil {
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	defer r.client.CloseIdleConnections()
	return f(r)
}

// open makes the service, as the server does.
func (r *rig) open() (err error) {
	via := map[string]string{}
	for i := range hosts {
		via[hostName(i)+":80"] = r.shop.addr
	}
	if r.client, err = door.New(door.Config{Via: via}); err != nil {
		return err
	}
	source, err := page.New(page.Config{Client: r.client, Clock: r.clock.now})
	if err != nil {
		return err
	}
	polite, err := watch.NewPoliteness(looksPerSecond, looksAtOnce)
	if err != nil {
		return err
	}
	r.service, err = watch.New(watch.Config{Store: r.watches, Sources: map[string]watch.Source{page.SourceName: source},
		Clock: r.clock.now, Rand: func() float64 { return 0.5 }, Politeness: polite})
	return err
}

// add adds a watch of a listing, for a recipient.
func (r *rig) add(ctx context.Context, n int, recipient string, target price.Money) error {
	_, err := r.watches.Add(ctx, begin, watch.Listing{Source: page.SourceName, URL: address(n), Interval: interval, NextLook: begin},
		watch.Watch{Recipient: recipient, Channels: []string{"push"}, CreatedAt: begin,
			Triggers: []watch.Trigger{{ID: "t", Kind: watch.Below, Target: target}}})
	return err
}

// clock runs as fast as the real one, from another time on. Between sweeps it can
// be put forward.
type clock struct{ at, since time.Time }

func (c *clock) now() time.Time   { return c.at.Add(time.Since(c.since)) }
func (c *clock) put(at time.Time) { c.at, c.since = at, time.Now() }
func hostName(n int) string       { return fmt.Sprintf("shop%d.example", n%hosts) }
func address(n int) string        { return fmt.Sprintf("http://%s/p/%d", hostName(n), n) }
func (b *Bench) pick(whole, quick int) int {
	if b.Quick {
		return quick
	}
	return whole
}

func (b *Bench) add(name, unit, note string, rounds ...float64) float64 {
	r := Row{Name: name, Value: median(rounds), Unit: unit, Note: note, Rounds: slices.Clone(rounds)}
	if len(rounds) == 1 {
		r.Rounds = nil
	}
	b.Rows = append(b.Rows, r)
	b.Say("%-52s %12.4g %s", name, r.Value, unit)
	return r.Value
}

// median returns the middle of the values, which must be some.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}
