package watch_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
	"pgregory.net/rapid"
)

// turns are a replay in short: the minute, what became of it, the price.
func turns(r watch.Replayed) (out []string) {
	for _, t := range r.Turns {
		what := map[watch.Answer]string{watch.Holds: "holds", watch.DoesNotHold: "does not", watch.CannotTell: "cannot tell"}[t.Answer]
		switch {
		case t.Told:
			what = "told"
		case t.Withheld:
			what = "withheld"
		}
		out = append(out, fmt.Sprintf("%d %s %s", int(t.Seen.At.Sub(start)/time.Minute), what, t.Seen.Price))
	}
	return out
}

func TestReplay(t *testing.T) {
	below := watch.Trigger{ID: "a", Kind: watch.Below, Target: money(t, "500 EUR"), PerDay: -1}
	type look struct {
		minute float64
		price  string
		stock  watch.Availability
	}
	for _, c := range []struct {
		name    string
		trigger watch.Trigger
		since   float64
		looks   []look
		want    string
	}{
		{"one line per change, not per look", below, 0, []look{{0, "550 EUR", watch.InStock}, {15, "540 EUR", watch.InStock}, {30, "490 EUR", watch.InStock}, {45, "480 EUR", watch.InStock},
			{60, "520 EUR", watch.InStock}, {75, "530 EUR", watch.InStock}, {90, "499 EUR", watch.InStock}},
			"0 does not 550.00 EUR, 30 told 490.00 EUR, 60 does not 520.00 EUR, 90 told 499.00 EUR"},
		{"another reason is another line", below, 0, []look{{0, "550 EUR", watch.InStock}, {15, "540 EUR", watch.OutOfStock}, {30, "", watch.InStock}, {45, "450 EUR", watch.OutOfStock}},
			"0 does not 550.00 EUR, 15 does not 540.00 EUR, 30 cannot tell , 45 does not 450.00 EUR"},
		{"a look soon after is the last one", below, 0, []look{{0, "550 EUR", watch.InStock}, {15, "490 EUR", watch.InStock}, {15.1, "489 EUR", watch.InStock}},
			"0 does not 550.00 EUR, 15 told 489.00 EUR"},
		{"gone at the last look", below, 0, []look{{0, "550 EUR", watch.InStock}, {15, "490 EUR", watch.InStock}, {15.1, "550 EUR", watch.InStock}, {30, "480 EUR", watch.InStock}},
			"0 does not 550.00 EUR, 15 withheld 550.00 EUR, 30 told 480.00 EUR"},
		{"sold out at the last look", watch.Trigger{ID: "a", Kind: watch.BackInStock}, 0, []look{{0, "5 EUR", watch.OutOfStock}, {15, "5 EUR", watch.InStock}, {15.1, "5 EUR", watch.OutOfStock}},
			"0 does not 5.00 EUR, 15 withheld 5.00 EUR"},
		{"in stock from the start", watch.Trigger{ID: "a", Kind: watch.BackInStock}, 0, []look{{0, "5 EUR", watch.InStock}, {15, "5 EUR", watch.InStock}}, "0 holds 5.00 EUR"},
		{"once a day", watch.Trigger{ID: "a", Kind: watch.Below, Target: money(t, "500 EUR")}, 0, []look{{0, "490 EUR", watch.InStock}, {60, "510 EUR", watch.InStock}, {120, "480 EUR", watch.InStock}, {24 * 60, "480 EUR", watch.InStock}},
			"0 told 490.00 EUR, 60 does not 510.00 EUR, 120 holds 480.00 EUR, 1440 told 480.00 EUR"},
		{"a fall in doubt waits for a second reading", below, 0, []look{{0, "1000 EUR", watch.InStock}, {15, "100 EUR", watch.InStock}, {17, "100 EUR", watch.InStock}},
			"0 does not 1000.00 EUR, 15 cannot tell 100.00 EUR, 17 told 100.00 EUR"},
		{"what was before only sets the scene", below, 20, []look{{0, "1000 EUR", watch.InStock}, {15, "450 EUR", watch.InStock}, {30, "460 EUR", watch.InStock}}, "30 told 460.00 EUR"},
		{"as it was before, it was in doubt before", below, 10, []look{{0, "1000 EUR", watch.InStock}, {15, "100 EUR", watch.InStock}}, "15 cannot tell 100.00 EUR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var looks []watch.Observation
			for _, l := range c.looks {
				looks = append(looks, *seen(t, start.Add(time.Duration(l.minute*float64(time.Minute))), l.price, l.stock))
			}
			slices.Reverse(looks) // as a store gives them
			w := watchFor(c.trigger)
			w.Paused, w.SnoozedUntil = true, start.Add(time.Hour*1000)
			got := watch.Replay(w, looks, start.Add(time.Duration(c.since*float64(time.Minute))))
			if s := strings.Join(turns(got), ", "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
			for _, turn := range got.Turns {
				if turn.Before != nil && !turn.Before.At.Before(turn.Seen.At) || (turn.Told || turn.Withheld) != (turn.Noticed != nil) || !turn.Told && turn.Why == "" {
					t.Errorf("%+v", turn)
				}
			}
		})
	}
	if got := watch.Replay(watchFor(below), nil, start); got.Looks != 0 || len(got.Turns) != 0 || !got.From.IsZero() {
		t.Errorf("of nothing: %+v", got)
	}
}

// A replay tells what the engine tells: what Detect notices with the key row of
// each moment, Judge sends and Assert makes of the baseline.
func TestReplayIsTheEngine(t *testing.T) {
	svc, err := watch.New(watch.Config{Store: noStore{}, Sources: map[string]watch.Source{"page": newScripted()}, Rand: func() float64 { return 0.5 }})
	if err != nil {
		t.Fatal(err)
	}
	topic := svc.Topic()
	rapid.Check(t, func(t *rapid.T) {
		w := anyWatch.Draw(t, "watch")
		w.SnoozedUntil = time.Time{}
		w.Channels = w.Channels[:1]
		var looks []watch.Observation
		at := start
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			at = at.Add(time.Duration(rapid.IntRange(2, 3000).Draw(t, "minutes")) * time.Minute)
			looks = append(looks, *anyLook(t, at))
		}
		var want []string
		e := watch.Entry{Watch: *w}
		var row lastlook.KeyRow
		var lows watch.History
		for i := range looks {
			o := looks[i]
			e.History = lows
			d, err := watch.Detect(e, []lastlook.KeyRow{row}, o, o.At)
			if err != nil {
				t.Fatal(err)
			}
			weighed := e.Listing.Standing.Weigh(&o)
			e.States, e.Listing.Standing = d.States, weighed.After
			if low, ok := watch.LowOf(&o); ok && weighed.Trusted() && lows.Improves(low) {
				lows.Lows = slices.DeleteFunc(slices.Clone(lows.Lows), func(l watch.Low) bool {
					return l.Day == low.Day && l.Buyable == low.Buyable && l.Price.Currency() == low.Price.Currency()
				})
				lows.Lows = append(lows.Lows, low)
			}
			if len(d.Items) == 0 {
				continue
			}
			c := lastlook.Case[watch.Value]{Key: watch.Key(w, w.Channels[0]), Value: watch.ValueOf(e, o), LookedAt: o.At, Now: o.At}
			if row.Baseline != nil {
				c.Baseline = new(watch.Value)
				if err := json.Unmarshal(row.Baseline, c.Baseline); err != nil {
					t.Fatal(err)
				}
			}
			if watch.Judge(c) == lastlook.Send() {
				if row.Baseline, err = json.Marshal(topic.Assert(c)); err != nil {
					t.Fatal(err)
				}
				want = append(want, o.At.String())
			}
		}
		r := watch.Replay(w, looks, time.Time{})
		var got []string
		for _, turn := range r.Turns {
			if s := turn.Seen.At.String(); turn.Told && !slices.Contains(got, s) {
				got = append(got, s)
			}
		}
		if !slices.Equal(got, want) || r.Told != len(want) || r.Looks != len(looks) {
			t.Fatalf("replayed %v (%d)\nthe engine %v", got, r.Told, want)
		}
	})
}

// noStore is never asked.
type noStore struct{ watch.Store }
