package peersbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
)

// mix enqueues n rows and drains them at the same time, and returns rows per
// second.
func (b *Bench) mix(ctx context.Context, s *postgres.Store, from, n int) (float64, error) {
	c := newCounter(0, n)
	run, err := dispatch(ctx, c, s)
	if err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	var filling error
	start := time.Now()
	wg.Go(func() {
		for at := from; at < from+n && filling == nil; at += 500 {
			_, filling = s.Enqueue(ctx, time.Now(), items(at, 500))
		}
	})
	select {
	case <-c.done:
	case err = <-run.failed:
	case <-time.After(5 * time.Minute):
		err = fmt.Errorf("%d rows are left after five minutes", c.left.Load())
	case <-ctx.Done():
		err = ctx.Err()
	}
	took := time.Since(start)
	wg.Wait()
	return rate(n, took), errors.Join(err, filling, run.end())
}

// tables are those whose statistics matter.
var tables = []string{"live", "keys", "notifications", "outcomes", "claims", "marks", "lanes", "muted"}

// believe sets what the server thinks of the tables, and keeps it from finding out.
func believe(ctx context.Context, s *postgres.Store, empty bool) error {
	for _, t := range tables {
		statements := []string{"ALTER TABLE lastlook_" + t + " SET (autovacuum_enabled = false)"}
		if empty {
			statements = append(statements, "ANALYZE lastlook_"+t, "VACUUM lastlook_"+t)
		}
		for _, text := range statements {
			if _, err := s.Pool().Exec(ctx, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// mixed measures enqueue and drain at once, on tables that were analysed while
// they were empty and on such as never were.
func (b *Bench) mixed(ctx context.Context) error {
	n, rounds := b.pick(40_000, 4_000), b.pick(5, 2)
	worst := 0.0
	for _, empty := range []bool{true, false} {
		var got []float64
		for range rounds {
			err := b.rig.withStore(ctx, func(_ *database, s *postgres.Store) error {
				if err := believe(ctx, s, empty); err != nil {
					return err
				}
				v, err := b.mix(ctx, s, 0, n)
				got = append(got, v)
				return err
			})
			if err != nil {
				return err
			}
		}
		name := "enqueue and drain at once, never analysed"
		if empty {
			name = "enqueue and drain at once, analysed while empty"
		}
		m := b.add(name, unitRate, "500 per call; autovacuum is off", got...)
		if r := slices.Min(got) / m; worst == 0 || r < worst {
			worst = r
		}
	}
	b.Summary["mixed_worst_vs_median"] = b.add("enqueue and drain at once: worst ÷ median", unitX, "the worse of both; aim: ≥ 0.9", worst)
	return nil
}

// held measures what a transaction that is open elsewhere costs, which keeps
// vacuum from removing what has ended.
func (b *Bench) held(ctx context.Context) error {
	n := b.pick(40_000, 4_000)
	return b.rig.withStore(ctx, func(db *database, s *postgres.Store) error {
		var before, during []float64
		from := 0
		once := func(to *[]float64) error {
			v, err := b.mix(ctx, s, from, n)
			from += n
			*to = append(*to, v)
			return err
		}
		for range 3 {
			if err := once(&before); err != nil {
				return err
			}
		}
		conn, err := pgx.Connect(ctx, db.dsn)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		if err != nil {
			return err
		}
		var live int
		if err := tx.QueryRow(ctx, "SELECT count(*) FROM lastlook_live").Scan(&live); err != nil { // its snapshot
			return err
		}
		start := time.Now()
		claims := &slowest{Store: s}
		for time.Since(start) < b.Held {
			c := newCounter(0, n)
			if err := fill(ctx, s, from, n); err != nil {
				return err
			}
			from += n
			u, err := b.drainCounted(ctx, n, c, claims)
			if err != nil {
				return err
			}
			during = append(during, u.rate)
			if err := once(&during); err != nil {
				return err
			}
		}
		seconds, rows := time.Since(start).Seconds(), from-3*n
		if err := tx.Rollback(ctx); err != nil {
			return err
		}
		b.add("enqueue and drain at once, nothing held", unitRate, "", before...)
		last := during[len(during)-1]
		b.add("the same, a transaction held open elsewhere", unitRate, fmt.Sprintf("the last of %d rounds, after %.0f s and %d dead rows", len(during), seconds, rows), last)
		b.ratio("held_tx_slowdown", "a transaction held open: how many times slower", "", []float64{median(before) / last})
		b.Summary["held_tx_seconds"] = seconds
		b.Summary["held_tx_claim_worst_ms"] = b.add("the same: slowest claim", "ms", "claims are bounded: they start where the last one did", float64(claims.worst.Microseconds())/1000)
		return nil
	})
}

// drainCounted lets a dispatcher drain n rows.
func (b *Bench) drainCounted(ctx context.Context, n int, c *counter, s lastlook.Store) (use, error) {
	run, err := dispatch(ctx, c, s)
	if err != nil {
		return use{}, err
	}
	u, err := c.measure(ctx, b.rig, run.failed)
	return u, errors.Join(err, run.end())
}

// slowest notes the slowest claim.
type slowest struct {
	lastlook.Store
	mu    sync.Mutex
	worst time.Duration
}

// Claim implements [lastlook.Store].
func (s *slowest) Claim(ctx context.Context, r lastlook.ClaimRequest) ([]lastlook.Row, error) {
	start := time.Now()
	rows, err := s.Store.Claim(ctx, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worst = max(s.worst, time.Since(start))
	return rows, err
}
