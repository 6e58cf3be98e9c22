package watch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch"
	"pgregory.net/rapid"
)

// reading is a look in a story of them.
type reading struct {
	after  time.Duration // since the one before
	price  string
	sku    string
	avail  watch.Availability
	agreed bool
	doubt  watch.Doubt
	flag   watch.Flag
	other  bool
}

func TestWeigh(t *testing.T) {
	const in, out = watch.InStock, watch.OutOfStock
	minute := time.Minute
	for name, story := range map[string][]reading{
		"a fall of 70 % is believed, one cent more is not":    {{0, "100 EUR", "", in, false, "", "", false}, {minute, "30 EUR", "", in, false, "", "", false}, {minute, "8.99 EUR", "", in, false, watch.DoubtFall, "", false}},
		"a second reading a minute later":                     {{0, "100 EUR", "", in, false, "", "", false}, {minute, "20 EUR", "", in, false, watch.DoubtFall, "", false}, {minute, "20 EUR", "", in, false, "", "", false}, {minute, "20 EUR", "", in, false, "", "", false}},
		"sooner is too soon, and the first one's time counts": {{0, "100 EUR", "", in, false, "", "", false}, {minute, "20 EUR", "", in, false, watch.DoubtFall, "", false}, {59 * time.Second, "20 EUR", "", in, false, watch.DoubtFall, "", false}, {time.Second, "20 EUR", "", in, false, "", "", false}},
		"a second reading of another price is a first one":    {{0, "100 EUR", "", in, false, "", "", false}, {minute, "20 EUR", "", in, false, watch.DoubtFall, "", false}, {minute, "2 EUR", "", in, false, watch.DoubtFall, "", false}, {minute, "2.1 EUR", "", in, false, "", "", false}},
		"another rule agrees":                                 {{0, "100 EUR", "", in, false, "", "", false}, {minute, "20 EUR", "", in, true, "", "", false}},
		"a misread is forgotten":                              {{0, "100 EUR", "", in, false, "", "", false}, {minute, "20 EUR", "", in, false, watch.DoubtFall, "", false}, {minute, "100 EUR", "", in, false, "", "", false}, {minute, "20 EUR", "", in, false, watch.DoubtFall, "", false}},
		"a look without a price confirms nothing":             {{0, "100 EUR", "", in, false, "", "", false}, {minute, "20 EUR", "", in, false, watch.DoubtFall, "", false}, {minute, "", "", in, false, "", "", false}, {minute, "20 EUR", "", in, false, "", "", false}},
		"nothing is in doubt at first, but that it is free":   {{0, "0.01 EUR", "", in, false, "", "", false}, {minute, "0 EUR", "", in, false, watch.DoubtZero, "", false}, {minute, "0 EUR", "", in, false, "", "", false}, {minute, "0 EUR", "", in, false, "", "", false}},
		"0.00 of what is sold out is no price":                {{0, "100 EUR", "", in, false, "", "", false}, {minute, "0 EUR", "", out, false, "", "", false}, {minute, "90 EUR", "", in, false, "", "", false}},
		"another currency":                                    {{0, "100 EUR", "", in, false, "", "", false}, {minute, "100 USD", "", in, false, watch.DoubtCurrency, watch.FlagCurrency, false}, {minute, "110 USD", "", in, false, "", watch.FlagCurrency, false}, {minute, "105 USD", "", in, false, "", watch.FlagCurrency, false}, {minute, "100 EUR", "", in, false, "", "", false}},
		"a third currency":                                    {{0, "100 EUR", "", in, false, "", "", false}, {minute, "100 USD", "", in, true, "", watch.FlagCurrency, false}, {minute, "100 GBP", "", in, true, "", watch.FlagCurrency, false}, {minute, "100 EUR", "", in, false, "", "", false}},
		"another product":                                     {{0, "100 EUR", "a", in, false, "", "", false}, {minute, "90 EUR", "b", in, false, watch.DoubtIdentity, watch.FlagIdentity, false}, {minute, "9 EUR", "b", in, false, "", watch.FlagIdentity, true}, {minute, "9 EUR", "", in, false, "", watch.FlagIdentity, true}, {minute, "90 EUR", "a", in, false, "", "", false}},
		"another product for a moment":                        {{0, "100 EUR", "a", in, false, "", "", false}, {minute, "90 EUR", "b", in, false, watch.DoubtIdentity, watch.FlagIdentity, false}, {minute, "90 EUR", "", in, false, watch.DoubtIdentity, watch.FlagIdentity, false}, {minute, "90 EUR", "a", in, false, "", "", false}},
		"two other products by turns":                         {{0, "100 EUR", "a", in, false, "", "", false}, {minute, "90 EUR", "b", in, false, watch.DoubtIdentity, watch.FlagIdentity, false}, {minute, "90 EUR", "c", in, false, watch.DoubtIdentity, watch.FlagIdentity, false}, {minute, "90 EUR", "b", in, false, watch.DoubtIdentity, watch.FlagIdentity, false}},
		"a product's number that comes later is its own":      {{0, "100 EUR", "", in, false, "", "", false}, {minute, "100 EUR", "a", in, false, "", "", false}, {minute, "100 EUR", "", in, false, "", "", false}},
	} {
		t.Run(name, func(t *testing.T) {
			var s watch.Standing
			now := start
			for i, r := range story {
				now = now.Add(r.after)
				o := seen(t, now, r.price, r.avail)
				o.SKU, o.Agreed = r.sku, r.agreed
				w := s.Weigh(o)
				var flags []watch.Flag
				if r.flag != "" {
					flags = []watch.Flag{r.flag}
				}
				if w.Doubt != r.doubt || w.Other != r.other || !slices.Equal(w.After.Flags(), flags) || w.Trusted() != (r.doubt == "" && !r.other) {
					t.Errorf("look %d: doubt %q, other %v, flags %v: %+v", i, w.Doubt, w.Other, w.After.Flags(), w.After)
				}
				if w.Doubt != "" && (!w.Until.After(now) || w.Until.Sub(now) > time.Minute) {
					t.Errorf("look %d: waits until %s at %s", i, w.Until, now)
				}
				s = w.After
			}
		})
	}
}

// A user accepts what a page has become.
func TestAccept(t *testing.T) {
	look := func(s watch.Standing, at time.Duration, p, sku string) watch.Weighed {
		o := seen(t, start.Add(at), p, watch.InStock)
		o.SKU = sku
		return s.Weigh(o)
	}
	s := look(watch.Standing{}, 0, "100 EUR", "a").After
	for name, changed := range map[string]watch.Standing{
		"after one reading":  look(s, time.Hour, "9 EUR", "b").After,
		"after two of them":  look(look(s, time.Hour, "9 EUR", "b").After, 2*time.Hour, "9 EUR", "b").After,
		"in another country": look(s, time.Hour, "9 EUR", "b").After,
	} {
		got := changed.Accept()
		if w := look(got, 3*time.Hour, "9 EUR", "b"); !w.Trusted() || len(w.After.Flags()) > 0 {
			t.Errorf("%s: %+v", name, w)
		}
	}
	usd := look(look(s, time.Hour, "80 USD", "a").After, 2*time.Hour, "80 USD", "a").After
	if w := look(usd.Accept(), 3*time.Hour, "80 USD", "a"); !w.Trusted() || len(w.After.Flags()) > 0 {
		t.Errorf("another currency: %+v", w)
	}
}

// Weighing a look again, with the standing that it led to, says the same; and
// whatever is trusted is one price in one currency.
func TestWeighProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s watch.Standing
		now := start
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds")) * time.Second)
			o := anyLook(t, now)
			w := s.Weigh(o)
			if again := w.After.Weigh(o); again != w {
				t.Fatalf("%+v\nagain %+v", w, again)
			}
			if w.Doubt != "" && w.After.Pending.At.After(now) {
				t.Fatalf("a reading of the future: %+v", w)
			}
			if w.Doubt == "" && w.After.Price != s.Price && w.After.Price != o.Price {
				t.Fatalf("trusts %s, which it never saw", w.After.Price)
			}
			s = w.After
		}
	})
}

func TestUnitPrices(t *testing.T) {
	for _, c := range []struct {
		price, stated, per string // what the page says
		amount, unit       string // what one buys
		asked              string
		want               string // of the figure; "" if nobody can tell
	}{
		{"3.99 EUR", "", "", "0.5", "kg", "kg", "7.98 EUR"},
		{"3.99 EUR", "", "", "500", "g", "kg", "7.98 EUR"},
		{"3.99 EUR", "", "", "500", "g", "100 g", "0.798 EUR"},
		{"3.99 EUR", "0.80 EUR", "100 g", "", "", "kg", "8 EUR"},
		{"3.99 EUR", "7.98 EUR", "kg", "999", "kg", "kg", "7.98 EUR"},
		{"3.99 EUR", "1 EUR", "l", "0.5", "kg", "kg", "7.98 EUR"},
		{"12 EUR", "", "", "6", "piece", "piece", "2 EUR"},
		{"12 EUR", "", "", "750", "ml", "l", "16 EUR"},
		{"12 EUR", "", "", "75", "cl", "l", "16 EUR"},
		{"12 EUR", "", "", "12", "piece", "kg", ""},
		{"12 EUR", "", "", "0", "kg", "kg", ""},
		{"12 EUR", "", "", "1", "parsec", "kg", ""},
		{"12 EUR", "", "", "", "", "kg", ""},
	} {
		o := seen(t, start, c.price, watch.InStock)
		if c.stated != "" {
			o.Unit = watch.UnitPrice{Price: money(t, c.stated), Per: c.per}
		}
		if c.unit != "" {
			o.Quantity = watch.Quantity{Amount: decimal.MustParse(c.amount), Unit: c.unit}
		}
		w := watchFor(watch.Trigger{ID: "u", Kind: watch.UnitBelow, Target: money(t, "1000 EUR"), Per: c.asked})
		f := watch.Evaluate(w, o, watch.Before{}, start).Findings[0]
		if c.want == "" {
			if f.Answer != watch.CannotTell || f.Why == "" {
				t.Errorf("%+v: %+v", c, f)
			}
			continue
		}
		if n, ok := f.Figure.Cmp(money(t, c.want)); !ok || n != 0 || f.Answer != watch.Holds {
			t.Errorf("%+v: %s %s", c, f.Figure, f.Why)
		}
	}
}

func TestTriggersAreValidated(t *testing.T) {
	eur := money(t, "5 EUR")
	pct := decimal.MustParse("10")
	for name, c := range map[string]struct {
		t  watch.Trigger
		ok bool
	}{
		"drop by a part":         {watch.Trigger{Kind: watch.Drop, Percent: pct}, true},
		"drop by an amount":      {watch.Trigger{Kind: watch.Drop, Amount: eur, Since: watch.First}, true},
		"drop by both":           {watch.Trigger{Kind: watch.Drop, Percent: pct, Amount: eur}, false},
		"drop by nothing":        {watch.Trigger{Kind: watch.Drop}, false},
		"drop of all":            {watch.Trigger{Kind: watch.Drop, Percent: decimal.MustParse("100")}, false},
		"rise of all":            {watch.Trigger{Kind: watch.Rise, Percent: decimal.MustParse("100")}, true},
		"drop since never":       {watch.Trigger{Kind: watch.Drop, Percent: pct, Since: "never"}, false},
		"a negative part":        {watch.Trigger{Kind: watch.Drop, Percent: decimal.MustParse("-1")}, false},
		"lowest":                 {watch.Trigger{Kind: watch.LowestInDays, Days: 30}, true},
		"lowest in no days":      {watch.Trigger{Kind: watch.LowestInDays}, false},
		"lowest in ages":         {watch.Trigger{Kind: watch.LowestInDays, Days: 731}, false},
		"per kg":                 {watch.Trigger{Kind: watch.UnitBelow, Target: eur, Per: "kg"}, true},
		"per nothing":            {watch.Trigger{Kind: watch.UnitBelow, Target: eur}, false},
		"per parsec":             {watch.Trigger{Kind: watch.UnitBelow, Target: eur, Per: "parsec"}, false},
		"after points":           {watch.Trigger{Kind: watch.EffectiveBelow, Target: eur}, true},
		"after points, no price": {watch.Trigger{Kind: watch.EffectiveBelow}, false},
		"any change":             {watch.Trigger{Kind: watch.AnyChange}, true},
		"a condition":            {watch.Trigger{Kind: watch.ValueIs, When: "now < 100"}, true},
		"a condition, broken":    {watch.Trigger{Kind: watch.ValueIs, When: "now <"}, false},
		"no condition":           {watch.Trigger{Kind: watch.ValueIs}, false},
		"again":                  {watch.Trigger{Kind: watch.Below, Target: eur, Again: pct, Margin: pct}, true},
		"again for nothing":      {watch.Trigger{Kind: watch.Below, Target: eur, Again: decimal.MustParse("100")}, false},
		"a cooldown of years":    {watch.Trigger{Kind: watch.AnyChange, Cooldown: 10_000 * time.Hour}, false},
		"what nobody knows":      {watch.Trigger{Kind: "cheaper_than_a_friend"}, false},
	} {
		c.t.ID = "t"
		if err := watchFor(c.t).Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	low := money(t, "80 EUR")
	day := watch.DayOf(start)
	long := watch.History{Lows: []watch.Low{{Day: day - 7, Price: money(t, "85 EUR"), Buyable: true}, {Day: day - 3, Price: low}}}
	for name, c := range map[string]struct {
		t     watch.Trigger
		o     *watch.Observation
		count int
	}{
		"reachable":       {below(t, "90 EUR"), seen(t, start, "100 EUR", watch.InStock), 0},
		"never so cheap":  {below(t, "79.99 EUR"), seen(t, start, "100 EUR", watch.InStock), 1},
		"other currency":  {below(t, "90 USD"), seen(t, start, "100 EUR", watch.InStock), 1},
		"no price, stock": {below(t, "90 EUR"), seen(t, start, "", watch.Unknown), 2},
		"no value":        {watch.Trigger{Kind: watch.ValueIs, When: "now < 1"}, seen(t, start, "", watch.InStock), 1},
		"no quantity":     {watch.Trigger{Kind: watch.UnitBelow, Target: low, Per: "kg"}, seen(t, start, "100 EUR", watch.InStock), 1},
		"any change":      {watch.Trigger{Kind: watch.AnyChange}, seen(t, start, "", watch.Unknown), 0},
	} {
		if got := watch.Warnings(watchFor(c.t), c.o, long); len(got) != c.count {
			t.Errorf("%s: %q", name, got)
		}
	}
	first := watch.History{Lows: []watch.Low{{Day: day, Price: low}, {Day: day, Price: low, Buyable: true}}}
	if got := watch.Warnings(watchFor(below(t, "79 EUR")), seen(t, start, "80 EUR", watch.InStock), first); len(got) > 0 {
		t.Errorf("on the first day: %q", got)
	}
}
