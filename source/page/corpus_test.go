package page_test

import (
	"cmp"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/source/page"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/corpustest"
)

// TestCorpus answers with each fetch case of the corpus, and of our own, over a
// real connection.
func TestCorpus(t *testing.T) {
	for _, file := range []string{"corpus.jsonl", "own_html.jsonl"} {
		cases, err := corpustest.Load(filepath.Join("..", "..", "watch", "testdata", "corpus", file), corpustest.KindFetch)
		if err != nil || len(cases) == 0 {
			t.Fatalf("%d cases: %v", len(cases), err)
		}
		for _, c := range cases {
			t.Run(c.ID, func(t *testing.T) {
				src := raw(t, func(w io.Writer, _ string) { answer(w, c.Input) })
				l := watch.Listing{Source: page.SourceName, URL: strings.Replace(cmp.Or(c.Ctx.URL, "http://shop.example/p"), "https:", "http:", 1), Options: c.Ctx.Options()}
				o, err := src.Look(t.Context(), l)
				for _, w := range corpustest.Compare(c.Expect, answerOf(c, o, err)) {
					t.Errorf("%s (%s)\n%s\nerror: %v", w, c.Note, c.Input, err)
				}
				if e, ok := errors.AsType[*page.Error](err); err != nil && (!ok || e.Status == 0) {
					t.Errorf("an error without its status: %v", err)
				}
			})
		}
	}
}

// answerOf is what came of a look, in the corpus' words. Only an observation can
// make an alert, or replace the last one; what is not definite is asked again.
func answerOf(c corpustest.Case, o watch.Observation, err error) corpustest.Answer {
	a := corpustest.OfObservation(o)
	class, after := lastlook.Classify(err)
	a.Outcome = string(page.OutcomeOf(err))
	a.Alert, a.KeepLast = err == nil, err != nil && o.Title == ""
	a.Retry, a.RetryAfter = err != nil && class == lastlook.ClassTransient, int(after.Seconds())
	a.Fresh = now.Sub(o.At) <= time.Duration(c.Ctx.MaxAgeS)*time.Second
	return a
}
