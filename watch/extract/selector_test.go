package extract_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// TestValidateSelector: what is saved can be used, and what cannot says why.
func TestValidateSelector(t *testing.T) {
	for _, s := range []string{
		"", ".price", "#p > b", "span[data-test='price']", "meta[itemprop=price]", ".a, .b", "div:has(.x) .price", "//b", "/html/body//span[@class='p']/text()",
		"(//b)[1]", "//meta[@name='p']/@content", "//div[contains(concat(' ',normalize-space(@class),' '),' price ')]", "  .price ",
	} {
		if err := extract.ValidateSelector(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for s, says := range map[string]string{
		".": "no CSS selector", "b[": "no CSS selector", "<b>": "no CSS selector", "b:unknown(x)": "no CSS selector", "//b[": "no XPath", "//b[foo()]": "no XPath", "/": "", "//": "no XPath",
		".a\n.b": "several lines", strings.Repeat("b ", 400): "the limit is 500", "//a//b//c//d//e": "5 times", "a:has(b):has(c):has(d):has(e):has(f)": "5 times", "b\x00": "several lines",
	} {
		err := extract.ValidateSelector(s)
		if says == "" {
			continue
		}
		if !errors.Is(err, extract.ErrSelector) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want an error that says %q", s, err, says)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("several lines: %q", err)
		}
	}
	err := extract.ValidateOptions(watch.Options{PriceSelector: ".p", StockSelector: "b["})
	if !errors.Is(err, extract.ErrSelector) || !strings.Contains(err.Error(), "the stock's selector") {
		t.Error(err)
	}
	if err := extract.ValidateOptions(watch.Options{PriceSelector: "//b", StockSelector: ".s"}); err != nil {
		t.Error(err)
	}
}

// TestSelectorErrors: a selector that finds nothing any more is an error that says
// so, and never another price; unless the page says that the thing is sold out.
func TestSelectorErrors(t *testing.T) {
	price := `{"@type":"Product","name":"Tee","offers":{"price":5,"priceCurrency":"EUR","availability":"InStock"}}`
	look := func(page, selector string) (watch.Observation, error) {
		return extract.Observe(t.Context(), extract.Page{URL: "https://shop.example/p", Body: []byte(page), Hint: extract.Hint{PriceSelector: selector}})
	}
	if o, err := look(ld(price), ".gone"); !errors.Is(err, extract.ErrSelector) || !strings.Contains(err.Error(), `".gone"`) || !o.Price.IsZero() {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := look(ld(price), "b["); !errors.Is(err, extract.ErrSelector) {
		t.Error(err)
	}
	if o, err := look(ld(strings.Replace(price, "InStock", "SoldOut", 1)), ".gone"); err != nil || o.Availability != watch.OutOfStock || !o.Price.IsZero() {
		t.Errorf("%+v, %v", o, err)
	}
	o, err := look(ld(price), "h1")
	if err != nil || !o.Price.IsZero() || o.Rule != "" {
		t.Errorf("a heading is no price: %+v, %v", o, err)
	}
}

// TestRules: what decided is named, and whether another rule agrees.
func TestRules(t *testing.T) {
	json := `{"@type":"Product","name":"Tee","offers":{"price":"5.00","priceCurrency":"EUR"}}`
	body := func(s, page string) string { return strings.Replace(page, "</h1>", "</h1>"+s, 1) }
	const micro = `<div itemscope itemtype="http://schema.org/Product"><b itemprop="name">Tee</b><i itemprop="offers" itemscope itemtype="http://schema.org/Offer"><meta itemprop="price" content="5"><meta itemprop="priceCurrency" content="EUR"></i></div>`
	const meta = `<meta property="product:price:amount" content="5.00"><meta property="product:price:currency" content="EUR">`
	for _, c := range []struct {
		name, page, selector, rule string
		agreed                     bool
		contradicts                string
	}{
		{"alone", ld(json), "", extract.RuleJSONLD, false, ""},
		{"with microdata", body(micro, ld(json)), "", extract.RuleJSONLD, true, ""},
		{"microdata alone", body(micro, ld()), "", extract.RuleMicrodata, false, ""},
		{"with meta", body(meta, ld(json)), "", extract.RuleJSONLD, true, ""},
		{"meta alone", body(meta, ld()), "", extract.RuleMeta, false, ""},
		{"with what people see", body(`<p class=price>5,00 €</p>`, ld(json)), "", extract.RuleJSONLD, true, ""},
		{"what people see", body(`<p class=price>5,00 €</p>`, ld()), "", extract.RuleVisible, false, ""},
		{"another price is seen", body(`<p class=price>6,00 €</p>`, ld(json)), "", extract.RuleJSONLD, false, "6.00 EUR"},
		{"two of three", body(meta+`<p class=price>6,00 €</p>`, ld(json)), "", extract.RuleJSONLD, true, "6.00 EUR"},
		{"the user's, and another", body(`<p class=x>6,00 €</p>`, ld(json)), ".x", extract.RuleSelector, false, "5.00 EUR"},
		{"the user's, and the same", body(`<p class=x>5,00 €</p>`, ld(json)), ".x", extract.RuleSelector, true, ""},
	} {
		o, err := extract.Observe(t.Context(), extract.Page{URL: "https://shop.example/p", Body: []byte(c.page), Hint: extract.Hint{PriceSelector: c.selector}})
		if err != nil || o.Rule != c.rule || o.Agreed != c.agreed || fact(o, extract.FactContradiction) != c.contradicts {
			t.Errorf("%s: rule %q, agreed %v, contradiction %q, %v\n%+v", c.name, o.Rule, o.Agreed, fact(o, extract.FactContradiction), err, o)
		}
	}
}

// TestTerms: what is stated beside the price is filled in.
func TestTerms(t *testing.T) {
	o, err := extract.Observe(t.Context(), extract.Page{URL: "https://shop.example/p", Body: []byte(ld(`{"@type":"Product","name":"Oil","offers":{"priceCurrency":"EUR","priceValidUntil":"2026-12-31","priceSpecification":[
		{"price":"6.00","valueAddedTaxIncluded":true,"referenceQuantity":{"value":750,"unitCode":"MLT","valueReference":{"value":1,"unitCode":"LTR"}}},
		{"price":"9.00","priceType":"https://schema.org/ListPrice"},
		{"price":"0.80","referenceQuantity":{"value":100,"unitCode":"MLT"}}]}}`))})
	if err != nil || o.Price.String() != "6.00 EUR" || o.List.String() != "9.00 EUR" || o.Tax != "included" || o.Unit.Per != "l" || o.Unit.Price.String() != "8.00 EUR" ||
		o.Quantity.Unit != "l" || o.Quantity.Amount.String() != "0.75" || o.ValidUntil.Format("2006-01-02T15") != "2027-01-01T00" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, name := range []string{extract.FactValidUntil, extract.FactQuantity, extract.FactListPrice, extract.FactUnitPrice, extract.FactTaxIncluded} {
		if fact(o, name) == "" {
			t.Errorf("no evidence of %s: %+v", name, o.Evidence)
		}
	}
}
