package watch_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// behaviour is a case of the corpus' kind "behaviour". What the player does not
// know is an error: no case passes because half of it was not played.
type behaviour struct {
	ID, Kind, Source, Note string
	Input                  string
	Expect                 expectation
}

type script struct {
	Watch  scriptWatch
	Events []event
}

type scriptWatch struct {
	Currency     string
	Display      string // what is shown; no trigger may use it
	Variant      string
	FollowStock  *bool   `json:"follow_stock"`
	Cooldown     *string // "0s": as often as it is news
	RearmMinutes int     `json:"rearm_minutes"`
	Zone         string
	SnoozedUntil *time.Time `json:"snoozed_until"`
	Points       []scriptPoints
	Triggers     []scriptTrigger
}

type scriptPoints struct {
	Rate number
	Tier string
}

type scriptTrigger struct {
	Type           string
	Target         number
	TargetCurrency string `json:"target_currency"`
	AgainPct       number `json:"again_pct"`
	MarginPct      number `json:"margin_pct"` // ours
	Pct            number
	Amount         number // ours
	Since          watch.Since
	Days           int
	MatchEqual     bool `json:"match_equal"`
	Per            string
	When           string // ours
	PerDay         int    `json:"per_day"` // ours
}

// number is a number, or a text that is one: the corpus writes both.
type number string

// UnmarshalJSON implements [json.Unmarshaler].
func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	*n = number(strings.Trim(string(b), `"`))
	return nil
}

type event struct {
	At                  time.Time
	Obs                 *sight
	ParallelObs         []sight `json:"parallel_obs"`
	FetchFailed         string  `json:"fetch_failed"`
	Dispatch            *dispatch
	WatchRemoved        bool   `json:"watch_removed"`
	ListingPaused       bool   `json:"listing_paused"`
	UserDisplayCurrency string `json:"user_display_currency"`
}

// sight is what a look sees.
type sight struct {
	Price      *number
	Avail      watch.Availability
	Currency   string
	Fx         number // the rate of the currency shown
	Item       string
	Qty        string
	Variants   map[string]watch.Availability
	ValidUntil string          `json:"valid_until"`
	Agreed     bool            // ours
	Value      json.RawMessage // ours
}

type dispatch struct {
	Refetch        *sight
	Qty            string
	Blocked        bool
	ChannelStatus  int  `json:"channel_status"`
	CrashAfterSend bool `json:"crash_after_send"`
	RefetchAgeS    int  `json:"refetch_age_s"`
}

type expectation struct {
	Strength     string
	Sent         []wantSent
	Dropped      []wantDropped
	SentCount    *int      `json:"sent_count"`
	SentCountMax *int      `json:"sent_count_max"`
	SentHas      []int     `json:"sent_has"`
	SentLacks    []int     `json:"sent_lacks"`
	SentLast     *wantSent `json:"sent_last"`
	Effective    number
	Flag         watch.Flag
	DistinctKeys *int   `json:"distinct_keys"`
	Subscription string // "removed": the recipient is muted
	Attempts     *int   // calls of the channel
	Reasons      []string
	Unreadable   *int   // ours: how often it was told that it cannot be read
	Body         string // ours: the last message
}

type wantSent struct {
	Event    int
	Price    number
	Previous number
}

type wantDropped struct {
	Event  int
	Reason lastlook.Reason
}

func strictly(data string, v any) error {
	d := json.NewDecoder(strings.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// readBehaviours decodes JSON lines, and leaves the other kinds of cases out.
func readBehaviours(t *testing.T, data []byte) (out []behaviour) {
	t.Helper()
	for line := range bytes.Lines(data) {
		var kind struct{ Kind string }
		if err := json.Unmarshal(line, &kind); err != nil {
			t.Fatalf("%.60s: %v", line, err)
		}
		if kind.Kind != "behaviour" {
			continue
		}
		var b behaviour
		if err := strictly(string(line), &b); err != nil {
			t.Fatalf("%.60s: %v", line, err)
		}
		out = append(out, b)
	}
	return out
}

// cannot ends the playing of a case that the player cannot play.
type cannot string

func must[T any](v T, err error) T {
	if err != nil {
		panic(cannot(err.Error()))
	}
	return v
}

func (n number) decimal() decimal.Decimal {
	if n == "" {
		return decimal.Decimal{}
	}
	return must(decimal.Parse(string(n)))
}

func (n number) money(currency string) price.Money {
	if n == "" {
		return price.Money{}
	}
	return must(price.New(string(n), currency))
}

// kinds are the corpus' names of triggers that have other names here.
var kinds = map[string]watch.Kind{"drop_pct": watch.Drop, "rise_pct": watch.Rise, "drop": watch.Drop, "rise": watch.Rise}

func kindOf(name string) watch.Kind {
	if k, ok := kinds[name]; ok {
		return k
	}
	return watch.Kind(name)
}

// build makes the watch of a script.
func (s *scriptWatch) build() watch.Watch {
	w := *watchFor()
	w.IgnoreStock = s.FollowStock != nil && !*s.FollowStock
	w.Zone = s.Zone
	if s.SnoozedUntil != nil {
		w.SnoozedUntil = *s.SnoozedUntil
	}
	w.Rearm = time.Duration(s.RearmMinutes) * time.Minute
	if s.Cooldown != nil {
		w.Cooldown = cooldown(*s.Cooldown)
	}
	for _, p := range s.Points {
		w.Points = append(w.Points, watch.Points{Rate: p.Rate.decimal(), Conditional: p.Tier != "confirmed"})
	}
	for i, st := range s.Triggers {
		code := firstOf(st.TargetCurrency, s.Currency)
		w.Triggers = append(w.Triggers, watch.Trigger{
			ID: "t" + strconv.Itoa(i), Kind: kindOf(st.Type), Target: st.Target.money(code), Per: st.Per,
			Percent: st.Pct.decimal(), Amount: st.Amount.money(code), Since: st.Since, Days: st.Days, MatchEqual: st.MatchEqual,
			When: st.When, Again: st.AgainPct.decimal(), Margin: st.MarginPct.decimal(), PerDay: st.PerDay,
		})
	}
	return w
}

// cooldown reads a duration; "0s" is none at all.
func cooldown(s string) time.Duration {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		return time.Duration(must(strconv.Atoi(days))) * 24 * time.Hour
	}
	if d := must(time.ParseDuration(s)); d != 0 {
		return d
	}
	return -1
}

func firstOf(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}

// observation is what a look sees, given what the one before it saw: a pack, and
// an offer of the same price, of which nothing is said are what they were.
func (s *sight) observation(w *scriptWatch, before *sight) watch.Observation {
	o := watch.Observation{Availability: s.Avail, Title: firstOf(s.Item, "The item"), SKU: s.Item, Agreed: s.Agreed, Value: s.Value}
	if v, ok := s.Variants[w.Variant]; ok {
		o.Availability = v
	}
	if s.Price != nil {
		o.Price = s.Price.money(firstOf(s.Currency, w.Currency))
	}
	if before != nil {
		s.Qty = firstOf(s.Qty, before.Qty)
		if s.Price != nil && before.Price != nil && *s.Price == *before.Price {
			s.ValidUntil = firstOf(s.ValidUntil, before.ValidUntil)
		}
	}
	if s.Qty != "" {
		o.Quantity = quantity(s.Qty)
	}
	if s.ValidUntil != "" {
		day := must(time.Parse(time.DateOnly, s.ValidUntil[:min(len(s.ValidUntil), len(time.DateOnly))]))
		o.ValidUntil = day.Add(24 * time.Hour)
	}
	return o
}

// quantity reads "0.5kg", "500 g", "6x0.33l", "12".
func quantity(s string) watch.Quantity {
	s = strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(s, " ", ""), "×", "x"))
	unit := strings.TrimLeft(s, "0123456789.x")
	amount := decimal.MustNew(1, 0)
	for n := range strings.SplitSeq(strings.TrimSuffix(s, unit), "x") {
		amount = must(amount.Mul(must(decimal.Parse(n))))
	}
	return watch.Quantity{Amount: amount, Unit: firstOf(unit, "piece")}
}
