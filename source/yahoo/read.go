package yahoo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lastlook/lastlook/source/internal/fact"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
	"github.com/lastlook/lastlook/watch/price"
)

const (
	currency = "JPY"
	rule     = "yahoo"
)

// hit is what the service says of an item.
type hit struct {
	Name    string      `json:"name"`
	Code    string      `json:"code"`
	InStock *bool       `json:"inStock"`
	Price   json.Number `json:"price"`
	Premium json.Number `json:"premiumPrice"`
	// IsPremium says whether premium members have a price of their own.
	IsPremium bool `json:"premiumPriceStatus"`
	Label     struct {
		Taxable *bool       `json:"taxable"`
		Fixed   json.Number `json:"fixedPrice"`
		Default json.Number `json:"defaultPrice"`
		End     json.Number `json:"periodEnd"`
	} `json:"priceLabel"`
	Point struct {
		Amount  json.Number `json:"amount"`
		Bonus   json.Number `json:"bonusAmount"`
		Premium json.Number `json:"premiumAmount"`
	} `json:"point"`
	Image struct {
		Medium string `json:"medium"`
	} `json:"image"`
}

// Read reads an answer of the service for the item of a code, "seller_item"; an
// empty code means the only one.
func Read(body []byte, code string) (watch.Observation, error) {
	var answer struct {
		Hits *[]hit `json:"hits"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &answer); err != nil || answer.Hits == nil {
		return watch.Observation{}, errors.New("the answer is not the service's JSON: it will be asked again")
	}
	h, err := choose(*answer.Hits, code)
	if err != nil {
		return watch.Observation{}, err
	}
	o := watch.Observation{Title: fact.Clip(h.Name, fact.MaxTitle), SKU: fact.Clip(h.Code, 80), Image: h.Image.Medium, Availability: watch.Unknown}
	fact.Note(&o, extract.FactTitle, "name", o.Title)
	fact.Note(&o, extract.FactSKU, "code", o.SKU)
	if h.InStock != nil {
		o.Availability = fact.Availability(*h.InStock)
		fact.Note(&o, extract.FactAvailability, "inStock", fmt.Sprint(*h.InStock))
	}
	m, err := fact.Number(h.Price, currency)
	if err != nil {
		fact.Note(&o, extract.FactNoPrice, "price", h.Price.String()+": no amount")
		return o, nil
	}
	fact.SetPrice(&o, m, "price", rule)
	h.beside(&o)
	h.points(&o)
	return o, nil
}

func choose(hits []hit, code string) (*hit, error) {
	if code == "" && len(hits) == 1 {
		return &hits[0], nil
	}
	for i := range hits {
		if strings.EqualFold(hits[i].Code, code) {
			return &hits[i], nil
		}
	}
	return nil, fmt.Errorf("the search lists %d items, and none of the code %.80q: check the code; an item that is not listed may still be there", len(hits), code)
}

// beside adds the amounts that stand beside the price and are not it.
func (h *hit) beside(o *watch.Observation) {
	if h.Label.Taxable != nil {
		if o.Tax = price.TaxExcluded; *h.Label.Taxable {
			o.Tax = price.TaxIncluded
		}
		fact.Note(o, extract.FactTaxIncluded, "priceLabel.taxable", fmt.Sprint(*h.Label.Taxable))
	}
	for _, l := range []struct {
		n     json.Number
		where string
	}{{h.Label.Fixed, "priceLabel.fixedPrice"}, {h.Label.Default, "priceLabel.defaultPrice"}} {
		m, err := fact.Number(l.n, currency)
		if c, ok := m.Cmp(o.Price); err == nil && ok && c > 0 && o.List.IsZero() {
			o.List = m
			fact.Note(o, extract.FactListPrice, l.where, m.String())
		}
	}
	if m, err := fact.Number(h.Premium, currency); err == nil && h.IsPremium {
		fact.Note(o, extract.FactMemberPrice, "premiumPrice", m.String())
	}
	if end, err := h.Label.End.Int64(); err == nil && end > 0 && end < 1<<40 {
		o.ValidUntil = time.Unix(end, 0).UTC()
	}
}

func (h *hit) points(o *watch.Observation) {
	if o.Price.IsZero() {
		return
	}
	amount := func(n json.Number) price.Money {
		m, err := fact.Number(n, currency)
		if err != nil || !m.Positive() {
			return price.Money{}
		}
		return m
	}
	if m := amount(h.Point.Amount); !m.IsZero() {
		o.Points = append(o.Points, watch.Points{Amount: m})
		fact.Note(o, "points", "point.amount", m.Amount().String())
	}
	for _, n := range []json.Number{h.Point.Bonus, h.Point.Premium} {
		if m := amount(n); !m.IsZero() {
			o.Points = append(o.Points, watch.Points{Amount: m, Conditional: true})
		}
	}
}
