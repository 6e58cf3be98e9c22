package watchtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

var start = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// kit is an empty store, a clock, and shorthands that fail the test.
type kit struct {
	testing.TB
	o   *Opened
	s   watch.Store
	db  lastlook.Store
	now time.Time
}

func newKit(t testing.TB, h Harness) *kit {
	t.Helper()
	return kitOf(t, h.Open(t))
}

func kitOf(t testing.TB, o *Opened) *kit {
	return &kit{TB: t, o: o, s: o.Store, db: o.Outbox, now: start}
}

// again opens the same tables once more, as another process would.
func (k *kit) again() *kit {
	k.Helper()
	return kitOf(k.TB, k.o.Again(k.TB))
}

// wantDump fails the test unless the tables stand as they did.
func (k *kit) wantDump(before map[string][]string) {
	k.Helper()
	after := k.o.Dump()
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
	list, err := k.s.Due(k.Context(), k.now, k.now, limit)
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
	at, err := k.s.NextDue(k.Context(), k.now)
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
