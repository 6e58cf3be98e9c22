// Package corpustest reads the corpus, files of cases one JSON object a line,
// and compares answers with what its cases expect. The corpus' own README, in
// watch/testdata/corpus, says what each word means.
//
// It is for tests only.
package corpustest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// The kinds of cases.
const (
	KindPriceText = "price_text"
	KindHTML      = "html"
	KindJSON      = "json"
	KindFetch     = "fetch"
	KindBehaviour = "behaviour"
)

// Kinds lists the kinds of cases, in the order in which they are reported.
func Kinds() []string {
	return []string{KindPriceText, KindHTML, KindJSON, KindFetch, KindBehaviour}
}

// The strengths of an expectation.
const (
	Must   = "must"   // an invariant
	Should = "should" // a recommended policy
)

// Case is one line of the corpus.
type Case struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Source string `json:"source"`
	Input  string `json:"input"`
	Ctx    Ctx    `json:"ctx"`
	Expect Expect `json:"expect"`
	Note   string `json:"note"`
}

// Ctx is what the watch already knows.
type Ctx struct {
	Locale        string `json:"locale"`
	Currency      string `json:"currency"`
	URL           string `json:"url"`
	Variant       string `json:"variant"`
	SKU           string `json:"sku"`
	PriceSelector string `json:"price_selector"`
	StockSelector string `json:"stock_selector"`
	PricePath     string `json:"price_path"`
	StockPath     string `json:"stock_path"`
	Format        string `json:"format"`
	MaxAgeS       int    `json:"max_age_s"`
}

// Expect is what a case expects: its strength, and the fields that are judged,
// as they are written. What a behaviour expects is more than [Compare] knows;
// its runner decodes the fields itself.
type Expect struct {
	Strength string
	Fields   map[string]json.RawMessage
}

// answerFields are the fields of [Answer].
var answerFields = []string{
	"price", "currency", "currency_ambiguous", "high", "list_price", "unit_price", "unit", "quantity", "free", "tax_included",
	"price_kind", "alertable", "reject", "availability", "ambiguous", "effective_price",
	"outcome", "alert", "keep_last", "retry", "retry_after", "fresh",
}

// behaviourFields are what a behaviour can expect.
var behaviourFields = []string{
	"sent", "dropped", "sent_count", "sent_count_max", "sent_has", "sent_lacks", "sent_last", "reasons", "attempts",
	"effective", "flag", "distinct_keys", "subscription",
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Expect) UnmarshalJSON(b []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	if err := json.Unmarshal(fields["strength"], &e.Strength); err != nil || e.Strength != Must && e.Strength != Should {
		return fmt.Errorf("strength %s: it is must or should", fields["strength"])
	}
	delete(fields, "strength")
	for name := range fields {
		if !slices.Contains(answerFields, name) && !slices.Contains(behaviourFields, name) {
			return fmt.Errorf("unknown field %q in expect", name)
		}
	}
	e.Fields = fields
	return nil
}

// Load reads a corpus file; kinds, if there are any, are the only ones returned.
// A field that the vocabulary does not have is an error, for it would go
// unjudged.
func Load(path string, kinds ...string) ([]Case, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	cases, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("corpustest: %s: %w", path, err)
	}
	if len(kinds) > 0 {
		cases = slices.DeleteFunc(cases, func(c Case) bool { return !slices.Contains(kinds, c.Kind) })
	}
	return cases, nil
}

// Read reads cases, one a line; empty lines are skipped.
func Read(r io.Reader) ([]Case, error) {
	var cases []Case
	seen := map[string]bool{}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c, err := decode(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if seen[c.ID] {
				return nil, fmt.Errorf("line %d: there are two cases %q", n, c.ID)
			}
			seen[c.ID] = true
			cases = append(cases, c)
		}
		if err != nil {
			return cases, nil
		}
	}
}

func decode(line []byte) (Case, error) {
	var c Case
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, err
	}
	if d.More() {
		return c, errors.New("more than one object")
	}
	if c.ID == "" || !slices.Contains(Kinds(), c.Kind) {
		return c, fmt.Errorf("case %q of kind %q: a case needs an id and a kind that is known", c.ID, c.Kind)
	}
	allowed := answerFields
	if c.Kind == KindBehaviour {
		allowed = behaviourFields
	}
	for name := range c.Expect.Fields {
		if !slices.Contains(allowed, name) {
			return c, fmt.Errorf("case %s: %s cases do not know %q", c.ID, c.Kind, name)
		}
	}
	if c.Expect.Strength == "" {
		return c, fmt.Errorf("case %s expects nothing", c.ID)
	}
	return c, nil
}
