package watchsqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
	"github.com/lastlook/lastlook/watch/watchsqlite"
	driver "modernc.org/sqlite"
)

var start = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// kit is a store on a fresh file, a clock, and shorthands that fail the test.
type kit struct {
	testing.TB
	db   *sqlite.Store
	s    *watchsqlite.Store
	path string
	now  time.Time
}

func newKit(t testing.TB) *kit {
	t.Helper()
	return openKit(t, filepath.Join(t.TempDir(), "lastlook.db"))
}

func openKit(t testing.TB, path string) *kit {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := watchsqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return &kit{TB: t, db: db, s: s, path: path, now: start}
}

// raw opens the file as another program would.
func (k *kit) raw() *sql.DB {
	k.Helper()
	c, err := driver.NewConnector("file:" + k.path)
	if err != nil {
		k.Fatal(err)
	}
	db := sql.OpenDB(c)
	k.Cleanup(func() {
		if err := db.Close(); err != nil {
			k.Error(err)
		}
	})
	return db
}

func (k *kit) exec(query string) {
	k.Helper()
	if _, err := k.raw().Exec(query); err != nil {
		k.Fatalf("%s: %v", query, err)
	}
}

// dump returns everything that stands in the tables of watches and the outbox.
func (k *kit) dump() map[string][]string {
	k.Helper()
	db := k.raw()
	out := map[string][]string{}
	for _, table := range k.column(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'lastlook_%'") {
		columns := k.column(db, "SELECT name FROM pragma_table_info('"+table+"')")
		out[table] = k.column(db, "SELECT concat_ws('|', "+strings.Join(columns, ", ")+") FROM "+table)
	}
	return out
}

func (k *kit) column(db *sql.DB, query string) (out []string) {
	k.Helper()
	rows, err := db.Query(query)
	if err != nil {
		k.Fatalf("%s: %v", query, err)
	}
	for rows.Next() {
		var v sql.NullString
		if err := rows.Scan(&v); err != nil {
			k.Fatal(err)
		}
		out = append(out, v.String)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		k.Fatal(err)
	}
	return out
}

// wantDump fails the test unless the tables stand as they did.
func (k *kit) wantDump(before map[string][]string) {
	k.Helper()
	after := k.dump()
	for _, table := range slices.Sorted(maps.Keys(after)) {
		if !slices.Equal(before[table], after[table]) {
			k.Errorf("%s has changed:\n%s\nbefore:\n%s", table, strings.Join(after[table], "\n"), strings.Join(before[table], "\n"))
		}
	}
}

func money(t testing.TB, s string) price.Money {
	t.Helper()
	m, err := price.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func page(n int) watch.Listing {
	return watch.Listing{Source: "page", URL: fmt.Sprintf("https://shop.example/%d", n), Interval: 15 * time.Minute}
}

// below is a watch with one target.
func (k *kit) below(target string) watch.Watch {
	k.Helper()
	return watch.Watch{Recipient: "ann", Channels: []string{"push"}, Triggers: []watch.Trigger{{ID: "t1", Kind: watch.Below, Target: money(k, target)}}}
}

func (k *kit) add(l watch.Listing, w watch.Watch) watch.Entry {
	k.Helper()
	e, err := k.s.Add(k.Context(), k.now, l, w)
	if err != nil {
		k.Fatal(err)
	}
	return e
}

func (k *kit) get(id string) watch.Entry {
	k.Helper()
	e, err := k.s.Get(k.Context(), id)
	if err != nil {
		k.Fatal(err)
	}
	return e
}

func (k *kit) update(id string, change func(*watch.Watch)) watch.Entry {
	k.Helper()
	e, err := k.s.Update(k.Context(), k.now, id, func(w *watch.Watch) error {
		change(w)
		return nil
	})
	if err != nil {
		k.Fatal(err)
	}
	return e
}

func (k *kit) remove(id string) {
	k.Helper()
	if err := k.s.Remove(k.Context(), k.now, id); err != nil {
		k.Fatal(err)
	}
}

// due returns the ids of the due listings.
func (k *kit) due(limit int) []string {
	k.Helper()
	list, err := k.s.Due(k.Context(), k.now, limit)
	if err != nil {
		k.Fatal(err)
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

func (k *kit) nextDue() time.Time {
	k.Helper()
	at, err := k.s.NextDue(k.Context())
	if err != nil {
		k.Fatal(err)
	}
	return at
}

// observation is what a look now sees.
func (k *kit) observation(p string) watch.Observation {
	k.Helper()
	return watch.Observation{At: k.now, Price: money(k, p), Availability: watch.InStock, Title: "Kettle"}
}

// detector detects as the service does.
func (k *kit) detector(o watch.Observation) func(watch.Entry, []lastlook.KeyRow) (watch.Detected, error) {
	now := k.now
	return func(e watch.Entry, keys []lastlook.KeyRow) (watch.Detected, error) {
		return watch.Detect(e, keys, o, now)
	}
}

// record records an observation as the sweep does.
func (k *kit) record(listing string, o watch.Observation) []watch.Entry {
	k.Helper()
	entries, err := k.s.Record(k.Context(), k.now, watch.Recording{ListingID: listing, Observation: o,
		NextLook: k.now.Add(15 * time.Minute), Detect: k.detector(o)})
	if err != nil {
		k.Fatal(err)
	}
	return entries
}

func (k *kit) history(listing string) []watch.Observation {
	k.Helper()
	h, err := k.s.History(k.Context(), listing, 1000)
	if err != nil {
		k.Fatal(err)
	}
	return h
}

// outbox returns the notifications, newest first.
func (k *kit) outbox() []lastlook.Record {
	k.Helper()
	recs, err := k.db.List(k.Context(), lastlook.Query{Limit: 1 << 20})
	if err != nil {
		k.Fatal(err)
	}
	return recs
}
