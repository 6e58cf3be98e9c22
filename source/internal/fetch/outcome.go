package fetch

import (
	"errors"
	"strings"
)

// Outcome is what came of a look, in one word.
type Outcome string

// The outcomes.
const (
	// OK: the answer states what was asked for.
	OK Outcome = "ok"
	// Blocked: the site took us for a robot, or refuses us.
	Blocked Outcome = "blocked"
	// RateLimited: the site wants to be asked less often.
	RateLimited Outcome = "rate_limited"
	// Gone: there is no such thing (410; 404, if that is seen twice).
	Gone Outcome = "gone"
	// NotProduct: an answer, but not about one thing for sale.
	NotProduct Outcome = "not_product"
	// NeedsBrowser: a page that scripts have to fill.
	NeedsBrowser Outcome = "needs_browser"
	// Failed: no answer, or none that can be read.
	Failed Outcome = "error"
)

// Error is why a look gave no observation.
type Error struct {
	Outcome Outcome
	// Status is the HTTP status, 0 if there was no answer.
	Status int
	// Err is the cause; what the core has to know of it, it wraps.
	Err error
}

// Error returns the cause's text.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// OutcomeOf returns the outcome of a look from its error: OK for nil, Failed for
// errors that are no [*Error].
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Outcome
	}
	return Failed
}

// redacted is an error without its secrets; what it wraps is still there for
// errors.Is.
type redacted struct {
	text string
	err  error
}

func (r *redacted) Error() string { return r.text }
func (r *redacted) Unwrap() error { return r.err }

// redact takes secrets out of an error's text: a service may quote what it was
// asked with.
func redact(err error, secrets []string) error {
	text := err.Error()
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[redacted]")
		}
	}
	if text == err.Error() {
		return err
	}
	return &redacted{text, err}
}
