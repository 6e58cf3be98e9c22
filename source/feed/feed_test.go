package feed_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/cputest"
	"github.com/lastlook/lastlook/source/feed"
	"github.com/lastlook/lastlook/watch"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const rss = `<?xml version="1.0"?><rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Deals</title><link>https://d.example</link>
<item><title>Desk lamp now 39,90 €</title><guid>1</guid><link>https://d.example/1</link><pubDate>Sun, 01 Mar 2026 08:00:00 +0000</pubDate></item>
<item><title><![CDATA[Kettle &amp; pot: 20,00 €]]></title><guid>2</guid><link>https://d.example/2</link><pubDate>Sun, 01 Mar 2026 10:00:00 +0100</pubDate></item>
<item><g:id>A1</g:id><title>Chair</title><g:price>75.00 EUR</g:price><g:sale_price>60.00 EUR</g:sale_price><g:sale_price_effective_date>2026-02-01T00:00+0000/2026-03-31T00:00+0000</g:sale_price_effective_date><g:availability>in_stock</g:availability></item>
<item><g:id>A2</g:id><title>Table</title><g:price>75.00 EUR</g:price><g:sale_price>60.00 EUR</g:sale_price><g:sale_price_effective_date>2026-01-01T00:00+0000/2026-01-31T00:00+0000</g:sale_price_effective_date><g:availability>out of stock</g:availability></item>
</channel></rss>`

const atom = `<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>x</title>
<entry><id>urn:1</id><title>Old</title><link rel="self" href="https://a.example/self"/><link href="https://a.example/1"/><updated>2026-01-01T00:00:00Z</updated><author><name>n</name></author></entry>
<entry><id>urn:2</id><title type="html">New &lt;b&gt;thing&lt;/b&gt;</title><link rel="alternate" href="https://a.example/2"/><published>2026-02-01T00:00:00Z</published><updated>2026-02-03T00:00:00Z</updated></entry></feed>`

const rdf = `<?xml version="1.0" encoding="Shift_JIS"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">` +
	"<channel rdf:about=\"https://r.example\"><title>r</title></channel><item rdf:about=\"https://r.example/1\"><title>\x92\x83\x98o</title><link>https://r.example/1</link><dc:date>2026-02-01T00:00:00+09:00</dc:date></item></rdf:RDF>"

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, body, price, list, value string
		opt                            watch.Options
		stock                          watch.Availability
	}{
		{"the newest", rss, "", "", `{"id":"2","title":"Kettle \u0026amp; pot: 20,00 €","link":"https://d.example/2","date":"2026-03-01T09:00:00Z"}`, watch.Options{}, watch.Unknown},
		{"by its words, the price in the title", rss, "39.90 EUR", "", `{"id":"1","title":"Desk lamp now 39,90 €","link":"https://d.example/1","date":"2026-03-01T08:00:00Z"}`, watch.Options{Variant: "LAMP desk", Locale: "de-DE"}, watch.Unknown},
		{"none matches yet", rss, "", "", "null", watch.Options{Variant: "sofa"}, watch.Unknown},
		{"on sale", rss, "60.00 EUR", "75.00 EUR", `{"id":"A1","title":"Chair","link":""}`, watch.Options{SKU: "A1"}, watch.InStock},
		{"the sale is over", rss, "75.00 EUR", "", `{"id":"A2","title":"Table","link":""}`, watch.Options{SKU: "a2"}, watch.OutOfStock},
		{"Atom", atom, "", "", `{"id":"urn:2","title":"New \u003cb\u003ething\u003c/b\u003e","link":"https://a.example/2","date":"2026-02-01T00:00:00Z"}`, watch.Options{}, watch.Unknown},
		{"Atom, by id", atom, "", "", `{"id":"urn:1","title":"Old","link":"https://a.example/1","date":"2026-01-01T00:00:00Z"}`, watch.Options{SKU: "urn:1"}, watch.Unknown},
		{"RDF in Shift_JIS", rdf, "", "", `{"id":"https://r.example/1","title":"茶椀","link":"https://r.example/1","date":"2026-01-31T15:00:00Z"}`, watch.Options{}, watch.Unknown},
		{"an empty feed", `<rss><channel><title>x</title></channel></rss>`, "", "", "null", watch.Options{}, watch.Unknown},
	} {
		o, err := feed.Read(t.Context(), []byte(c.body), "text/xml", c.opt, "d.example", now)
		if err != nil || o.Price.String() != c.price || o.List.String() != c.list || string(o.Value) != c.value || o.Availability != c.stock {
			t.Errorf("%s: %s, list %s, %s, %s, %v", c.name, o.Price, o.List, o.Value, o.Availability, err)
		}
	}
}

// TestNoFeed: what is cut off, or no feed, is never an empty one.
func TestNoFeed(t *testing.T) {
	for name, body := range map[string]string{
		"page": "<!doctype html><html><body>x</body></html>", "JSON": `{"a":1}`, "empty": "", "cut": rss[:700], "cut between entries": rss[:strings.Index(rss, "<item><g:id>A1")],
		"other XML": `<?xml version="1.0"?><urlset/>`, "deep": "<rss>" + strings.Repeat("<a>", 100), "deep entry": "<rss><item>" + strings.Repeat("<a>", 100),
		"many": "<rss>" + strings.Repeat("<item/>", 6000) + "</rss>", "entity": `<!DOCTYPE rss [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><item><title>&b;</title></item></rss>`,
		"charset": `<?xml version="1.0" encoding="klingon"?><rss/>`,
	} {
		if o, err := feed.Read(t.Context(), []byte(body), "", watch.Options{}, "", now); err == nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if _, err := feed.Read(t.Context(), []byte(rss), "", watch.Options{SKU: "A9"}, "", now); err == nil {
		t.Error("an entry that isn't there")
	}
}

// TestConditional: what has not changed is not sent again, and is seen all the
// same.
func TestConditional(t *testing.T) {
	whole, spared := 0, 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			spared++
			w.WriteHeader(http.StatusNotModified)
			return
		}
		whole++
		_, _ = io.WriteString(w, rss)
	}))
	t.Cleanup(srv.Close)
	src, err := feed.New(feed.Config{Client: srv.Client(), Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		o, err := src.Look(t.Context(), watch.Listing{URL: srv.URL, Options: watch.Options{SKU: "A1"}})
		if err != nil || o.Price.String() != "60.00 EUR" {
			t.Errorf("look %d: %s, %v", i, o.Price, err)
		}
	}
	if whole != 1 || spared != 2 {
		t.Errorf("sent whole %d times, spared %d times", whole, spared)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(rss), "", "")
	f.Add([]byte(atom), "urn:1", "text/xml; charset=iso-8859-1")
	f.Add([]byte(rdf), "", "")
	f.Fuzz(func(t *testing.T, body []byte, sku, contentType string) {
		var o watch.Observation
		var err error
		cputest.Within(t, len(body), func() { o, err = feed.Read(t.Context(), body, contentType, watch.Options{SKU: sku}, "d.example", now) })
		if err == nil && o.Value == nil || err != nil && !o.Price.IsZero() {
			t.Errorf("%+v, %v", o, err)
		}
	})
}
