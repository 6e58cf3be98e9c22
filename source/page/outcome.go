package page

import "github.com/lastlook/lastlook/source/internal/fetch"

// Outcome is what came of a look, in one word.
type Outcome = fetch.Outcome

// The outcomes.
const (
	// OK: the page states a product.
	OK = fetch.OK
	// Blocked: the site took us for a robot, keeps a queue, or refuses us.
	Blocked = fetch.Blocked
	// RateLimited: the site wants to be asked less often.
	RateLimited = fetch.RateLimited
	// Gone: there is no such page (410; 404, if that is seen twice).
	Gone = fetch.Gone
	// NotProduct: a page, but not that of one product.
	NotProduct = fetch.NotProduct
	// NeedsBrowser: a page that scripts have to fill.
	NeedsBrowser = fetch.NeedsBrowser
	// Failed: no answer, or none that can be read.
	Failed = fetch.Failed
)

// Error is why a look gave no observation.
type Error = fetch.Error

// OutcomeOf returns the outcome of a look from its error: OK for nil, Failed for
// errors that did not come from this package.
func OutcomeOf(err error) Outcome { return fetch.OutcomeOf(err) }
