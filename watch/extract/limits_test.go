package extract_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/lastlook/lastlook/internal/cputest"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// nasty are pages of about n bytes that are cheap to send and, done naively,
// dear to read.
func nasty(n int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, n/len(s)) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	return map[string]string{
		"deep":               fill("<div>"),
		"unclosed bold":      fill("<b>x"),
		"unclosed links":     fill("<a href=x>y"),
		"misnested":          fill("<b><i></b></i><p>"),
		"formatting":         fill("<font size=1><nobr><u>"),
		"tables":             fill("<table><td>"),
		"foster parents":     "<table>" + fill("<b>x"),
		"closing":            strings.Repeat("<div>", 100) + fill("</p>"),
		"attributes":         "<b " + numbered("a%d=1 ") + "><b " + numbered("a%d=2 ") + ">",
		"attributes again":   numbered("<body a%d=1>"),
		"comments":           fill("<!--"),
		"angle brackets":     fill("<"),
		"entities":           fill("&amp"),
		"selects":            fill("<select><option>"),
		"frames":             fill("<iframe>"),
		"templates":          fill("<template>"),
		"noscript":           fill("<noscript>x</noscript>"),
		"headings":           fill("<h1>"),
		"headings closed":    fill("<h1></h1>"),
		"meta":               fill("<meta charset=x"),
		"meta again":         fill("<meta charset=x>"),
		"links":              fill("<link rel=canonical href=x>"),
		"scripts":            fill("<script>"),
		"blocks":             fill(`<script type="application/ld+json">{</script>`),
		"blocks with a type": numbered(`<script type="application/ld+json">{"@type":"T%d"}</script>`),

		"items":            fill(`<b itemscope>`),
		"items in items":   fill(`<b itemprop=a itemscope itemtype="http://schema.org/Product">`),
		"item references":  numbered(`<b id=i%[1]d itemscope itemref="i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 i%[1]d">x</b>`),
		"properties":       "<b itemscope>" + fill(`<b itemprop="price name offers">1`),
		"one property":     "<b itemscope>" + fill(`<b itemprop=price>1</b>`),
		"loose properties": fill(`<b itemprop=price content=1>`),
		"prices":           fill(`<b class=price>1 €`),
		"prices closed":    fill(`<b class=price>1 €</b>`),
		"prices in one":    "<h1>x</h1><div class=price>" + fill(`<s>1 €</s>`),
		"price classes":    numbered(`<b class="price price-%d now">%[1]d €</b>`),
		"price words":      `<h1>x</h1><p class="` + fill("price-") + `">1 €</p>`,
		"price text":       `<h1>x</h1><p class=price>` + fill("1.299,00 € "),
		"stock notices":    fill(`<b class=stock>in stock`),
		"stock text":       `<h1>x</h1><b class=stock>` + fill("not available "),
		"buttons":          fill(`<button>Add to cart`),
		"amounts":          "<h1>x</h1>" + fill(`<b>1 €</b>`) + "<button>Add to cart</button>",
		"price metas":      numbered(`<meta property=product:price:amount content=%d>`),
		"twitter":          numbered(`<meta name=twitter:label%d content=Price>`),
		"headings in all":  fill(`<h1 class=logo>x</h1>`),
		"currencies":       "<h1>x</h1><p class=price>" + fill("$€£"),

		"brackets":        ld(fill("[")),
		"braces":          ld(fill(`{"a":`)),
		"closing bracket": ld("{}" + fill("}")),
		"quotes":          ld(`{"` + fill(`"`)),
		"quotes apart":    ld(`{"a":"` + fill(`" `)),
		"space":           ld(`{"a":"` + strings.Repeat(`"`+strings.Repeat(" ", n/200)+"x", 200)),
		"escapes":         ld(`{"a":"` + fill(`\u00`)),
		"json comments":   ld(fill("/*")),
		"line comments":   ld(fill("//")),
		"cdata":           ld(fill("<![CDATA[")),
		"html entities":   ld(fill("&quot;")),
		"numbers":         ld("[" + fill("0,")),
		"names":           ld(`{"@type":"Product","name":"x","offers":{` + numbered(`"k%d":0,`) + "}}"),
		"types":           ld(`{"@type":[` + fill(`"Product",`) + `],"name":"x","offers":{"price":1}}`),
		"prices in JSON":  ld(`{"@type":"Product","name":"x","offers":{"price":[` + fill("1,") + `]}}`),
		"stock":           ld(`{"@type":"Product","name":"x","offers":{"price":1,"availability":[` + fill(`"a",`) + `]}}`),
		"products":        ld("[" + numbered(`{"@type":"Product","name":"n%d","sku":"1"},`) + "]"),
		"pairs":           ld("[" + numbered(`{"@type":"Product","name":"n%[1]d"},{"@type":"Product","name":"n%[1]d","sku":"1"},`) + "]"),
		"offers":          ld(`{"@type":"Product","name":"x","offers":[` + numbered(`{"price":"%d","priceCurrency":"EUR","url":"/x?v=%[1]d"},`) + "]}"),
		"loose offers":    ld("[" + numbered(`{"@type":"Offer","price":%d,"itemOffered":{"@id":"#p"}},`) + `{"@type":"Product","@id":"#p","name":"x"}]`),
		"one for all":     ld("[" + numbered(`{"@type":"Product","@id":"%d","offers":{"@id":"#a"}},`) + `{"@id":"#a","offers":[` + numbered(`{"price":%d},`) + "]}]"),
		"aggregates":      ld(strings.Repeat(`{"@type":"Product","name":"x","offers":`, 1) + strings.Repeat(`{"lowPrice":1,"offers":`, 80) + "1" + strings.Repeat("}", 81)),
		"graphs":          ld(strings.Repeat(`{"@graph":`, 90) + "[" + fill("{},") + "]" + strings.Repeat("}", 90)),
		"variants":        ld("[" + numbered(`{"@type":"Product","name":"n%d","isVariantOf":{"@id":"#g"}},`) + "]"),
		"titles":          "<title>" + fill("x ") + "</title>" + ld("["+numbered(`{"@type":"Product","name":"x x %d","offers":1},`)+"]"),
	}
}

// TestNastyPages: no page takes longer than its size explains.
func TestNastyPages(t *testing.T) {
	for name, page := range nasty(100_000) {
		t.Run(name, func(t *testing.T) {
			var err error
			cputest.Within(t, len(page), func() {
				_, err = extract.Observe(t.Context(), extract.Page{URL: "https://shop.example/x?v=7", Body: []byte(page)})
			})
			if errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	if _, err := extract.Parse(t.Context(), extract.Page{Body: make([]byte, extract.MaxBody+1)}); !errors.Is(err, extract.ErrTooLarge) {
		t.Error(err)
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d, err := extract.Parse(ctx, extract.Page{Body: []byte(ld("[" + strings.Repeat("1,", 9000) + "]"))})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := d.Product(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, page := range []string{ld(), strings.Repeat("<div>", 600) + strings.Repeat("x", 9000)} {
		if _, err := extract.Parse(ctx, extract.Page{Body: []byte(page)}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestDeepPages: a page nested too deeply for a tree is read all the same.
func TestDeepPages(t *testing.T) {
	page := `<title>Deep &amp; wide</title><meta property="og:title" content="T"><link rel="canonical" href="/c"><style>x{}</style>` +
		`<noscript>n</noscript><script>var a</script>` + strings.Repeat("<span>", 600) + "some words" +
		strings.TrimPrefix(ld(`{"@type":"Product","name":"Tee","offers":{"price":5,"priceCurrency":"EUR"}}`), "<!doctype html><html><head><title>Page</title>")
	d, err := extract.Parse(t.Context(), extract.Page{URL: "https://a.example/c", Body: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	if d.Title() != "Deep & wide" || !strings.HasPrefix(d.Text(), "some words") || d.Scripts() != 1 {
		t.Errorf("title %q, text %q, %d scripts", d.Title(), d.Text(), d.Scripts())
	}
	o, err := d.Product(t.Context())
	if err != nil || o.Price.String() != "5.00 EUR" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestDocument(t *testing.T) {
	page := `<!doctype html><html><head><title> A
	title </title><script src=x></script><script type="text/javascript">1</script><noscript>Please <b>enable</b> JavaScript</noscript></head>
	<body><h1></h1><h1>A <i>heading</i></h1><p>seen</p><p hidden>hidden</p><template><p>template</p></template><style>p{}</style>
	<svg><title>svg</title></svg><iframe>frame</iframe><!-- comment --><script type="Application/LD+JSON; charset=utf-8">{}</script></body></html>`
	d, err := extract.Parse(t.Context(), extract.Page{Body: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	if d.Title() != "A title" || d.Heading() != "A heading" || d.Text() != "A heading seen" || d.Scripts() != 2 ||
		!strings.Contains(d.Noscript(), "JavaScript") || !strings.Contains(d.HTML(), "<!-- comment -->") {
		t.Errorf("title %q, heading %q, text %q, %d scripts, noscript %q", d.Title(), d.Heading(), d.Text(), d.Scripts(), d.Noscript())
	}
	long, err := extract.Parse(t.Context(), extract.Page{Body: []byte("<p>" + strings.Repeat("word ", 5000))})
	if err != nil || len(long.Text()) > 4096 || len(long.Text()) < 4000 {
		t.Errorf("%d bytes of text, %v", len(long.Text()), err)
	}
}

// TestCharsets: the title tells whether the character set was found.
func TestCharsets(t *testing.T) {
	const title = "Zażółć"
	latin2 := "Za\xbf\xf3\xb3\xe6"
	for _, c := range []struct{ name, contentType, head, body, want string }{
		{"header", "text/html; charset=iso-8859-2", "", latin2, title},
		{"meta", "text/html", `<meta charset="iso-8859-2">`, latin2, title},
		{"http-equiv", "", `<meta http-equiv="content-type" content="text/html; charset=iso-8859-2">`, latin2, title},
		{"late meta", "", "<!--" + strings.Repeat("x", 3000) + `--><META CHARSET="iso-8859-2">`, latin2, title},
		{"header says UTF-8, meta knows", "text/html; charset=utf-8", `<meta charset="iso-8859-2">`, latin2, title},
		{"unknown label", "text/html; charset=klingon", `<meta charset="iso-8859-2">`, latin2, title},
		{"nothing said", "", "", title, title},
		{"byte order mark", "text/html; charset=iso-8859-2", "\ufeff", title, title},
		{"says Latin-1, is UTF-8", "text/html; charset=iso-8859-1", "", title, title},
		{"nothing fits", "text/html; charset=utf-8", "", latin2, "Za\ufffd\ufffd\ufffd"},
		{"UTF-16", "", "\xfe\xff\x00<\x00t\x00i\x00t\x00l\x00e\x00>\x01\x7a", "", "ź"},
		{"unclosed meta", "text/html; charset=utf-8", "<meta charset", "\xff", ""},
	} {
		page := c.head
		if c.name != "UTF-16" {
			page = c.head + "<title>" + c.body + "</title>"
			if c.name == "byte order mark" {
				page = "\ufeff<title>" + c.body + "</title>"
			}
		}
		d, err := extract.Parse(t.Context(), extract.Page{ContentType: c.contentType, Body: []byte(page)})
		if err != nil || d.Title() != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, d.Title(), err, c.want)
		}
	}
}

var sink watch.Observation

// page200k is a page of which most is not the product.
func page200k() string {
	return strings.Replace(ld(`{"@type":"Product","name":"Tee","offers":{"price":5,"priceCurrency":"EUR"}}`), "</body>",
		strings.Repeat(`<div class="card"><a href="/p/1"><img src="/i.jpg" alt="x"></a><p>Some <b>words</b> here</p></div>`+"\n", 2000)+"</body>", 1)
}

func BenchmarkObserve(b *testing.B) {
	page := page200k()
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		o, err := extract.Observe(b.Context(), extract.Page{URL: "https://a.example/", Body: []byte(page)})
		if err != nil {
			b.Fatal(err)
		}
		sink = o
	}
}

// BenchmarkParseAlone is what x/net/html takes for the same page.
func BenchmarkParseAlone(b *testing.B) {
	page := page200k()
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if _, err := html.Parse(strings.NewReader(page)); err != nil {
			b.Fatal(err)
		}
	}
}
