package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/govalues/decimal"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// shops is a group of watches for one thing at several shops.
type shops struct {
	*engine
	ids []string
}

var shopURLs = []string{"https://a.example/", "https://b.example/", "https://c.example/"}

func newShops(t *testing.T, trigger watch.Trigger) *shops {
	s := &shops{engine: newEngine(t, nil)}
	for _, address := range shopURLs {
		w := watchFor(trigger)
		w.Group = "camera"
		e, err := s.store.Add(t.Context(), time.Now(), watch.Listing{Source: "page", URL: address, Interval: 15 * time.Minute}, *w)
		if err != nil {
			t.Fatal(err)
		}
		s.ids = append(s.ids, e.Watch.ID)
	}
	return s
}

// prices sets what the shops ask; "" cannot be read.
func (s *shops) prices(prices ...string) {
	s.Helper()
	for i, p := range prices {
		if p == "" {
			s.source.fail(shopURLs[i], errors.New("blocked"))
			continue
		}
		o := *seen(s, time.Time{}, p, watch.InStock)
		s.source.answer(shopURLs[i], func(context.Context) (watch.Observation, error) { return o, nil })
	}
}

// day is the next day's sweep and dispatch; it returns what was told.
func (s *shops) day() (told []string) {
	s.Helper()
	before := len(s.channel.Deliveries())
	s.sweep()
	s.tick()
	for _, d := range s.channel.Deliveries()[before:] {
		told = append(told, d.Message.URL+" "+d.Message.Body)
	}
	pass(24 * time.Hour)
	return told
}

// want plays a day; messages of one tick come in any order.
func (s *shops) want(prices []string, want ...string) {
	s.Helper()
	s.prices(prices...)
	got := s.day()
	slices.Sort(got)
	slices.Sort(want)
	if len(got) != len(want) {
		s.Errorf("at %v told %q, want %q", prices, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			s.Errorf("at %v told %q, want %q", prices, got[i], want[i])
		}
	}
}

func TestCheapestOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShops(t, below(t, "500 EUR"))
		s.want([]string{"600 EUR", "600 EUR", "600 EUR"})
		s.want([]string{"480 EUR", "470 EUR", "490 EUR"}, "https://b.example/ 470.00 EUR: below your target of 500.00 EUR, the cheapest of 3 shops (in stock)")
		s.want([]string{"460 EUR", "470 EUR", "490 EUR"}) // told of this round
		// What was told of b is over. If a was looked at before b was, a's next look
		// sees that.
		s.prices("460 EUR", "600 EUR", "490 EUR")
		if got := append(s.day(), s.day()...); len(got) != 1 || got[0] != "https://a.example/ 460.00 EUR: below your target of 500.00 EUR, the cheapest of 3 shops (in stock)" {
			t.Errorf("told %q", got)
		}
		s.want([]string{"600 EUR", "600 EUR", "600 EUR"})
		s.want([]string{"600 EUR", "", "490 EUR"}, "https://c.example/ 490.00 EUR: below your target of 500.00 EUR, the cheapest of the 2 of 3 shops that could be read (in stock)")
	})
}

func TestGroupTellsAgainWhenLower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trigger := below(t, "500 EUR")
		trigger.Again = decimal.MustParse("5")
		s := newShops(t, trigger)
		s.want([]string{"480 EUR", "600 EUR", "600 EUR"}, "https://a.example/ 480.00 EUR: below your target of 500.00 EUR, the cheapest of 3 shops (in stock)")
		s.want([]string{"480 EUR", "470 EUR", "600 EUR"})
		s.want([]string{"480 EUR", "450 EUR", "600 EUR"}, "https://b.example/ 450.00 EUR: below your target of 500.00 EUR, the cheapest of 3 shops (in stock)")
	})
}

// What was noticed at one shop is told of the one that is cheapest when it is
// told; nobody is told twice.
func TestGroupIsJudgedByTheLastLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShops(t, below(t, "500 EUR"))
		s.prices("480 EUR", "600 EUR", "600 EUR")
		s.sweep()
		s.prices("480 EUR", "450 EUR", "600 EUR") // since the sweep
		s.tick()
		s.tick()
		got := s.channel.Deliveries()
		if len(got) != 1 || got[0].Message.URL != shopURLs[1] {
			t.Fatalf("told %+v", got)
		}
		var data struct{ Group watch.Cheapest }
		if err := json.Unmarshal(got[0].Message.Data, &data); err != nil || data.Group != (watch.Cheapest{Shops: 3, Known: 3}) {
			t.Errorf("%s, %v", got[0].Message.Data, err)
		}
		for _, r := range s.rows() {
			if r.State == lastlook.StateDropped && r.Reason != lastlook.ReasonConditionLost {
				t.Errorf("%+v", r)
			}
		}
	})
}

// A paused or snoozed shop, another recipient's and another group's hold nobody
// back.
func TestOtherWatchesAreNoSiblings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShops(t, below(t, "500 EUR"))
		s.update(s.ids[0], func(w *watch.Watch) { w.Paused = true })
		s.update(s.ids[1], func(w *watch.Watch) { w.SnoozedUntil = time.Now().Add(1000 * time.Hour) })
		w := watchFor(below(t, "500 EUR"))
		w.Recipient, w.Group = "bob", "camera"
		if _, err := s.store.Add(t.Context(), time.Now(), watch.Listing{Source: "page", URL: shopURLs[0], Interval: 15 * time.Minute}, *w); err != nil {
			t.Fatal(err)
		}
		s.want([]string{"400 EUR", "410 EUR", "490 EUR"},
			"https://a.example/ 400.00 EUR: below your target of 500.00 EUR (in stock)",
			"https://c.example/ 490.00 EUR: below your target of 500.00 EUR (in stock)")
	})
}
