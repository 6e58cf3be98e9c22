package extract_test

import (
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/width"
	"pgregory.net/rapid"

	"github.com/lastlook/lastlook/internal/cputest"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
	"github.com/lastlook/lastlook/watch/price"
)

var unicodeEscape = regexp.MustCompile(`\\u[0-9a-fA-F]{4}`)

// plain is what a page's source says, whatever it is escaped for.
func plain(source string) string {
	s := strings.ReplaceAll(html.UnescapeString(source), "\\\n", "")
	s = unicodeEscape.ReplaceAllStringFunc(s, func(e string) string {
		u, _ := strconv.ParseUint(e[2:], 16, 16)
		return string(rune(u))
	})
	return strings.Join(strings.Fields(strings.ReplaceAll(s, `\`, "")), " ")
}

// signs are what stands for a currency beside its code.
var signs = map[string]string{
	"EUR": "€ euro", "USD": "$ us", "GBP": "£ pound", "JPY": "¥ ￥ 円", "CNY": "¥ ￥ 元 rmb", "SEK": "kr :-", "NOK": "kr", "DKK": "kr", "ISK": "kr", "PLN": "zł", "CZK": "kč", "HUF": "ft", "RON": "lei", "TRY": "₺ tl", "INR": "₹ rs",
	"KRW": "₩ 원", "RUB": "₽ руб", "UAH": "₴ грн", "BRL": "r$", "CHF": "fr sfr", "TWD": "$", "CAD": "$", "AUD": "$", "NZD": "$", "HKD": "$", "SGD": "$", "MXN": "$", "VND": "₫ đ", "THB": "฿ บาท", "ILS": "₪", "PHP": "₱", "NGN": "₦",
}

// digits are all that stand in a text, in one row; fractions without the zeros that
// end them.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, width.Narrow.String(arabic.Replace(s)))
}

var arabic = strings.NewReplacer("٠", "0", "١", "1", "٢", "2", "٣", "3", "٤", "4", "٥", "5", "٦", "6", "٧", "7", "٨", "8", "٩", "9",
	"۰", "0", "۱", "1", "۲", "2", "۳", "3", "۴", "4", "۵", "5", "۶", "6", "۷", "7", "۸", "8", "۹", "9",
	"०", "0", "१", "1", "२", "2", "३", "3", "४", "4", "५", "5", "६", "6", "७", "7", "८", "8", "९", "9")

// checkStands fails if an amount does not stand in the page, digit by digit, or
// neither the page nor the watch names its currency.
func checkStands(t interface{ Fatalf(string, ...any) }, source, hint string, o watch.Observation) {
	page := plain(source)
	if o.Price.IsZero() && !o.High.IsZero() {
		t.Fatalf("no price, but the end of a range, %s:\n%s", o.High, source)
	}
	for name, m := range map[string]price.Money{extract.FactPrice: o.Price, extract.FactHigh: o.High, extract.FactListPrice: o.List} {
		if m.IsZero() {
			continue
		}
		want := strings.TrimLeft(digits(m.Amount().Trim(0).String()), "0")
		stated, err := price.Machine(fact(o, name), m.Currency())
		if c, ok := stated.Cmp(m); !strings.Contains(digits(page), want) && (err != nil || !ok || c != 0) {
			t.Fatalf("the %s %s does not stand in the page:\n%s\n%+v", name, m, source, o.Evidence)
		}
		lower := strings.ToLower(page)
		named := strings.EqualFold(hint, m.Currency()) || strings.Contains(lower, strings.ToLower(m.Currency()))
		for sign := range strings.FieldsSeq(signs[m.Currency()]) {
			named = named || strings.Contains(lower, sign)
		}
		if _, known := signs[m.Currency()]; known && !named {
			t.Fatalf("nobody names the currency of the %s %s:\n%s\n%+v", name, m, source, o.Evidence)
		}
		if fact(o, name) == "" {
			t.Fatalf("the %s %s has no evidence: %+v", name, m, o.Evidence)
		}
	}
}

// TestDecoys builds pages of one product with one price, in a random shape, and
// puts other prices everywhere around it. Only the product's may come out, or
// none; and none if its offers contradict each other.
func TestDecoys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string, s ...string) string { return rapid.SampledFrom(s).Draw(t, name) }
		next := 100
		decoy := func() string { // a price that must not come out
			next++
			return fmt.Sprintf(`{"@type":"Offer","price":"%d.00","priceCurrency":"EUR","availability":"InStock"}`, next)
		}
		amount := fmt.Sprintf("%d.%02d", rapid.IntRange(1, 99).Draw(t, "whole"), rapid.IntRange(0, 99).Draw(t, "cents"))
		second := rapid.IntRange(0, 4).Draw(t, "second") == 0
		stated := pick("amount", `"`+amount+`"`, amount, `{"@value":"`+amount+`"}`, `["`+amount+`"]`)
		offer := pick("offer", `{"@type":"Offer","price":%s,"priceCurrency":"EUR"}`, `[{"price":%s,"priceCurrency":"EUR",},]`,
			`[[{"@type":"http://schema.org/Offer","price":%s,"priceCurrency":"eur"}]]`, `{"@type":"AggregateOffer","lowPrice":%s,"priceCurrency":"EUR"}`,
			`{"priceSpecification":[{"price":"9999","priceCurrency":"EUR","priceType":"ListPrice"},{"price":%s,"priceCurrency":"EUR"}]}`,
			`{"@type":"AggregateOffer","priceCurrency":"EUR","offers":[{"price":%s}]}`)
		offer = fmt.Sprintf(offer, stated)
		if second {
			offer = "[" + offer + "," + decoy() + "]"
		}
		var product strings.Builder
		product.WriteString(`{"@type":"Product","name":"The thing","offers":` + offer)
		for range rapid.IntRange(0, 3).Draw(t, "inside") {
			product.WriteString(`,"` + pick("relation", "isRelatedTo", "isSimilarTo", "isAccessoryOrSparePartFor", "subjectOf", "hasPart", "additionalProperty") +
				`":{"@type":"Product","name":"Other","offers":` + decoy() + `}`)
		}
		product.WriteString("}")
		block := fmt.Sprintf(pick("block", `%s`, `[%s]`, `{"@context":"https://schema.org","@graph":[%s]}`, `<!-- %s -->`,
			`{"@type":"ItemPage","mainEntity":%s}`, "/*<![CDATA[*/%s/*]]>*/", `{"@type":"Organization"}%s`), product.String())
		blocks := []string{block}
		for range rapid.IntRange(0, 3).Draw(t, "beside") {
			b := fmt.Sprintf(pick("other", `{"@type":"ItemList","itemListElement":[{"@type":"ListItem","item":{"@type":"Product","name":"Listed","offers":%s}}]}`,
				`{"@type":"Review","itemReviewed":{"@type":"Product","offers":%s}}`, `{"@type":"Organization","makesOffer":%s}`,
				`{"broken": %s, "x": {{y}}}`, `{"@type":"FAQPage","mainEntity":[{"@type":"Question","about":%s}]}`), decoy())
			at := rapid.IntRange(0, len(blocks)).Draw(t, "at")
			blocks = append(blocks[:at], append([]string{b}, blocks[at:]...)...)
		}
		page := ld(blocks...)
		o, err := extract.Observe(t.Context(), extract.Page{URL: "https://shop.example/p", Body: []byte(page)})
		want := amount + " EUR"
		if second {
			want = ""
		}
		if err != nil || o.Price.String() != want {
			t.Fatalf("got %q (%v), want %q\n%s\n%+v", o.Price, err, want, page, o.Evidence)
		}
		checkStands(t, page, "", o)
	})
}

func FuzzObserve(f *testing.F) {
	for _, c := range append(corpus(f, corpora[0]), corpus(f, corpora[1])...) {
		f.Add([]byte(c.Input), "text/html; charset=utf-8", c.Ctx.URL)
	}
	files, err := filepath.Glob("testdata/pages/*.html")
	if err != nil || len(files) == 0 {
		f.Fatal("no pages", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, "text/html", "https://fernhill.example/products/merino-crew-tee?variant=403")
	}
	f.Add([]byte("\xfe\xff\x00<"), "text/html; charset=utf-16", "::")
	f.Fuzz(func(t *testing.T, body []byte, contentType, url string) {
		var d *extract.Document
		var o watch.Observation
		var err error
		cputest.Within(t, len(body), func() {
			if d, err = extract.Parse(t.Context(), extract.Page{URL: url, ContentType: contentType, Body: body, Hint: extract.Hint{Currency: "EUR", SKU: "A"}}); err == nil {
				o, err = d.Product(t.Context())
			}
		})
		if d == nil {
			return
		}
		if err != nil {
			if _, ok := errors.AsType[*extract.NoOfferError](err); !ok && !errors.Is(err, extract.ErrNotProduct) {
				t.Errorf("an error of no kind: %v", err)
			}
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		checkStands(t, d.HTML(), "EUR", o)
		hasEvidence(t, o)
	})
}
