package watchtest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// whole is a watch that uses every field.
func (k *kit) whole() watch.Watch {
	return watch.Watch{Name: "the kettle", Recipient: "ann", Channels: []string{"push", "mail"}, IgnoreStock: true,
		Zone: "Europe/Berlin", SnoozedUntil: start.Add(time.Hour),
		Triggers: []watch.Trigger{{Kind: watch.Below, Target: money(k, "499.9 EUR"), PerDay: 3}, {ID: "mine", Kind: watch.BackInStock}}}
}

func testAddReturnsWhatIsStored(t *testing.T, h Harness) {
	k := newKit(t, h)
	l := page(1)
	l.Private = true
	e := k.add(l, k.whole())
	w := k.whole()
	w.ID, w.ListingID, w.CreatedAt, w.Triggers[0].ID = e.Watch.ID, e.Listing.ID, k.now, e.Watch.Triggers[0].ID
	if !reflect.DeepEqual(e.Watch, w) {
		t.Errorf("watch: %+v\nwant   %+v", e.Watch, w)
	}
	l.ID, l.NextLook = e.Listing.ID, k.now
	if e.Listing != l {
		t.Errorf("listing: %+v\nwant     %+v", e.Listing, l)
	}
	if e.States != nil || e.Last != nil || e.Err != nil {
		t.Errorf("a new watch has %+v", e)
	}
	if !strings.HasPrefix(e.Watch.ID, "w_") || !strings.HasPrefix(e.Listing.ID, "l_") || w.Triggers[0].ID == "" || w.Triggers[1].ID != "mine" {
		t.Errorf("ids: %s, %s, %+v", e.Watch.ID, e.Listing.ID, w.Triggers)
	}
	for name, got := range map[string]watch.Entry{"get": k.get(e.Watch.ID), "list": k.list()[0], "current": k.current(e.Watch.ID)[0]} {
		if !reflect.DeepEqual(got, e) {
			t.Errorf("%s: %+v\nwant %+v", name, got, e)
		}
	}
	if l := k.add(watch.Listing{Source: "page", URL: "https://shop.example/d"}, k.below("5 EUR")).Listing; l.Interval != watch.DefaultInterval {
		t.Errorf("interval %s, want the default", l.Interval)
	}
}

func (k *kit) list() []watch.Entry {
	k.Helper()
	list, err := k.s.List(k.Context())
	if err != nil {
		k.Fatal(err)
	}
	return list
}

func (k *kit) current(ids ...string) []watch.Entry {
	k.Helper()
	list, err := k.s.Current(k.Context(), ids)
	if err != nil {
		k.Fatal(err)
	}
	return list
}

func testAddRefusesWhatCannotBeWatched(t *testing.T, h Harness) {
	k := newKit(t, h)
	before := k.o.Dump()
	for name, spoil := range map[string]func(*watch.Listing, *watch.Watch){
		"no trigger":        func(_ *watch.Listing, w *watch.Watch) { w.Triggers = nil },
		"no recipient":      func(_ *watch.Listing, w *watch.Watch) { w.Recipient = "" },
		"no source":         func(l *watch.Listing, _ *watch.Watch) { l.Source = "" },
		"no address":        func(l *watch.Listing, _ *watch.Watch) { l.URL = "" },
		"a long address":    func(l *watch.Listing, _ *watch.Watch) { l.URL = strings.Repeat("x", 10_000) },
		"a hasty interval":  func(l *watch.Listing, _ *watch.Watch) { l.Interval = time.Second },
		"a sleepy interval": func(l *watch.Listing, _ *watch.Watch) { l.Interval = 1000 * time.Hour },
	} {
		l, w := page(1), k.below("5 EUR")
		spoil(&l, &w)
		if _, err := k.s.Add(t.Context(), k.now, l, w); !errors.Is(err, watch.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := k.s.Add(t.Context(), time.Time{}, page(1), k.below("5 EUR")); !errors.Is(err, lastlook.ErrClock) {
		t.Errorf("no clock: %v, want ErrClock", err)
	}
	k.wantDump(before)
}

func testListingsAreShared(t *testing.T, h Harness) {
	k := newKit(t, h)
	url := func(s string) watch.Listing {
		u, err := watch.ParseURL(s)
		if err != nil {
			t.Fatal(err)
		}
		return watch.Listing{Source: "page", URL: u, Interval: time.Hour}
	}
	a := k.add(url("https://Shop.Example/kettle#reviews"), k.below("5 EUR"))
	eager := url(" HTTPS://shop.example/kettle ")
	eager.Interval = 10 * time.Minute
	b := k.add(eager, k.below("6 EUR"))
	if a.Listing.ID != b.Listing.ID || b.Listing.Interval != 10*time.Minute {
		t.Errorf("%+v and %+v", a.Listing, b.Listing)
	}
	slow := url("https://shop.example/kettle")
	slow.Interval = 24 * time.Hour
	c := k.add(slow, k.below("7 EUR"))
	if c.Listing.ID != a.Listing.ID || c.Listing.Interval != 10*time.Minute {
		t.Errorf("a slower watch made it %+v", c.Listing)
	}
	// The operator's private listing is nobody else's, and another source is
	// another listing.
	for _, other := range []watch.Listing{{Source: "page", URL: a.Listing.URL, Private: true}, {Source: "json", URL: a.Listing.URL}} {
		if e := k.add(other, k.below("5 EUR")); e.Listing.ID == a.Listing.ID || e.Listing.Private != other.Private {
			t.Errorf("%+v shares %+v", other, e.Listing)
		}
	}
	// When the eager one goes, or rests, nobody asks so often any more.
	k.update(b.Watch.ID, func(w *watch.Watch) { w.Paused = true })
	if l := k.get(a.Watch.ID).Listing; l.Interval != time.Hour {
		t.Errorf("the eager one paused: %s", l.Interval)
	}
	k.update(b.Watch.ID, func(w *watch.Watch) { w.Paused = false })
	if l := k.get(a.Watch.ID).Listing; l.Interval != 10*time.Minute {
		t.Errorf("the eager one resumed: %s", l.Interval)
	}
	k.remove(b.Watch.ID)
	k.remove(a.Watch.ID)
	if l := k.get(c.Watch.ID).Listing; l.Interval != 24*time.Hour || l.ID != a.Listing.ID {
		t.Errorf("only the slow one is left: %+v", l)
	}
}

func testAddedWatchSeesThePageSoon(t *testing.T, h Harness) {
	k := newKit(t, h)
	a := k.add(page(1), k.below("5 EUR"))
	k.record(a.Listing.ID, k.observation("9 EUR"))
	k.now = k.now.Add(time.Second)
	if l := k.add(page(1), k.below("6 EUR")).Listing; !l.NextLook.Equal(start.Add(watch.MinInterval)) {
		t.Errorf("a second after a look: next look at %s", l.NextLook)
	}
	k.now = k.now.Add(time.Minute)
	if l := k.add(page(1), k.below("7 EUR")).Listing; !l.NextLook.Equal(start.Add(watch.MinInterval)) {
		t.Errorf("already due: next look at %s", l.NextLook)
	}
	// A site that has asked for a pause gets it.
	wait := k.now.Add(time.Hour)
	if err := k.s.RecordFailure(t.Context(), k.now, watch.Failure{ListingID: a.Listing.ID, Err: "429", NextLook: wait}); err != nil {
		t.Fatal(err)
	}
	l := page(1)
	l.Interval = time.Minute
	if l := k.add(l, k.below("8 EUR")).Listing; !l.NextLook.Equal(wait) {
		t.Errorf("in a pause: next look at %s", l.NextLook)
	}
	// A paused watch asks for nothing; a time that is given is kept.
	at := k.now.Add(30 * time.Minute)
	w := k.below("5 EUR")
	w.Paused = true
	later := page(2)
	later.NextLook = at
	k.add(later, k.below("5 EUR"))
	if l := k.add(page(2), w).Listing; !l.NextLook.Equal(k.now.Add(15 * time.Minute)) {
		t.Errorf("a listing of its own time and interval: %s", l.NextLook)
	}
}

func testListIsOldestFirst(t *testing.T, h Harness) {
	k := newKit(t, h)
	if list := k.list(); len(list) != 0 {
		t.Errorf("an empty store lists %v", list)
	}
	var want []string
	for i := range 5 {
		k.now = start.Add(-time.Duration(i) * time.Minute)
		want = append([]string{k.add(page(i%2), k.below("5 EUR")).Watch.ID}, want...)
	}
	var got []string
	for _, e := range k.list() {
		got = append(got, e.Watch.ID)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// A recipient's own are found among everybody's, and nobody's are none.
	w := k.below("5 EUR")
	w.Recipient = "device:d_x"
	other := k.add(page(0), w)
	for recipient, n := range map[string]int{"device:d_x": 1, k.get(want[0]).Watch.Recipient: len(want), "nobody": 0} {
		own, err := k.s.ListFor(t.Context(), recipient)
		if err != nil || len(own) != n || n == 1 && !reflect.DeepEqual(own[0], k.get(other.Watch.ID)) || n > 1 && own[0].Watch.ID != want[0] {
			t.Errorf("of %s: %+v, %v", recipient, own, err)
		}
	}
	cur := k.current(want[3], "w_nobody", want[0], want[3])
	if len(cur) != 4 || cur[0].Watch.ID != want[3] || cur[1].Watch.ID != "" || cur[2].Watch.ID != want[0] || cur[3].Watch.ID != want[3] {
		t.Errorf("current: %+v", cur)
	}
	if cur := k.current(); len(cur) != 0 {
		t.Errorf("current of nothing: %v", cur)
	}
}

func testNotFound(t *testing.T, h Harness) {
	k := newKit(t, h)
	ctx := t.Context()
	_, get := k.s.Get(ctx, "w_nobody")
	_, update := k.s.Update(ctx, k.now, "w_nobody", func(*watch.Watch) error { return nil })
	_, record := k.s.Record(ctx, k.now, watch.Recording{ListingID: "l_nobody", Observation: k.observation("5 EUR")})
	_, history := k.s.History(ctx, "l_nobody", 1)
	for name, err := range map[string]error{"get": get, "update": update, "record": record, "history": history,
		"remove": k.s.Remove(ctx, k.now, "w_nobody"), "failure": k.s.RecordFailure(ctx, k.now, watch.Failure{ListingID: "l_nobody"})} {
		if !errors.Is(err, watch.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
}

func testUpdate(t *testing.T, h Harness) {
	k := newKit(t, h)
	e := k.add(page(1), k.whole())
	k.record(e.Listing.ID, k.observation("450 EUR"))
	e = k.get(e.Watch.ID)
	k.now = k.now.Add(time.Minute)
	got := k.update(e.Watch.ID, func(w *watch.Watch) {
		w.ID, w.ListingID, w.CreatedAt = "another", "another", k.now // not theirs to change
		w.Name, w.Recipient, w.Channels, w.Zone = "kettle", "bob", []string{"mail"}, "Asia/Tokyo"
		w.IgnoreStock, w.Paused, w.SnoozedUntil = false, true, time.Time{}
		w.Triggers[0].PerDay = -1
		w.Triggers[0].Target = money(t, "499.90 EUR") // the same amount
	})
	want := e
	want.Watch.Name, want.Watch.Recipient, want.Watch.Channels, want.Watch.Zone = "kettle", "bob", []string{"mail"}, "Asia/Tokyo"
	want.Watch.IgnoreStock, want.Watch.Paused, want.Watch.SnoozedUntil = false, true, time.Time{}
	want.Watch.Triggers = got.Watch.Triggers
	if !reflect.DeepEqual(got, want) || got.Watch.Triggers[0].ID != e.Watch.Triggers[0].ID || got.Watch.Triggers[0].PerDay != -1 {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	before := k.o.Dump()
	mine := errors.New("mine")
	if _, err := k.s.Update(t.Context(), k.now, e.Watch.ID, func(w *watch.Watch) error {
		w.Name = "nothing of this"
		return mine
	}); !errors.Is(err, mine) {
		t.Errorf("an error of the change: %v", err)
	}
	if _, err := k.s.Update(t.Context(), k.now, e.Watch.ID, func(w *watch.Watch) error {
		w.Triggers = nil
		return nil
	}); !errors.Is(err, watch.ErrInvalid) {
		t.Errorf("no trigger left: %v, want ErrInvalid", err)
	}
	k.wantDump(before)
}

// What was told of a trigger is kept by its id. A trigger that asks something
// else, or comes back after it was removed, must not be taken for told.
func testUpdateGivesChangedQuestionsNewIDs(t *testing.T, h Harness) {
	k := newKit(t, h)
	e := k.add(page(1), k.whole())
	k.record(e.Listing.ID, k.observation("450 EUR"))
	first, second := e.Watch.Triggers[0].ID, e.Watch.Triggers[1].ID
	if st := k.get(e.Watch.ID).States; len(st) != 2 || !st[first].Holding || st[first].Episode != 1 {
		t.Fatalf("states: %+v", st)
	}
	got := k.update(e.Watch.ID, func(w *watch.Watch) { w.Triggers[0].Target = money(t, "460 EUR") })
	if id := got.Watch.Triggers[0].ID; id == first || id == "" || got.Watch.Triggers[1].ID != second {
		t.Errorf("ids: %+v", got.Watch.Triggers)
	}
	if _, ok := got.States[first]; ok || len(got.States) != 1 {
		t.Errorf("states: %+v", got.States)
	}
	k.update(e.Watch.ID, func(w *watch.Watch) { w.Triggers = w.Triggers[1:] })
	got = k.update(e.Watch.ID, func(w *watch.Watch) {
		w.Triggers = append(w.Triggers, watch.Trigger{ID: first, Kind: watch.Below, Target: money(t, "499.90 EUR")})
	})
	if id := got.Watch.Triggers[1].ID; id == first {
		t.Errorf("a trigger came back under the id %q", id)
	}
}

func testRemove(t *testing.T, h Harness) {
	k := newKit(t, h)
	empty := k.o.Dump()
	a, b := k.add(page(1), k.below("500 EUR")), k.add(page(1), k.below("400 EUR"))
	k.record(a.Listing.ID, k.observation("600 EUR"))
	k.record(a.Listing.ID, k.observation("700 EUR"))
	k.remove(a.Watch.ID)
	if _, err := k.s.Get(t.Context(), a.Watch.ID); !errors.Is(err, watch.ErrNotFound) {
		t.Errorf("removed, and there: %v", err)
	}
	if e := k.get(b.Watch.ID); len(k.history(e.Listing.ID)) != 2 || len(e.States) != 1 || e.Last == nil {
		t.Errorf("the other watch lost something: %+v", e)
	}
	k.remove(b.Watch.ID)
	k.wantDump(empty)
	if at := k.nextDue(); !at.IsZero() {
		t.Errorf("next due at %s, though nothing is watched", at)
	}
	// Watched again, it begins anew.
	if e := k.add(page(1), k.below("500 EUR")); e.Last != nil || e.States != nil || e.Listing.ID == a.Listing.ID {
		t.Errorf("watched again: %+v", e)
	}
}

func testDueInOrderAndWithoutPaused(t *testing.T, h Harness) {
	k := newKit(t, h)
	var ids []string
	for i, after := range []time.Duration{3, 1, 2, 9} {
		l := page(i)
		l.NextLook = start.Add(after * time.Minute)
		ids = append(ids, k.add(l, k.below("5 EUR")).Listing.ID)
	}
	two := k.add(page(1), k.below("6 EUR"))
	if got := k.due(10); len(got) != 0 && !reflect.DeepEqual(got, []string{ids[1]}) {
		t.Errorf("at the start: %v", got)
	}
	k.now = start.Add(3 * time.Minute)
	if got := k.due(10); !reflect.DeepEqual(got, []string{ids[1], ids[2], ids[0]}) {
		t.Errorf("due: %v, want %v", got, ids)
	}
	if got := k.due(2); !reflect.DeepEqual(got, []string{ids[1], ids[2]}) {
		t.Errorf("the first two: %v", got)
	}
	if got := k.due(0); len(got) != 0 {
		t.Errorf("none: %v", got)
	}
	pause := func(id string, paused bool) { k.update(id, func(w *watch.Watch) { w.Paused = paused }) }
	pause(two.Watch.ID, true)
	if got := k.due(1); !reflect.DeepEqual(got, []string{ids[1]}) {
		t.Errorf("one of its two watches paused: %v", got)
	}
	for _, e := range k.list() {
		if e.Listing.ID == ids[1] {
			pause(e.Watch.ID, true)
		}
	}
	if got := k.due(10); !reflect.DeepEqual(got, []string{ids[2], ids[0]}) {
		t.Errorf("all of its watches paused: %v", got)
	}
	if at := k.nextDue(); !at.Equal(start.Add(2 * time.Minute)) {
		t.Errorf("next due at %s", at)
	}
	pause(two.Watch.ID, false)
	if got := k.due(1); !reflect.DeepEqual(got, []string{ids[1]}) {
		t.Errorf("resumed: %v", got)
	}
	// A watch that is added paused wakes nothing.
	w := k.below("5 EUR")
	w.Paused = true
	k.add(page(7), w)
	if got := k.due(10); len(got) != 3 {
		t.Errorf("due: %v", got)
	}
}

func testRecordFailureKeepsWhatIsKnown(t *testing.T, h Harness) {
	k := newKit(t, h)
	e := k.add(page(1), k.below("500 EUR"))
	k.record(e.Listing.ID, k.observation("450 EUR"))
	known := k.get(e.Watch.ID)
	fail := func(f watch.Failure) watch.Listing {
		t.Helper()
		k.now = k.now.Add(time.Minute)
		f.ListingID = e.Listing.ID
		if err := k.s.RecordFailure(t.Context(), k.now, f); err != nil {
			t.Fatal(err)
		}
		return k.get(e.Watch.ID).Listing
	}
	l := fail(watch.Failure{Err: "a block page"})
	want := known.Listing
	want.LastTried, want.LastError, want.Failures, want.FailingSince = k.now, "a block page", 1, k.now
	if l != want {
		t.Errorf("got  %+v\nwant %+v", l, want)
	}
	next := k.now.Add(2 * time.Hour)
	l = fail(watch.Failure{Err: "404", Missing: true, NextLook: next})
	first := k.now
	if !l.MissingSince.Equal(first) || !l.NextLook.Equal(next) || l.Failures != 2 {
		t.Errorf("missing: %+v", l)
	}
	if l = fail(watch.Failure{Err: "503"}); !l.MissingSince.Equal(first) || !l.NextLook.Equal(next) {
		t.Errorf("an answer that says nothing of it: %+v", l)
	}
	if l = fail(watch.Failure{Err: "404", Missing: true}); !l.MissingSince.Equal(first) || l.Failures != 4 {
		t.Errorf("missing again: %+v", l)
	}
	if e := k.get(e.Watch.ID); !reflect.DeepEqual(e.Last, known.Last) || !reflect.DeepEqual(e.States, known.States) || len(k.history(e.Listing.ID)) != 1 {
		t.Errorf("a failure changed what is known: %+v", e)
	}
	k.now = k.now.Add(time.Minute)
	l = k.record(e.Listing.ID, k.observation("450 EUR"))[0].Listing
	want = known.Listing
	want.LastOK, want.LastTried, want.NextLook = k.now, k.now, k.now.Add(15*time.Minute)
	if l != want || k.get(e.Watch.ID).Listing != want {
		t.Errorf("read again: %+v\nwant       %+v", l, want)
	}
	if err := k.s.RecordFailure(t.Context(), time.Time{}, watch.Failure{ListingID: l.ID}); !errors.Is(err, lastlook.ErrClock) {
		t.Errorf("no clock: %v", err)
	}
}

func testReopenFindsEverything(t *testing.T, h Harness) {
	k := newKit(t, h)
	e := k.add(page(1), k.whole())
	o := k.observation("450.50 EUR")
	o.Image, o.SKU = "https://shop.example/k.jpg", "K-1"
	o.Evidence = []watch.Evidence{{Fact: "price", Where: "JSON-LD Product.offers.price", Text: `"450.50" <b>`}}
	o.High, o.List, o.Unit = money(k, "500 EUR"), money(k, "600 EUR"), watch.UnitPrice{Price: money(k, "9.01 EUR"), Per: "kg"}
	o.Quantity = watch.Quantity{Amount: decimal.MustParse("50"), Unit: "kg"}
	o.Tax, o.Points, o.ValidUntil = price.TaxIncluded, []watch.Points{{Rate: decimal.MustParse("0.01")}}, k.now.Add(time.Hour)
	o.Ambiguous, o.Rule, o.Agreed, o.Value = true, "json-ld", true, json.RawMessage(`{"a":1}`)
	for field, v := range reflect.ValueOf(o).Fields() {
		if v.IsZero() {
			t.Fatalf("%s is not tried", field.Name)
		}
	}
	k.record(e.Listing.ID, o)
	before, history, outbox := k.get(e.Watch.ID), k.history(e.Listing.ID), k.outbox()
	if !reflect.DeepEqual(history, []watch.Observation{o}) {
		t.Errorf("history: %+v\nwant     %+v", history, o)
	}
	if err := k.o.Close(); err != nil {
		t.Fatal(err)
	}
	k = k.again()
	if after := k.get(e.Watch.ID); !reflect.DeepEqual(after, before) || !reflect.DeepEqual(k.history(e.Listing.ID), history) || len(k.outbox()) != len(outbox) {
		t.Errorf("after: %+v\nbefore: %+v", after, before)
	}
}

// A currency goes out of use, and a newer version does not know it any more.
func testUnreadableWatchDoesNotHoldTheOthersUp(t *testing.T, h Harness) {
	k := newKit(t, h)
	bad, good := k.add(page(1), k.below("500 EUR")), k.add(page(1), k.below("500 EUR"))
	k.record(bad.Listing.ID, k.observation("600 EUR"))
	k.o.Exec(`UPDATE lastlook_watch_watches SET triggers = replace(triggers, 'EUR', 'XQX') WHERE id = '` + bad.Watch.ID + `'`)
	k.o.Exec("UPDATE lastlook_watch_observations SET currency = 'XQX'")
	k.o.Exec("UPDATE lastlook_watch_lows SET currency = 'XQX'")
	k.o.Exec("UPDATE lastlook_watch_listings SET standing = replace(standing, 'EUR', 'XQX')")
	entries := k.list()
	if err := entries[0].Err; err == nil || !strings.Contains(err.Error(), bad.Watch.ID) || entries[1].Err != nil {
		t.Errorf("list: %+v", entries)
	}
	if !entries[1].Last.Price.IsZero() {
		t.Errorf("a price in no currency: %+v", entries[1].Last)
	}
	k.now = k.now.Add(time.Minute)
	if got := k.record(good.Listing.ID, k.observation("450 EUR")); len(got) != 2 || got[0].Err == nil {
		t.Errorf("recorded: %+v", got)
	}
	if recs := k.outbox(); len(recs) != 1 || recs[0].Key.Subject != good.Watch.ID {
		t.Errorf("outbox: %+v", recs)
	}
	if _, err := k.s.Update(t.Context(), k.now, bad.Watch.ID, func(*watch.Watch) error { return nil }); err == nil {
		t.Error("updated what cannot be read")
	}
	k.remove(bad.Watch.ID)
}
