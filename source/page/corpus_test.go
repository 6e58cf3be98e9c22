package page_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/source/page"
	"github.com/lastlook/lastlook/watch"
)

// TestCorpus answers with each fetch case of the corpus, over a real connection.
func TestCorpus(t *testing.T) {
	f, err := os.Open("testdata/corpus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c struct {
			ID, Input, Note string
			Ctx             struct {
				URL    string
				MaxAge float64 `json:"max_age_s"`
			}
			Expect map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			src := raw(t, func(w io.Writer, _ string) { answer(w, c.Input) })
			url := strings.Replace(cmp.Or(c.Ctx.URL, "http://shop.example/p"), "https:", "http:", 1)
			o, err := look(t, src, url)
			got := map[string]any{
				"outcome": string(page.OutcomeOf(err)), "availability": string(cmp.Or(o.Availability, watch.Unknown)),
				"price": nil, "currency": nil, "strength": c.Expect["strength"],
				"fresh": now.Sub(o.At) <= time.Duration(c.Ctx.MaxAge)*time.Second,
				// Only an observation can make an alert, or replace the last one;
				// what is not definite is asked again.
				"alert": err == nil, "keep_last": err != nil && o.Title == "",
			}
			class, after := lastlook.Classify(err)
			got["retry"] = class == lastlook.ClassTransient
			got["retry_after"] = after.Seconds()
			if !o.Price.IsZero() {
				got["price"], got["currency"] = o.Price.Amount().String(), o.Price.Currency()
			}
			for field, want := range c.Expect {
				if g, known := got[field]; !known || g != want {
					t.Errorf("%s: got %v, want %v (%s)\n%s\nerror: %v", field, g, want, c.Note, c.Input, err)
				}
			}
			if e, ok := errors.AsType[*page.Error](err); err != nil && (!ok || e.Status == 0) {
				t.Errorf("an error without its status: %v", err)
			}
		})
	}
	if n == 0 {
		t.Fatal("no corpus")
	}
}
