package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// ByStatus says what an answer means whose status is neither 200 nor 203. It
// returns nil for those two.
func ByStatus(a Answer, now time.Time) error {
	fail := func(o Outcome, err error) error {
		if d := RetryAfter(now, a.Header); d > 0 {
			err = lastlook.RetryAfter(d, err)
		}
		return &Error{Outcome: o, Status: a.Status, Err: err}
	}
	if by := challenged(a.Header); by != "" {
		return fail(Blocked, fmt.Errorf("the site takes us for a robot: %s (HTTP %d); look less often, or elsewhere", by, a.Status))
	}
	switch a.Status {
	case http.StatusOK, http.StatusNonAuthoritativeInfo:
		return nil
	case http.StatusTooManyRequests:
		return fail(RateLimited, errors.New("the site answered HTTP 429: it wants to be asked less often"))
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusUnavailableForLegalReasons:
		return fail(Blocked, fmt.Errorf("the site refuses to answer us (HTTP %d): check the key if it needs one; else look less often, or elsewhere", a.Status))
	case http.StatusGone:
		return &Error{Outcome: Gone, Status: a.Status, Err: lastlook.Gone(errors.New("the site answered HTTP 410: it is gone for good"))}
	case http.StatusNotFound:
		return &Error{Outcome: Gone, Status: a.Status, Err: fmt.Errorf("%w: the site answered HTTP 404", watch.ErrMissing)}
	}
	return fail(Failed, fmt.Errorf("the site answered HTTP %d%s: it will be asked again", a.Status, statusText(a.Status)))
}

func statusText(status int) string {
	if s := http.StatusText(status); s != "" {
		return " (" + strings.ToLower(s) + ")"
	}
	return ""
}
