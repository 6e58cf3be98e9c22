package sqlitebench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"

	_ "github.com/mattn/go-sqlite3" // the other driver
)

const enqueueBatch = 500

// way is one way to enqueue; it enqueues n rows on an open store, in calls of
// size, and returns how long that took.
type way struct {
	name string
	size int
	run  func(ctx context.Context, s *sqlite.Store, n, size int) (time.Duration, error)
}

// Enqueue measures how fast rows go in.
func (b *Bench) Enqueue(ctx context.Context) error {
	ways := []way{
		{"enqueue, one per call", 1, direct},
		{"enqueue, 500 per call", enqueueBatch, direct},
		{"enqueue, 500 per call, all duplicates", enqueueBatch, duplicates},
	}
	for _, d := range []struct{ name, driver string }{{"modernc", "sqlite"}, {"mattn", "sqlite3"}} {
		ways = append(ways,
			way{"enqueue in the caller's transaction, " + d.name + ", one", 1, inTx(d.driver)},
			way{"enqueue in the caller's transaction, " + d.name + ", 500", enqueueBatch, inTx(d.driver)})
	}
	rates := make([][]float64, len(ways))
	for range b.pick(7, 3) {
		for i, w := range ways {
			n := b.pick(20_000, 4_000)
			if w.size == 1 {
				n = b.pick(2_000, 400)
			}
			if err := b.withStore(ctx, func(s *sqlite.Store) error {
				took, err := w.run(ctx, s, n, w.size)
				rates[i] = append(rates[i], rate(n, took))
				return err
			}); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	for i, w := range ways {
		b.add(w.name, unitRate, "", rates[i]...)
	}
	return nil
}

// timed calls f for each part of n items, and returns how long the calls took.
func timed(n, size int, f func([]lastlook.Item) error) (took time.Duration, err error) {
	for from := 0; from < n; from += size {
		batch := items(from, min(size, n-from))
		start := time.Now()
		if err := f(batch); err != nil {
			return 0, err
		}
		took += time.Since(start)
	}
	return took, nil
}

func direct(ctx context.Context, s *sqlite.Store, n, size int) (time.Duration, error) {
	return timed(n, size, func(batch []lastlook.Item) error {
		_, err := s.Enqueue(ctx, time.Now(), batch)
		return err
	})
}

func duplicates(ctx context.Context, s *sqlite.Store, n, size int) (time.Duration, error) {
	if err := fill(ctx, s, 0, n); err != nil {
		return 0, err
	}
	return timed(n, size, func(batch []lastlook.Item) error {
		res, err := s.Enqueue(ctx, time.Now(), batch)
		for _, r := range res {
			if r.Status != lastlook.Duplicate {
				return fmt.Errorf("a duplicate was %s", r.Status)
			}
		}
		return err
	})
}

// inTx enqueues in transactions that also write a row of the caller's.
func inTx(driver string) func(context.Context, *sqlite.Store, int, int) (time.Duration, error) {
	return func(ctx context.Context, s *sqlite.Store, n, size int) (took time.Duration, err error) {
		db, err := openSQL(driver, filepath.FromSlash(s.Path()))
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		if _, err := db.ExecContext(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY, items INTEGER)"); err != nil {
			return 0, fmt.Errorf("the caller's table: %w", err)
		}
		return timed(n, size, func(batch []lastlook.Item) error {
			return enqueueTx(ctx, db, s, batch)
		})
	}
}

func enqueueTx(ctx context.Context, db *sql.DB, s *sqlite.Store, batch []lastlook.Item) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders (items) VALUES (?)", len(batch)); err != nil {
		return fmt.Errorf("the caller's row: %w", err)
	}
	if _, err := s.EnqueueTx(ctx, tx, time.Now(), batch...); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
