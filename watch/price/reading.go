package price

import (
	"github.com/govalues/decimal"
)

// Context is what the surroundings say of a text. It settles what the text
// itself leaves open: which currency "$" is, whether "1.299" is a thousand.
type Context struct {
	// Locale is the BCP 47 locale of the page, or else of the user: "de-AT". ""
	// is not known.
	Locale string
	// Currency is the ISO code that the watch says, "" if it says none.
	Currency string
	// Host is the page's: shop.example.de.
	Host string
}

// Kind is what an amount in a text is.
type Kind string

// The kinds of amounts. Only the first three can be what the thing costs; of
// the others [ReadText] chooses only in the cases that it names.
const (
	// KindPrice is a price that nothing qualifies.
	KindPrice Kind = "price"
	// KindFrom is the lowest of several prices: "from", "ab", "à partir de", "から".
	KindFrom Kind = "from"
	// KindRange is the lower end of a range; High is its upper one.
	KindRange Kind = "range"
	// KindList is what it cost before, or what somebody recommends: "was",
	// "statt", "RRP", "UVP", "定価".
	KindList Kind = "list"
	// KindInstallment is one of several payments, or what is due each month.
	KindInstallment Kind = "installment"
	// KindSaving is an amount by which something is cheaper, a voucher included.
	KindSaving Kind = "saving"
	// KindShipping is what delivery costs, or from what value on it is free.
	KindShipping Kind = "shipping"
	// KindMember is a price for members, holders of a card, subscribers.
	KindMember Kind = "member"
	// KindPoints are points that a purchase gives, or what they are worth.
	KindPoints Kind = "points"
	// KindUnit is a price for one of Per: a kilogram, a litre, a piece.
	KindUnit Kind = "unit"
	// KindMultibuy is what Quantity of them cost together: "2 for £5".
	KindMultibuy Kind = "multibuy"
	// KindTax is the tax that a price has in it or comes on top.
	KindTax Kind = "tax"
	// KindNet is a price without the taxes, beside one that has them in it.
	KindNet Kind = "net"
	// KindExtra comes on top of a price: a deposit, a warranty, an assembly.
	KindExtra Kind = "extra"
	// KindConverted is a price again, in another currency and roughly.
	KindConverted Kind = "converted"
	// KindLimit bounds something without being anybody's price: "up to $50",
	// "orders over $100".
	KindLimit Kind = "limit"
)

// Kinds lists the kinds of amounts.
func Kinds() []Kind {
	return []Kind{
		KindPrice, KindFrom, KindRange, KindList, KindInstallment, KindSaving, KindShipping, KindMember, KindPoints,
		KindUnit, KindMultibuy, KindTax, KindNet, KindExtra, KindConverted, KindLimit,
	}
}

// Tax says whether taxes are in an amount. The zero value means that the text
// does not say.
type Tax string

// What a text says of taxes.
const (
	TaxIncluded Tax = "included"
	TaxExcluded Tax = "excluded"
)

// Amount is a number in a text with the currency that is known of it.
type Amount struct {
	Number decimal.Decimal
	// Currency is an ISO 4217 code, "" if neither the text nor its context says
	// which.
	Currency string
	// CurrencyAmbiguous says that a symbol stands there which several currencies
	// have, and that nothing tells which of them is meant.
	CurrencyAmbiguous bool
}

// Money returns the amount as money; ok is false if its currency is not known.
func (a Amount) Money() (m Money, ok bool) {
	return Money{amount: a.Number, currency: a.Currency}, a.Currency != ""
}

// Quantity is how much of something, such as 6 piece or 0.5 kg. The zero value
// means that the text does not say.
type Quantity struct {
	Number decimal.Decimal
	// Unit is one of those of [Candidate.Per].
	Unit string
}

// Candidate is an amount that a text states.
type Candidate struct {
	Kind   Kind
	Amount Amount
	// High is the upper end of a range, else nil.
	High *Amount
	// Per is the unit of a KindUnit: "kg", "l", "m", "m2", "m3", "lb", "oz",
	// "fl_oz", "gal", "ft", "kwh", "night", "piece", or "load" of a washing
	// machine. The amount is for one of it, whatever the text says it for: "1,19 €
	// / 100 g" is 11.90 for a kg.
	Per string
	// Quantity is what one gets for the amount: two of them in "2 for £5".
	Quantity Quantity
	Tax      Tax
	// Snippet is the text it was read from, with the words around it that say
	// what it is. Start and End are where the amount itself stands, in bytes.
	Snippet    string
	Start, End int
}

// RejectNegative is a [Reading.Reject]: all that stands there is less than
// nothing.
const RejectNegative = "negative"

// Reading is what a text says of prices.
type Reading struct {
	// Candidates are the amounts in the text, in its order.
	Candidates []Candidate
	// Choice is the index of the one that is the price, -1 if there is none.
	Choice int
	// Ambiguous says that there are several distinct prices, and none was chosen.
	Ambiguous bool
	// Free says that the text says so in words. The chosen candidate then is 0.
	Free bool
	// SoldOut says that the text says so.
	SoldOut bool
	// Reject says why what looks like a price was not taken for one, "" if
	// nothing was refused. The reasons are the constants Reject….
	Reject string
	// Alertable says that a trigger may use the price: its currency is known, it
	// is above zero or free in words, it buys one, and it can be read in one way.
	Alertable bool
}

// Price returns the candidate that is the price.
func (r *Reading) Price() (Candidate, bool) {
	if r.Choice < 0 || r.Choice >= len(r.Candidates) {
		return Candidate{}, false
	}
	return r.Candidates[r.Choice], true
}

// UnitPrice returns the price for a unit: rather one for a measure than one for
// a piece, of "$3.49 each ($6.98/kg)" the latter.
func (r *Reading) UnitPrice() (Candidate, bool) {
	for _, c := range r.Candidates {
		if c.Kind == KindUnit && c.Per != pieceUnit.per {
			return c, true
		}
	}
	return r.First(KindUnit)
}

// First returns the first candidate of a kind, such as the list price.
func (r *Reading) First(k Kind) (Candidate, bool) {
	for _, c := range r.Candidates {
		if c.Kind == k {
			return c, true
		}
	}
	return Candidate{}, false
}
