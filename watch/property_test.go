package watch_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
	"pgregory.net/rapid"
)

var (
	anyPrice = rapid.Custom(func(t *rapid.T) price.Money {
		s := rapid.SampledFrom([]string{"", "0", "-1", "450", "499.99", "500", "550"}).Draw(t, "amount")
		if s == "" {
			return price.Money{}
		}
		m, err := price.New(s, rapid.SampledFrom([]string{"EUR", "EUR", "EUR", "USD"}).Draw(t, "currency"))
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
	anyAvailability = rapid.SampledFrom([]watch.Availability{watch.InStock, watch.InStock, watch.OutOfStock, watch.Unknown, watch.Limited,
		watch.PreOrder, watch.BackOrder, watch.Discontinued, ""})
	anyWatch = rapid.Custom(func(t *rapid.T) *watch.Watch {
		target, err := price.New("500", "EUR")
		if err != nil {
			t.Fatal(err)
		}
		w := watchFor()
		w.IgnoreStock = rapid.Bool().Draw(t, "ignore stock")
		w.Zone = rapid.SampledFrom([]string{"", "Asia/Tokyo", "America/Havana"}).Draw(t, "zone")
		if rapid.Bool().Draw(t, "snoozed") {
			w.SnoozedUntil = start.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "hours")) * time.Hour)
		}
		for i, kind := range rapid.SliceOfN(rapid.SampledFrom(watch.Kinds()), 1, 4).Draw(t, "kinds") {
			tr := watch.Trigger{ID: string(rune('a' + i)), Kind: kind, PerDay: rapid.IntRange(-1, 2).Draw(t, "per day")}
			w.Triggers = append(w.Triggers, asking(t, tr, target))
		}
		return w
	})
)

// anyLook is a look that states any of what looks state.
func anyLook(t *rapid.T, now time.Time) *watch.Observation {
	o := &watch.Observation{At: now, Price: anyPrice.Draw(t, "price"), Availability: anyAvailability.Draw(t, "availability")}
	o.SKU = rapid.SampledFrom([]string{"", "", "a", "a", "a", "b"}).Draw(t, "sku")
	o.Agreed = rapid.IntRange(0, 9).Draw(t, "agreed") == 0
	if rapid.Bool().Draw(t, "states more") {
		o.Value = json.RawMessage(rapid.SampledFrom([]string{"1", "2.5", "3", `"x"`, "null", `{"a":[1]}`}).Draw(t, "value"))
		o.Quantity = watch.Quantity{Amount: decimal.MustParse(rapid.SampledFrom([]string{"0", "0.5", "1", "2"}).Draw(t, "quantity")), Unit: "kg"}
		o.Points = []watch.Points{{Rate: decimal.MustParse("0.015"), Conditional: rapid.Bool().Draw(t, "conditional")}}
		o.ValidUntil = now.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "valid")) * time.Hour)
	}
	return o
}

// Whatever is seen, in whatever order, and told now or later:
func TestEvaluateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWatch.Draw(t, "watch")
		now := start
		var states map[string]watch.State
		var standing watch.Standing
		var baseline *watch.Value
		var telling watch.Telling
		type episode struct {
			id string
			n  int64
		}
		tellings := map[episode]int{}
		days := map[string]int{} // by trigger and day
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20*60).Draw(t, "minutes")) * time.Minute)
			o := anyLook(t, now)
			before := maps.Clone(states)
			ev := watch.Evaluate(w, o, watch.Before{States: states, Standing: standing, Told: telling}, now)
			if !maps.Equal(before, states) {
				t.Fatal("evaluating changed the states that it was given")
			}
			again := watch.Evaluate(w, o, watch.Before{States: ev.States, Standing: ev.Weighed.After, Told: telling}, now)
			if !reflect.DeepEqual(core(again), core(ev)) {
				t.Fatalf("asked again with the states that it led to: %+v, first %+v", core(again), core(ev))
			}
			for _, f := range ev.Findings {
				st := ev.States[f.Trigger.ID]
				if f.Answer == watch.CannotTell && st != states[f.Trigger.ID] {
					t.Fatalf("unknown moved the state from %+v to %+v", states[f.Trigger.ID], st)
				}
				if f.News && (f.Answer != watch.Holds || f.Episode > 0 && !st.Holding) {
					t.Fatalf("news that does not hold: %+v", f)
				}
				if f.News && w.SnoozedUntil.After(now) {
					t.Fatal("news while snoozed")
				}
				if st.Episode < states[f.Trigger.ID].Episode {
					t.Fatal("an episode went backwards")
				}
			}
			states, standing = ev.States, ev.Weighed.After
			if !rapid.Bool().Draw(t, "told") || len(ev.News()) == 0 {
				continue
			}
			baseline = tellAll(w, o, states, standing, baseline, now)
			telling = tellingOf(t, baseline)
			for _, f := range ev.News() {
				k := episode{f.Trigger.ID, f.Episode}
				if tellings[k]++; tellings[k] > 1 && ev.States[f.Trigger.ID].Holding {
					t.Fatalf("%v was told twice", k)
				}
				day := f.Trigger.ID + now.In(zone(w)).Format(time.DateOnly)
				if days[day]++; f.Trigger.PerDay >= 0 && days[day] > max(f.Trigger.PerDay, 1) {
					t.Fatalf("told %d times on %s", days[day], day)
				}
			}
			if ev := watch.Evaluate(w, o, watch.Before{States: states, Standing: standing, Told: telling}, now); len(ev.News()) > 0 {
				t.Fatalf("told, and still news: %+v", ev.News())
			}
		}
	})
}

// core is what two evaluations of one look must agree on.
func core(ev watch.Evaluation) any {
	type finding struct {
		Answer                                    watch.Answer
		Episode                                   int64
		News, OutOfStock, InDoubt, Expected, Told bool
		Figure, Ref                               price.Money
		Covered                                   int
	}
	var findings []finding
	for _, f := range ev.Findings {
		findings = append(findings, finding{f.Answer, f.Episode, f.News, f.OutOfStock, f.InDoubt, f.Expected, f.Why == "", f.Figure, f.Ref, f.Covered})
	}
	return []any{findings, ev.States, ev.Weighed, ev.Seen}
}

// asking completes a trigger of any kind.
func asking(t *rapid.T, tr watch.Trigger, target price.Money) watch.Trigger {
	switch tr.Kind {
	case watch.Below, watch.EffectiveBelow:
		tr.Target = target
	case watch.UnitBelow:
		tr.Target, tr.Per = target, rapid.SampledFrom([]string{"kg", "100 g", "l"}).Draw(t, "per")
	case watch.Drop, watch.Rise:
		tr.Percent = decimal.MustParse(rapid.SampledFrom([]string{"1", "5", "10.5"}).Draw(t, "percent"))
		tr.Since = rapid.SampledFrom([]watch.Since{"", watch.LastNotified, watch.Previous, watch.First}).Draw(t, "since")
	case watch.LowestInDays:
		tr.Days, tr.MatchEqual = rapid.IntRange(1, 30).Draw(t, "days"), rapid.Bool().Draw(t, "match equal")
	case watch.ValueIs:
		tr.When = rapid.SampledFrom([]string{"now < 3", "now < last", "now != previous", "now <= low"}).Draw(t, "when")
	case watch.BackInStock, watch.AnyChange:
	}
	return tr
}

func zone(w *watch.Watch) *time.Location {
	loc, err := time.LoadLocation(w.Zone)
	if err != nil {
		panic(err)
	}
	return loc
}

// tellAll is what the baseline says after a message with all the news.
func tellAll(w *watch.Watch, o *watch.Observation, states map[string]watch.State, standing watch.Standing, baseline *watch.Value, now time.Time) *watch.Value {
	c := caseOf(watch.ValueOf(watch.Entry{Watch: *w, Listing: watch.Listing{Standing: standing}, States: states}, *o))
	c.Now, c.Baseline = now, baseline
	v := topic.Assert(c)
	return &v
}

// tellingOf is what detection reads of a key with the baseline.
func tellingOf(t interface{ Fatal(...any) }, baseline *watch.Value) watch.Telling {
	b, err := json.Marshal(baseline)
	if err != nil {
		t.Fatal(err)
	}
	telling, err := watch.TellingOf(lastlook.KeyRow{Baseline: b})
	if err != nil {
		t.Fatal(err)
	}
	return telling
}
