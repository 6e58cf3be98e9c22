package watch_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// topic is used for its pure functions.
var topic = (&watch.Service{}).Topic()

// caseOf is the question about a value.
func caseOf(v watch.Value) lastlook.Case[watch.Value] {
	return lastlook.Case[watch.Value]{Key: lastlook.Key{Topic: watch.TopicName, Subject: "w_1", Recipient: "ann", Channel: "push"},
		Value: v, LookedAt: v.Observation.At, Now: v.Observation.At, Attempt: 1}
}

// entryAfter is the entry after an observation, as Record returns it.
func entryAfter(w *watch.Watch, before map[string]watch.State, o *watch.Observation) watch.Entry {
	return watch.Entry{Watch: *w, Listing: watch.Listing{ID: w.ListingID, URL: "https://shop.example/kettle"}, Last: o,
		States: watch.Evaluate(w, o, watch.Before{States: before}, o.At).States}
}

func TestJudge(t *testing.T) {
	soldOut := map[string]watch.State{"stock": {Known: true}}
	for name, c := range map[string]struct {
		w       *watch.Watch
		states  map[string]watch.State
		seen    *watch.Observation
		noticed []string
		told    map[string]watch.Told
		want    lastlook.Verdict
	}{
		"holds": {w: watchFor(below(t, "500 EUR")), seen: seen(t, start, "480 EUR", watch.InStock), want: lastlook.Send()},
		"too dear again": {w: watchFor(below(t, "500 EUR")), seen: seen(t, start, "598 EUR", watch.InStock),
			want: lastlook.Drop(lastlook.ReasonConditionLost).Because("598.00 EUR is not below 500.00 EUR")},
		"sold out": {w: watchFor(below(t, "500 EUR")), seen: seen(t, start, "480 EUR", watch.OutOfStock),
			want: lastlook.Drop(lastlook.ReasonOutOfStock).Because("it is out of stock")},
		"stock sold out again": {w: watchFor(restock), states: soldOut, seen: seen(t, start, "480 EUR", watch.OutOfStock),
			want: lastlook.Drop(lastlook.ReasonOutOfStock).Because("it is out of stock")},
		"back": {w: watchFor(restock), states: soldOut, seen: seen(t, start, "", watch.Limited), want: lastlook.Send()},
		"nobody knows the stock": {w: watchFor(below(t, "500 EUR")), seen: seen(t, start, "480 EUR", watch.Unknown),
			want: lastlook.CannotTell("the page does not say whether it is in stock")},
		"nobody knows the price": {w: watchFor(below(t, "500 EUR")), seen: seen(t, start, "", watch.InStock),
			want: lastlook.CannotTell("the page states no certain price")},
		"another currency": {w: watchFor(below(t, "500 EUR")), seen: seen(t, start, "480 USD", watch.InStock),
			want: lastlook.CannotTell("the price is in USD, the target in EUR")},
		"already told": {w: watchFor(below(t, "500 EUR")), seen: seen(t, start, "480 EUR", watch.InStock), told: map[string]watch.Told{"below": {Episode: 1}},
			want: lastlook.Drop(lastlook.ReasonAlreadyTold).Because("already told in this episode")},
		"one of two noticed is unknown": {w: watchFor(below(t, "500 EUR"), restock), states: soldOut, seen: seen(t, start, "", watch.OutOfStock), noticed: []string{"stock", "below"},
			want: lastlook.Drop(lastlook.ReasonOutOfStock).Because("it is out of stock; it is out of stock")},
		"the other one is news now": {w: watchFor(below(t, "500 EUR"), restock), states: soldOut, seen: seen(t, start, "600 EUR", watch.InStock), noticed: []string{"below"},
			want: lastlook.Send()},
		"only what was noticed explains a drop": {w: watchFor(below(t, "500 EUR"), restock), seen: seen(t, start, "600 EUR", watch.InStock), noticed: []string{"below"},
			want: lastlook.Drop(lastlook.ReasonConditionLost).Because("600.00 EUR is not below 500.00 EUR")},
		"the noticed trigger is gone": {w: watchFor(restock), seen: seen(t, start, "480 EUR", watch.InStock), noticed: []string{"below"},
			want: lastlook.Drop(lastlook.ReasonConditionLost)},
	} {
		v := caseOf(watch.ValueOf(entryAfter(c.w, c.states, c.seen), *c.seen))
		v.Detection.Noticed = c.noticed
		if c.told != nil {
			v.Baseline = &watch.Value{Told: c.told}
		}
		if got := watch.Judge(v); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestJudgeByTheWatchAsItIsNow(t *testing.T) {
	o := seen(t, start, "480 EUR", watch.InStock)
	for name, c := range map[string]struct {
		change func(*watch.Watch)
		want   lastlook.Verdict
	}{
		"snoozed meanwhile": {func(w *watch.Watch) { w.SnoozedUntil = start.Add(time.Hour) }, lastlook.Defer(start.Add(time.Hour)).Because("snoozed")},
		// The next claim asks whether it is active, and drops with the right reason.
		"paused meanwhile": {func(w *watch.Watch) { w.Paused = true }, lastlook.CannotTell("the watch was paused while it was looked at")},
		"told elsewhere now": {func(w *watch.Watch) { w.Channels = []string{"mail"} },
			lastlook.Drop(lastlook.ReasonConditionLost).Because("the watch does not tell ann through push any more")},
		"somebody else's now": {func(w *watch.Watch) { w.Recipient = "bob" },
			lastlook.Drop(lastlook.ReasonConditionLost).Because("the watch does not tell ann through push any more")},
	} {
		w := watchFor(below(t, "500 EUR"))
		c.change(w)
		if got := watch.Judge(caseOf(watch.ValueOf(entryAfter(w, nil, o), *o))); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := watch.Judge(caseOf(watch.Value{Observation: *o})); got != lastlook.CannotTell("the look gave no watch") {
		t.Errorf("no watch: %+v", got)
	}
	// Snoozed, and not true any more: there is nothing to wait for.
	w := watchFor(below(t, "500 EUR"))
	w.SnoozedUntil = start.Add(time.Hour)
	o = seen(t, start, "598 EUR", watch.InStock)
	if got := watch.Judge(caseOf(watch.ValueOf(entryAfter(w, nil, o), *o))); got != lastlook.Drop(lastlook.ReasonConditionLost).Because("598.00 EUR is not below 500.00 EUR") {
		t.Errorf("snoozed and lost: %+v", got)
	}
}

func TestWord(t *testing.T) {
	soldOut := map[string]watch.State{"stock": {Known: true}}
	both := watchFor(below(t, "500 EUR"), restock)
	named := watchFor(below(t, "500 EUR"))
	named.Name = "my kettle"
	for name, c := range map[string]struct {
		w           *watch.Watch
		seen        *watch.Observation
		title       string
		wantTitle   string
		body        string
		wantReasons string
	}{
		"below":        {watchFor(below(t, "500 EUR")), seen(t, start, "480 EUR", watch.InStock), "Kettle", "Kettle", "480.00 EUR: below your target of 500.00 EUR (in stock)", "below"},
		"few left":     {watchFor(below(t, "500 EUR")), seen(t, start, "480 EUR", watch.Limited), "Kettle", "Kettle", "480.00 EUR: below your target of 500.00 EUR (in stock, but few are left)", "below"},
		"to order":     {watchFor(below(t, "500 EUR")), seen(t, start, "480 EUR", watch.PreOrder), "Kettle", "Kettle", "480.00 EUR: below your target of 500.00 EUR (for pre-order only)", "below"},
		"back":         {watchFor(restock), seen(t, start, "480 EUR", watch.InStock), "Kettle", "Kettle", "Back in stock at 480.00 EUR", "back_in_stock"},
		"back, few":    {watchFor(restock), seen(t, start, "", watch.Limited), "Kettle", "Kettle", "Back in stock", "back_in_stock"},
		"both":         {both, seen(t, start, "480 EUR", watch.InStock), "Kettle", "Kettle", "480.00 EUR: below your target of 500.00 EUR; back in stock", "below back_in_stock"},
		"named":        {named, seen(t, start, "480 EUR", watch.InStock), "Kettle", "my kettle", "480.00 EUR: below your target of 500.00 EUR (in stock)", "below"},
		"without name": {watchFor(restock), seen(t, start, "", watch.InStock), "", "https://shop.example/kettle", "Back in stock", "back_in_stock"},
	} {
		c.seen.Title = c.title
		m := watch.Word(caseOf(watch.ValueOf(entryAfter(c.w, soldOut, c.seen), *c.seen)))
		if m.Title != c.wantTitle || m.Body != c.body || m.URL != "https://shop.example/kettle" {
			t.Errorf("%s: %q, %q, %s; want %q, %q", name, m.Title, m.Body, m.URL, c.wantTitle, c.body)
		}
		var data struct {
			Watch, Availability string
			Reasons             []string
			Price               *struct{ Amount, Currency string }
		}
		if err := json.Unmarshal(m.Data, &data); err != nil {
			t.Fatal(err)
		}
		if strings.Join(data.Reasons, " ") != c.wantReasons || data.Watch != "w_1" || data.Availability != string(c.seen.Availability) || (data.Price == nil) != c.seen.Price.IsZero() {
			t.Errorf("%s: data %s", name, m.Data)
		}
	}
}

func TestAssertKeepsWhatElseWasTold(t *testing.T) {
	w := watchFor(below(t, "500 EUR"), restock)
	o := seen(t, start, "480 EUR", watch.InStock)
	o.Title, o.Evidence, o.Image = "Kettle", []watch.Evidence{{Fact: "price"}}, "https://shop.example/k.jpg"
	c := caseOf(watch.ValueOf(entryAfter(w, nil, o), *o))
	c.Now = start.Add(time.Second)
	earlier := watch.Told{Episode: 3, Price: money(t, "450 EUR"), At: start.Add(-time.Hour), Count: 1}
	c.Baseline = &watch.Value{Told: map[string]watch.Told{"stock": earlier, "removed": earlier}}
	got := topic.Assert(c)
	want := watch.Value{Observation: watch.Observation{At: start, Price: o.Price, Availability: watch.InStock, Title: "Kettle"},
		Told: map[string]watch.Told{"stock": earlier, "below": {Episode: 1, Price: o.Price, At: c.Now, Count: 1}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	// Told again on the same day counts on, on another one anew.
	for at, count := range map[time.Time]int{start.Add(time.Hour): 2, start.Add(24 * time.Hour): 1} {
		again := caseOf(watch.ValueOf(entryAfter(w, map[string]watch.State{"below": {Known: true, Episode: 1}}, o), *o))
		again.Now, again.Baseline = at, &got
		w.Triggers[0].PerDay = -1
		if told := topic.Assert(again).Told["below"]; told.Count != count || told.Episode != 2 {
			t.Errorf("at %s: %+v, want a count of %d", at, told, count)
		}
	}
}

// A resend is recognized by what is told, not by when, nor by the page's title.
func TestSame(t *testing.T) {
	base := func() watch.Value {
		return watch.Value{Observation: watch.Observation{At: start, Price: money(t, "480 EUR"), Availability: watch.InStock, Title: "Kettle"},
			Told: map[string]watch.Told{"below": {Episode: 1, Price: money(t, "480 EUR"), At: start, Count: 1}}}
	}
	id := func(v watch.Value) string {
		b, err := json.Marshal(topic.Same(v))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, c := range map[string]struct {
		change func(*watch.Value)
		same   bool
	}{
		"later":               {func(v *watch.Value) { v.Observation.At = start.Add(time.Hour) }, true},
		"another title":       {func(v *watch.Value) { v.Observation.Title = "KETTLE" }, true},
		"the amount's zeros":  {func(v *watch.Value) { v.Observation.Price = money(t, "480.00 EUR") }, true},
		"counted another day": {func(v *watch.Value) { v.Told["below"] = watch.Told{Episode: 1, Count: 2} }, true},
		"another price":       {func(v *watch.Value) { v.Observation.Price = money(t, "470 EUR") }, false},
		"another stock":       {func(v *watch.Value) { v.Observation.Availability = watch.Limited }, false},
		"another episode":     {func(v *watch.Value) { v.Told["below"] = watch.Told{Episode: 2} }, false},
		"another trigger too": {func(v *watch.Value) { v.Told["stock"] = watch.Told{Episode: 1} }, false},
	} {
		v := base()
		c.change(&v)
		if same := id(v) == id(base()); same != c.same {
			t.Errorf("%s: same %v, want %v", name, same, c.same)
		}
	}
}

func TestDetect(t *testing.T) {
	w := watchFor(below(t, "500 EUR"))
	w.Channels = []string{"push", "mail", "hook"}
	o := *seen(t, start, "480 EUR", watch.InStock)
	toldOn := func(episode int64) json.RawMessage {
		b, err := json.Marshal(watch.Value{Told: map[string]watch.Told{"below": {Episode: episode, At: start}}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	// What was told on one channel does not silence another; what was maybe
	// told counts as told.
	keys := []lastlook.KeyRow{{}, {Baseline: toldOn(1)}, {Maybe: toldOn(1)}}
	d, err := watch.Detect(watch.Entry{Watch: *w}, keys, o, start)
	if err != nil || len(d.Items) != 1 || d.Items[0].Channel != "push" || d.Items[0].Key != watch.Key(w, "push") || d.Items[0].Windows != lastlook.Always() {
		t.Errorf("%+v, %v", d.Items, err)
	}
	var v watch.Value
	if err := json.Unmarshal(d.Items[0].Detection, &v); err != nil || !reflect.DeepEqual(v.Noticed, []string{"below"}) || v.Observation.Price.String() != "480.00 EUR" {
		t.Errorf("detection %s, %v", d.Items[0].Detection, err)
	}
	if st := d.States["below"]; !st.Holding || st.Episode != 1 {
		t.Errorf("states %+v", d.States)
	}
	// In the next episode all are told; the later of baseline and maybe counts.
	next := watch.Entry{Watch: *w, States: map[string]watch.State{"below": {Known: true, Episode: 1}}}
	keys = []lastlook.KeyRow{{Baseline: toldOn(1)}, {Baseline: toldOn(1), Maybe: toldOn(2)}, {Maybe: toldOn(1)}}
	if d, err = watch.Detect(next, keys, o, start.Add(24*time.Hour)); err != nil || len(d.Items) != 2 || d.Items[1].Channel != "hook" {
		t.Errorf("next episode: %+v, %v", d.Items, err)
	}
	// A paused watch's triggers go on, and nothing is told.
	next.Watch.Paused = true
	if d, err = watch.Detect(next, keys, o, start); err != nil || len(d.Items) != 0 || !d.States["below"].Holding {
		t.Errorf("paused: %+v, %v", d, err)
	}
}

// A baseline that cannot be read must not silence the watch: the row that is
// written fails in plain sight, as bad_payload.
func TestDetectWithAnUnreadableBaseline(t *testing.T) {
	w := watchFor(below(t, "500 EUR"))
	for name, k := range map[string]lastlook.KeyRow{"baseline": {Baseline: json.RawMessage(`{"told":7}`)}, "maybe": {Maybe: json.RawMessage(`[]`)}} {
		d, err := watch.Detect(watch.Entry{Watch: *w}, []lastlook.KeyRow{k}, *seen(t, start, "480 EUR", watch.InStock), start)
		if err != nil || len(d.Items) != 1 {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// One watch's trouble is not that of all who watch the listing.
func TestDetectionOfOneWatchPanicsAlone(t *testing.T) {
	s, err := watch.New(watch.Config{Store: nobody{}, Sources: map[string]watch.Source{"page": nil}, Rand: func() float64 { return 0.5 }})
	if err != nil {
		t.Fatal(err)
	}
	e := watch.Entry{Watch: *watchFor(below(t, "500 EUR")), States: map[string]watch.State{"below": {Known: true}}}
	d, err := s.DetectSafely(e, nil /* fewer key rows than channels */, *seen(t, start, "480 EUR", watch.InStock))
	if err != nil || len(d.Items) != 0 || !reflect.DeepEqual(d.States, e.States) {
		t.Errorf("%+v, %v", d, err)
	}
}

// nobody is a store without watches.
type nobody struct{ watch.Store }

func TestNewRefusesABadConfig(t *testing.T) {
	if topic.Name != watch.TopicName || topic.Windows != lastlook.Always() {
		t.Errorf("%+v", topic)
	}
	for _, c := range []watch.Config{{}, {Store: nobody{}}, {Store: nobody{}, Sources: map[string]watch.Source{"page": nil}},
		{Store: nobody{}, Sources: map[string]watch.Source{"page": nil}, Rand: func() float64 { return 0 }, Workers: -1},
		{Store: nobody{}, Sources: map[string]watch.Source{"page": nil}, Rand: func() float64 { return 0 }, Jitter: 2},
		{Store: nobody{}, Sources: map[string]watch.Source{"page": nil}, Rand: func() float64 { return 0 }, LookTimeout: -1},
	} {
		if _, err := watch.New(c); !errors.Is(err, watch.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", c, err)
		}
	}
}

// Listings added together drift apart.
func TestSweepJitter(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 9 * time.Minute, 0.5: 10 * time.Minute, 0.75: 10*time.Minute + 30*time.Second} {
		s, err := watch.New(watch.Config{Store: nobody{}, Sources: map[string]watch.Source{"page": nil}, Rand: func() float64 { return random }})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Next(watch.Listing{Interval: 10 * time.Minute}, start).Sub(start); got != want {
			t.Errorf("random %g: next look after %s, want %s", random, got, want)
		}
	}
}
