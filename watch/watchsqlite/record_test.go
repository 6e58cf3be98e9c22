package watchsqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

func TestRecordWritesObservationStatesAndRowsTogether(t *testing.T) {
	k := newKit(t)
	w := k.below("500 EUR")
	w.Channels = []string{"push", "mail"}
	a, b := k.add(page(1), w), k.add(page(1), k.below("400 EUR"))
	other := k.add(page(2), k.below("500 EUR"))
	o := k.observation("450 EUR")
	entries := k.record(a.Listing.ID, o)
	if len(entries) != 2 || entries[0].Watch.ID != a.Watch.ID || entries[1].Watch.ID != b.Watch.ID {
		t.Fatalf("entries: %+v", entries)
	}
	for i, e := range entries {
		e.History = watch.History{} // which only Record gives
		if !reflect.DeepEqual(e, k.get(e.Watch.ID)) {
			t.Errorf("entry %d: %+v\nstored: %+v", i, e, k.get(e.Watch.ID))
		}
		if !reflect.DeepEqual(e.Last, &o) || !e.Listing.LastOK.Equal(k.now) || !e.Listing.NextLook.Equal(k.now.Add(15*time.Minute)) {
			t.Errorf("entry %d: %+v", i, e)
		}
		if st := e.States["t1"]; !st.Known || st.Holding != (i == 0) {
			t.Errorf("entry %d: %+v", i, st)
		}
	}
	recs := k.outbox()
	if len(recs) != 2 || recs[0].Key.Subject != a.Watch.ID || recs[1].Key.Subject != a.Watch.ID || recs[0].Key.Channel == recs[1].Key.Channel {
		t.Errorf("outbox: %+v", recs)
	}
	if h := k.history(a.Listing.ID); !reflect.DeepEqual(h, []watch.Observation{o}) {
		t.Errorf("history: %+v", h)
	}
	if e := k.get(other.Watch.ID); !reflect.DeepEqual(e, other) {
		t.Errorf("another listing has %+v", e)
	}
	// A look of the dispatcher's leaves the schedule alone.
	k.now = k.now.Add(time.Minute)
	o = k.observation("390 EUR")
	got, err := k.s.Record(t.Context(), k.now, watch.Recording{ListingID: a.Listing.ID, Observation: o, Detect: k.detector(o)})
	got[1].History = watch.History{}
	if err != nil || !got[0].Listing.NextLook.Equal(start.Add(15*time.Minute)) || !reflect.DeepEqual(got[1], k.get(b.Watch.ID)) {
		t.Errorf("got %+v, %v", got, err)
	}
	if recs := k.outbox(); len(recs) != 3 {
		t.Errorf("outbox: %+v", recs)
	}
}

func TestHistoryIsNewestFirst(t *testing.T) {
	k := newKit(t)
	e := k.add(page(1), k.below("5 EUR"))
	for i := range 5 {
		k.now = start.Add(time.Duration(i) * time.Minute)
		k.record(e.Listing.ID, k.observation(fmt.Sprintf("%d EUR", 10+i)))
	}
	h, err := k.s.History(t.Context(), e.Listing.ID, 3)
	if err != nil || len(h) != 3 || h[0].Price != money(t, "14 EUR") || h[2].Price != money(t, "12 EUR") {
		t.Errorf("history: %+v, %v", h, err)
	}
}

// Detection is given, per channel, what was told there.
func TestRecordReadsKeyRowsInTheOrderOfChannels(t *testing.T) {
	k := newKit(t)
	w := k.below("500 EUR")
	w.Channels = []string{"push", "mail", "hook"}
	e := k.add(page(1), w)
	k.add(page(1), k.below("400 EUR"))
	it := lastlook.Item{Key: watch.Key(&e.Watch, "mail"), Detection: []byte("{}")}
	if _, err := k.db.Enqueue(t.Context(), k.now, []lastlook.Item{it}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	o := k.observation("450 EUR")
	_, err := k.s.Record(t.Context(), k.now, watch.Recording{ListingID: e.Listing.ID, Observation: o, Detect: func(got watch.Entry, keys []lastlook.KeyRow) (watch.Detected, error) {
		calls++
		if len(keys) != len(got.Watch.Channels) {
			t.Errorf("%d key rows for %v", len(keys), got.Watch.Channels)
		}
		for i, channel := range got.Watch.Channels {
			if known := keys[i].ID != 0; known != (channel == "mail") {
				t.Errorf("channel %s: key row %+v", channel, keys[i])
			}
		}
		return watch.Detected{}, nil
	}})
	if err != nil || calls != 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// Nothing of a recording stays if any part of it fails.
func TestRecordIsAtomic(t *testing.T) {
	k := newKit(t)
	a, b := k.add(page(1), k.below("500 EUR")), k.add(page(1), k.below("500 EUR"))
	k.record(a.Listing.ID, k.observation("600 EUR"))
	k.now = k.now.Add(time.Minute)
	o := k.observation("450 EUR")
	good := k.detector(o)
	r := watch.Recording{ListingID: a.Listing.ID, Observation: o, NextLook: k.now.Add(time.Hour), Detect: good}
	before := k.dump()

	mine := errors.New("mine")
	for name, detect := range map[string]func(watch.Entry, []lastlook.KeyRow) (watch.Detected, error){
		"an error of the second watch": func(e watch.Entry, keys []lastlook.KeyRow) (watch.Detected, error) {
			if e.Watch.ID == b.Watch.ID {
				return watch.Detected{}, mine
			}
			return good(e, keys)
		},
		"an item that is refused": func(e watch.Entry, keys []lastlook.KeyRow) (watch.Detected, error) {
			d, err := good(e, keys)
			if e.Watch.ID == b.Watch.ID {
				d.Items[0].Detection = []byte("{")
			}
			return d, err
		},
		"a state that is refused": func(e watch.Entry, keys []lastlook.KeyRow) (watch.Detected, error) {
			d, err := good(e, keys)
			d.States["t1"] = watch.State{Episode: -1}
			return d, err
		},
	} {
		bad := r
		bad.Detect = detect
		if _, err := k.s.Record(t.Context(), k.now, bad); err == nil {
			t.Errorf("%s: no error", name)
		}
		k.wantDump(before)
	}
	for _, table := range []string{"lastlook_watch_observations", "lastlook_watch_states", "lastlook_keys", "lastlook_notifications", "lastlook_live"} {
		k.exec("CREATE TRIGGER boom BEFORE INSERT ON " + table + " BEGIN SELECT RAISE(ABORT, 'boom'); END")
		if table == "lastlook_watch_states" {
			k.exec("CREATE TRIGGER boom2 BEFORE UPDATE ON " + table + " BEGIN SELECT RAISE(ABORT, 'boom'); END")
		}
		if _, err := k.s.Record(t.Context(), k.now, r); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%s: %v", table, err)
		}
		k.wantDump(before)
		k.exec("DROP TRIGGER boom; DROP TRIGGER IF EXISTS boom2")
	}
	k.exec("CREATE TRIGGER boom BEFORE UPDATE ON lastlook_watch_listings BEGIN SELECT RAISE(ABORT, 'boom'); END")
	if _, err := k.s.Record(t.Context(), k.now, r); err == nil {
		t.Error("the listing could not be written, and no error")
	}
	k.wantDump(before)
	k.exec("DROP TRIGGER boom")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not come through")
			}
		}()
		bad := r
		bad.Detect = func(watch.Entry, []lastlook.KeyRow) (watch.Detected, error) { panic("boom") }
		_, _ = k.s.Record(t.Context(), k.now, bad)
	}()
	k.wantDump(before)
	ctx, cancel := context.WithCancel(t.Context())
	bad := r
	bad.Detect = func(e watch.Entry, keys []lastlook.KeyRow) (watch.Detected, error) {
		cancel()
		return good(e, keys)
	}
	if _, err := k.s.Record(ctx, k.now, bad); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped in between: %v", err)
	}
	k.wantDump(before)
	if _, err := k.s.Record(t.Context(), k.now, r); err != nil || len(k.outbox()) != 2 {
		t.Errorf("after all that: %v, %d rows", err, len(k.outbox()))
	}
}

// A look that began before the last one and is recorded after it must not end
// an episode that it knows nothing of.
func TestLateObservationDecidesNothing(t *testing.T) {
	k := newKit(t)
	e := k.add(page(1), k.below("500 EUR"))
	slow := k.observation("600 EUR")
	k.now = k.now.Add(2 * time.Second)
	fast := k.observation("450 EUR")
	k.record(e.Listing.ID, fast)
	want := k.get(e.Watch.ID)
	k.now = k.now.Add(time.Second)
	entries, err := k.s.Record(t.Context(), k.now, watch.Recording{ListingID: e.Listing.ID, Observation: slow, NextLook: k.now.Add(time.Hour),
		Detect: func(watch.Entry, []lastlook.KeyRow) (watch.Detected, error) {
			t.Error("asked about a late observation")
			return watch.Detected{}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	got := k.get(e.Watch.ID)
	if !reflect.DeepEqual(entries[0], got) || !reflect.DeepEqual(got.States, want.States) || !reflect.DeepEqual(got.Last, &fast) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !got.Listing.LastOK.Equal(k.now) || !got.Listing.NextLook.Equal(k.now.Add(time.Hour)) || len(k.history(e.Listing.ID)) != 2 {
		t.Errorf("it was a look all the same: %+v", got.Listing)
	}
	// A clock that was set back does not make every look a late one.
	k.now = start.Add(-time.Hour)
	if got := k.record(e.Listing.ID, k.observation("550 EUR")); got[0].States["t1"].Holding {
		t.Errorf("after the clock was set back: %+v", got[0])
	}
	k.now = k.now.Add(time.Minute)
	if got := k.record(e.Listing.ID, k.observation("440 EUR")); !got[0].States["t1"].Holding || got[0].States["t1"].Episode != 2 {
		t.Errorf("a minute later: %+v", got[0])
	}
}

// Many watch one listing: a number of statements that does not depend on
// theirs.
func TestManyWatchers(t *testing.T) {
	k := newKit(t)
	e := k.add(page(1), k.below("500 EUR"))
	statements := k.s.Count()
	cost := func(price string) int64 {
		before := statements.Load()
		k.now = k.now.Add(time.Minute)
		k.record(e.Listing.ID, k.observation(price))
		return statements.Load() - before
	}
	one := cost("600 EUR")
	const n = manyWatchers
	k.exec(fmt.Sprintf(`WITH RECURSIVE g(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM g WHERE value < %d)
		INSERT INTO lastlook_watch_watches (id, listing, interval, paused, created_at, ignore_stock, zone, name, recipient, channels, triggers)
		SELECT 'w_' || g.value, w.listing, w.interval, 0, w.created_at, 0, '', '', 'r' || g.value, w.channels, w.triggers
		FROM g CROSS JOIN lastlook_watch_watches w`, n-1))
	began := time.Now()
	if all := cost("650 EUR"); all > one+2 {
		t.Errorf("%d statements for %d watches, %d for one", all, n, one)
	}
	quiet := time.Since(began)
	began = time.Now()
	if all := cost("450 EUR"); all > one+2 {
		t.Errorf("%d statements for news to %d watches, %d for one", all, n, one)
	}
	news := time.Since(began)
	if recs := k.outbox(); len(recs) != n {
		t.Errorf("%d rows in the outbox, want %d", len(recs), n)
	}
	began = time.Now()
	cost("440 EUR")
	again := time.Since(began)
	t.Logf("%d watches: no news %s, news for all %s, told again while the rows wait %s", n, quiet, news, again)
	if limit := 30 * time.Second; quiet > limit || news > limit || again > limit {
		t.Errorf("that is too long")
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("w_%d", i)
	}
	before := statements.Load()
	if got := k.current(ids...); got[n-1].Watch.ID == "" || got[0].Watch.ID != "" || got[n-1].Listing.ID != e.Listing.ID {
		t.Errorf("current: %+v", got[n-1])
	}
	if all := statements.Load() - before; all > 3 {
		t.Errorf("%d statements to read %d watches", all, n)
	}
}

// Several processes on one file, here as several handles.
func TestTwoHandlesOnOneFile(t *testing.T) {
	k := newKit(t)
	other := openKit(t, k.path)
	e := other.add(page(1), k.below("500 EUR"))
	if got := k.due(10); !reflect.DeepEqual(got, []string{e.Listing.ID}) {
		t.Errorf("due: %v", got)
	}
	k.record(e.Listing.ID, k.observation("450 EUR"))
	if got := other.get(e.Watch.ID); got.Last == nil || !got.States["t1"].Holding || len(other.outbox()) != 1 {
		t.Errorf("the other sees %+v", got)
	}
	other.remove(e.Watch.ID)
	if got := k.current(e.Watch.ID); got[0].Watch.ID != "" {
		t.Errorf("removed by the other: %+v", got)
	}
	o := k.observation("440 EUR")
	if _, err := k.s.Record(t.Context(), k.now, watch.Recording{ListingID: e.Listing.ID, Observation: o, Detect: k.detector(o)}); !errors.Is(err, watch.ErrNotFound) {
		t.Errorf("recording what the other has removed: %v", err)
	}
}

// Everything at once, from two handles: nothing fails, and what is left fits
// together.
func TestConcurrentUse(t *testing.T) {
	k := newKit(t)
	kits := []*kit{k, openKit(t, k.path)}
	k.add(page(0), k.below("500 EUR"))
	var wg sync.WaitGroup
	for g := range 4 {
		kit := kits[g%2]
		wg.Go(func() {
			ctx := t.Context()
			for i := range 9 {
				e, err := kit.s.Add(ctx, kit.now, page(i%3), kit.below("500 EUR"))
				if err != nil {
					t.Error(err)
					return
				}
				o := kit.observation("450 EUR")
				if _, err := kit.s.Record(ctx, kit.now, watch.Recording{ListingID: e.Listing.ID, Observation: o, Detect: kit.detector(o)}); err != nil {
					t.Error(err)
				}
				if _, err := kit.s.Update(ctx, kit.now, e.Watch.ID, func(w *watch.Watch) error { w.Paused = i%2 == 0; return nil }); err != nil {
					t.Error(err)
				}
				if err := kit.s.RecordFailure(ctx, kit.now, watch.Failure{ListingID: e.Listing.ID, Err: "503"}); err != nil {
					t.Error(err)
				}
				for _, read := range []func() error{
					func() error { _, err := kit.s.Due(ctx, kit.now, 10); return err },
					func() error { _, err := kit.s.List(ctx); return err },
					func() error { _, err := kit.s.History(ctx, e.Listing.ID, 10); return err },
				} {
					if err := read(); err != nil {
						t.Error(err)
					}
				}
				if i%3 > 0 {
					if err := kit.s.Remove(ctx, kit.now, e.Watch.ID); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	list := k.list()
	if len(list) != 1+4*3 {
		t.Errorf("%d watches are left", len(list))
	}
	for name, query := range map[string]string{
		"a listing that nobody watches":     "SELECT id FROM lastlook_watch_listings WHERE n NOT IN (SELECT listing FROM lastlook_watch_watches)",
		"a watch without its listing":       "SELECT id FROM lastlook_watch_watches WHERE listing NOT IN (SELECT n FROM lastlook_watch_listings)",
		"a state without its watch":         "SELECT watch FROM lastlook_watch_states WHERE watch NOT IN (SELECT n FROM lastlook_watch_watches)",
		"an observation without a listing":  "SELECT n FROM lastlook_watch_observations WHERE listing NOT IN (SELECT n FROM lastlook_watch_listings)",
		"a last observation of another one": "SELECT l.id FROM lastlook_watch_listings l JOIN lastlook_watch_observations o ON o.n = l.last_observation WHERE o.listing <> l.n",
		"a wrong active flag": `SELECT l.id FROM lastlook_watch_listings l
			WHERE l.active <> EXISTS (SELECT 1 FROM lastlook_watch_watches w WHERE w.listing = l.n AND w.paused = 0)`,
	} {
		if got := k.column(k.raw(), query); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The statements that run often, or over much, use their indexes.
func TestQueryPlans(t *testing.T) {
	k := newKit(t)
	db := k.raw()
	for name, want := range map[string]string{
		"due":                  "SEARCH l USING INDEX lastlook_watch_listings_due (next_look<?)",
		"next_due":             "SCAN l USING COVERING INDEX lastlook_watch_listings_due",
		"listing_by_id":        "SEARCH l USING INDEX sqlite_autoindex_lastlook_watch_listings_1 (id=?)",
		"listing_by_url":       "SEARCH l USING INDEX sqlite_autoindex_lastlook_watch_listings_2 (url=? AND source=? AND options=? AND private=?)",
		"listings_by_number":   "SEARCH l USING INTEGER PRIMARY KEY (rowid=?)",
		"watches_by_id":        "SEARCH w USING INDEX sqlite_autoindex_lastlook_watch_watches_1 (id=?)",
		"watches_by_listing":   "SEARCH w USING INDEX lastlook_watch_watches_listing (listing=?)",
		"watches_by_group":     "SEARCH w USING INDEX lastlook_watch_watches_group (recipient=? AND group_name=?)",
		"watches_by_recipient": "SEARCH w USING INDEX lastlook_watch_watches_recipient (recipient=?)",
		"states_by_watch":      "SEARCH s USING PRIMARY KEY (watch=?)",
		"demand":               "SEARCH lastlook_watch_watches USING INDEX lastlook_watch_watches_listing (listing=? AND paused=?)",
		"watched":              "SEARCH lastlook_watch_watches USING COVERING INDEX lastlook_watch_watches_listing (listing=?)",
		"history":              "SEARCH o USING INDEX lastlook_watch_observations_listing (listing=?)",
		"looked":               "SEARCH lastlook_watch_listings USING INTEGER PRIMARY KEY (rowid=?)",
		"postpone":             "SEARCH l USING INDEX sqlite_autoindex_lastlook_watch_listings_1 (id=?)",
		"lows":                 "SEARCH w USING PRIMARY KEY (listing=? AND day>?)",
		"failed":               "SEARCH lastlook_watch_listings USING INDEX sqlite_autoindex_lastlook_watch_listings_1 (id=?)",
	} {
		plan := k.plan(db, k.s.Statement(name))
		sorts := strings.Contains(plan, "TEMP B-TREE") && name != "watches_by_listing"
		if !strings.Contains(plan, want) || sorts {
			t.Errorf("%s: %s\nwant %s", name, plan, want)
		}
	}
}

var numbered = regexp.MustCompile(`\?(\d*)`)

// plan returns EXPLAIN QUERY PLAN of a statement, every parameter NULL.
func (k *kit) plan(db *sql.DB, query string) string {
	k.Helper()
	params := 0
	for _, m := range numbered.FindAllStringSubmatch(query, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			params = max(params, n)
		} else {
			params++
		}
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, make([]any, params)...)
	if err != nil {
		k.Fatalf("%s: %v", query, err)
	}
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			k.Fatal(err)
		}
		lines = append(lines, detail)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		k.Fatal(err)
	}
	return strings.Join(lines, "; ")
}
