package jsonapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/source/internal/fact"
	"github.com/lastlook/lastlook/watch/extract"
	"github.com/lastlook/lastlook/watch/price"
)

// maxPriceText is the longest text that is read for a price.
const maxPriceText = 240

// currencyKeys are those by which documents name a currency, without case and
// hyphens, the surest first.
var currencyKeys = []string{"currency", "currencycode", "pricecurrency", "currencyiso", "currencyid", "isocurrency"}

// amountKeys are those of an amount in an object that is a price.
var amountKeys = []string{"amount", "value", "price", "current", "sale", "centamount"}

// quoted is an amount that a value states. currency is "" if nobody says it.
type quoted struct {
	amount   decimal.Decimal
	currency string
	high     price.Money
}

func (r *reader) price(p *path) error {
	all, err := p.run(r.ctx, r.doc)
	if err != nil {
		return err
	}
	var distinct []quoted
	for _, f := range all {
		if s, ok := f.value.(string); ok && strings.TrimSpace(s) == "" || f.value == false {
			continue
		}
		r.any = true
		q, err := r.quote(f)
		if err != nil {
			fact.Note(&r.o, extract.FactNoPrice, p.text, text(f.value)+": "+err.Error())
			continue
		}
		if !contains(distinct, q) {
			distinct = append(distinct, q)
		}
	}
	if len(distinct) > 1 {
		r.o.Ambiguous = true
		for _, q := range distinct {
			fact.Note(&r.o, extract.FactAmbiguous, p.text, strings.TrimSpace(q.amount.String()+" "+q.currency))
		}
		return nil
	}
	for _, q := range distinct {
		r.take(q, p)
	}
	return nil
}

func contains(all []quoted, q quoted) bool {
	for _, o := range all {
		if o.amount.Cmp(q.amount) == 0 && o.currency == q.currency {
			return true
		}
	}
	return false
}

// take makes an amount the price.
func (r *reader) take(q quoted, p *path) {
	orderable, _ := r.o.Availability.Orderable()
	if q.currency == "" {
		if q.amount.IsPos() || q.amount.IsZero() && orderable {
			// An amount that nobody gives a currency is shown, and is no price.
			fact.Note(&r.o, "amount", p.text, q.amount.String())
		}
		fact.Note(&r.o, extract.FactNoPrice, p.text, q.amount.String()+": no currency stands beside it: name it in the options")
		return
	}
	m, err := price.New(q.amount.String(), q.currency)
	if err != nil {
		fact.Note(&r.o, extract.FactNoPrice, p.text, err.Error())
		return
	}
	fact.SetPrice(&r.o, m, p.text, rule)
	if !r.o.Price.IsZero() && !q.high.IsZero() {
		r.o.High = q.high
		fact.Note(&r.o, extract.FactHigh, p.text, q.high.Amount().String())
	}
}

// quote reads a value that a path calls the price.
func (r *reader) quote(f found) (quoted, error) {
	stated := r.stated(f.place)
	if m, ok := f.value.(map[string]any); ok {
		if c := currencyIn(m); c != "" {
			stated = c
		}
		v, digits, ok := amountIn(m)
		if !ok {
			return quoted{}, errors.New("it is an object without an amount: point at the number in it")
		}
		if digits >= 0 {
			d, err := fact.Scaled(json.Number(text(v)), digits)
			return quoted{amount: d, currency: r.currency(stated)}, err
		}
		f.value = v
	}
	switch v := f.value.(type) {
	case json.Number:
		return r.number(v, stated)
	case int:
		return r.number(json.Number(strconv.Itoa(v)), stated)
	case *big.Int:
		return r.number(json.Number(v.String()), stated)
	case float64: // computed by the path
		return r.number(json.Number(strconv.FormatFloat(v, 'f', -1, 64)), stated)
	case string:
		return r.text(v, stated)
	}
	return quoted{}, errors.New("it is no number and no text")
}

// currency is what is stated, or else what the options say.
func (r *reader) currency(stated string) string {
	if stated != "" {
		return stated
	}
	if _, err := price.New("1", r.opt.Currency); err != nil {
		return ""
	}
	return strings.ToUpper(r.opt.Currency)
}

func (r *reader) number(n json.Number, stated string) (quoted, error) {
	code := r.currency(stated)
	if code == "" {
		d, err := price.ParseMachine(n.String())
		return quoted{amount: d}, err
	}
	m, err := fact.Number(n, code)
	return quoted{amount: m.Amount(), currency: code}, err
}

// text reads an amount in words: for machines where it can be, else for people.
func (r *reader) text(s, stated string) (quoted, error) {
	if len(s) > maxPriceText {
		return quoted{}, fmt.Errorf("it is a text of %d bytes", len(s))
	}
	code := r.currency(stated)
	machine := func() (quoted, error) {
		if code == "" {
			d, err := price.ParseMachine(s)
			return quoted{amount: d}, err
		}
		m, err := price.Machine(s, code)
		return quoted{amount: m.Amount(), currency: code}, err
	}
	q, merr := machine()
	if r.opt.Locale == "" && (merr == nil || errors.Is(merr, price.ErrAmbiguous)) {
		return q, merr // "1.299" of data can be either, and nobody says how to read it
	}
	read := price.ReadText(s, price.Context{Locale: r.opt.Locale, Currency: code, Host: r.host})
	c, ok := read.Price()
	switch {
	case ok && (read.Alertable || c.Amount.Currency == "" || c.Amount.Number.IsZero()):
		q = quoted{amount: c.Amount.Number, currency: c.Amount.Currency}
		if c.High != nil {
			q.high, _ = c.High.Money()
		}
		return q, nil
	case merr == nil:
		return q, nil
	case read.Ambiguous:
		return quoted{}, errors.New("it states several prices")
	case read.Reject != "":
		return quoted{}, errors.New("it is " + read.Reject)
	}
	return quoted{}, errors.New("it can't be read as one price with its currency")
}

// stated returns the currency that stands nearest to a place: in the same object,
// or else in the ones around it.
func (r *reader) stated(place []any) string {
	var around []map[string]any
	at := r.doc
	for _, step := range place {
		if m, ok := at.(map[string]any); ok {
			around = append(around, m)
			key, _ := step.(string)
			at = m[key]
			continue
		}
		list, ok := at.([]any)
		i, isIndex := step.(int)
		if !ok || !isIndex || i < 0 || i >= len(list) {
			break
		}
		at = list[i]
	}
	for i := len(around) - 1; i >= 0; i-- {
		if c := currencyIn(around[i]); c != "" {
			return c
		}
	}
	return ""
}

func currencyIn(m map[string]any) string {
	for _, want := range currencyKeys {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			v := m[k]
			s, ok := v.(string)
			if !ok || compact(k) != want {
				continue
			}
			if p, err := price.New("1", strings.TrimSpace(s)); err == nil {
				return p.Currency()
			}
		}
	}
	return ""
}

// amountIn returns the amount in an object that is a price; digits is -1 unless
// it counts the currency's smallest unit.
func amountIn(m map[string]any) (v any, digits int, ok bool) {
	for _, want := range amountKeys {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			v := m[k]
			if compact(k) != want {
				continue
			}
			if _, isMap := v.(map[string]any); isMap || v == nil {
				continue
			}
			if want != "centamount" {
				return v, -1, true
			}
			digits := 2
			if n, isNumber := m["fractionDigits"].(json.Number); isNumber {
				if i, err := strconv.Atoi(n.String()); err == nil && i >= 0 && i <= 4 {
					digits = i
				}
			}
			return v, digits, true
		}
	}
	return nil, 0, false
}
