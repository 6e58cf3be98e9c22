package watchtest

import (
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook/watch"
)

// claim claims what is due, until a time.
func (k *kit) claim(until time.Time, limit int) []string {
	k.Helper()
	list, err := k.s.Due(k.Context(), k.now, until, limit)
	if err != nil {
		k.Error(err) // also called by goroutines
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

func (k *kit) release(until time.Time, ids ...string) {
	k.Helper()
	if err := k.s.Release(k.Context(), ids, until); err != nil {
		k.Fatal(err)
	}
}

// What one worker has claimed, another does not get: until the claim ends, or a
// look is recorded that says when the next one is.
func testClaims(t *testing.T, h Harness) {
	k := newKit(t, h)
	var ids []string
	for i := range 3 {
		l := page(i)
		l.NextLook = start.Add(time.Duration(i) * time.Second)
		ids = append(ids, k.add(l, k.below("5 EUR")).Listing.ID)
	}
	other := k.again()
	k.now = start.Add(time.Minute)
	other.now = k.now
	until := k.now.Add(time.Minute)
	if got := k.claim(until, 2); !reflect.DeepEqual(got, ids[:2]) {
		t.Fatalf("claimed %v, want the first two of %v", got, ids)
	}
	if at, err := other.s.NextDue(t.Context(), k.now); err != nil || !at.Equal(start.Add(2*time.Second)) {
		t.Errorf("the next that is free is due at %s, %v", at, err)
	}
	if got := other.claim(until, 10); !reflect.DeepEqual(got, ids[2:]) {
		t.Errorf("the other claimed %v, want what is left", got)
	}
	if got := k.claim(until, 10); len(got) != 0 {
		t.Errorf("claimed again: %v", got)
	}
	if at := k.nextDue(); !at.IsZero() {
		t.Errorf("all are claimed, and one is due at %s", at)
	}
	// A claim that is not that one's is not given back.
	other.release(until.Add(time.Second), ids[0])
	if got := k.due(10); len(got) != 0 {
		t.Errorf("released by another's claim: %v", got)
	}
	k.release(until, ids[0])
	if got := other.claim(until, 10); !reflect.DeepEqual(got, ids[:1]) {
		t.Errorf("released, and claimed: %v", got)
	}
	// What the dispatcher sees leaves the claim; what a sweep sees ends it.
	o := k.observation("9 EUR")
	if _, err := k.s.Record(t.Context(), k.now, watch.Recording{ListingID: ids[1], Observation: o, Detect: k.detector(o)}); err != nil {
		t.Fatal(err)
	}
	if got := k.due(10); len(got) != 0 {
		t.Errorf("a look of the dispatcher's freed %v", got)
	}
	if _, err := k.s.Record(t.Context(), k.now, watch.Recording{ListingID: ids[1], Observation: o, NextLook: k.now, Detect: k.detector(o)}); err != nil {
		t.Fatal(err)
	}
	if err := k.s.RecordFailure(t.Context(), k.now, watch.Failure{ListingID: ids[2], Err: "503", NextLook: k.now}); err != nil {
		t.Fatal(err)
	}
	if err := k.s.Postpone(t.Context(), map[string]time.Time{ids[0]: k.now}); err != nil {
		t.Fatal(err)
	}
	if got := k.due(10); len(got) != 3 {
		t.Errorf("free after their looks: %v", got)
	}
	// Whoever claimed may have died.
	k.claim(until, 10)
	k.now = until.Add(-time.Microsecond)
	if got := k.claim(until.Add(time.Hour), 10); len(got) != 0 {
		t.Errorf("claimed before the end of another's claim: %v", got)
	}
	k.now = until
	if got := k.claim(until.Add(time.Hour), 10); len(got) != 3 {
		t.Errorf("after it: %v", got)
	}
}

// Workers who claim at the same time share what is due: each listing is got once.
func testClaimsAtOnce(t *testing.T, h Harness) {
	k := newKit(t, h)
	const listings, workers = 24, 4
	for i := range listings {
		k.add(page(i), k.below("5 EUR"))
	}
	kits := []*kit{k, k.again()}
	got := make([][]string, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			mine := kits[w%len(kits)]
			for {
				ids := mine.claim(k.now.Add(time.Hour), 3)
				got[w] = append(got[w], ids...)
				// Some may be just being claimed by others, who get them.
				if len(ids) == 0 && mine.nothingDue() {
					return
				}
			}
		})
	}
	wg.Wait()
	all := slices.Concat(got...)
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != listings || len(all) != listings {
		t.Errorf("%d claims of %d listings, want %d", len(all), n, listings)
	}
}

func (k *kit) nothingDue() bool {
	at, err := k.s.NextDue(k.Context(), k.now)
	if err != nil {
		k.Error(err)
	}
	return at.IsZero()
}

// Those who add the same page at once share one listing, also while others
// remove the last who watched it.
func testAddAtOnce(t *testing.T, h Harness) {
	k := newKit(t, h)
	kits := []*kit{k, k.again()}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			mine := kits[w%2]
			for range 3 {
				e, err := mine.s.Add(t.Context(), mine.now, page(1), mine.below("5 EUR"))
				if err != nil {
					t.Error(err)
					return
				}
				if err := mine.s.Remove(t.Context(), mine.now, e.Watch.ID); err != nil {
					t.Error(err)
				}
			}
			if _, err := mine.s.Add(t.Context(), mine.now, page(1), mine.below("5 EUR")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list := k.list()
	if len(list) != 4 {
		t.Fatalf("%d watches are left, want 4", len(list))
	}
	for i := range list {
		if list[i].Listing.ID != list[0].Listing.ID {
			t.Errorf("two listings of one page: %s and %s", list[0].Listing.ID, list[i].Listing.ID)
		}
	}
	if got := k.o.Column("SELECT id FROM lastlook_watch_listings"); len(got) != 1 {
		t.Errorf("listings: %v", got)
	}
}
