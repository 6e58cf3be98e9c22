package extractbench

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/lastlook/lastlook/watch/extract"
)

var corpus = filepath.Join("..", "..", "..", "watch", "testdata", "corpus", "corpus.jsonl")

// TestQuick: all is measured, and the summary has what others ask for by name.
func TestQuick(t *testing.T) {
	b := &Bench{Quick: true, Corpus: corpus, Summary: map[string]float64{}, Say: t.Logf}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pages_per_s_200k", "vs_parse_200k", "pages_per_s_corpus"} {
		if b.Summary[name] <= 0 {
			t.Errorf("%s is %v", name, b.Summary[name])
		}
	}
}

// TestPage: what is measured is a page of the size that it is said to be, and what
// it states is found in every place.
func TestPage(t *testing.T) {
	p := Page()
	if len(p) < pageSize || len(p) > pageSize*11/10 {
		t.Errorf("%d bytes", len(p))
	}
	o, err := extract.Observe(t.Context(), extract.Page{URL: pageURL, Body: []byte(p)})
	if err != nil || o.Price.String() != pagePrice || !o.Agreed || o.List.String() != "99.95 EUR" || o.Availability != "in_stock" {
		t.Errorf("%+v, %v", o, err)
	}
}

func BenchmarkRead200k(b *testing.B) {
	page := extract.Page{URL: pageURL, Body: []byte(Page())}
	b.SetBytes(int64(len(page.Body)))
	for b.Loop() {
		if _, err := extract.Observe(b.Context(), page); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse200k(b *testing.B) {
	source := Page()
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := html.Parse(strings.NewReader(source)); err != nil {
			b.Fatal(err)
		}
	}
}
