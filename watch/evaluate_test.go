package watch_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

var start = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

func money(t testing.TB, s string) price.Money {
	t.Helper()
	if s == "" {
		return price.Money{}
	}
	m, err := price.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func below(t testing.TB, target string) watch.Trigger {
	t.Helper()
	return watch.Trigger{ID: "below", Kind: watch.Below, Target: money(t, target)}
}

var restock = watch.Trigger{ID: "stock", Kind: watch.BackInStock}

// watchFor is a valid watch with the triggers.
func watchFor(triggers ...watch.Trigger) *watch.Watch {
	return &watch.Watch{ID: "w_1", ListingID: "l_1", Recipient: "ann", Channels: []string{"push"}, Triggers: triggers}
}

func seen(t testing.TB, at time.Time, p string, a watch.Availability) *watch.Observation {
	t.Helper()
	return &watch.Observation{At: at, Price: money(t, p), Availability: a}
}

// Every availability against every kind of trigger, with a price under the
// target.
func TestEvaluateByAvailability(t *testing.T) {
	const yes, no, nobodyKnows = watch.Holds, watch.DoesNotHold, watch.CannotTell
	for _, c := range []struct {
		availability           watch.Availability
		below, ignoring, stock watch.Answer
	}{
		{watch.InStock, yes, yes, yes},
		{watch.Limited, yes, yes, yes},
		{watch.PreOrder, yes, yes, no},
		{watch.BackOrder, yes, yes, no},
		{watch.OutOfStock, no, yes, no},
		{watch.Discontinued, no, yes, no},
		{watch.Unknown, nobodyKnows, yes, nobodyKnows},
		{"", nobodyKnows, yes, nobodyKnows},
		{"on the moon", nobodyKnows, yes, nobodyKnows},
	} {
		for _, ignore := range []bool{false, true} {
			w := watchFor(below(t, "500 EUR"), restock)
			w.IgnoreStock = ignore
			ev := watch.Evaluate(w, seen(t, start, "480 EUR", c.availability), watch.Before{}, start)
			want := []watch.Answer{c.below, c.stock}
			if ignore {
				want[0] = c.ignoring
			}
			for i, f := range ev.Findings {
				if f.Answer != want[i] {
					t.Errorf("%q, ignoring stock %v, %s: answer %d, want %d", c.availability, ignore, f.Trigger.Kind, f.Answer, want[i])
				}
				if f.OutOfStock != (f.Answer == no) {
					t.Errorf("%q, ignoring stock %v, %s: out of stock %v", c.availability, ignore, f.Trigger.Kind, f.OutOfStock)
				}
				if (f.Why == "") != f.News {
					t.Errorf("%q, %s: news %v because %q", c.availability, f.Trigger.Kind, f.News, f.Why)
				}
			}
		}
	}
}

func TestEvaluateByPrice(t *testing.T) {
	for _, c := range []struct {
		price string
		want  watch.Answer
		why   string
	}{
		{"499.99 EUR", watch.Holds, ""},
		{"0.01 EUR", watch.Holds, ""},
		{"500 EUR", watch.DoesNotHold, "500.00 EUR is not below 500.00 EUR"},
		{"500.01 EUR", watch.DoesNotHold, "500.01 EUR is not below 500.00 EUR"},
		{"", watch.CannotTell, "no certain price"},
		{"0 EUR", watch.CannotTell, "not certain before a second reading: it is said to cost nothing"},
		{"-480 EUR", watch.CannotTell, "cannot be right"},
		{"480 USD", watch.CannotTell, "the price is in USD, the target in EUR"},
		{"480 JPY", watch.CannotTell, "the price is in JPY"},
	} {
		for _, ignore := range []bool{false, true} {
			w := watchFor(below(t, "500 EUR"))
			w.IgnoreStock = ignore
			f := watch.Evaluate(w, seen(t, start, c.price, watch.InStock), watch.Before{}, start).Findings[0]
			if f.Answer != c.want || !strings.Contains(f.Why, c.why) || f.OutOfStock {
				t.Errorf("%q: %+v, want answer %d because %q", c.price, f, c.want, c.why)
			}
		}
		// What cannot be had does not hold, whatever it would cost.
		f := watch.Evaluate(watchFor(below(t, "500 EUR")), seen(t, start, c.price, watch.OutOfStock), watch.Before{}, start).Findings[0]
		if f.Answer != watch.DoesNotHold || !f.OutOfStock {
			t.Errorf("%q and out of stock: %+v", c.price, f)
		}
	}
	// A trigger of a newer version holds never, and harms none.
	f := watch.Evaluate(watchFor(watch.Trigger{ID: "x", Kind: "cheaper_than_a_friend"}), seen(t, start, "1 EUR", watch.InStock), watch.Before{}, start).Findings[0]
	if f.Answer != watch.CannotTell || f.News {
		t.Errorf("an unknown trigger: %+v", f)
	}
}

// diary plays observations against a watch, and tells what is news.
type diary struct {
	t      testing.TB
	w      *watch.Watch
	now    time.Time
	states map[string]watch.State
	told   map[string]watch.Told
}

func newDiary(t testing.TB, w *watch.Watch) *diary {
	return &diary{t: t, w: w, now: start}
}

// see returns the kinds that are news, joined, and counts them as told.
func (d *diary) see(p string, a watch.Availability) string {
	d.t.Helper()
	news := d.look(p, a)
	d.tell(p, a)
	return news
}

// look is see without telling.
func (d *diary) look(p string, a watch.Availability) string {
	d.t.Helper()
	ev := watch.Evaluate(d.w, seen(d.t, d.now, p, a), watch.Before{States: d.states, Told: watch.Telling{Triggers: d.told}}, d.now)
	d.states = ev.States
	var kinds []string
	for _, f := range ev.News() {
		kinds = append(kinds, string(f.Trigger.Kind))
	}
	return strings.Join(kinds, " ")
}

func (d *diary) tell(p string, a watch.Availability) {
	d.t.Helper()
	v := watch.ValueOf(watch.Entry{Watch: *d.w, States: d.states}, *seen(d.t, d.now, p, a))
	c := caseOf(v)
	c.Now = d.now
	if d.told != nil {
		c.Baseline = &watch.Value{Told: d.told}
	}
	if ev := watch.Evaluate(d.w, &v.Observation, watch.Before{States: d.states, Told: watch.Telling{Triggers: d.told}}, d.now); len(ev.News()) > 0 {
		d.told = maps.Clone(topic.Assert(c).Told)
	}
}

// script is a line per look: hours since the last, price, availability, and
// what is to be news.
type diaryScript []struct {
	hours float64
	price string
	avail watch.Availability
	news  string
}

func (s diaryScript) run(t *testing.T, w *watch.Watch) {
	t.Helper()
	d := newDiary(t, w)
	for i, l := range s {
		d.now = d.now.Add(time.Duration(l.hours * float64(time.Hour)))
		if got := d.see(l.price, l.avail); got != l.news {
			t.Errorf("look %d (%s, %s at %s): news %q, want %q", i, l.price, l.avail, d.now.Format(time.DateTime), got, l.news)
		}
	}
}

func TestEpisodes(t *testing.T) {
	for name, c := range map[string]struct {
		w      *watch.Watch
		script diaryScript
	}{
		"below: told once an episode": {watchFor(below(t, "500 EUR")), diaryScript{
			{0, "600 EUR", watch.InStock, ""}, {24, "480 EUR", watch.InStock, "below"}, {24, "470 EUR", watch.InStock, ""},
			{24, "490 EUR", watch.InStock, ""}, {24, "600 EUR", watch.InStock, ""}, {24, "480 EUR", watch.InStock, "below"},
		}},
		"below: true at the first look": {watchFor(below(t, "500 EUR")), diaryScript{
			{0, "480 EUR", watch.InStock, "below"}, {24, "480 EUR", watch.InStock, ""},
		}},
		"below: sold out ends the episode": {watchFor(below(t, "500 EUR")), diaryScript{
			{0, "480 EUR", watch.InStock, "below"}, {24, "480 EUR", watch.OutOfStock, ""}, {24, "480 EUR", watch.Limited, "below"},
		}},
		"below: unknown ends nothing": {watchFor(below(t, "500 EUR")), diaryScript{
			{0, "480 EUR", watch.InStock, "below"}, {24, "480 EUR", watch.Unknown, ""}, {24, "", watch.InStock, ""}, {24, "0 EUR", watch.InStock, ""},
			{24, "480 USD", watch.InStock, ""}, {24, "480 EUR", watch.InStock, ""},
		}},
		"below: unknown begins nothing": {watchFor(below(t, "500 EUR")), diaryScript{
			{0, "600 EUR", watch.InStock, ""}, {24, "480 EUR", watch.Unknown, ""}, {24, "600 EUR", watch.InStock, ""},
		}},
		"stock: there from the start": {watchFor(restock), diaryScript{
			{0, "480 EUR", watch.InStock, ""}, {24, "480 EUR", watch.Limited, ""}, {24, "", watch.OutOfStock, ""}, {24, "", watch.InStock, "back_in_stock"},
		}},
		"stock: unknown, then there": {watchFor(restock), diaryScript{
			{0, "", watch.Unknown, ""}, {24, "", watch.InStock, ""}, {24, "", watch.OutOfStock, ""}, {24, "", watch.Unknown, ""}, {24, "", watch.InStock, "back_in_stock"},
		}},
		"stock: unknown is not gone": {watchFor(restock), diaryScript{
			{0, "", watch.OutOfStock, ""}, {24, "", watch.InStock, "back_in_stock"}, {24, "", watch.Unknown, ""}, {24, "", watch.InStock, ""},
		}},
		"stock: to order is not in stock": {watchFor(restock), diaryScript{
			{0, "", watch.OutOfStock, ""}, {24, "", watch.PreOrder, ""}, {24, "", watch.BackOrder, ""}, {24, "", watch.InStock, "back_in_stock"},
		}},
		"two triggers, one message, each by its own rules": {watchFor(below(t, "500 EUR"), restock), diaryScript{
			{0, "480 EUR", watch.OutOfStock, ""}, {24, "480 EUR", watch.InStock, "below back_in_stock"}, {24, "600 EUR", watch.InStock, ""},
			{24, "480 EUR", watch.InStock, "below"}, {24, "600 EUR", watch.OutOfStock, ""}, {24, "600 EUR", watch.InStock, "back_in_stock"},
		}},
		"once a day by default": {watchFor(restock), diaryScript{
			{0, "", watch.OutOfStock, ""}, {1, "", watch.InStock, "back_in_stock"}, {1, "", watch.OutOfStock, ""}, {1, "", watch.InStock, ""},
			{11, "", watch.InStock, ""}, {2, "", watch.InStock, "back_in_stock"},
		}},
		"as often as allowed": {watchFor(watch.Trigger{ID: "s", Kind: watch.BackInStock, PerDay: 2}), diaryScript{
			{0, "", watch.OutOfStock, ""}, {1, "", watch.InStock, "back_in_stock"}, {1, "", watch.OutOfStock, ""}, {1, "", watch.InStock, "back_in_stock"},
			{1, "", watch.OutOfStock, ""}, {1, "", watch.InStock, ""}, {12, "", watch.InStock, "back_in_stock"},
		}},
		"without a cap": {watchFor(watch.Trigger{ID: "s", Kind: watch.BackInStock, PerDay: -1}), diaryScript{
			{0, "", watch.OutOfStock, ""}, {1, "", watch.InStock, "back_in_stock"}, {1, "", watch.OutOfStock, ""}, {1, "", watch.InStock, "back_in_stock"},
		}},
	} {
		t.Run(name, func(t *testing.T) { c.script.run(t, c.w) })
	}
}

// The day of the cap is that of the watch's zone: midnight in Tokyo is 15:00
// UTC, and a day with a change of the clocks is 23 or 25 hours long.
func TestDailyCapByZone(t *testing.T) {
	again := diaryScript{{0, "", watch.OutOfStock, ""}, {0, "", watch.InStock, "back_in_stock"}, {0, "", watch.OutOfStock, ""}}
	for zone, day := range map[string]struct {
		told, still, next string
	}{
		"":               {"2026-12-01T00:00:00Z", "2026-12-01T23:59:59Z", "2026-12-02T00:00:00Z"},
		"Asia/Tokyo":     {"2026-12-01T15:00:00Z", "2026-12-02T14:59:59Z", "2026-12-02T15:00:00Z"},
		"Europe/Berlin":  {"2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z"}, // 23 hours
		"America/Havana": {"2026-11-01T04:00:00Z", "2026-11-02T04:59:59Z", "2026-11-02T05:00:00Z"}, // 25 hours
		"Mars/Olympus":   {"2026-12-01T00:00:00Z", "2026-12-01T23:59:59Z", "2026-12-02T00:00:00Z"}, // unknown here: UTC
	} {
		w := watchFor(restock)
		w.Zone = zone
		d := newDiary(t, w)
		d.now = parseTime(t, day.told)
		for _, l := range again {
			if got := d.see(l.price, l.avail); got != l.news {
				t.Errorf("%s: news %q, want %q", zone, got, l.news)
			}
		}
		for at, want := range map[string]string{day.still: "", day.next: "back_in_stock"} {
			d.now = parseTime(t, at)
			ev := watch.Evaluate(w, seen(t, d.now, "", watch.InStock), watch.Before{States: d.states, Told: watch.Telling{Triggers: d.told}}, d.now)
			if got := len(ev.News()) > 0; got != (want != "") {
				t.Errorf("%s at %s: news %v, want %q", zone, at, got, want)
			}
		}
	}
}

func parseTime(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestSnoozeHoldsUntilItEnds(t *testing.T) {
	w := watchFor(below(t, "500 EUR"))
	w.SnoozedUntil = start.Add(48 * time.Hour)
	diaryScript{
		{0, "480 EUR", watch.InStock, ""}, {24, "480 EUR", watch.InStock, ""}, {24, "470 EUR", watch.InStock, "below"}, {24, "470 EUR", watch.InStock, ""},
	}.run(t, w)
	f := watch.Evaluate(w, seen(t, start, "480 EUR", watch.InStock), watch.Before{}, start).Findings[0]
	if f.News || !strings.Contains(f.Why, "2026-12-03T09:00:00Z") {
		t.Errorf("%+v", f)
	}
}

// What was not told stays news, however often it is looked at.
func TestNewsStaysNewsUntilTold(t *testing.T) {
	d := newDiary(t, watchFor(below(t, "500 EUR"), restock))
	for range 3 {
		if got := d.look("480 EUR", watch.InStock); got != "below" {
			t.Errorf("news: %q", got)
		}
		d.now = d.now.Add(time.Hour)
	}
	d.tell("480 EUR", watch.InStock)
	if got := d.look("480 EUR", watch.InStock); got != "" {
		t.Errorf("told, and news: %q", got)
	}
}

func TestStateSinceAndEpisode(t *testing.T) {
	d := newDiary(t, watchFor(below(t, "500 EUR")))
	want := watch.State{Known: true, Since: start}
	check := func(p string, a watch.Availability) {
		t.Helper()
		d.look(p, a)
		if got := d.states["below"]; got != want {
			t.Errorf("%s, %s: %+v, want %+v", p, a, got, want)
		}
		d.now = d.now.Add(time.Hour)
	}
	check("600 EUR", watch.InStock)
	check("700 EUR", watch.InStock)
	want = watch.State{Known: true, Holding: true, Episode: 1, Since: d.now}
	check("480 EUR", watch.InStock)
	check("480 EUR", watch.Unknown)
	want.Holding, want.Since = false, d.now
	check("480 EUR", watch.OutOfStock)
	want.Holding, want.Episode, want.Since = true, 2, d.now
	check("480 EUR", watch.InStock)
}

func ExampleTrigger_String() {
	target, err := price.New("499.9", "EUR")
	fmt.Println(watch.Trigger{Kind: watch.Below, Target: target}, err)
	fmt.Println(watch.Trigger{Kind: watch.BackInStock})
	// Output:
	// below 499.90 EUR <nil>
	// back in stock
}
