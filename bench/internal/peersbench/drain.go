package peersbench

import (
	"context"
	"fmt"
)

// turn is one engine's part of a round.
type turn struct {
	name string
	note string
	n    int
	run  func(ctx context.Context, db *database, n int) (filled, drained use, err error)
	// filled and drained are what its rounds came to.
	filled, drained []use
}

func column(list []use, f func(use) float64) []float64 {
	out := make([]float64, len(list))
	for i := range list {
		out[i] = f(list[i])
	}
	return out
}

func rateOf(u use) float64 { return u.rate }
func cpuOf(u use) float64  { return u.cpu }
func walOf(u use) float64  { return u.wal }

func (t *turn) rates() []float64 { return column(t.drained, rateOf) }

// life is what rows took from enqueue to end.
func (t *turn) life(f func(use) float64) []float64 {
	out := column(t.drained, f)
	for i, v := range column(t.filled, f) {
		out[i] += v
	}
	return out
}

// only makes a turn of a drain whose filling is not measured.
func only(run func(context.Context, *database, int) (use, error)) func(context.Context, *database, int) (use, use, error) {
	return func(ctx context.Context, db *database, n int) (filled, drained use, err error) {
		drained, err = run(ctx, db, n)
		return filled, drained, err
	}
}

// rounds lets engines take turns, each time another one first.
func (b *Bench) rounds(ctx context.Context, n int, turns []*turn) error {
	for round := range n {
		for i := range turns {
			t := turns[(i+round)%len(turns)]
			err := b.rig.fresh(ctx, func(db *database) error {
				filled, drained, err := t.run(ctx, db, t.n)
				t.filled, t.drained = append(t.filled, filled), append(t.drained, drained)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	return nil
}

// drain measures how fast a backlog is told, beside what others do with theirs,
// and beside the bound.
func (b *Bench) drain(ctx context.Context) error {
	n := b.pick(40_000, 3_000)
	ours := &turn{name: "lastlook", n: n, run: b.drainOurs, note: "claim → look → sending → sent, every default"}
	raw := &turn{name: "raw bound", n: n, run: only(b.drainRaw), note: "the same statements in loops on four connections, no engine"}
	river := func(unique bool) func(context.Context, *database, int) (use, use, error) {
		return func(ctx context.Context, db *database, n int) (use, use, error) {
			return b.drainRiver(ctx, db, n, unique)
		}
	}
	plain := &turn{name: "River", n: b.pick(20_000, 2_000), run: river(false), note: fmt.Sprintf("InsertManyFast, FetchCooldown 1 ms, %d workers", riverWorkers)}
	unique := &turn{name: "River, unique jobs", n: plain.n, run: river(true), note: "InsertMany, unique by arguments, as before"}
	mill := &turn{name: "watermill-sql", n: n, run: only(b.drainWatermill), note: "one subscriber, batches of 1000: a log with one offset"}
	gue := &turn{name: "gue", n: b.pick(5_000, 500), run: only(b.drainGue), note: fmt.Sprintf("%d workers, a transaction a job", gueWorkers)}
	turns := []*turn{ours, raw, plain, unique, mill, gue}
	if err := b.rounds(ctx, b.pick(5, 1), turns); err != nil {
		return err
	}
	for _, t := range turns {
		b.add("drain, "+t.name, unitRate, t.note, t.rates()...)
	}
	for _, t := range turns {
		b.add("processor time of a drained row, "+t.name, "µs", "server and client together", column(t.drained, cpuOf)...)
	}
	for _, t := range []*turn{ours, plain, unique} {
		b.add("log of a row's life, "+t.name, "B", "enqueue and drain", t.life(walOf)...)
		b.add("processor time of a row's life, "+t.name, "µs", "enqueue and drain", t.life(cpuOf)...)
	}
	best := plain
	if median(unique.rates()) > median(plain.rates()) {
		best = unique
	}
	b.ratio("drain_vs_river", "drain: lastlook ÷ River", "the faster of River's two; aim: ≥ 3", ratios(ours.rates(), best.rates()))
	b.ratio("drain_vs_raw", "drain: lastlook ÷ raw bound", "aim: ≥ 0.6", ratios(ours.rates(), raw.rates()))
	b.ratio("drain_vs_watermill", "drain: lastlook ÷ watermill-sql", "", ratios(ours.rates(), mill.rates()))
	b.ratio("drain_vs_gue", "drain: lastlook ÷ gue", "", ratios(ours.rates(), gue.rates()))
	b.ratio("cpu_vs_river", "processor time of a drained row: lastlook ÷ River, unique", "aim: ≤ 0.35", ratios(column(ours.drained, cpuOf), column(unique.drained, cpuOf)))
	b.ratio("cpu_life_vs_river", "processor time of a row's life: lastlook ÷ River, unique", "", ratios(ours.life(cpuOf), unique.life(cpuOf)))
	b.ratio("wal_vs_river", "log of a row's life: lastlook ÷ River, unique", "aim: ≤ 0.4", ratios(ours.life(walOf), unique.life(walOf)))
	return nil
}
