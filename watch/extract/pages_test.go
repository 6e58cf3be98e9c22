package extract_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// observe reads a page of testdata.
func observe(t *testing.T, file, url, contentType string) (watch.Observation, error) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "pages", file))
	if err != nil {
		t.Fatal(err)
	}
	return extract.Observe(t.Context(), extract.Page{URL: url, ContentType: contentType, Body: body})
}

// line writes an observation in one line: what the tables compare.
func line(o watch.Observation) string {
	return fmt.Sprintf("%s|%s|%s|%s", o.Price, o.Availability, o.Title, o.SKU)
}

func TestPages(t *testing.T) {
	for _, c := range []struct {
		file, url, contentType string
		want                   string
		facts                  map[string]string
	}{
		{"woocommerce.html", "https://leuchtenhaus.example/produkt/schreibtischlampe-nord/?utm_source=x", "text/html; charset=UTF-8",
			"36.00 EUR|in_stock|Schreibtischlampe „Nord“|LN-812", map[string]string{"list_price": "45.00", "tax_included": "true",
				"image": "https://leuchtenhaus.example/wp-content/uploads/nord.jpg", "url": "https://leuchtenhaus.example/produkt/schreibtischlampe-nord/"}},
		{"shopify-group.html", "https://www.fernhill.example/products/merino-crew-tee?variant=403&gclid=abc", "text/html",
			"129.00 NZD|in_stock|Merino Crew Tee - XXL / Black|MCT-XXL-BLK", nil},
		{"shopify-group.html", "https://fernhill.example/collections/tops/products/merino-crew-tee?variant=401", "text/html",
			"119.00 NZD|out_of_stock|Merino Crew Tee - S / Black|MCT-S-BLK", nil},
		// Nothing chooses between two prices; it can be had, whichever is meant, or not.
		{"shopify-group.html", "https://fernhill.example/products/merino-crew-tee", "text/html",
			"|unknown|Merino Crew Tee|", map[string]string{"ambiguous": "119.00 NZD"}},
		// A variant that is not there any more is none of the others.
		{"shopify-group.html", "https://fernhill.example/products/merino-crew-tee?variant=499", "text/html",
			"|unknown|Merino Crew Tee|", map[string]string{"ambiguous": "119.00 NZD: another variant than the one asked for"}},
		{"marketplace.html", "https://prixclair.example/aria3", "text/html; charset=utf-8",
			"179.99 EUR|in_stock|Casque audio Aria 3|3701234567890", map[string]string{"high": "249,00", "image": "https://prixclair.example/img/aria3.webp"}},
		{"shift-jis.html", "https://yamamoto.example/km55", "text/html",
			"29800 JPY|in_stock|炊飯器 極 5.5合 ブラック|KM-55", map[string]string{"price": "29,800"}},
		{"claims-latin1-is-utf8.html", "https://penon.example/otono", "text/html; charset=iso-8859-1",
			"349.00 EUR|limited|Sillón «Otoño»|OTO-1", nil},
		{"claims-utf8-is-latin1.html", "https://penon.example/otono", "text/html; charset=utf-8",
			"349.00 EUR|limited|Sillón «Otoño»|OTO-1", nil},
		{"magento-broken.html", "https://screenworks.example/27c", "text/html",
			`1299.00 AUD|preorder|27" Curved Monitor|SW-27C`, map[string]string{"price": "1,299.00", "image": "https://screenworks.example/m/27c.jpg"}},
		{"related-first.html", "https://outpost.example/trail-shoe-4-mens", "text/html",
			"95.00 GBP|out_of_stock|Trail Shoe 4 Men's|TS4-M", nil},
		{"related-first.html", "https://outpost.example/moved", "text/html", // by its heading
			"95.00 GBP|out_of_stock|Trail Shoe 4 Men's|TS4-M", nil},
	} {
		t.Run(c.file+" "+c.url, func(t *testing.T) {
			o, err := observe(t, c.file, c.url, c.contentType)
			if err != nil {
				t.Fatal(err)
			}
			if got := line(o); got != c.want {
				t.Errorf("got  %s\nwant %s\nevidence %+v", got, c.want, o.Evidence)
			}
			for name, want := range c.facts {
				if got := fact(o, name); got != want {
					t.Errorf("%s: %q, want %q\nevidence %+v", name, got, want, o.Evidence)
				}
			}
			hasEvidence(t, o)
		})
	}
}

// hasEvidence fails if a fact stands without the place where it was read.
func hasEvidence(t testing.TB, o watch.Observation) {
	t.Helper()
	for name, there := range map[string]bool{
		extract.FactPrice: !o.Price.IsZero(), extract.FactCurrency: !o.Price.IsZero(),
		extract.FactAvailability: o.Availability != watch.Unknown, extract.FactTitle: o.Title != "" && fact(o, extract.FactAmbiguous) == "",
		extract.FactImage: o.Image != "", extract.FactSKU: o.SKU != "",
	} {
		if there && fact(o, name) == "" {
			t.Errorf("%s has no evidence: %+v", name, o)
		}
	}
	for _, e := range o.Evidence {
		if e.Where == "" || e.Text == "" || len([]rune(e.Text)) > 80 || len([]rune(e.Where)) > 160 || strings.ContainsAny(e.Where+e.Text, "\n\r") {
			t.Errorf("evidence that is none: %+v", e)
		}
	}
}

func TestPagesWithoutAProduct(t *testing.T) {
	for _, c := range []struct {
		file, url string
		reason    extract.Reason
		says      []string
	}{
		{"category.html", "https://kitchenry.example/kettles", extract.ListingPage, []string{"3 products", "watch the address of one of them"}},
		{"article.html", "https://boil.example/kettles", extract.NoProduct,
			[]string{"looked for a JSON-LD Product", "NewsArticle, BreadcrumbList", "block 2 at byte", "not readable"}},
	} {
		_, err := observe(t, c.file, c.url, "text/html")
		n, ok := errors.AsType[*extract.NotProductError](err)
		if !ok || n.Reason != c.reason || !errors.Is(err, extract.ErrNotProduct) {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q does not say %q", c.file, err, s)
			}
		}
	}
	_, err := observe(t, "no-offer.html", "https://a.example/chair", "text/html")
	if n, ok := errors.AsType[*extract.NoOfferError](err); !ok || n.Title != "Chair" || !strings.Contains(err.Error(), "neither price nor availability") {
		t.Error(err)
	}
}

// ld makes a page of JSON-LD blocks.
func ld(blocks ...string) string {
	var b strings.Builder
	b.WriteString("<!doctype html><html><head><title>Page</title>")
	for _, s := range blocks {
		b.WriteString(`<script type="application/ld+json">` + s + "</script>\n")
	}
	return b.String() + "</head><body><h1>Heading</h1></body></html>"
}

// TestOffers goes through what offers can state, each in the smallest page.
func TestOffers(t *testing.T) {
	const url = "https://shop.example/p/tee?v=2"
	offer := func(s string) string { return ld(`{"@type":"Product","name":"Tee","offers":` + s + `}`) }
	for _, c := range []struct {
		name, page, want string
		hint             extract.Hint
	}{
		{"no currency", offer(`{"price":"5"}`), "|unknown|Tee|", extract.Hint{}},
		{"no currency, but the watch has one", offer(`{"price":"5"}`), "5.00 EUR|unknown|Tee|", extract.Hint{Currency: "EUR"}},
		{"a symbol for a code", offer(`{"price":"5","priceCurrency":"€"}`), "5.00 EUR|unknown|Tee|", extract.Hint{}},
		{"a symbol in the price", offer(`{"price":"€5","priceCurrency":"EUR"}`), "5.00 EUR|unknown|Tee|", extract.Hint{}},
		{"grouped like thousands", offer(`{"price":"1.299","priceCurrency":"EUR"}`), "|unknown|Tee|", extract.Hint{}},
		{"negative", offer(`{"price":"-5","priceCurrency":"EUR","availability":"InStock"}`), "|in_stock|Tee|", extract.Hint{}},
		{"free", offer(`{"price":0,"priceCurrency":"EUR","availability":"InStock"}`), "0.00 EUR|in_stock|Tee|", extract.Hint{}},
		{"0 for no price", offer(`{"price":0,"priceCurrency":"EUR"}`), "|unknown|Tee|", extract.Hint{}},
		{"two prices", offer(`[{"price":5,"priceCurrency":"EUR"},{"price":6,"priceCurrency":"EUR"}]`), "|unknown|Tee|", extract.Hint{}},
		{"two prices in one property", offer(`{"price":["5","6"],"priceCurrency":"EUR"}`), "|unknown|Tee|", extract.Hint{}},
		{"the same price twice", offer(`[{"price":5,"priceCurrency":"EUR"},{"price":"5.00","priceCurrency":"eur"}]`), "5.00 EUR|unknown|Tee|", extract.Hint{}},
		{"once without currency", offer(`[{"price":5},{"price":"5.00","priceCurrency":"eur"}]`), "5.00 EUR|unknown|Tee|", extract.Hint{}},
		{"another without currency", offer(`[{"price":4},{"price":"5.00","priceCurrency":"eur"}]`), "|unknown|Tee|", extract.Hint{}},
		{"one not readable", offer(`[{"price":"5","priceCurrency":"EUR"},{"price":"call us","priceCurrency":"EUR"}]`), "|unknown|Tee|", extract.Hint{}},
		{"two currencies", offer(`[{"price":5,"priceCurrency":"EUR"},{"price":6,"priceCurrency":"USD"}]`), "|unknown|Tee|", extract.Hint{}},
		{"two currencies, one the watch's", offer(`[{"price":5,"priceCurrency":"EUR"},{"price":6,"priceCurrency":"USD"}]`), "6.00 USD|unknown|Tee|", extract.Hint{Currency: "usd"}},
		{"one currency, not the watch's", offer(`{"price":5,"priceCurrency":"EUR"}`), "5.00 EUR|unknown|Tee|", extract.Hint{Currency: "USD"}},
		{"the watch's SKU", offer(`[{"sku":"A","price":5,"priceCurrency":"EUR"},{"sku":"B","name":"Tee B","price":6,"priceCurrency":"EUR"}]`), "6.00 EUR|unknown|Tee B|B", extract.Hint{SKU: "b"}},
		{"value objects", offer(`{"price":{"@value":"5.10"},"priceCurrency":{"@value":"EUR"},"availability":{"@id":"schema:InStock"}}`), "5.10 EUR|in_stock|Tee|", extract.Hint{}},
		{"full IRIs", ld(`{"@type":"http://schema.org/Product","http://schema.org/name":"Tee","https://schema.org/offers":{"@type":"https://schema.org/Offer","schema:price":5,"schema:priceCurrency":"EUR"}}`), "5.00 EUR|unknown|Tee|", extract.Hint{}},
		{"only used ones", offer(`{"price":5,"priceCurrency":"EUR","itemCondition":"RefurbishedCondition"}`), "5.00 EUR|unknown|Tee|", extract.Hint{}},
		{"to rent", offer(`{"price":5,"priceCurrency":"EUR","businessFunction":"http://purl.org/goodrelations/v1#LeaseOut"}`), "|unknown|Tee|", extract.Hint{}},
		{"wanted", offer(`{"@type":"Demand","price":5,"priceCurrency":"EUR"}`), "|unknown|Tee|", extract.Hint{}},

		{"range", offer(`{"@type":"AggregateOffer","lowPrice":5,"highPrice":9,"priceCurrency":"EUR"}`), "5.00 EUR|unknown|Tee|", extract.Hint{}},
		{"no low end", offer(`{"@type":"AggregateOffer","highPrice":9,"priceCurrency":"EUR"}`), "|unknown|Tee|", extract.Hint{}},
		{"the cheapest is used", offer(`{"@type":"AggregateOffer","lowPrice":5,"priceCurrency":"EUR","offers":[{"price":5,"itemCondition":"UsedCondition"},{"price":9},{"price":8}]}`), "8.00 EUR|unknown|Tee|", extract.Hint{}},
		{"parts only", offer(`{"@type":"AggregateOffer","priceCurrency":"EUR","offers":[{"price":7},{"price":9},{"price":8}]}`), "7.00 EUR|unknown|Tee|", extract.Hint{}},
		{"parts in two currencies", offer(`{"@type":"AggregateOffer","offers":[{"price":7,"priceCurrency":"EUR"},{"price":9,"priceCurrency":"USD"}]}`), "|unknown|Tee|", extract.Hint{}},
		{"a price beside its range", offer(`{"@type":"AggregateOffer","price":6,"lowPrice":5,"priceCurrency":"EUR"}`), "|unknown|Tee|", extract.Hint{}},
		{"the range is of all variants", offer(`{"@type":"AggregateOffer","lowPrice":5,"priceCurrency":"EUR","offers":[{"url":"?v=1","price":5},{"url":"?v=2","price":6}]}`), "6.00 EUR|unknown|Tee|", extract.Hint{}},
		{"the range contradicts the offer", offer(`[{"@type":"AggregateOffer","lowPrice":5,"priceCurrency":"EUR"},{"url":"?v=2","price":6,"priceCurrency":"EUR"}]`), "|unknown|Tee|", extract.Hint{}},

		{"specifications that are no price", offer(`{"priceCurrency":"EUR","priceSpecification":[
			{"price":1,"priceType":"https://schema.org/MSRP"},{"price":2,"priceType":"InvoicePrice"},{"price":3,"validForMemberTier":{"name":"Plus"}},
			{"@type":"DeliveryChargeSpecification","price":4},{"price":5,"billingDuration":12},{"price":6,"referenceQuantity":{"value":1,"unitCode":"KGM"}},
			{"price":7,"eligibleQuantity":{"minValue":10}},{"price":8,"priceType":"SalePrice"}]}`), "8.00 EUR|unknown|Tee|", extract.Hint{}},
		{"only a unit price", offer(`{"priceCurrency":"EUR","priceSpecification":{"price":6,"referenceQuantity":{"value":1,"unitCode":"KGM"}}}`), "|unknown|Tee|", extract.Hint{}},
		{"the measure of the item", offer(`{"priceCurrency":"EUR","priceSpecification":{"price":6,"eligibleQuantity":{"minValue":1},"referenceQuantity":{"value":4.5,"unitCode":"LTR","valueReference":{"value":1,"unitCode":"LTR"}}}}`), "6.00 EUR|unknown|Tee|", extract.Hint{}},
		{"with and without tax", offer(`{"priceCurrency":"EUR","priceSpecification":[{"price":100,"valueAddedTaxIncluded":"false"},{"price":119,"valueAddedTaxIncluded":true}]}`), "119.00 EUR|unknown|Tee|", extract.Hint{}},

		{"no offer says", offer(`[{"price":5,"priceCurrency":"EUR","availability":"maybe"}]`), "5.00 EUR|unknown|Tee|", extract.Hint{}},
		{"one variant of two", offer(`[{"sku":"A","price":5,"priceCurrency":"EUR","availability":"OutOfStock"},{"sku":"B","price":5,"priceCurrency":"EUR","availability":"LowStock"}]`), "5.00 EUR|limited|Tee|", extract.Hint{}},
		{"contradiction", offer(`[{"price":5,"priceCurrency":"EUR","availability":"OutOfStock"},{"price":5,"priceCurrency":"EUR","availability":"InStock"}]`), "5.00 EUR|unknown|Tee|", extract.Hint{}},
		{"contradiction in one", offer(`{"sku":"A","price":5,"priceCurrency":"EUR","availability":["OutOfStock","InStock"]}`), "5.00 EUR|unknown|Tee|A", extract.Hint{}},
		{"both not there", offer(`[{"price":5,"priceCurrency":"EUR","availability":"Discontinued"},{"price":5,"priceCurrency":"EUR","availability":"SoldOut"}]`), "5.00 EUR|out_of_stock|Tee|", extract.Hint{}},
		{"which price is unknown, out of stock it is", offer(`[{"sku":"A","price":5,"priceCurrency":"EUR","availability":"OutOfStock"},{"sku":"B","price":6,"priceCurrency":"EUR","availability":"SoldOut"}]`), "|out_of_stock|Tee|", extract.Hint{}},
		{"of the aggregate", offer(`{"@type":"AggregateOffer","lowPrice":5,"priceCurrency":"EUR","availability":"http://schema.org/InStock"}`), "5.00 EUR|in_stock|Tee|", extract.Hint{}},

		{"another variant", ld(`{"@type":"Product","name":"Tee","offers":[{"url":"?v=1","price":5,"priceCurrency":"EUR"},{"price":6,"priceCurrency":"EUR"}]}`), "6.00 EUR|unknown|Tee|", extract.Hint{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := extract.Observe(t.Context(), extract.Page{URL: url, Body: []byte(c.page), Hint: c.hint})
			if got := line(o); err != nil || got != c.want {
				t.Errorf("got  %s (%v)\nwant %s\n%s\n%+v", got, err, c.want, c.page, o.Evidence)
			}
			hasEvidence(t, o)
		})
	}
}

// TestWhichProduct goes through the ways in which a page can be about several
// products, or state one in several places.
func TestWhichProduct(t *testing.T) {
	const url = "https://shop.example/p/tee"
	eur := func(n int) string { return fmt.Sprintf(`{"@type":"Offer","price":%d,"priceCurrency":"EUR"}`, n) }
	product := func(name string, n int, more string) string {
		return fmt.Sprintf(`{"@type":"Product","name":%q,%s"offers":%s}`, name, more, eur(n))
	}
	for _, c := range []struct{ name, page, want string }{
		{"theme and plug-in", ld(`{"@type":"Product","name":"Tee","sku":"T"}`, product("tee ", 5, "")), "5.00 EUR|unknown|Tee|T"},
		{"joined by SKU", ld(`{"@type":"Product","name":"Tee!","sku":"T"}`, product("The tee", 5, `"sku":"t",`)), "5.00 EUR|unknown|Tee!|T"},
		{"two joined by a third", ld(product("A", 5, `"sku":"1",`), product("B", 5, `"gtin13":"042",`), product("A", 5, `"gtin":"42",`)), "5.00 EUR|unknown|A|1"},
		{"they contradict each other", ld(product("Tee", 5, ""), product("Tee", 6, "")), "|unknown|Tee|"},
		{"a rating without a name", ld(`{"@type":"Product","aggregateRating":{}}`, product("Tee", 5, "")), "5.00 EUR|unknown|Tee|"},
		{"by address", ld(product("Sock", 2, `"url":"/p/sock",`), product("Tee", 5, `"url":"/p/tee",`)), "5.00 EUR|unknown|Tee|"},
		{"by main entity", ld(`{"@type":"ItemPage","mainEntity":`+product("Tee", 5, "")+`}`, product("Sock", 2, "")), "5.00 EUR|unknown|Tee|"},
		{"by main entity's id", ld(`[` + product("Tee", 5, `"@id":"#t",`) + `,` + product("Sock", 2, `"@id":"#s",`) + `,{"@type":"WebPage","mainEntity":{"@id":"#t"}}]`), "5.00 EUR|unknown|Tee|"},
		{"by heading", ld(product("Sock", 2, ""), product("HEADING", 5, "")), "5.00 EUR|unknown|HEADING|"},
		{"by title", strings.Replace(ld(product("Sock", 2, ""), product("Tee", 5, ""), product("Tee long", 7, "")), ">Page<", ">Tee long, warm | Shop<", 1), "7.00 EUR|unknown|Tee long|"},
		{"not at all", ld(product("Sock", 2, ""), product("Tee", 2, "")), "|unknown|Heading|"},
		{"the page's own may be sold out", ld(`{"@type":"Product","name":"Tee"}`, product("Sock", 2, "")), "|unknown|Heading|"},
		{"variants one by one", ld(`[` + product("Tee S", 5, `"isVariantOf":{"@id":"#g"},"url":"/p/tee/s",`) + `,` + product("Tee M", 5, `"isVariantOf":{"@id":"#g"},`) + `]`), "5.00 EUR|unknown|Tee S|"},
		{"a group and its variants", ld(`{"@graph":[{"@type":"ProductGroup","name":"Tee","productGroupID":"g","hasVariant":[{"@id":"#m"}]},` + product("Tee M", 5, `"@id":"#m","inProductGroupWithID":"g",`) + `]}`), "5.00 EUR|unknown|Tee|"},
		{"a type that says too much", ld(`{"@type":["` + strings.Repeat(`x\n`, 500) + `","Product"],"name":"Tee","offers":` + eur(5) + `}`), "5.00 EUR|unknown|Tee|"},
		{"an offer only", ld(`{"@type":"Offer","name":"Tee","price":5,"priceCurrency":"EUR","availability":"InStock"}`), "5.00 EUR|in_stock|Tee|"},
		{"an offer that holds the product", ld(`{"@type":"Offer","price":5,"priceCurrency":"EUR","itemOffered":{"@type":"Product","name":"Tee","sku":"T"}}`), "5.00 EUR|unknown|Tee|T"},
		{"a product, and an offer for nothing", ld(`{"@type":"Product","name":"Tee"}`, eur(5)), "5.00 EUR|unknown|Tee|"},
		{"offers by reference", ld(`{"@graph":[{"@type":"Product","name":"Tee","offers":{"@id":"#o"}},{"@id":"#o","@type":"AggregateOffer","offers":[{"@id":"#o"},` + eur(5) + `]}]}`), "5.00 EUR|unknown|Tee|"},
		{"an offer for somebody else", ld(product("Tee", 5, ""), `{"@type":"Offer","price":1,"priceCurrency":"EUR","itemOffered":"a service"}`), "5.00 EUR|unknown|Tee|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := extract.Observe(t.Context(), extract.Page{URL: url, Body: []byte(c.page)})
			if got := line(o); err != nil || got != c.want {
				t.Errorf("got  %s (%v)\nwant %s\n%s\n%+v", got, err, c.want, c.page, o.Evidence)
			}
			hasEvidence(t, o)
		})
	}
	sold := ld(`{"@type":"Product","name":"Heading"}`, product("Sock", 2, ""))
	if o, err := extract.Observe(t.Context(), extract.Page{URL: url, Body: []byte(sold)}); err == nil {
		t.Errorf("a related product's price was taken: %+v", o)
	}
	var many []string
	for i := range 6 {
		many = append(many, product(fmt.Sprint("Tee ", i), i, ""))
	}
	_, err := extract.Observe(t.Context(), extract.Page{URL: url, Body: []byte(ld(many...))})
	if n, ok := errors.AsType[*extract.NotProductError](err); !ok || n.Reason != extract.ListingPage {
		t.Errorf("six products: %v", err)
	}
}

// TestHome: a home page that answers for a product is not about it.
func TestHome(t *testing.T) {
	featured := `{"@type":"Product","name":"Featured","url":"/p/featured","offers":{"price":5,"priceCurrency":"EUR"}}`
	canonical := func(to, page string) string {
		return strings.Replace(page, "</head>", `<link rel="canonical" href="`+to+`"></head>`, 1)
	}
	for _, c := range []struct {
		name, url, final, page string
		home                   bool
	}{
		{"redirected", "https://shop.example/p/gpu", "https://shop.example/", ld(featured), true},
		{"redirected to the home page of a language", "https://shop.example/p/gpu", "https://shop.example/en-gb/", ld(featured), true},
		{"canonical, with a product", "https://shop.example/p/gpu", "", canonical("https://shop.example/", ld(featured)), true},
		{"canonical, without", "https://shop.example/p/gpu", "", canonical("/", ld()), true},
		{"canonical, but the product is the page's", "https://shop.example/p/featured", "", canonical("/", ld(featured)), false},
		{"the home page was asked for", "https://shop.example/", "https://shop.example/de", ld(featured), false},
		{"elsewhere", "https://shop.example/p/gpu", "https://shop.example/p/featured", ld(featured), false},
	} {
		_, err := extract.Observe(t.Context(), extract.Page{URL: c.url, Final: c.final, Body: []byte(c.page)})
		n, ok := errors.AsType[*extract.NotProductError](err)
		if home := ok && n.Reason == extract.HomePage; home != c.home || !c.home && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
