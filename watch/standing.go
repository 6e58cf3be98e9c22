package watch

import (
	"time"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch/price"
)

// Doubt is why a look is not believed at once.
type Doubt string

// The doubts. A look in doubt needs a second reading that says the same, at
// least [secondReading] later, or one that another extraction rule agrees with.
const (
	// DoubtIdentity: the page describes another product than before.
	DoubtIdentity Doubt = "identity"
	// DoubtCurrency: the price is in another currency than before.
	DoubtCurrency Doubt = "currency"
	// DoubtZero: it is said to cost nothing.
	DoubtZero Doubt = "zero"
	// DoubtFall: the price has fallen by more than 70 %.
	DoubtFall Doubt = "fall"
)

// String returns the doubt for people.
func (d Doubt) String() string {
	switch d {
	case DoubtIdentity:
		return "the page describes another product than before"
	case DoubtCurrency:
		return "the price is in another currency than before"
	case DoubtZero:
		return "it is said to cost nothing"
	case DoubtFall:
		return "the price has fallen by more than 70 %"
	}
	return string(d)
}

// Flag is what a user is shown of a listing that is not what it was.
type Flag string

// The flags. Each is shown from the first reading on, and until the listing is
// what it was again.
const (
	FlagCurrency Flag = "currency_changed"
	FlagIdentity Flag = "identity_changed"
)

// Accept returns the standing of a listing whose change the user accepts: what it
// is now is what is watched. What was in doubt begins anew.
func (s Standing) Accept() Standing {
	switch {
	case s.Pending.Doubt == DoubtIdentity:
		return Standing{SKU: s.Pending.SKU, Price: s.Pending.Price}
	case s.Pending.Doubt != "":
		return Standing{SKU: s.SKU, Price: s.Pending.Price}
	case s.NewSKU != "":
		return Standing{SKU: s.NewSKU} // nothing is trusted of that product's price yet
	}
	return Standing{SKU: s.SKU, Price: s.Price}
}

// secondReading is how long a look in doubt waits for another one.
const secondReading = time.Minute

// agreeing is how far, as a part, two readings of one price may be apart.
var agreeing = decimal.MustParse("0.1")

// believable is the part of the last price under which a price is in doubt.
var believable = decimal.MustParse("0.3")

// Standing is what is trusted of a listing. It is kept with the listing, and is
// comparable.
type Standing struct {
	// Price is the last price that was trusted, SKU the product's.
	Price price.Money `json:"price,omitzero"`
	SKU   string      `json:"sku,omitzero"`
	// Availability is the last that was known.
	Availability Availability `json:"availability,omitzero"`
	// Currency is the one before the change that Flag tells of; NewSKU the
	// product that it became.
	Currency string `json:"currency,omitzero"`
	NewSKU   string `json:"new_sku,omitzero"`
	Flag     Flag   `json:"flag,omitzero"`
	// Pending is the reading in doubt.
	Pending Reading `json:"pending,omitzero"`
}

// Reading is a look that is in doubt.
type Reading struct {
	Doubt Doubt       `json:"doubt"`
	At    time.Time   `json:"at"`
	Price price.Money `json:"price,omitzero"`
	SKU   string      `json:"sku,omitzero"`
}

// Flags returns what the user is to be shown.
func (s Standing) Flags() []Flag {
	var out []Flag
	if s.Flag != "" {
		out = append(out, s.Flag)
	}
	for doubt, flag := range map[Doubt]Flag{DoubtIdentity: FlagIdentity, DoubtCurrency: FlagCurrency} {
		if s.Pending.Doubt == doubt && s.Flag != flag {
			out = append(out, flag)
		}
	}
	return out
}

// Weighed is what a look is worth.
type Weighed struct {
	// After is the listing's standing after the look.
	After Standing
	// Doubt is why it is not believed yet, Until when a second reading may
	// confirm it.
	Doubt Doubt
	Until time.Time
	// Other says that the listing is certainly another product now: nothing of
	// it is about the one that is watched.
	Other bool
}

// Trusted reports whether the look's price may be compared with others.
func (w *Weighed) Trusted() bool { return w.Doubt == "" && !w.Other }

// differs reports whether a listing has changed.
func (s *Standing) differs(o *Standing) bool {
	return s.Availability != o.Availability || s.Flag != o.Flag || !sameMoney(s.Price, o.Price)
}

// Weigh says what a look is worth. It is pure, and weighing a look again with
// the standing that it led to says the same.
func (s Standing) Weigh(o *Observation) Weighed {
	p := certainPrice(o)
	if s.Flag == FlagIdentity && (o.SKU == s.NewSKU || o.SKU == "") {
		s.Pending = Reading{}
		return Weighed{After: s, Other: true}
	}
	doubt := s.doubt(o, p)
	switch {
	case doubt == "":
		return Weighed{After: s.trust(o, p)}
	case o.Agreed || s.Pending.confirmedBy(doubt, o, p):
		return s.confirm(doubt, o, p)
	}
	if s.Pending.sameAs(doubt, o, p) {
		until := s.Pending.At.Add(secondReading)
		if !until.After(o.At) { // this one says too little to confirm it
			until = o.At.Add(secondReading)
		}
		return Weighed{After: s, Doubt: doubt, Until: until}
	}
	s.Pending = Reading{Doubt: doubt, At: o.At, Price: p, SKU: o.SKU}
	return Weighed{After: s, Doubt: doubt, Until: o.At.Add(secondReading)}
}

// certainPrice returns the price of a look, none if it is none: pages show 0.00
// for what they do not sell.
func certainPrice(o *Observation) price.Money {
	if yes, known := o.Availability.Orderable(); known && !yes && !o.Price.Positive() {
		return price.Money{}
	}
	return o.Price
}

func (s *Standing) doubt(o *Observation, p price.Money) Doubt {
	switch {
	case s.SKU != "" && o.SKU != "" && o.SKU != s.SKU, s.Pending.Doubt == DoubtIdentity && o.SKU == "":
		return DoubtIdentity
	case p.IsZero():
		return ""
	case !s.Price.IsZero() && p.Currency() != s.Price.Currency() && (s.Flag != FlagCurrency || p.Currency() != s.Currency):
		return DoubtCurrency
	case p.Amount().IsZero() && !(p.Currency() == s.Price.Currency() && s.Price.Amount().IsZero()):
		return DoubtZero
	case s.Price.Positive() && p.Currency() == s.Price.Currency() && fallen(s.Price, p):
		return DoubtFall
	}
	return ""
}

// fallen reports whether the price is under the believable part of the last.
func fallen(last, p price.Money) bool {
	if !p.Positive() || p.Amount().Cmp(last.Amount()) == 0 {
		return false
	}
	floor, err := last.Amount().Mul(believable)
	return err == nil && p.Amount().Cmp(floor) < 0
}

// trust returns the standing after a look that is believed.
func (s Standing) trust(o *Observation, p price.Money) Standing {
	if a := availabilityKnown(o.Availability); a != "" {
		s.Availability = a
	}
	if o.SKU != "" {
		if s.Flag == FlagIdentity {
			s.Flag, s.NewSKU = "", ""
		}
		s.SKU = o.SKU
	}
	if p.IsZero() {
		if s.Pending.Doubt == DoubtIdentity {
			s.Pending = Reading{} // it is the product that it was
		}
		return s // it says nothing of a price in doubt
	}
	s.Pending = Reading{}
	if s.Flag == FlagCurrency && p.Currency() == s.Currency {
		s.Flag, s.Currency = "", ""
	}
	s.Price = p
	return s
}

// confirm returns what a second reading, or an agreeing rule, makes certain.
func (s Standing) confirm(doubt Doubt, o *Observation, p price.Money) Weighed {
	s.Pending = Reading{}
	switch doubt {
	case DoubtIdentity:
		s.Flag, s.NewSKU = FlagIdentity, o.SKU
		return Weighed{After: s, Other: true}
	case DoubtCurrency:
		if s.Flag != FlagCurrency {
			s.Flag, s.Currency = FlagCurrency, s.Price.Currency()
		}
	case DoubtZero, DoubtFall:
	}
	return Weighed{After: s.trust(o, p)}
}

// sameAs reports whether a look says what this reading said.
func (r *Reading) sameAs(doubt Doubt, o *Observation, p price.Money) bool {
	if r.Doubt != doubt {
		return false
	}
	switch doubt {
	case DoubtIdentity:
		return r.SKU == o.SKU || o.SKU == ""
	case DoubtCurrency:
		return r.Price.Currency() == p.Currency()
	case DoubtZero, DoubtFall:
	}
	return near(r.Price, p)
}

func (r *Reading) confirmedBy(doubt Doubt, o *Observation, p price.Money) bool {
	if doubt == DoubtIdentity && o.SKU == "" {
		return false
	}
	return r.sameAs(doubt, o, p) && o.At.Sub(r.At) >= secondReading
}

// near reports whether two readings may be of one price that moves.
func near(a, b price.Money) bool {
	if a.Currency() != b.Currency() {
		return false
	}
	diff, err := a.Amount().SubAbs(b.Amount())
	if err != nil {
		return false
	}
	limit, err := a.Amount().Mul(agreeing)
	return err == nil && diff.Cmp(limit.Abs()) <= 0
}
