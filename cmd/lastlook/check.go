package main

import (
	"context"
	"time"

	"github.com/lastlook/lastlook/internal/server"
)

type checkCmd struct {
	URL string `arg:"" help:"The page's address."`

	Browser browserFlag `help:"Let Chromium render the page, as watches with --source browser do: the one that is found, or --browser=PATH."`
}

// Help implements [kong.HelpProvider].
func (*checkCmd) Help() string {
	return `Shows what a watch would see, where in the page it stands, and all that there was to choose from: each candidate with the rule that read it, and why it was taken or not. Nothing is stored.

Exit codes: 0 seen; 3 could not look (a block page, a timeout, no such page), so nobody knows; 4 looked, and the page shows no single product; 5 looked, and the page gives several answers, of which none is taken.

Example: lastlook check https://shop.example/camera`
}

// Run looks once.
func (c *checkCmd) Run(ctx context.Context, a *app) error {
	a.browser = c.Browser.options()
	opt := a.options()
	if missing, err := a.missing(); err == nil && !missing {
		opt.Dir, _ = a.dir() // only for what it allows; nothing is stored
	}
	look, err := server.Check(ctx, opt, c.URL)
	if err != nil {
		return err
	}
	if a.out.json {
		err = a.out.value(newLookView(&look))
	} else {
		a.printLook(&look)
		a.printCandidates(look.Candidates)
	}
	if err != nil {
		return err
	}
	switch look.Outcome {
	case server.OutcomeOK:
		if look.Ambiguous() {
			return exit(exitAmbiguous)
		}
		return nil
	case server.OutcomeNotProduct:
		return exit(exitNoProduct)
	default:
		return exit(exitCannotSee)
	}
}

// printLook prints an observation with its evidence, or why there is none.
func (a *app) printLook(l *server.Look) {
	if l.Observation == nil {
		a.out.linef("%s: %s", l.Outcome, outcomeText(l.Outcome))
		a.out.linef("  %s", l.Error)
		a.out.notef("  tried %s, took %s", a.out.when(l.At), span(l.Took))
		return
	}
	o := l.Observation
	a.out.linef("%s", firstOf(o.Title, l.URL))
	a.out.facts("  ",
		"price", firstOf(o.Price.String(), "none that is certain"),
		"availability", server.DescribeAvailability(*o),
		"sku", o.SKU,
		"image", o.Image,
		"looked at", a.out.when(o.At)+", took "+span(l.Took))
	if len(o.Evidence) == 0 {
		return
	}
	a.out.linef("evidence")
	var facts []string
	for _, e := range o.Evidence {
		facts = append(facts, e.Fact, e.Where+": "+e.Text)
	}
	a.out.facts("  ", facts...)
}

// printCandidates prints what there was to choose from. What was taken is marked.
func (a *app) printCandidates(all []server.Candidate) {
	if len(all) == 0 {
		return
	}
	a.out.linef("candidates")
	for i := range all {
		c := &all[i]
		mark := " "
		if c.Chosen {
			mark = "*"
		}
		if c.Fact == "" {
			a.out.linef("  %s %-9s  nothing: %s", mark, c.Rule, c.Why)
			continue
		}
		a.out.linef("  %s %-9s  %s: %s (%s): %s", mark, c.Rule, c.Fact, c.Text, c.Where, c.Why)
	}
}

func outcomeText(o server.Outcome) string {
	switch o {
	case server.OutcomeOK:
		return "seen"
	case server.OutcomeNotProduct:
		return "the page was read and shows no single product"
	case server.OutcomeNeedsBrowser:
		return "the page is filled by scripts, which are not run; nobody knows"
	case server.OutcomeBlocked:
		return "the site takes us for a robot or refuses us, so nobody knows"
	case server.OutcomeRateLimited:
		return "the site wants to be asked less often, so nobody knows"
	case server.OutcomeGone:
		return "there is no such page; a second such answer, a minute later, is definite"
	case server.OutcomeError:
	}
	return "could not look, so nobody knows"
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// lookView is a look in JSON.
type lookView struct {
	URL          string           `json:"url"`
	Outcome      server.Outcome   `json:"outcome"`
	Error        string           `json:"error,omitzero"`
	At           time.Time        `json:"at"`
	Milliseconds int64            `json:"milliseconds"`
	Observation  *observationView `json:"observation"`
	// Ambiguous says that the page gives several answers, of which none is taken.
	Ambiguous bool `json:"ambiguous,omitzero"`
	// Candidates are what there was to choose from; only check has them.
	Candidates []candidateView `json:"candidates,omitzero"`
}

// candidateView is what one rule read.
type candidateView struct {
	Rule   string `json:"rule"`
	Fact   string `json:"fact,omitzero"`
	Text   string `json:"text,omitzero"`
	Where  string `json:"where,omitzero"`
	Chosen bool   `json:"chosen"`
	Why    string `json:"why"`
}

func newLookView(l *server.Look) lookView {
	v := lookView{URL: l.URL, Outcome: l.Outcome, Error: l.Error, At: l.At, Milliseconds: l.Took.Milliseconds(),
		Observation: newObservationView(l.Observation), Ambiguous: l.Ambiguous()}
	for _, c := range l.Candidates {
		v.Candidates = append(v.Candidates, candidateView{c.Rule, c.Fact, c.Text, c.Where, c.Chosen, c.Why})
	}
	return v
}
