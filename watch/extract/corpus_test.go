package extract_test

import (
	"cmp"
	"errors"
	"path/filepath"
	"testing"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/corpustest"
	"github.com/lastlook/lastlook/watch/extract"
)

// corpora are the files of cases: those that were given, and our own.
var corpora = []string{"corpus.jsonl", "own_html.jsonl"}

func corpus(t testing.TB, file string) []corpustest.Case {
	t.Helper()
	cases, err := corpustest.Load(filepath.Join("..", "testdata", "corpus", file), corpustest.KindHTML)
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	return cases
}

// pageOf is the page of a case, as a source would hand it in.
func pageOf(c corpustest.Case) extract.Page {
	return extract.Page{
		URL: cmp.Or(c.Ctx.URL, "https://shop.example/p"), ContentType: "text/html; charset=utf-8",
		Body: []byte(c.Input), Hint: extract.HintOf(c.Ctx.Options()),
	}
}

// answerOf is what was made of a page, in the corpus' words.
func answerOf(o watch.Observation, err error) corpustest.Answer {
	a := corpustest.OfObservation(o)
	if n, ok := errors.AsType[*extract.NotProductError](err); ok {
		a.Reject = string(n.Reason)
	}
	return a
}

// TestCorpus reads every page of the corpus, and of our own. What is recommended
// counts as much as what is a must.
func TestCorpus(t *testing.T) {
	for _, file := range corpora {
		for _, c := range corpus(t, file) {
			t.Run(c.ID, func(t *testing.T) {
				o, err := extract.Observe(t.Context(), pageOf(c))
				wrong := corpustest.Compare(c.Expect, answerOf(o, err))
				for _, w := range wrong {
					t.Errorf("%s (%s): %s", w, c.Expect.Strength, c.Note)
				}
				if len(wrong) > 0 {
					t.Logf("%s\nerror: %v\nevidence: %+v", c.Input, err, o.Evidence)
				}
				if err == nil {
					hasEvidence(t, o)
				}
			})
		}
	}
}

// fact returns the first evidence of a fact.
func fact(o watch.Observation, name string) string {
	for _, e := range o.Evidence {
		if e.Fact == name {
			return e.Text
		}
	}
	return ""
}
