package peersbench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Bench is a run of all measurements.
type Bench struct {
	// Quick makes small numbers of rows and rounds do.
	Quick bool
	// Only names the parts to be measured; nil means all.
	Only []string
	// Held is how long a transaction is kept open elsewhere.
	Held time.Duration
	// History is how many notifications have ended before.
	History int
	// Say is told what is going on.
	Say func(format string, args ...any)

	Rows    []Row
	Summary map[string]float64

	rig *rig
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

const (
	unitRate = "rows/s"
	unitX    = "×"
)

// Parts are the measurements, in their order.
var Parts = []string{"drain", "enqueue", "latency", "dispatchers", "watchers", "mixed", "held", "history"}

// figures are what a whole run's summary must have.
var figures = []string{
	"drain_vs_river", "drain_vs_raw", "enqueue_batch_vs_river", "enqueue_dup_vs_river", "enqueue_single_vs_river",
	"latency_p50_vs_river", "latency_p99_vs_river", "cpu_vs_river", "wal_vs_river", "mixed_worst_vs_median", "held_tx_slowdown", "history_slowdown",
}

// Missing lists the figures that a whole run has not found, or that are none.
func (b *Bench) Missing() (out []string) {
	for _, key := range figures {
		if v := b.Summary[key]; !(v > 0) || math.IsInf(v, 0) {
			out = append(out, key)
		}
	}
	return out
}

// Run measures.
func (b *Bench) Run(ctx context.Context) (err error) {
	if b.rig, err = newRig(ctx); err != nil {
		return err
	}
	defer func() {
		if e := b.rig.close(ctx); err == nil {
			err = e
		}
	}()
	run := map[string]func(context.Context) error{
		"drain": b.drain, "enqueue": b.enqueue, "latency": b.latency, "dispatchers": b.dispatchers,
		"watchers": b.watchers, "mixed": b.mixed, "held": b.held, "history": b.history,
	}
	for _, name := range Parts {
		if len(b.Only) > 0 && !slices.Contains(b.Only, name) {
			continue
		}
		start := time.Now()
		if err := run[name](ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b.Say("(%s: %.0f s)", name, time.Since(start).Seconds())
	}
	return nil
}

func (b *Bench) add(name, unit, note string, rounds ...float64) float64 {
	r := Row{Name: name, Value: median(rounds), Unit: unit, Note: note, Rounds: slices.Clone(rounds)}
	if len(rounds) == 1 {
		r.Rounds = nil
	}
	b.Rows = append(b.Rows, r)
	b.Say("%-60s %12.4g %s", name, r.Value, unit)
	return r.Value
}

// ratio adds a comparison, and puts it into the summary.
func (b *Bench) ratio(key, name, note string, rounds []float64) {
	b.Summary[key] = b.add(name, unitX, note, rounds...)
}

// pick returns one of two numbers: for a whole run, and for a quick one.
func (b *Bench) pick(whole, quick int) int {
	if b.Quick {
		return quick
	}
	return whole
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// ratios divides round by round.
func ratios(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] / b[i]
	}
	return out
}

func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }
