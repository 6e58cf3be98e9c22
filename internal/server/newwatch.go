package server

import (
	"fmt"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// NewWatch is a watch as an operator asks for it.
type NewWatch struct {
	URL, Name, Recipient, Zone string
	// Source names what reads the listing; "" means web pages. Options say how.
	Source  string
	Options watch.Options
	// Below is a target such as "500 EUR"; "" for none.
	Below                    string
	BackInStock, IgnoreStock bool
	// Every is how often to look; 0 means [watch.DefaultInterval].
	Every    time.Duration
	Channels []string
	// NoLook leaves out the first look.
	NoLook bool
	// Foreign says that it was not the operator who typed the URL: it never
	// leads into a private network.
	Foreign bool
	// More are the further triggers, and how often they tell.
	More Wishes
}

// Wishes are the less common things that a watch can be asked for, as people
// write them. The zero value asks for nothing.
type Wishes struct {
	// Drop and Rise are "10%" or "20 EUR"; Since is what they compare with.
	Drop, Rise, Since string
	// LowestInDays looks back so many days; Equal counts what is as low.
	LowestInDays int
	Equal        bool
	// UnitBelow is a price per unit, "8 EUR/kg"; EffectiveBelow one after Points
	// ("1%", and "4%?" for those that need something of the buyer).
	UnitBelow, EffectiveBelow string
	Points                    []string
	AnyChange                 bool
	// When is a condition on the value.
	When string
	// Again and Margin are percentages: see [watch.Trigger].
	Again, Margin string
	// Cooldown and Rearm are the watch's; Slowest is its MaxInterval.
	Cooldown, Rearm, Slowest time.Duration
	// Group joins watches for one thing at several shops.
	Group string
}

// build makes a listing and a watch, and says what is wrong with the request.
func (n NewWatch) build() (watch.Listing, watch.Watch, error) {
	address, err := parseURL(n.URL)
	if err != nil {
		return watch.Listing{}, watch.Watch{}, err
	}
	l := watch.Listing{URL: address, Options: n.Options, Private: !n.Foreign, Interval: n.Every}
	if err := readBy(&l, n.Source); err != nil {
		return l, watch.Watch{}, err
	}
	if l.Interval == 0 {
		l.Interval = watch.DefaultInterval
	}
	if err := CheckInterval(l.Interval); err != nil {
		return l, watch.Watch{}, err
	}
	w := watch.Watch{Name: n.Name, Recipient: n.Recipient, Channels: n.Channels, IgnoreStock: n.IgnoreStock, Zone: n.Zone,
		Cooldown: n.More.Cooldown, Rearm: n.More.Rearm, MaxInterval: n.More.Slowest, Group: n.More.Group}
	if w.Triggers, err = n.triggers(); err != nil {
		return l, w, err
	}
	if w.Points, err = readPoints(n.More.Points); err != nil {
		return l, w, err
	}
	return l, w, w.Validate()
}

// triggers makes the triggers, each with its kind for an id.
func (n *NewWatch) triggers() (out []watch.Trigger, err error) {
	add := func(t watch.Trigger, wrong error) {
		t.ID = string(t.Kind)
		if err == nil {
			err = wrong
		}
		out = append(out, t)
	}
	m := &n.More
	if n.Below != "" {
		add(withTarget(watch.Trigger{Kind: watch.Below}, n.Below))
	}
	if n.BackInStock {
		add(watch.Trigger{Kind: watch.BackInStock}, nil)
	}
	if m.Drop != "" {
		add(byHowMuch(watch.Trigger{Kind: watch.Drop, Since: since(m.Since)}, m.Drop))
	}
	if m.Rise != "" {
		add(byHowMuch(watch.Trigger{Kind: watch.Rise, Since: since(m.Since)}, m.Rise))
	}
	if m.LowestInDays != 0 {
		add(watch.Trigger{Kind: watch.LowestInDays, Days: m.LowestInDays, MatchEqual: m.Equal}, nil)
	}
	if m.UnitBelow != "" {
		target, per, _ := strings.Cut(m.UnitBelow, "/")
		add(withTarget(watch.Trigger{Kind: watch.UnitBelow, Per: strings.TrimSpace(per)}, target))
	}
	if m.EffectiveBelow != "" {
		add(withTarget(watch.Trigger{Kind: watch.EffectiveBelow}, m.EffectiveBelow))
	}
	if m.AnyChange {
		add(watch.Trigger{Kind: watch.AnyChange}, nil)
	}
	if m.When != "" {
		add(watch.Trigger{Kind: watch.ValueIs, When: m.When}, nil)
	}
	if err != nil {
		return out, err
	}
	return out, m.howOften(out)
}

// howOften fills in what the triggers with a target have in common.
func (m *Wishes) howOften(triggers []watch.Trigger) error {
	again, err := readPercent(m.Again)
	if err != nil {
		return err
	}
	margin, err := readPercent(m.Margin)
	if err != nil {
		return err
	}
	for i := range triggers {
		switch triggers[i].Kind {
		case watch.Below, watch.UnitBelow, watch.EffectiveBelow:
			triggers[i].Again, triggers[i].Margin = again, margin
		case watch.Drop, watch.Rise, watch.LowestInDays, watch.BackInStock, watch.AnyChange, watch.ValueIs:
		}
	}
	return nil
}

func withTarget(t watch.Trigger, target string) (watch.Trigger, error) {
	m, err := price.Parse(target)
	if err != nil {
		return t, fmt.Errorf("%w: the target price: %w%s", ErrInvalid, err, priceHint(target))
	}
	t.Target = m
	return t, nil
}

// byHowMuch reads "10%" or "20 EUR".
func byHowMuch(t watch.Trigger, text string) (watch.Trigger, error) {
	var err error
	if strings.Contains(text, "%") {
		t.Percent, err = readPercent(text)
		return t, err
	}
	if t.Amount, err = price.Parse(text); err != nil {
		return t, fmt.Errorf("%w: %q is neither a percentage such as 10%% nor an amount such as \"20 EUR\"", ErrInvalid, text)
	}
	return t, nil
}

// since reads what a price is compared with; people write "last-notified".
func since(text string) watch.Since { return watch.Since(strings.ReplaceAll(text, "-", "_")) }

func readPercent(text string) (decimal.Decimal, error) {
	if text == "" {
		return decimal.Decimal{}, nil
	}
	d, err := decimal.Parse(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "%")))
	if err != nil {
		return d, fmt.Errorf("%w: %q is not a percentage such as 10%%", ErrInvalid, text)
	}
	return d, nil
}

// readPoints reads "1%", and "4%?" for points that need something of the buyer.
func readPoints(list []string) (out []watch.Points, err error) {
	for _, text := range list {
		rest, conditional := strings.CutSuffix(strings.TrimSpace(text), "?")
		d, err := readPercent(rest)
		if err != nil {
			return nil, err
		}
		rate, err := d.Quo(decimal.MustNew(100, 0))
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not a percentage such as 1%%", ErrInvalid, text)
		}
		out = append(out, watch.Points{Rate: rate, Conditional: conditional})
	}
	return out, nil
}
