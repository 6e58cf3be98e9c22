// Package extractbench measures how fast pages are read: one of 200 kB that looks
// like a shop's, beside what golang.org/x/net/html takes to parse it alone, and
// the pages of the corpus.
//
// What is compared is measured in one run, on one core, in rounds that take
// turns; figures are medians, ratios medians of each round's ratio.
package extractbench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/lastlook/lastlook/watch/corpustest"
	"github.com/lastlook/lastlook/watch/extract"
)

// Bench is a run of all measurements.
type Bench struct {
	// Quick makes few pages and rounds do.
	Quick bool
	// Corpus is the file of cases.
	Corpus string
	// Say is told what is going on.
	Say func(format string, args ...any)

	Rows    []Row
	Summary map[string]float64
}

// Row is one measurement.
type Row struct {
	Name string `json:"name"`
	// Value is the median of Rounds.
	Value  float64   `json:"value"`
	Unit   string    `json:"unit"`
	Rounds []float64 `json:"rounds,omitempty"`
	Note   string    `json:"note,omitempty"`
}

const unitRate = "pages/s"

// Run measures everything, on one core.
func (b *Bench) Run(ctx context.Context) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return errors.Join(b.large(ctx), b.corpus(ctx))
}

// large reads a page of 200 kB, and parses it alone, in turns.
func (b *Bench) large(ctx context.Context) error {
	source := Page()
	page := extract.Page{URL: pageURL, ContentType: "text/html; charset=utf-8", Body: []byte(source)}
	rounds, pages := b.pick(9, 1), b.pick(200, 3)
	var read, parsed, ratio []float64
	for range rounds {
		took, err := timed(pages, func() error {
			o, err := extract.Observe(ctx, page)
			if err == nil && o.Price.String() != pagePrice {
				err = fmt.Errorf("the page's price was read as %q", o.Price)
			}
			return err
		})
		if err != nil {
			return err
		}
		alone, err := timed(pages, func() error {
			_, err := html.Parse(strings.NewReader(source))
			return err
		})
		if err != nil {
			return err
		}
		read = append(read, float64(pages)/took.Seconds())
		parsed = append(parsed, float64(pages)/alone.Seconds())
		ratio = append(ratio, took.Seconds()/alone.Seconds())
	}
	size := fmt.Sprintf("%d kB", len(source)/1000)
	b.Summary["pages_per_s_200k"] = b.add("a page of "+size+", read", unitRate, "aim: ≥ 300 on a core", read)
	b.add("the same, parsed alone by x/net/html", unitRate, "", parsed)
	b.Summary["vs_parse_200k"] = b.add("time to read it / time to parse it alone", "×", "aim: ≤ 2", ratio)
	return nil
}

// corpus reads the pages of the corpus, each as its watch has them read.
func (b *Bench) corpus(ctx context.Context) error {
	cases, err := corpustest.Load(b.Corpus, corpustest.KindHTML)
	if err != nil {
		return err
	}
	pages := make([]extract.Page, len(cases))
	for i, c := range cases {
		pages[i] = extract.Page{URL: c.Ctx.URL, ContentType: "text/html; charset=utf-8", Body: []byte(c.Input), Hint: extract.HintOf(c.Ctx.Options())}
	}
	if len(pages) == 0 {
		return fmt.Errorf("extractbench: %s has no pages", b.Corpus)
	}
	var rates []float64
	times := b.pick(50, 1)
	for range b.pick(9, 1) {
		took, err := timed(times, func() error {
			for _, p := range pages {
				if _, err := extract.Observe(ctx, p); err != nil && !errors.Is(err, extract.ErrNotProduct) && !errors.Is(err, extract.ErrSelector) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		rates = append(rates, float64(times*len(pages))/took.Seconds())
	}
	b.Summary["pages_per_s_corpus"] = b.add("pages of the corpus, read", unitRate, fmt.Sprintf("%d small pages", len(pages)), rates)
	return nil
}

// timed says how long n calls take.
func timed(n int, f func() error) (time.Duration, error) {
	began := time.Now()
	for range n {
		if err := f(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func (b *Bench) add(name, unit, note string, rounds []float64) float64 {
	r := Row{Name: name, Value: median(rounds), Unit: unit, Note: note, Rounds: slices.Clone(rounds)}
	if len(rounds) == 1 {
		r.Rounds = nil
	}
	b.Rows = append(b.Rows, r)
	b.Say("%-44s %12.4g %s", name, r.Value, unit)
	return r.Value
}

// pick returns one of two numbers: for a whole run, and for a quick one.
func (b *Bench) pick(whole, quick int) int {
	if b.Quick {
		return quick
	}
	return whole
}

// median returns the middle of the values, which must be some.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}
