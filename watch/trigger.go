package watch

import (
	"fmt"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch/price"
)

// Kind is a kind of trigger.
type Kind string

// The kinds of triggers.
const (
	// Below holds while the price is under the target.
	Below Kind = "below"
	// Drop holds while the price is lower, by a part or an amount at least, than
	// what it is compared with ([Trigger.Since]).
	Drop Kind = "drop"
	// LowestInDays holds while the price is the lowest of the last days.
	LowestInDays Kind = "lowest_in_days"
	// BackInStock holds while the item is in stock after it was seen out of
	// stock.
	BackInStock Kind = "back_in_stock"
	// Rise is Drop the other way.
	Rise Kind = "rise"
	// UnitBelow holds while the price per unit is under the target.
	UnitBelow Kind = "unit_below"
	// EffectiveBelow holds while the price less its confirmed points is under
	// the target.
	EffectiveBelow Kind = "effective_below"
	// AnyChange holds while the price, the stock or the value is another one
	// than was told last.
	AnyChange Kind = "any_change"
	// ValueIs holds while a condition on the value holds ([Trigger.When]).
	ValueIs Kind = "value"
)

// Kinds lists the kinds of triggers.
func Kinds() []Kind {
	return []Kind{Below, Drop, LowestInDays, BackInStock, Rise, UnitBelow, EffectiveBelow, AnyChange, ValueIs}
}

// Since is what a price is compared with.
type Since string

// What a price may be compared with.
const (
	// LastNotified is the price that was told last, through the same channel and
	// by whichever trigger; until something was told, the first one seen.
	LastNotified Since = "last_notified"
	// Previous is the price before its last change.
	Previous Since = "previous"
	// First is the first price that the trigger saw.
	First Since = "first"
)

// Trigger is a question asked of each observation, and how often its answer may
// be told.
type Trigger struct {
	// ID is unique within the watch and stays with the trigger.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`

	// Target is what Below, UnitBelow and EffectiveBelow compare with. It keeps
	// the currency that it was set in.
	Target price.Money `json:"target,omitzero"`
	// Per is UnitBelow's unit, such as "kg", "l" or "piece".
	Per string `json:"per,omitzero"`
	// Percent or Amount is how much Drop and Rise ask for: one of the two.
	Percent decimal.Decimal `json:"percent,omitzero"`
	Amount  price.Money     `json:"amount,omitzero"`
	// Since is what Drop and Rise compare with; empty means LastNotified.
	Since Since `json:"since,omitzero"`
	// Days is how far LowestInDays looks back; MatchEqual lets a price that
	// comes back to the lowest one count as well.
	Days       int  `json:"days,omitzero"`
	MatchEqual bool `json:"match_equal,omitzero"`
	// When is ValueIs' condition, in CEL: "now < 100 && now < last * 0.9".
	When string `json:"when,omitzero"`

	// Again, in percent, tells again within an episode when what is compared is
	// another so much lower than when it was told.
	Again decimal.Decimal `json:"again,omitzero"`
	// Margin, in percent of what is compared with, is by how much the condition
	// must be seen false for an episode to end: a price that trembles about its
	// target is one episode.
	Margin decimal.Decimal `json:"margin,omitzero"`
	// PerDay is how often it may tell in one day at most: negative means any
	// number of times, 0 once, unless a cooldown or a rearm says how often.
	PerDay int `json:"per_day,omitzero"`
	// Cooldown is the shortest time between two tellings; 0 means the watch's.
	Cooldown time.Duration `json:"cooldown,omitzero"`
}

// since returns what the trigger compares with.
func (t *Trigger) since() Since {
	if t.Since == "" {
		return LastNotified
	}
	return t.Since
}

// asksAs reports whether two triggers ask the same question.
func (t Trigger) asksAs(o Trigger) bool {
	return t.Kind == o.Kind && t.Per == o.Per && t.since() == o.since() && t.Days == o.Days && t.MatchEqual == o.MatchEqual && t.When == o.When &&
		t.Percent.Cmp(o.Percent) == 0 && sameMoney(t.Target, o.Target) && sameMoney(t.Amount, o.Amount)
}

func sameMoney(a, b price.Money) bool {
	c, ok := a.Cmp(b)
	return ok && c == 0 || a.IsZero() && b.IsZero()
}

// String returns the trigger for people.
func (t Trigger) String() string {
	switch t.Kind {
	case Below:
		return "below " + t.Target.String()
	case Drop:
		return t.howMuch() + " cheaper than " + t.comparedWith()
	case Rise:
		return t.howMuch() + " dearer than " + t.comparedWith()
	case LowestInDays:
		if t.MatchEqual {
			return fmt.Sprintf("lowest in %d days, or as low", t.Days)
		}
		return fmt.Sprintf("lowest in %d days", t.Days)
	case BackInStock:
		return "back in stock"
	case UnitBelow:
		return "below " + t.Target.String() + " per " + t.Per
	case EffectiveBelow:
		return "below " + t.Target.String() + " less points"
	case AnyChange:
		return "any change"
	case ValueIs:
		return "when " + t.When
	}
	return string(t.Kind)
}

func (t *Trigger) howMuch() string {
	if !t.Amount.IsZero() {
		return t.Amount.String()
	}
	return percent(t.Percent)
}

// percent returns a percentage for people.
func percent(d decimal.Decimal) string { return d.Trim(0).String() + " %" }

func (t *Trigger) comparedWith() string {
	switch t.since() {
	case Previous:
		return "before"
	case First:
		return "at first"
	case LastNotified:
	}
	return "last told"
}

// Limits on what a trigger may ask.
const (
	maxDays     = 730
	maxWhen     = 2000
	maxCooldown = 366 * 24 * time.Hour
)

var (
	hundred     = decimal.MustNew(100, 0)
	maxPercent  = decimal.MustNew(100_000, 0)
	decimalZero = decimal.MustNew(0, 0)
)

// validate reports what is wrong with a trigger, wrapping [ErrInvalid].
func (t *Trigger) validate() error {
	if !slices.Contains(Kinds(), t.Kind) {
		return fmt.Errorf("%w: there is no trigger %q", ErrInvalid, cut(string(t.Kind), maxShown))
	}
	if t.Again.IsNeg() || t.Again.Cmp(hundred) >= 0 || t.Margin.IsNeg() || t.Margin.Cmp(maxPercent) > 0 {
		return fmt.Errorf("%w: %s: telling again and the margin are percentages, from 0 to under 100", ErrInvalid, t)
	}
	if t.Cooldown > maxCooldown {
		return fmt.Errorf("%w: %s: a cooldown of %s: the limit is %s", ErrInvalid, t, t.Cooldown, maxCooldown)
	}
	switch t.Kind {
	case Below, EffectiveBelow:
		return validTarget(t.Target)
	case UnitBelow:
		if _, _, ok := unitOf(t.Per); !ok {
			return fmt.Errorf("%w: a price per unit needs the unit, such as kg, l, m or piece; %q is none", ErrInvalid, cut(t.Per, maxShown))
		}
		return validTarget(t.Target)
	case Drop, Rise:
		return t.validMove()
	case LowestInDays:
		if t.Days < 1 || t.Days > maxDays {
			return fmt.Errorf("%w: the lowest price in %d days: ask for 1 to %d", ErrInvalid, t.Days, maxDays)
		}
	case ValueIs:
		return t.validWhen()
	case BackInStock, AnyChange:
	}
	return nil
}

func validTarget(target price.Money) error {
	switch {
	case target.IsZero():
		return fmt.Errorf("%w: a target price needs an amount and a currency, such as \"499.90 EUR\"", ErrInvalid)
	case !target.Positive():
		return fmt.Errorf("%w: the target %s is not above zero", ErrInvalid, target)
	}
	return nil
}

func (t *Trigger) validMove() error {
	if !slices.Contains([]Since{LastNotified, Previous, First}, t.since()) {
		return fmt.Errorf("%w: a price is compared with %s, %s or %s, not %q", ErrInvalid, LastNotified, Previous, First, cut(string(t.Since), maxShown))
	}
	switch {
	case t.Percent.IsZero() == t.Amount.IsZero():
		return fmt.Errorf("%w: say by how much the price is to move: a percentage, or an amount and its currency", ErrInvalid)
	case !t.Amount.IsZero() && !t.Amount.Positive(), t.Percent.IsNeg():
		return fmt.Errorf("%w: %s: it must move by more than nothing", ErrInvalid, t)
	case t.Kind == Drop && t.Percent.Cmp(hundred) >= 0, t.Percent.Cmp(maxPercent) > 0:
		return fmt.Errorf("%w: %s: no price moves by that much", ErrInvalid, t)
	}
	return nil
}

func (t *Trigger) validWhen() error {
	if t.When == "" || len(t.When) > maxWhen {
		return fmt.Errorf("%w: a condition on the value has 1 to %d bytes, such as \"now < 100\"", ErrInvalid, maxWhen)
	}
	if err := validCondition(t.When); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}
