package watchtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

func testRecordWritesObservationStatesAndRowsTogether(t *testing.T, h Harness) {
	k := newKit(t, h)
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

func testHistoryIsNewestFirst(t *testing.T, h Harness) {
	k := newKit(t, h)
	e := k.add(page(1), k.below("5 EUR"))
	for i := range 5 {
		k.now = start.Add(time.Duration(i) * time.Minute)
		k.record(e.Listing.ID, k.observation(fmt.Sprintf("%d EUR", 10+i)))
	}
	got, err := k.s.History(t.Context(), e.Listing.ID, 3)
	if err != nil || len(got) != 3 || got[0].Price != money(t, "14 EUR") || got[2].Price != money(t, "12 EUR") {
		t.Errorf("history: %+v, %v", got, err)
	}
}

// Detection is given, per channel, what was told there.
func testRecordReadsKeyRowsInTheOrderOfChannels(t *testing.T, h Harness) {
	k := newKit(t, h)
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
func testRecordIsAtomic(t *testing.T, h Harness) {
	k := newKit(t, h)
	a, b := k.add(page(1), k.below("500 EUR")), k.add(page(1), k.below("500 EUR"))
	k.record(a.Listing.ID, k.observation("600 EUR"))
	k.now = k.now.Add(time.Minute)
	o := k.observation("450 EUR")
	good := k.detector(o)
	r := watch.Recording{ListingID: a.Listing.ID, Observation: o, NextLook: k.now.Add(time.Hour), Detect: good}
	before := k.o.Dump()

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
	k.broken(r, before)
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

// broken records while writes to one table fail.
func (k *kit) broken(r watch.Recording, before map[string][]string) {
	k.Helper()
	for _, broken := range []struct{ table, kind string }{
		{"lastlook_watch_observations", "INSERT"}, {"lastlook_watch_states", "INSERT"}, {"lastlook_watch_states", "UPDATE"},
		{"lastlook_keys", "INSERT"}, {"lastlook_notifications", "INSERT"}, {"lastlook_live", "INSERT"}, {"lastlook_watch_listings", "UPDATE"},
	} {
		mend := k.o.Break(broken.table, broken.kind)
		_, err := k.s.Record(k.Context(), k.now, r)
		if err != nil && !strings.Contains(err.Error(), "boom") {
			k.Errorf("%s of %s: %v", broken.kind, broken.table, err)
		}
		// Of a state that is there, a store writes an INSERT or an UPDATE.
		if err == nil && broken.table != "lastlook_watch_states" {
			k.Errorf("%s of %s is not needed", broken.kind, broken.table)
		}
		mend()
		if err != nil {
			k.wantDump(before)
		}
	}
}

// A look that began before the last one and is recorded after it must not end
// an episode that it knows nothing of.
func testLateObservationDecidesNothing(t *testing.T, h Harness) {
	k := newKit(t, h)
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
func testManyWatchers(t *testing.T, h Harness) {
	k := newKit(t, h)
	e := k.add(page(1), k.below("500 EUR"))
	statements := k.o.Statements
	cost := func(price string) int64 {
		before := statements.Load()
		k.now = k.now.Add(time.Minute)
		k.record(e.Listing.ID, k.observation(price))
		return statements.Load() - before
	}
	one := cost("600 EUR")
	const n = manyWatchers
	k.o.Exec(fmt.Sprintf(`WITH RECURSIVE g(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM g WHERE value < %d)
		INSERT INTO lastlook_watch_watches (id, listing, interval, paused, created_at, ignore_stock, zone, name, recipient, channels, triggers)
		SELECT 'w_' || g.value, w.listing, w.interval, w.paused, w.created_at, w.ignore_stock, '', '', 'r' || g.value, w.channels, w.triggers
		FROM g CROSS JOIN lastlook_watch_watches w`, n-1))
	if all := cost("650 EUR"); all > one+2 {
		t.Errorf("%d statements for %d watches, %d for one", all, n, one)
	}
	if all := cost("450 EUR"); all > one+2 {
		t.Errorf("%d statements for news to %d watches, %d for one", all, n, one)
	}
	if recs := k.outbox(); len(recs) != n {
		t.Errorf("%d rows in the outbox, want %d", len(recs), n)
	}
	if all := cost("440 EUR"); all > one+2 {
		t.Errorf("%d statements while the rows of %d watches wait, %d for one", all, n, one)
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
func testTwoHandlesOnOneFile(t *testing.T, h Harness) {
	k := newKit(t, h)
	other := k.again()
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
func testConcurrentUse(t *testing.T, h Harness) {
	k := newKit(t, h)
	kits := []*kit{k, k.again()}
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
					func() error { _, err := kit.s.Due(ctx, kit.now, kit.now, 10); return err },
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
			WHERE l.active <> EXISTS (SELECT 1 FROM lastlook_watch_watches w WHERE w.listing = l.n AND NOT w.paused)`,
	} {
		if got := k.o.Column(query); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
