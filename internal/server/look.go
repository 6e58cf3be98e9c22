package server

import (
	"context"
	"errors"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/source/browser"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// lookLimit bounds a look that somebody waits for.
const lookLimit = 30 * time.Second

// Outcome is what a look came to, in one word.
type Outcome string

// The outcomes. Only "ok" and, if it is definite, "gone" say something about
// the world; all others mean that nobody knows.
const (
	OutcomeOK           Outcome = "ok"
	OutcomeNotProduct   Outcome = "not_product"
	OutcomeNeedsBrowser Outcome = "needs_browser"
	OutcomeBlocked      Outcome = "blocked"
	OutcomeRateLimited  Outcome = "rate_limited"
	OutcomeGone         Outcome = "gone"
	OutcomeError        Outcome = "error"
)

// Look is what one look came to.
type Look struct {
	URL     string
	Outcome Outcome
	// Error says why there is no observation, and what was looked for.
	Error string
	At    time.Time
	Took  time.Duration
	// Observation is nil unless the outcome is OutcomeOK.
	Observation *Observation
	// Candidates are all that the page offers to choose from, in the order in
	// which the rules count; only [Check] asks for them.
	Candidates []Candidate
	// missing says that the page was answered not to exist.
	missing bool
}

// Candidate is what one rule read in a page, and what became of it.
type Candidate = extract.Candidate

// Ambiguous reports whether the page gives several answers, of which none was
// taken: several prices, or several words on whether it can be had.
func (l *Look) Ambiguous() bool {
	o := l.Observation
	if o == nil {
		return false
	}
	_, known := o.Availability.Orderable()
	for _, e := range o.Evidence {
		if e.Fact == extract.FactAmbiguous && o.Price.IsZero() || e.Fact == extract.FactAmbiguousStock && !known {
			return true
		}
	}
	return o.Ambiguous
}

// Check looks at a URL once, with the browser if that is on. It needs no data
// directory and stores nothing.
// The error says what is wrong with the URL; what became of the look is in it.
func Check(ctx context.Context, opt Options, address string) (look Look, err error) {
	opt = opt.withDefaults()
	source := pageSource
	if opt.Browser.On {
		source, opt.Browser.Patient = browser.SourceName, true
	}
	u, err := parseURL(address)
	if err != nil {
		return Look{}, err
	}
	sources, err := newSources(opt)
	if err != nil {
		return Look{}, err
	}
	defer func() { err = errors.Join(err, sources.close()) }()
	service, err := watch.New(watch.Config{Store: noStore{}, Sources: sources.by, Logger: opt.Logger, Clock: opt.Clock, Rand: opt.Rand})
	if err != nil {
		return Look{}, err
	}
	var candidates []Candidate
	look = lookAt(extract.WithCandidates(ctx, &candidates), service, opt.Clock, watch.Listing{Source: source, URL: u, Private: true})
	look.Candidates = candidates
	return look, ctx.Err()
}

// noStore stands where a service that only looks would have its store; it is
// never called.
type noStore struct{ watch.Store }

// lookAt looks once, on behalf of somebody who waits.
func lookAt(ctx context.Context, service *watch.Service, clock func() time.Time, l watch.Listing) Look {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	began := clock()
	o, err := service.Look(ctx, l)
	look := Look{URL: l.URL, Outcome: OutcomeOK, At: lastlook.Micro(began), Took: clock().Sub(began)}
	if err != nil {
		look.Outcome, look.Error, look.missing = outcomeOf(err), err.Error(), errors.Is(err, watch.ErrMissing)
		return look
	}
	look.Observation = &o
	return look
}
