package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/watch/extract"
)

// Each candidate comes with its rule, its place, and what became of it; asking for
// them changes nothing.
func TestCandidates(t *testing.T) {
	const product = `<script type="application/ld+json">{"@type":"Product","name":"Lamp","offers":[%s]}</script><h1>Lamp</h1>`
	const eur = `{"@type":"Offer","price":"%s","priceCurrency":"EUR","availability":"InStock"}`
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"agreed", fmt.Sprintf(product, fmt.Sprintf(eur, "10.00")) + `<meta property="product:price:amount" content="10.00"><meta property="product:price:currency" content="EUR">`,
			[]string{"* json_ld price 10.00", "another rule says the same", "- meta price 10.00", "says the same as json_ld"}},
		{"contradiction", fmt.Sprintf(product, fmt.Sprintf(eur, "10.00")) + `<meta property="product:price:amount" content="11.00"><meta property="product:price:currency" content="EUR">`,
			[]string{"* json_ld price 10.00", "* json_ld availability InStock", "- meta price 11.00", "contradicts json_ld"}},
		{"several", fmt.Sprintf(product, `{"@type":"Offer","sku":"a","price":"10.00","priceCurrency":"EUR"},{"@type":"Offer","sku":"b","price":"12.00","priceCurrency":"EUR"}`),
			[]string{"- json_ld ambiguous 10.00 EUR", "- json_ld ambiguous 12.00 EUR"}},
		{"nothing", "<p>" + strings.Repeat("an article ", 50), []string{"- json_ld   : ", "- meta   : "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := extract.Page{URL: "https://shop.example/lamp", ContentType: "text/html; charset=utf-8", Body: []byte("<!doctype html><title>Lamp</title>" + c.body)}
			var all []extract.Candidate
			with, errWith := extract.Observe(extract.WithCandidates(t.Context(), &all), p)
			without, err := extract.Observe(t.Context(), p)
			if fmt.Sprint(with, errWith) != fmt.Sprint(without, err) {
				t.Errorf("asking changes the answer: %v, %v; %v, %v", with, errWith, without, err)
			}
			var got strings.Builder
			for _, k := range all {
				mark := "-"
				if k.Chosen {
					mark = "*"
				}
				_, _ = fmt.Fprintf(&got, "%s %s %s %s %s: %s\n", mark, k.Rule, k.Fact, k.Text, k.Where, k.Why)
				if k.Why == "" || k.Rule == "" || k.Fact != "" && k.Where == "" {
					t.Errorf("%+v: not said why, by whom or where", k)
				}
			}
			for _, want := range c.want {
				if !strings.Contains(got.String(), want) {
					t.Errorf("no %q in\n%s", want, got.String())
				}
			}
		})
	}
}
