package rakuten

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/source/internal/fact"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
	"github.com/lastlook/lastlook/watch/price"
)

const (
	currency = "JPY"
	rule     = "rakuten"
)

// item is what the service says of one. Its flags are numbers, or texts in some
// answers.
type item struct {
	Name        string          `json:"itemName"`
	Code        string          `json:"itemCode"`
	URL         string          `json:"itemUrl"`
	Price       number          `json:"itemPrice"`
	Available   number          `json:"availability"`
	TaxFlag     number          `json:"taxFlag"`
	PostageFlag number          `json:"postageFlag"`
	PointRate   number          `json:"pointRate"`
	PointFrom   string          `json:"pointRateStartTime"`
	PointTo     string          `json:"pointRateEndTime"`
	EndTime     string          `json:"endTime"`
	Images      json.RawMessage `json:"mediumImageUrls"`
}

// number is a JSON number, or a text that holds one; "" for null.
type number string

// UnmarshalJSON implements [json.Unmarshaler].
func (n *number) UnmarshalJSON(b []byte) error {
	*n = number(strings.Trim(string(b), `"`))
	if *n == "null" {
		*n = ""
	}
	return nil
}

// Read reads an answer of the service. The item is the one of the code in the
// options' SKU or of the address, or the only one.
func Read(body []byte, opt watch.Options, address string, now time.Time) (watch.Observation, error) {
	items, err := decode(body)
	if err != nil {
		return watch.Observation{}, err
	}
	it, err := choose(items, opt, address)
	if err != nil {
		return watch.Observation{}, err
	}
	o := watch.Observation{Title: fact.Clip(it.Name, fact.MaxTitle), SKU: it.Code, Image: it.image(), Availability: watch.Unknown}
	fact.Note(&o, extract.FactTitle, "itemName", o.Title)
	fact.Note(&o, extract.FactSKU, "itemCode", it.Code)
	switch it.Available {
	case "1":
		o.Availability = watch.InStock
	case "0":
		o.Availability = watch.OutOfStock
	}
	fact.Note(&o, extract.FactAvailability, "availability", string(it.Available))
	m, err := fact.Number(json.Number(it.Price), currency)
	if err != nil {
		fact.Note(&o, extract.FactNoPrice, "itemPrice", string(it.Price)+": no amount")
		return o, nil
	}
	fact.SetPrice(&o, m, "itemPrice", rule)
	switch it.TaxFlag {
	case "0":
		o.Tax = price.TaxIncluded
		fact.Note(&o, extract.FactTaxIncluded, "taxFlag", "true")
	case "1":
		o.Tax = price.TaxExcluded
		fact.Note(&o, extract.FactTaxIncluded, "taxFlag", "false")
	}
	switch it.PostageFlag {
	case "0":
		fact.Note(&o, "postage_included", "postageFlag", "true")
	case "1":
		fact.Note(&o, "postage_included", "postageFlag", "false")
	}
	it.points(&o, now)
	if t, ok := japan(it.EndTime); ok {
		o.ValidUntil = t
	}
	return o, nil
}

// points adds what everybody gets back: one percent, or pointRate percent while
// the shop gives more. A rate whose time is over, or has not come, is the usual
// one.
func (it *item) points(o *watch.Observation, now time.Time) {
	rate, err := decimal.Parse(string(it.PointRate))
	if err != nil || !rate.IsPos() || o.Price.IsZero() {
		return
	}
	from, hasFrom := japan(it.PointFrom)
	to, hasTo := japan(it.PointTo)
	if hasFrom && now.Before(from) || hasTo && now.After(to) {
		rate = decimal.One
	}
	percent := decimal.MustNew(1, 2)
	if rate, err = rate.Mul(percent); err != nil || rate.Cmp(decimal.One) >= 0 {
		return
	}
	o.Points = append(o.Points, watch.Points{Rate: rate.Trim(0)})
	fact.Note(o, "points", "pointRate", rate.Trim(0).String()+" of the price")
}

// japan reads a time of day as the service writes it, in Japan's zone.
func japan(s string) (time.Time, bool) {
	t, err := time.ParseInLocation("2006-01-02 15:04", s, time.FixedZone("JST", 9*60*60))
	return t.UTC(), err == nil
}

// decode reads both versions of the service's form: items wrapped in an object
// each, or not.
func decode(body []byte) ([]item, error) {
	var answer struct {
		Upper []json.RawMessage `json:"Items"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &answer); err != nil {
		return nil, errors.New("the answer is not the service's JSON: it will be asked again")
	}
	var out []item
	for i, raw := range answer.Upper {
		var wrapped struct {
			Item json.RawMessage `json:"Item"`
		}
		if err := json.Unmarshal(raw, &wrapped); err == nil && len(wrapped.Item) > 0 {
			raw = wrapped.Item
		}
		var it item
		if err := json.Unmarshal(raw, &it); err != nil {
			return nil, fmt.Errorf("item %d of the answer has another form than the service's", i+1)
		}
		out = append(out, it)
	}
	if answer.Upper == nil {
		return nil, errors.New("the answer has no list of items: it is not the service's")
	}
	return out, nil
}

func choose(items []item, opt watch.Options, address string) (*item, error) {
	code := opt.SKU
	if code != "" && strings.Contains(code, ":") {
		for i := range items {
			if items[i].Code == code {
				return &items[i], nil
			}
		}
		if len(items) == 0 {
			// The service was asked for this code alone.
			return nil, fmt.Errorf("%w: the service knows no item %.60q", watch.ErrMissing, code)
		}
		return nil, fmt.Errorf("the service answered with other items than %.60q", code)
	}
	if shop, name := split(address); name != "" {
		for i := range items {
			if s, n := split(items[i].link()); s == shop && n == name {
				return &items[i], nil
			}
		}
		return nil, errors.New("the service does not list the item of this address: name its code, such as shop:10000001, as SKU")
	}
	if len(items) == 1 {
		return &items[0], nil
	}
	return nil, fmt.Errorf("the answer has %d items: name one's code, such as shop:10000001, as SKU", len(items))
}

// link returns the item's own address, which may be wrapped in an affiliate's.
func (it *item) link() string {
	u, err := url.Parse(it.URL)
	if err != nil {
		return ""
	}
	if inner := u.Query().Get("pc"); strings.HasPrefix(inner, "http") {
		return inner
	}
	return it.URL
}

func (it *item) image() string {
	var texts []string
	if json.Unmarshal(it.Images, &texts) == nil && len(texts) > 0 {
		return texts[0]
	}
	var objects []struct {
		URL string `json:"imageUrl"`
	}
	if json.Unmarshal(it.Images, &objects) == nil && len(objects) > 0 {
		return objects[0].URL
	}
	return ""
}
