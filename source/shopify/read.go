package shopify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/lastlook/lastlook/source/internal/fact"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
	"github.com/lastlook/lastlook/watch/price"
)

// ErrNoCurrency says that neither the product nor the options name a currency.
var ErrNoCurrency = errors.New("the product does not say its currency: name it in the options")

const rule = "shopify"

// product is what both forms have. Amounts are whole hundredths in the .js form,
// and decimal texts in the .json form.
type product struct {
	Title     string          `json:"title"`
	Price     amount          `json:"price"`
	CompareAt amount          `json:"compare_at_price"`
	Available *bool           `json:"available"`
	Image     json.RawMessage `json:"featured_image"`
	Images    json.RawMessage `json:"images"`
	Variants  []variant       `json:"variants"`
	Currency  string          `json:"currency"`
}

type variant struct {
	ID          json.Number `json:"id"`
	Title       string      `json:"title"`
	Name        string      `json:"name"`
	SKU         string      `json:"sku"`
	Options     []string    `json:"options"`
	Price       amount      `json:"price"`
	CompareAt   amount      `json:"compare_at_price"`
	Available   *bool       `json:"available"`
	Quantity    *int64      `json:"inventory_quantity"`
	Policy      string      `json:"inventory_policy"`
	Management  *string     `json:"inventory_management"`
	Currency    string      `json:"price_currency"`
	Presentment []struct {
		Price struct {
			Amount   string `json:"amount"`
			Currency string `json:"currency_code"`
		} `json:"price"`
	} `json:"presentment_prices"`
}

// amount is a number of hundredths or a decimal text; "" for null.
type amount struct {
	text    string
	decimal bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *amount) UnmarshalJSON(b []byte) error {
	var s string
	switch {
	case string(b) == "null":
		*a = amount{}
	case json.Unmarshal(b, &s) == nil:
		*a = amount{text: strings.TrimSpace(s), decimal: true}
	default:
		*a = amount{text: string(b), decimal: bytes.ContainsAny(b, ".")}
	}
	return nil
}

func (a amount) money(currency string) (price.Money, error) {
	switch {
	case a.text == "":
		return price.Money{}, nil
	case a.decimal:
		return fact.Number(json.Number(a.text), currency)
	}
	return fact.Hundredths(json.Number(a.text), currency)
}

// Read reads a product's data, in either form; address is the listing's, which
// may name a variant.
func Read(body []byte, opt watch.Options, address string) (watch.Observation, error) {
	p, err := decode(body)
	if err != nil {
		return watch.Observation{}, err
	}
	chosen, one, err := choose(p, opt, address)
	if err != nil {
		return watch.Observation{}, err
	}
	currency := statedCurrency(p, chosen)
	if currency == "" {
		currency = strings.ToUpper(opt.Currency)
	}
	if _, err := price.New("1", currency); err != nil || currency == "" {
		return watch.Observation{}, ErrNoCurrency
	}
	o := watch.Observation{Title: fact.Clip(p.Title, fact.MaxTitle), Image: image(p, address)}
	fact.Note(&o, extract.FactTitle, "title", o.Title)
	o.Availability = availability(p, chosen, one)
	fact.Note(&o, extract.FactAvailability, "variants.available", string(o.Availability))
	if one {
		v := chosen[0]
		o.SKU = fact.Clip(v.SKU, 80)
		fact.Note(&o, extract.FactSKU, "variants.sku", o.SKU)
		if v.Title != "" && v.Title != "Default Title" {
			o.Title = fact.Clip(p.Title+" – "+v.Title, fact.MaxTitle)
		}
	}
	return o, setPrice(&o, p, chosen, currency)
}

func decode(body []byte) (*product, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	var wrapped struct {
		Product json.RawMessage `json:"product"`
	}
	if err := json.Unmarshal(body, &wrapped); err != nil {
		return nil, errors.New("the answer is not a product's data: the shop may not run on Shopify, or hides it; use the source page")
	}
	if len(wrapped.Product) > 0 && string(wrapped.Product) != "null" {
		body = wrapped.Product
	}
	var p product
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, errors.New("the product's data has another form than Shopify's: use the source page")
	}
	if len(p.Variants) == 0 && p.Price.text == "" {
		return nil, errors.New("the answer states no product and no variants: use the source page")
	}
	return &p, nil
}

// choose returns the variants that count; one says that it is a certain one.
func choose(p *product, opt watch.Options, address string) (chosen []variant, one bool, err error) {
	if len(p.Variants) == 0 {
		p.Variants = []variant{{Price: p.Price, CompareAt: p.CompareAt, Available: p.Available}}
	}
	id := ""
	if u, err := url.Parse(address); err == nil {
		id = u.Query().Get("variant")
	}
	is := func(match func(*variant) bool) []variant {
		var out []variant
		for i := range p.Variants {
			if match(&p.Variants[i]) {
				out = append(out, p.Variants[i])
			}
		}
		return out
	}
	want := ""
	switch {
	case opt.SKU != "":
		want = "SKU " + opt.SKU
		chosen = is(func(v *variant) bool { return strings.EqualFold(v.SKU, opt.SKU) || v.ID.String() == opt.SKU })
	case opt.Variant != "":
		want = "variant " + opt.Variant
		chosen = is(func(v *variant) bool { return v.called(opt.Variant) })
	case id != "":
		want = "variant " + id
		chosen = is(func(v *variant) bool { return v.ID.String() == id })
	default:
		return p.Variants, len(p.Variants) == 1, nil
	}
	if len(chosen) == 0 {
		return nil, false, fmt.Errorf("there is no %.60s: the product has %s", want, names(p.Variants))
	}
	return chosen, len(chosen) == 1, nil
}

// called reports whether a variant is the one that a name means: its id, its
// title, or its options in any order, "blue/m".
func (v *variant) called(name string) bool {
	if v.ID.String() == name || strings.EqualFold(v.Title, name) || strings.EqualFold(v.Name, name) {
		return true
	}
	parts := func(s []string) []string {
		var out []string
		for _, p := range s {
			out = append(out, strings.ToLower(strings.TrimSpace(p)))
		}
		slices.Sort(out)
		return out
	}
	own := v.Options
	if len(own) == 0 {
		own = strings.Split(v.Title, "/")
	}
	return slices.Equal(parts(own), parts(strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == ',' })))
}

func names(all []variant) string {
	var out []string
	for i, v := range all {
		if i == 5 {
			out = append(out, "…")
			break
		}
		out = append(out, fmt.Sprintf("%s (%s)", fact.Clip(v.Title, 40), v.ID))
	}
	return strings.Join(out, ", ")
}

// statedCurrency is the one that the chosen variants' data names.
func statedCurrency(p *product, chosen []variant) string {
	said := ""
	for _, v := range chosen {
		c := v.Currency
		if c == "" && len(v.Presentment) == 1 {
			c = v.Presentment[0].Price.Currency
		}
		if c == "" || said != "" && said != c {
			return p.Currency
		}
		said = c
	}
	return said
}

// availability is that of the chosen variants together: it can be had if one of
// them can.
func availability(p *product, chosen []variant, one bool) watch.Availability {
	if !one && len(chosen) == len(p.Variants) && p.Available != nil {
		return fact.Availability(*p.Available)
	}
	known, missing := watch.Unknown, false
	for _, v := range chosen {
		is := v.availability()
		switch {
		case is == watch.Unknown:
			missing = true
		case known != watch.InStock:
			known = is
		}
	}
	if missing && known != watch.InStock {
		return watch.Unknown
	}
	return known
}

func (v *variant) availability() watch.Availability {
	switch {
	case v.Available != nil:
		return fact.Availability(*v.Available)
	case v.Quantity == nil:
		return watch.Unknown
	case *v.Quantity > 0:
		return watch.InStock
	case v.Policy == "continue":
		return watch.BackOrder
	case v.Policy == "deny" && v.Management != nil && *v.Management != "":
		return watch.OutOfStock
	}
	return watch.Unknown // a count that the shop does not keep
}

// setPrice takes the price of the chosen variants if they have one and the same.
func setPrice(o *watch.Observation, p *product, chosen []variant, currency string) error {
	var distinct []price.Money
	for i, v := range chosen {
		a := v.Price
		if a.text == "" {
			a = p.Price
		}
		m, err := a.money(currency)
		if err != nil {
			return fmt.Errorf("the price of variant %d cannot be read: %w", i+1, err)
		}
		same := func(d price.Money) bool { c, ok := d.Cmp(m); return ok && c == 0 }
		if !m.IsZero() && !slices.ContainsFunc(distinct, same) {
			distinct = append(distinct, m)
		}
	}
	switch len(distinct) {
	case 0:
		fact.Note(o, extract.FactNoPrice, "variants.price", "the product's data states no price")
		return nil
	case 1:
	default:
		o.Ambiguous = true
		for i, v := range chosen {
			if m, err := v.Price.money(currency); err == nil && i < 8 {
				fact.Note(o, extract.FactAmbiguous, "variants.price", v.Title+": "+m.String())
			}
		}
		return nil
	}
	fact.SetPrice(o, distinct[0], "variants.price", rule)
	setList(o, p, chosen, currency)
	return nil
}

// setList takes what stands crossed out beside the price.
func setList(o *watch.Observation, p *product, chosen []variant, currency string) {
	a := chosen[0].CompareAt
	if a.text == "" && len(chosen) == len(p.Variants) {
		a = p.CompareAt
	}
	m, err := a.money(currency)
	if c, ok := m.Cmp(o.Price); err == nil && ok && c > 0 {
		o.List = m
		fact.Note(o, extract.FactListPrice, "variants.compare_at_price", m.String())
	}
}

// image returns the address of the product's picture: a text, an object with src,
// or the first of a list of either.
func image(p *product, address string) string {
	base, err := url.Parse(address)
	if err != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{p.Image, p.Images} {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			raw = list[0]
		}
		var object struct {
			Src string `json:"src"`
		}
		var text string
		if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &object) == nil {
			text = object.Src
		}
		ref, err := url.Parse(text)
		if text == "" || err != nil {
			continue
		}
		if u := base.ResolveReference(ref); u.Scheme == "https" || u.Scheme == "http" {
			return u.String()
		}
	}
	return ""
}
