package page_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/source/page"
	"github.com/lastlook/lastlook/watch"
)

// shop is a site with one page, that tells whether it has changed.
type shop struct {
	price  string
	header http.Header
	asked  []string // what each request was conditional on
	whole  int      // how many whole pages were sent
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	condition := strings.TrimSpace(r.Header.Get("If-None-Match") + " " + r.Header.Get("If-Modified-Since"))
	s.asked = append(s.asked, condition)
	maps.Copy(w.Header(), s.header)
	w.Header().Set("Date", now.Format(http.TimeFormat))
	if r.URL.Path == "/moved" {
		http.Redirect(w, r, "/p", http.StatusFound)
		return
	}
	etag, modified := s.header.Get("ETag"), s.header.Get("Last-Modified")
	if etag != "" && r.Header.Get("If-None-Match") == etag || etag == "" && modified != "" && r.Header.Get("If-Modified-Since") == modified {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.whole++
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, strings.Replace(product, "75.00", s.price, 1))
}

// TestUnchanged: a site that says that nothing has changed is asked for no more,
// and the observation is as old as its word.
func TestUnchanged(t *testing.T) {
	at := now
	s := &shop{price: "75.00", header: http.Header{"Etag": {`"1"`}}}
	src := serve(t, page.Config{Clock: func() time.Time { return at }}, s.ServeHTTP)
	look := func(ctx string, want string) watch.Observation {
		t.Helper()
		c := t.Context()
		if ctx == "last" {
			c = watch.AsLastLook(c)
		}
		o, err := src.Look(c, watch.Listing{URL: "http://shop.example/p"})
		if err != nil || o.Price.String() != want {
			t.Fatalf("%s, %v, want %s", o.Price, err, want)
		}
		return o
	}
	first := look("", "75.00 EUR")
	again := look("", "75.00 EUR")
	if s.whole != 1 || s.asked[1] != `"1"` {
		t.Errorf("asked %q, %d whole pages", s.asked, s.whole)
	}
	if last := again.Evidence[len(again.Evidence)-1]; last.Fact != "unchanged" || len(again.Evidence) != len(first.Evidence)+1 {
		t.Errorf("evidence %+v", again.Evidence)
	}
	at = now.Add(time.Hour)
	if o := look("", "75.00 EUR"); !o.At.Equal(now) { // as its Date says
		t.Errorf("as of %s", o.At)
	}
	// The site's word is not enough for a message.
	s.price = "70.00"
	if look("", "75.00 EUR"); s.whole != 1 {
		t.Errorf("%d whole pages", s.whole)
	}
	if look("last", "70.00 EUR"); s.whole != 2 || s.asked[len(s.asked)-1] != "" {
		t.Errorf("asked %q, %d whole pages", s.asked, s.whole)
	}
	// Nor is it taken for ever.
	s.price, at = "60.00", at.Add(7*time.Hour)
	if look("", "60.00 EUR"); s.whole != 3 {
		t.Errorf("%d whole pages", s.whole)
	}
	s.header.Set("ETag", `"2"`)
	s.price = "50.00"
	look("", "50.00 EUR")
}

// TestStaleWord: the word of a cache is as old as the cache says.
func TestStaleWord(t *testing.T) {
	s := &shop{price: "75.00", header: http.Header{"Etag": {`"1"`}, "Age": {"600"}}}
	src := serve(t, page.Config{}, s.ServeHTTP)
	for range 2 {
		o, err := look(t, src, "http://shop.example/p")
		if err != nil || !o.At.Equal(now.Add(-10*time.Minute)) {
			t.Errorf("as of %s, %v", o.At, err)
		}
	}
	if s.whole != 1 {
		t.Errorf("%d whole pages", s.whole)
	}
}

// TestValidators goes through what a page can be known by, and what not.
func TestValidators(t *testing.T) {
	old, fresh := now.Add(-time.Hour).Format(http.TimeFormat), now.Add(-10*time.Second).Format(http.TimeFormat)
	for name, c := range map[string]struct {
		header http.Header
		path   string
		want   string // what the second request is conditional on
	}{
		"ETag":                   {http.Header{"Etag": {`"a"`}}, "/p", `"a"`},
		"a date":                 {http.Header{"Last-Modified": {old}}, "/p", old},
		"both":                   {http.Header{"Etag": {`"a"`}, "Last-Modified": {old}}, "/p", `"a" ` + old},
		"too fresh a date":       {http.Header{"Last-Modified": {fresh}}, "/p", ""},
		"no date at all":         {http.Header{"Last-Modified": {"yesterday"}}, "/p", ""},
		"nothing":                {http.Header{}, "/p", ""},
		"may not be kept":        {http.Header{"Etag": {`"a"`}, "Cache-Control": {"private, no-store"}}, "/p", ""},
		"varies with everything": {http.Header{"Etag": {`"a"`}, "Vary": {"*"}}, "/p", ""},
		"too long":               {http.Header{"Etag": {`"` + strings.Repeat("a", 600) + `"`}}, "/p", ""},
		"behind a redirect":      {http.Header{"Etag": {`"a"`}}, "/moved", `"a"`},
	} {
		s := &shop{price: "75.00", header: c.header}
		src := serve(t, page.Config{}, s.ServeHTTP)
		for range 2 {
			if _, err := look(t, src, "http://shop.example"+c.path); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if got := s.asked[len(s.asked)-1]; got != c.want {
			t.Errorf("%s: the second request was conditional on %q, want %q", name, got, c.want)
		}
		if c.path == "/moved" && s.asked[2] != "" {
			t.Errorf("%s: the redirect was asked for conditionally: %q", name, s.asked)
		}
	}
}

// TestRemember: what is kept is bounded, apart for each way of reading, and can be
// nothing.
func TestRemember(t *testing.T) {
	s := &shop{price: "75.00", header: http.Header{"Etag": {`"1"`}}}
	src := serve(t, page.Config{Remember: 2}, s.ServeHTTP)
	ask := func(l watch.Listing) (conditional bool) {
		t.Helper()
		if _, err := src.Look(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		return s.asked[len(s.asked)-1] != ""
	}
	listing := func(i int) watch.Listing { return watch.Listing{URL: fmt.Sprintf("http://shop.example/p?n=%d", i)} }
	for i := range 3 {
		ask(listing(i))
	}
	if ask(listing(0)) || !ask(listing(2)) {
		t.Error("the oldest of three was kept, or the last one forgotten")
	}
	if ask(watch.Listing{URL: "http://shop.example/p?n=2", Options: watch.Options{Currency: "USD"}}) || ask(watch.Listing{URL: "http://shop.example/p?n=2", Private: true}) {
		t.Error("another way of reading took the observation of the first")
	}
	src = serve(t, page.Config{Remember: -1}, s.ServeHTTP)
	ask(listing(1))
	if ask(listing(1)) {
		t.Error("it was told to keep nothing")
	}
	// An answer "not modified" to a question that was not conditional is none.
	bare := raw(t, func(w io.Writer, _ string) { answer(w, "HTTP/1.1 304 Not Modified\nETag: \"1\"\n\n") })
	if _, err := look(t, bare, "http://shop.example/p"); page.OutcomeOf(err) != page.Failed {
		t.Error(err)
	}
}

// TestOptions: what the user says of a listing is what it is read by.
func TestOptions(t *testing.T) {
	var languages string
	body := `<html><head><title>x</title></head><body><h1>Lamp</h1><b id="p">1.299</b><i class="s">Ausverkauft</i></body></html>`
	src := serve(t, page.Config{AcceptLanguage: "en"}, func(w http.ResponseWriter, r *http.Request) {
		languages = r.Header.Get("Accept-Language")
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, body)
	})
	l := watch.Listing{URL: "http://shop.example/p", Options: watch.Options{PriceSelector: "#p", StockSelector: ".s", Currency: "EUR", Locale: "de-AT"}}
	o, err := src.Look(t.Context(), l)
	if err != nil || o.Price.String() != "1299.00 EUR" || o.Availability != watch.OutOfStock || languages != "de-AT" || o.Rule != "selector" {
		t.Errorf("%+v, %v, languages %q", o, err, languages)
	}
	l.Options.PriceSelector, l.Options.StockSelector, l.Options.Locale = "#gone", "", "not a locale"
	if _, err := src.Look(t.Context(), l); page.OutcomeOf(err) != page.Failed || !strings.Contains(fmt.Sprint(err), "#gone") || languages != "en" {
		t.Errorf("%v, languages %q", err, languages)
	}
}

// TestValidUntil: the end of an offer is taken, unless it is so long past that
// nobody can have looked after it.
func TestValidUntil(t *testing.T) {
	for date, want := range map[string]string{
		"2026-03-05": "2026-03-06", "2026-02-27": "2026-02-28", "2026-02-22": "2026-02-23", "2026-02-20": "", "2020-12-31": "", "soon": "",
	} {
		src := raw(t, func(w io.Writer, _ string) {
			answer(w, "HTTP/1.1 200 OK\nContent-Type: text/html\n\n"+strings.Replace(product, `"price"`, `"priceValidUntil":"`+date+`","price"`, 1))
		})
		o, err := look(t, src, "http://shop.example/p")
		got := ""
		if !o.ValidUntil.IsZero() {
			got = o.ValidUntil.Format(time.DateOnly)
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", date, got, err, want)
		}
	}
}
