package sqlitebench

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// Bench is a run of all measurements.
type Bench struct {
	// Dir is where files are made, each in a folder of its own that is removed.
	Dir string
	// Quick makes small numbers of rows and rounds do.
	Quick bool
	// Say is told what is going on.
	Say func(format string, args ...any)
	// Self runs this program again, with what memory it needs.
	Self func(ctx context.Context, args ...string) ([]byte, error)

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

const unitRate = "rows/s"

func (b *Bench) add(name, unit, note string, rounds ...float64) float64 {
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

func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// inFolder runs f in a fresh folder.
func (b *Bench) inFolder(f func(dir string) error) (err error) {
	dir, err := os.MkdirTemp(b.Dir, "bench-")
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	return f(dir)
}

// withStore runs f on a fresh store.
func (b *Bench) withStore(ctx context.Context, f func(s *sqlite.Store) error) error {
	return b.inFolder(func(dir string) error {
		s, err := sqlite.Open(ctx, filepath.Join(dir, "bench.db"))
		if err != nil {
			return err
		}
		return errors.Join(f(s), s.Close())
	})
}

// offer is what is looked at.
type offer struct {
	Price     string `json:"price"`
	Currency  string `json:"currency"`
	Available bool   `json:"available"`
}

const (
	topicName   = "price"
	channelName = "push"
	laneName    = "push.example.com"
)

// subject names the i-th thing that is watched.
func subject(i int) string { return fmt.Sprintf("w%07d", i) }

// items are n things noticed, from the given number on.
func items(from, n int) []lastlook.Item {
	out := make([]lastlook.Item, n)
	for i := range out {
		detection, err := json.Marshal(offer{Price: fmt.Sprintf("%d.99", from+i), Currency: "EUR", Available: true})
		if err != nil {
			panic(err) // text and a bool
		}
		out[i] = lastlook.Item{
			Key:       lastlook.Key{Topic: topicName, Subject: subject(from + i), Recipient: fmt.Sprintf("device-%05d", (from+i)%5000), Channel: channelName},
			Detection: detection, Lane: laneName, Windows: lastlook.Day(time.UTC),
		}
	}
	return out
}

// fill enqueues n rows, from the given number on.
func fill(ctx context.Context, s *sqlite.Store, from, n int) error {
	const batch = 5000
	for to := from + n; from < to; from += batch {
		res, err := s.Enqueue(ctx, time.Now(), items(from, min(batch, to-from)))
		if err != nil {
			return err
		}
		for _, r := range res {
			if r.Status != lastlook.Inserted {
				return fmt.Errorf("fill: a row was %s", r.Status)
			}
		}
	}
	return nil
}

// openSQL opens a file with the driver of that name, as an application would: one
// connection, WAL, FULL, immediate transactions.
func openSQL(driver, path string) (*sql.DB, error) {
	var params string
	switch driver {
	case "sqlite": // modernc.org/sqlite
		params = "_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-16000)"
	case "sqlite3": // mattn/go-sqlite3
		params = "_txlock=immediate&_busy_timeout=10000&_journal_mode=WAL&_synchronous=FULL&_cache_size=-16000"
	default:
		return nil, fmt.Errorf("bench: no driver %q", driver)
	}
	db, err := sql.Open(driver, "file:"+filepath.ToSlash(path)+"?"+params)
	if err != nil {
		return nil, fmt.Errorf("bench: open with %s: %w", driver, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}
