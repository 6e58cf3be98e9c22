package watch_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	neturl "net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/source/page"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/corpustest"
	"github.com/lastlook/lastlook/watch/extract"
	"github.com/lastlook/lastlook/watch/price"
)

// corpusFile is what `make corpus CORPUS=…` asks for.
var corpusFile = flag.String("corpus", "", "a file of cases: all of them are run and reported")

// answers are how the kinds of cases are answered; each returns what is wrong.
var answers = map[string]func(*testing.T, corpustest.Case) []string{
	corpustest.KindPriceText: func(_ *testing.T, c corpustest.Case) []string {
		return corpustest.Compare(c.Expect, corpustest.FromReading(price.ReadText(c.Input,
			price.Context{Locale: c.Ctx.Locale, Currency: c.Ctx.Currency, Host: hostOf(c.Ctx.URL)})))
	},
	corpustest.KindHTML: func(t *testing.T, c corpustest.Case) []string {
		o, err := extract.Observe(t.Context(), extract.Page{URL: cmp.Or(c.Ctx.URL, "https://shop.example/p"), ContentType: "text/html; charset=utf-8",
			Body: []byte(c.Input), Hint: extract.HintOf(c.Ctx.Options())})
		a := corpustest.OfObservation(o)
		if n, ok := errors.AsType[*extract.NotProductError](err); ok {
			a.Reject = string(n.Reason)
		}
		return corpustest.Compare(c.Expect, a)
	},
	corpustest.KindJSON:      jsonCase,
	corpustest.KindFetch:     fetchCase,
	corpustest.KindBehaviour: playCase,
}

func hostOf(address string) string {
	u, err := neturl.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// doer answers every request with one raw answer.
type doer string

// Do implements [page.Doer].
func (d doer) Do(r *http.Request) (*http.Response, error) {
	head, body, _ := strings.Cut(strings.ReplaceAll(string(d), "\r\n", "\n"), "\n\n")
	head = strings.TrimSpace(head)
	if lower := strings.ToLower(head); !strings.Contains(lower, "\ncontent-length:") && !strings.Contains(lower, "\ntransfer-encoding:") {
		head = fmt.Sprintf("%s\nContent-Length: %d", head, len(body))
	}
	whole := strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n" + body
	return http.ReadResponse(bufio.NewReader(strings.NewReader(whole)), r)
}

// fetched is when the corpus' answers are fetched: their dates are before it.
var fetched = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fetchCase says what came of a fetch. Only an observation can make an alert, or
// replace the last one; what is not definite is asked again.
func fetchCase(t *testing.T, c corpustest.Case) []string {
	src, err := page.New(page.Config{Client: doer(c.Input), Clock: func() time.Time { return fetched }})
	if err != nil {
		t.Fatal(err)
	}
	address := strings.Replace(cmp.Or(c.Ctx.URL, "http://shop.example/p"), "https:", "http:", 1)
	o, err := src.Look(t.Context(), watch.Listing{Source: page.SourceName, URL: address, Options: c.Ctx.Options()})
	a := corpustest.OfObservation(o)
	class, after := lastlook.Classify(err)
	a.Outcome = string(page.OutcomeOf(err))
	a.Alert, a.KeepLast = err == nil, err != nil && o.Title == ""
	a.Retry, a.RetryAfter = err != nil && class == lastlook.ClassTransient, int(after.Seconds())
	a.Fresh = fetched.Sub(o.At) <= time.Duration(c.Ctx.MaxAgeS)*time.Second
	return corpustest.Compare(c.Expect, a)
}

// playCase plays a behaviour.
func playCase(t *testing.T, c corpustest.Case) (wrong []string) {
	b := behaviour{ID: c.ID, Kind: c.Kind, Input: c.Input, Note: c.Note}
	text, err := json.Marshal(c.Expect.Fields)
	if err == nil {
		err = strictly(string(text), &b.Expect)
	}
	if err != nil {
		return []string{"the expectation: " + err.Error()}
	}
	t.Run(c.ID, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { wrong = b.play(t) })
	})
	return wrong
}

// TestCorpus runs a corpus through all that reads and decides. Without -corpus
// it holds the behaviours of the project's own copy to their expectations; the
// other kinds are tested where they are answered.
func TestCorpus(t *testing.T) {
	if *corpusFile == "" {
		cases, err := corpustest.Load("testdata/corpus/corpus.jsonl", corpustest.KindBehaviour)
		if err != nil || len(cases) == 0 {
			t.Fatalf("%d cases, %v", len(cases), err)
		}
		for i, c := range cases {
			if i%everyNth > 0 {
				continue // see TestBehaviour
			}
			for _, wrong := range playCase(t, c) {
				t.Errorf("%s, %s (%s): %s", c.ID, c.Note, c.Expect.Strength, wrong)
			}
		}
		return
	}
	cases, err := corpustest.Load(*corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	right, all := map[string]int{}, map[string]int{}
	for _, c := range cases {
		group := c.Kind + " " + c.Expect.Strength
		all[group]++
		wrong := []string{"nothing answers cases of this kind yet"}
		if answer := answers[c.Kind]; answer != nil {
			wrong = answer(t, c)
		}
		if len(wrong) == 0 {
			right[group]++
			continue
		}
		say("wrong %s (%s): %s", c.ID, group, strings.Join(wrong, "; "))
	}
	missed := 0
	for _, kind := range corpustest.Kinds() {
		must, should := kind+" "+corpustest.Must, kind+" "+corpustest.Should
		if all[must]+all[should] > 0 {
			say("corpus %s: must %d/%d should %d/%d", kind, right[must], all[must], right[should], all[should])
			missed += all[must] - right[must]
		}
	}
	if missed > 0 {
		t.Errorf("%d cases that must be right are wrong", missed)
	}
}

// say prints a line of the report.
func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format+"\n", args...) }

// Every kind of case is answered.
func TestEveryKindIsAnswered(t *testing.T) {
	for _, kind := range corpustest.Kinds() {
		if answers[kind] == nil {
			t.Errorf("nothing answers cases of the kind %s", kind)
		}
	}
}
