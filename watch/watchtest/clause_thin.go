package watchtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/lastlook/lastlook/watch"
)

// Of days that are over, the lowest price and the last look stay; younger days are
// whole, and so is what decides where triggers stand.
func testThin(t *testing.T, h Harness) {
	k := newKit(t, h)
	e := k.add(page(1), k.below("5 EUR"))
	quiet := k.add(page(2), k.below("5 EUR"))
	k.record(quiet.Listing.ID, k.observation("70 EUR")) // its only looks, and the last that decides
	k.now = k.now.Add(time.Minute)
	k.record(quiet.Listing.ID, k.observation("60 EUR"))
	const days = 5
	day := watch.DayStart(watch.DayOf(start))
	for d := range days {
		for _, look := range []struct{ hour, price int }{{10, 50}, {12, 40 + d}, {15, 45}, {20, 60}} {
			k.now = day.AddDate(0, 0, d).Add(time.Duration(look.hour) * time.Hour)
			k.record(e.Listing.ID, k.observation(fmt.Sprintf("%d EUR", look.price)))
		}
	}
	before := day.AddDate(0, 0, 3).Add(5 * time.Hour) // within a day, which is not over then
	thin := func() (out watch.Thinned) {
		t.Helper()
		for {
			n, err := k.s.Thin(t.Context(), before, 1)
			if err != nil {
				t.Fatal(err)
			}
			if n.Listings == 0 {
				return out
			}
			out.Listings += n.Listings
			out.Observations += n.Observations
		}
	}
	last := k.get(e.Watch.ID).Last
	// Three days lose two of four each; the quiet one's last look is its lowest, too.
	if got := thin(); got != (watch.Thinned{Listings: 2, Observations: 3*2 + 1}) {
		t.Errorf("thinned %+v", got)
	}
	if got := thin(); got != (watch.Thinned{}) {
		t.Errorf("thinned again: %+v", got)
	}
	var prices []string
	for _, o := range k.history(e.Listing.ID) {
		prices = append(prices, o.Price.Amount().String())
	}
	want := "[60 45 44 50 60 45 43 50 60 42 60 41 60 40]"
	if got := fmt.Sprint(prices); got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
	if now := k.get(e.Watch.ID).Last; now == nil || !now.At.Equal(last.At) {
		t.Errorf("the last look was %+v, is %+v", last, now)
	}
	if l, err := k.s.Lows(t.Context(), e.Listing.ID, 0); err != nil || len(l.Lows) != days {
		t.Errorf("lows: %+v, %v", l, err)
	}
	// The day that decides is long over, and nothing was seen since.
	before = day.AddDate(0, 0, 300)
	thin()
	if now := k.get(quiet.Watch.ID).Last; now == nil || now.Price != money(t, "60 EUR") {
		t.Errorf("of the quiet one %+v is left", now)
	}
}
