package extract

import (
	"errors"
	"net/url"
	"strings"

	"github.com/bojanz/currency"
	"github.com/govalues/decimal"
	"golang.org/x/text/language"

	"github.com/lastlook/lastlook/watch/price"
)

// quote is an amount as it is stated, with its currency.
type quote struct {
	amount   fact
	currency fact
	money    price.Money
	err      error  // why the two are no money
	tax      string // "true" or "false" if it is said whether tax is included
	// bare is the number where only its currency is not known.
	bare *decimal.Decimal
	// high is the upper end where the text is a range.
	high *price.Money
	// regular and net are what a page calls a price that may not be the one paid.
	regular, net, onSale, perUnit bool
	// free says that an amount of 0 is a price.
	free bool
}

// same reports whether two quotes say the same amount, in the same currency if
// both say one.
func (q *quote) same(o *quote) bool {
	switch {
	case q.err == nil && o.err == nil:
		c, ok := q.money.Cmp(o.money)
		return ok && c == 0
	case q.err == nil && o.bare != nil:
		return q.money.Amount().Cmp(*o.bare) == 0
	case q.bare != nil && o.err == nil:
		return q.bare.Cmp(o.money.Amount()) == 0
	case q.bare != nil && o.bare != nil:
		return q.bare.Cmp(*o.bare) == 0
	}
	return false
}

// key is equal for quotes that say the same.
func (q *quote) key() string {
	switch {
	case q.err != nil && q.bare != nil:
		return "?" + q.bare.Trim(0).String()
	case q.err != nil:
		return "?" + q.amount.text + " " + q.currency.text
	}
	return q.money.Amount().Trim(0).String() + " " + q.money.Currency()
}

// context is what the page and the watch say of a text's surroundings. A
// currency that stands beside the text counts before the watch's.
func (d *Document) context(beside string) price.Context {
	c := price.Context{Locale: d.page.Hint.Locale, Currency: strings.ToUpper(beside), Host: d.host}
	if c.Locale == "" {
		c.Locale = strings.ReplaceAll(d.lang, "_", "-")
	}
	if c.Currency == "" {
		c.Currency = strings.ToUpper(d.page.Hint.Currency)
	}
	return c
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// readQuote reads an amount that stands in a place for machines, with the
// currency beside it. What is not written as machines read it is read as people
// do; exact says that it is a number and not a text, of which only that the
// former can be.
func (d *Document) readQuote(amount, beside fact, exact bool) quote {
	q := quote{amount: amount, currency: beside}
	code := strings.ToUpper(strings.TrimSpace(beside.text))
	switch {
	case isCurrency(code):
		q.money, q.err = price.Machine(amount.text, code)
		if q.err == nil || exact || errors.Is(q.err, price.ErrAmbiguous) && d.twoWays(amount.text, code) {
			return q
		}
		return d.textQuote(q, amount.text, code)
	case code != "":
		// A symbol, or a word: it is read as if it stood beside the amount.
		q = d.textQuote(q, amount.text+" "+beside.text, "")
		if q.err != nil && q.bare == nil {
			q.err = price.ErrInvalid
		}
		return q
	}
	if hint := strings.ToUpper(d.page.Hint.Currency); isCurrency(hint) {
		if m, err := price.Machine(amount.text, hint); err == nil {
			q.money, q.currency = m, fact{hint, "the watch's currency"}
			return q
		}
	}
	if n, err := price.ParseMachine(amount.text); err == nil {
		q.bare, q.err = &n, errNoCurrency
		return q
	} else if exact {
		q.err = err
		return q
	}
	return d.textQuote(q, amount.text, "")
}

// twoWays reports whether "1.299" can be both what it is for machines and a
// thousand times that: it is for people who write a point before the cents, and
// read nothing else into it; for all others it is a thousand.
func (d *Document) twoWays(amount, code string) bool {
	if n, ok := currency.GetDigits(code); ok && n == 0 || strings.ContainsAny(amount, ",' \u00a0\u202f’") || strings.Count(amount, ".") != 1 {
		return false
	}
	tag, err := language.Parse(d.context(code).Locale)
	if err != nil {
		return true
	}
	base, _ := tag.Base()
	region, _ := tag.Region()
	switch region.String() {
	case "CH", "LI", "MX", "US", "GB", "IN":
		return true
	}
	return strings.Contains(" en zh ja ko th he hi ms fil tl bn ta te gu mr pa kn ml ur sw ga mt cy und ", " "+base.String()+" ")
}

// textQuote reads a text that states one amount, in the currency that is stated
// beside it, if there is one.
func (d *Document) textQuote(q quote, s, code string) quote {
	r := price.ReadText(s, d.context(code))
	c, ok := r.Price()
	if !ok {
		q.err = price.ErrInvalid
		switch {
		case r.Ambiguous:
			q.err = price.ErrAmbiguous
		case r.Reject != "":
			q.err = errors.New("it is " + r.Reject)
		}
		return q
	}
	got := d.fromCandidate(&c, q.amount)
	switch {
	case code == "":
		if got.currency.ok() && !q.currency.ok() || got.err != nil {
			q.currency = got.currency
		}
	case c.Amount.Currency != "" && c.Amount.Currency != code:
		q.err = errOtherCurrency
		return q
	case c.Amount.Currency == "":
		c.Amount.Currency = code
		got = d.fromCandidate(&c, q.amount)
	}
	q.money, q.err, q.bare, q.high, q.net = got.money, got.err, got.bare, got.high, c.Tax == price.TaxExcluded
	return q
}

// textQuotes reads a text that may state several amounts.
func (d *Document) textQuotes(at fact) []quote {
	return []quote{d.textQuote(quote{amount: at}, at.text, "")}
}

// fromCandidate makes a quote of an amount in a text.
func (d *Document) fromCandidate(c *price.Candidate, at fact) quote {
	q := quote{amount: at}
	number := c.Amount.Number
	m, ok := c.Amount.Money()
	switch {
	case ok && c.Amount.CurrencyAmbiguous, !ok && c.Amount.CurrencyAmbiguous:
		q.err, q.bare = errWhichCurrency, &number
	case !ok:
		q.err, q.bare = errNoCurrency, &number
	default:
		q.money = m
		q.currency = fact{c.Amount.Currency, at.where}
		if c.High != nil {
			if h, ok := c.High.Money(); ok && h.Currency() == m.Currency() {
				q.high = &h
			}
		}
	}
	switch c.Tax {
	case price.TaxIncluded:
		q.tax = "true"
	case price.TaxExcluded:
		q.tax = "false"
	}
	return q
}

// with returns the quote in a currency that is stated elsewhere.
func (q quote) with(code fact) quote {
	if q.bare == nil {
		return q
	}
	m, err := price.New(q.bare.String(), code.text)
	if err != nil {
		return q
	}
	q.money, q.currency, q.err, q.bare = m, code, nil, nil
	return q
}

// isCurrency reports whether a text is an ISO 4217 code.
func isCurrency(code string) bool { return code != "" && currency.IsValid(code) }
