// Package pushbench measures Web Push: what a message costs beside webpush-go,
// and how many go to one push service beside what the cryptography alone
// allows.
//
// What is compared is measured in one run, in rounds that take turns; figures
// are medians, ratios medians of each round's ratio.
package pushbench

import (
	"cmp"
	"context"
	"os/exec"
	"slices"
)

// Bench is a run of all measurements.
type Bench struct {
	// Quick makes small numbers of messages and rounds do.
	Quick bool
	// Say is told what is going on.
	Say func(format string, args ...any)
	// Self prepares to run this program again, as the push service.
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

// Run measures everything.
func (b *Bench) Run(ctx context.Context) error {
	return cmp.Or(b.peers(ctx), b.throughput(ctx))
}

func (b *Bench) add(name, unit, note string, rounds []float64) float64 {
	r := Row{Name: name, Value: median(rounds), Unit: unit, Note: note, Rounds: slices.Clone(rounds)}
	if len(rounds) == 1 {
		r.Rounds = nil
	}
	b.Rows = append(b.Rows, r)
	b.Say("%-44s %12.4g %s", name, r.Value, unit)
	return r.Value
}

// pick returns one of two numbers: for a whole run, and for a quick one.
func (b *Bench) pick(whole, quick int) int {
	if b.Quick {
		return quick
	}
	return whole
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

// ratios divides round by round.
func ratios(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] / b[i]
	}
	return out
}
