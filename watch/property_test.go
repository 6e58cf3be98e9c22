package watch_test

import (
	"maps"
	"reflect"
	"testing"
	"time"

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
			if kind == watch.Below {
				tr.Target = target
			}
			w.Triggers = append(w.Triggers, tr)
		}
		return w
	})
)

// Whatever is seen, in whatever order, and told now or later:
func TestEvaluateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWatch.Draw(t, "watch")
		now := start
		var states map[string]watch.State
		var told map[string]watch.Told
		type episode struct {
			id string
			n  int64
		}
		tellings := map[episode]int{}
		days := map[string]int{} // by trigger and day
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20*60).Draw(t, "minutes")) * time.Minute)
			o := &watch.Observation{At: now, Price: anyPrice.Draw(t, "price"), Availability: anyAvailability.Draw(t, "availability")}
			before := maps.Clone(states)
			ev := watch.Evaluate(w, o, states, told, now)
			if !maps.Equal(before, states) {
				t.Fatal("evaluating changed the states that it was given")
			}
			if again := watch.Evaluate(w, o, ev.States, told, now); !reflect.DeepEqual(again, ev) {
				t.Fatalf("asked again with the states that it led to: %+v, first %+v", again, ev)
			}
			for _, f := range ev.Findings {
				st := ev.States[f.Trigger.ID]
				if f.Answer == watch.CannotTell && st != states[f.Trigger.ID] {
					t.Fatalf("unknown moved the state from %+v to %+v", states[f.Trigger.ID], st)
				}
				if f.News && (f.Answer != watch.Holds || !st.Holding) {
					t.Fatalf("news that does not hold: %+v", f)
				}
				if f.News && w.SnoozedUntil.After(now) {
					t.Fatal("news while snoozed")
				}
				if st.Episode < states[f.Trigger.ID].Episode {
					t.Fatal("an episode went backwards")
				}
			}
			states = ev.States
			if !rapid.Bool().Draw(t, "told") || len(ev.News()) == 0 {
				continue
			}
			told = tellAll(w, o, states, told, now)
			for _, f := range ev.News() {
				k := episode{f.Trigger.ID, f.Episode}
				if tellings[k]++; tellings[k] > 1 {
					t.Fatalf("%v was told twice", k)
				}
				day := f.Trigger.ID + now.In(zone(w)).Format(time.DateOnly)
				if days[day]++; f.Trigger.PerDay >= 0 && days[day] > max(f.Trigger.PerDay, 1) {
					t.Fatalf("told %d times on %s", days[day], day)
				}
			}
			if ev := watch.Evaluate(w, o, states, told, now); len(ev.News()) > 0 {
				t.Fatalf("told, and still news: %+v", ev.News())
			}
		}
	})
}

func zone(w *watch.Watch) *time.Location {
	loc, err := time.LoadLocation(w.Zone)
	if err != nil {
		panic(err)
	}
	return loc
}

// tellAll is what the baseline says after a message with all the news.
func tellAll(w *watch.Watch, o *watch.Observation, states map[string]watch.State, told map[string]watch.Told, now time.Time) map[string]watch.Told {
	c := caseOf(watch.ValueOf(watch.Entry{Watch: *w, States: states}, *o))
	c.Now = now
	if told != nil {
		c.Baseline = &watch.Value{Told: told}
	}
	return topic.Assert(c).Told
}
