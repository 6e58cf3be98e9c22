package main

import (
	"time"

	"github.com/lastlook/lastlook/internal/server"
)

// whenFlags say when a watch tells, and how often.
type whenFlags struct {
	Below          string        `placeholder:"PRICE" help:"Tell me when the price is below this amount and currency, such as \"500 EUR\"."`
	BackInStock    bool          `help:"Tell me when it can be had again."`
	Drop           string        `placeholder:"HOW-MUCH" help:"Tell me when it is cheaper by this part or amount: 10%, or \"20 EUR\"."`
	Rise           string        `placeholder:"HOW-MUCH" help:"Tell me when it is dearer by this part or amount."`
	Since          string        `placeholder:"WHAT" help:"What --drop and --rise compare with: last-notified (default: what I was told last; at first, the first price), previous (the price before its last change), first."`
	LowestInDays   int           `placeholder:"DAYS" help:"Tell me when the price is the lowest in so many days, 1 to 730. Half of them must be known."`
	OrEqual        bool          `help:"With --lowest-in-days: also when it comes back to the lowest."`
	UnitBelow      string        `placeholder:"PRICE/UNIT" help:"Tell me when the price per unit is below this, such as \"8 EUR/kg\"."`
	EffectiveBelow string        `placeholder:"PRICE" help:"Tell me when the price less its points is below this."`
	Points         []string      `placeholder:"PERCENT" help:"Points that I get back here, such as 1%; 4%? for those that need something of me, which do not count."`
	AnyChange      bool          `help:"Tell me of any change of price or stock."`
	When           string        `placeholder:"CONDITION" help:"Tell me when this holds of the value, in CEL, such as \"now < 100 && now < last * 0.9\"."`
	Again          string        `placeholder:"PERCENT" help:"Tell me again within an episode when it is another so many percent lower."`
	Margin         string        `placeholder:"PERCENT" help:"An episode ends only when the price is this much above its target."`
	Cooldown       time.Duration `placeholder:"DURATION" help:"The shortest time between two messages of one trigger, instead of once a day; -1s for none."`
	Rearm          time.Duration `placeholder:"DURATION" help:"Tell me again what still holds this long after I was told."`
	MaxEvery       time.Duration `placeholder:"DURATION" help:"Look more and more rarely while nothing changes, up to this."`
	Group          string        `placeholder:"NAME" help:"Watches of one group wait for one thing at several shops: of those with --below, the cheapest is told of, once."`
}

// asksNothing reports whether no trigger is asked for.
func (f *whenFlags) asksNothing() bool {
	return f.Below == "" && !f.BackInStock && f.Drop == "" && f.Rise == "" && f.LowestInDays == 0 && f.UnitBelow == "" &&
		f.EffectiveBelow == "" && !f.AnyChange && f.When == ""
}

// wishes returns what the server is asked for.
func (f *whenFlags) wishes() server.Wishes {
	return server.Wishes{
		Drop: f.Drop, Rise: f.Rise, Since: f.Since, LowestInDays: f.LowestInDays, Equal: f.OrEqual, UnitBelow: f.UnitBelow,
		EffectiveBelow: f.EffectiveBelow, Points: f.Points, AnyChange: f.AnyChange, When: f.When, Again: f.Again, Margin: f.Margin,
		Cooldown: f.Cooldown, Rearm: f.Rearm, Slowest: f.MaxEvery, Group: f.Group,
	}
}
