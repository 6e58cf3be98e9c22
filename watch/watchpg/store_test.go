package watchpg_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/pgtest"
	"github.com/lastlook/lastlook/store/postgres"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/watchpg"
	"github.com/lastlook/lastlook/watch/watchtest"
)

// cluster is the server that this package's tests share.
var cluster pgtest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

func TestConformance(t *testing.T) { run(t, cluster.DSN(t), postgres.Config{}) }

func TestConformancePgBouncer(t *testing.T) {
	run(t, pgtest.Bouncer(t, cluster.DSN(t)), postgres.Config{Pooler: true})
}

func run(t *testing.T, dsn string, c postgres.Config) {
	watchtest.Run(t, watchtest.Harness{Open: func(tb testing.TB) *watchtest.Opened {
		return open(tb, dsn, c, cluster.NewRaw(tb))
	}})
}

func open(tb testing.TB, dsn string, c postgres.Config, r pgtest.Raw) *watchtest.Opened {
	tb.Helper()
	c.Schema = r.Schema
	db, err := postgres.Open(tb.Context(), dsn, c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	if _, err := watchpg.Open(tb.Context(), db); err != nil {
		tb.Fatal(err)
	}
	s, n, err := watchpg.NewCounting(db)
	if err != nil {
		tb.Fatal(err)
	}
	return &watchtest.Opened{Store: s, Outbox: db, Statements: n, Close: db.Close, Exec: r.Exec, Column: r.Column, Dump: r.Dump, Break: r.Break,
		Again: func(tb testing.TB) *watchtest.Opened { return open(tb, dsn, c, r) },
	}
}

func newStore(t *testing.T, r pgtest.Raw) *watchpg.Store {
	t.Helper()
	s, ok := open(t, cluster.DSN(t), postgres.Config{}, r).Store.(*watchpg.Store)
	if !ok {
		t.Fatal("it opens another store")
	}
	return s
}

// Several processes start at once on a schema that has no tables yet.
func TestOpenAtOnce(t *testing.T) {
	r := cluster.NewRaw(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := postgres.Open(t.Context(), cluster.DSN(t), postgres.Config{Schema: r.Schema})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := watchpg.Open(t.Context(), db); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := watchpg.History().Load()
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Column("SELECT version FROM lastlook_watch_schema"); len(got) != len(all) {
		t.Errorf("versions %v, want %d", got, len(all))
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	r := cluster.NewRaw(t)
	newStore(t, r)
	r.Exec("INSERT INTO lastlook_watch_schema (version, name) VALUES (999, 'later')")
	db, err := postgres.Open(t.Context(), cluster.DSN(t), postgres.Config{Schema: r.Schema})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watchpg.Open(t.Context(), db); !errors.Is(err, lastlook.ErrNewerSchema) {
		t.Errorf("got %v, want ErrNewerSchema", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// Two workers, each with a store and connections of its own, ask one host as often
// as they can: together they are admitted a burst, and then as often as one may be.
func TestPolitenessIsShared(t *testing.T) {
	r := cluster.NewRaw(t)
	const perSecond, burst = 2, 5
	var workers []*watchpg.Politeness
	for range 2 {
		p, err := newStore(t, r).NewPoliteness("sweep", perSecond, burst)
		if err != nil {
			t.Fatal(err)
		}
		workers = append(workers, p)
	}
	start := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	ask := func(now time.Time, host string) (admitted int, waits []time.Duration) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for _, p := range workers {
			wg.Go(func() {
				for range 10 {
					wait, err := p.Admit(t.Context(), host, now)
					mu.Lock()
					switch {
					case err != nil:
						t.Error(err)
					case wait == 0:
						admitted++
					default:
						waits = append(waits, wait)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		return admitted, waits
	}
	n, waits := ask(start, "shop.example")
	if n != burst || slices.Min(waits) != time.Second/perSecond || slices.Max(waits) != time.Second/perSecond {
		t.Errorf("at the start %d looks are admitted, waits %v; want %d and half a second", n, waits, burst)
	}
	if n, _ := ask(start, "other.example"); n != burst {
		t.Errorf("another host: %d", n)
	}
	if n, _ := ask(start.Add(3*time.Second), "shop.example"); n != burst {
		t.Errorf("after a quiet time %d, want a burst", n)
	}
	for i := 1; i <= 3; i++ {
		if n, _ := ask(start.Add(3*time.Second+time.Duration(i)*time.Second/perSecond), "shop.example"); n != 1 {
			t.Errorf("half a second later: %d, want 1", n)
		}
	}
	s := newStore(t, r)
	if p, err := s.NewPoliteness("asked", perSecond, burst); err != nil {
		t.Error(err)
	} else if wait, err := p.Admit(t.Context(), "shop.example", start); wait != 0 || err != nil {
		t.Errorf("another scope waits for %s, %v", wait, err)
	}
	if n, err := s.Forget(t.Context(), start.Add(time.Hour), 10); n != 3 || err != nil {
		t.Errorf("forgot %d hosts, %v; want 3", n, err)
	}
	if _, err := s.NewPoliteness("x", 0, 1); !errors.Is(err, watch.ErrInvalid) {
		t.Errorf("none at all: %v", err)
	}
}

// What the server does not take is taken out, so that a page cannot keep itself
// from being recorded.
func TestTextsThatTheServerDoesNotTake(t *testing.T) {
	s := newStore(t, cluster.NewRaw(t))
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	e, err := s.Add(t.Context(), now, watch.Listing{Source: "page", URL: "https://shop.example/" + strings.Repeat("long", 1500)}, watch.Watch{
		Recipient: "ann", Channels: []string{"push"}, Triggers: []watch.Trigger{{Kind: watch.AnyChange}}})
	if err != nil {
		t.Fatal(err)
	}
	o := watch.Observation{At: now, Title: "a\x00b\xffc", SKU: "\x00", Evidence: []watch.Evidence{{Fact: "x", Text: "\x00"}}}
	got, err := s.Record(t.Context(), now, watch.Recording{ListingID: e.Listing.ID, Observation: o,
		Detect: func(watch.Entry, []lastlook.KeyRow) (watch.Detected, error) {
			return watch.Detected{States: map[string]watch.State{e.Watch.Triggers[0].ID: {Known: true}}}, nil
		}})
	if err != nil || len(got) != 1 {
		t.Fatal(err)
	}
	h, err := s.History(t.Context(), e.Listing.ID, 1)
	if err != nil || len(h) != 1 || h[0].Title != "ab\uFFFDc" {
		t.Errorf("%+v, %v", h, err)
	}
}
