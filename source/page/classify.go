package page

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/source/internal/blocked"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// read says what an answer means.
func (a *answer) read(ctx context.Context, l watch.Listing, now time.Time) (watch.Observation, error) {
	fail := func(o Outcome, err error) (watch.Observation, error) {
		return watch.Observation{}, &Error{Outcome: o, Status: a.status, Err: err}
	}
	if by := blocked.ByHeader(a.header, a.final.Hostname()); by != "" {
		return fail(Blocked, a.wait(now, blockedBy(by, a.status)))
	}
	if a.status == http.StatusOK || a.status == http.StatusNonAuthoritativeInfo {
		if err := a.isPage(); err != nil {
			return fail(Failed, err)
		}
	}
	d, err := extract.Parse(ctx, extract.Page{
		URL: l.URL, Final: a.final.String(), ContentType: a.header.Get("Content-Type"), Body: a.body, Hint: extract.HintOf(l.Options),
	})
	if err != nil {
		return watch.Observation{}, err
	}
	if a.status != http.StatusOK && a.status != http.StatusNonAuthoritativeInfo {
		return fail(a.byStatus(now, d))
	}
	o, err := d.Product(ctx)
	switch {
	case err == nil:
		return o, nil
	case ctx.Err() != nil:
		return o, err
	}
	return fail(byContent(d, err))
}

// wait adds the wait that the site asked for.
func (a *answer) wait(now time.Time, err error) error {
	if d := retryAfter(now, a.header); d > 0 {
		return lastlook.RetryAfter(d, err)
	}
	return err
}

// byStatus says what an answer means that is no page; a robot check can come
// with any status.
func (a *answer) byStatus(now time.Time, d *extract.Document) (Outcome, error) {
	switch a.status {
	case http.StatusTooManyRequests:
		return RateLimited, a.wait(now, errors.New("the site answered HTTP 429: it wants to be asked less often"))
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusUnavailableForLegalReasons:
		return Blocked, a.wait(now, blockedBy(blocked.ByPage(d), a.status))
	case http.StatusNotFound, http.StatusGone:
		// Shops' own error pages hold all sorts of forms: only what nothing but
		// a robot check has counts against a definite answer.
		if by := blocked.ByVendor(d); by != "" {
			return Blocked, blockedBy(by, a.status)
		}
		if a.status == http.StatusGone {
			return Gone, lastlook.Gone(errors.New("the site answered HTTP 410: the page is gone for good"))
		}
		return Gone, fmt.Errorf("%w: the site answered HTTP 404", watch.ErrMissing)
	}
	if by := blocked.ByPage(d); by != "" {
		return Blocked, a.wait(now, blockedBy(by, a.status))
	}
	return Failed, a.wait(now, fmt.Errorf("the site answered HTTP %d%s: it will be asked again", a.status, statusText(a.status)))
}

func statusText(status int) string {
	if s := http.StatusText(status); s != "" {
		return " (" + strings.ToLower(s) + ")"
	}
	return ""
}

// byContent says what a page means that states no product.
func byContent(d *extract.Document, err error) (Outcome, error) {
	if by := blocked.ByPage(d); by != "" {
		return Blocked, blockedBy(by, http.StatusOK)
	}
	switch blocked.ErrorOf(d) {
	case blocked.NoError:
	case blocked.TooOften:
		return RateLimited, errors.New("the site says that it was asked too often")
	case blocked.OutOfOrder:
		return Failed, fmt.Errorf("the site is out of order: its page says %q", clip(d.Text()))
	}
	if blocked.IsShell(d) {
		return NeedsBrowser, fmt.Errorf("the page is empty until its scripts have run: it needs a browser (%w)", err)
	}
	if errors.Is(err, extract.ErrNotProduct) {
		return NotProduct, err
	}
	return Failed, err
}

func blockedBy(by string, status int) error {
	where := ""
	if status != http.StatusOK {
		where = fmt.Sprintf(" (HTTP %d)", status)
	}
	if by == "" {
		return fmt.Errorf("the site refuses to answer us%s: look less often, or elsewhere", where)
	}
	return fmt.Errorf("the site takes us for a robot%s: %s; look less often, or elsewhere", where, by)
}

// isPage checks that what was answered is a page at all.
func (a *answer) isPage() error {
	if len(a.body) == 0 {
		return errors.New("the answer is empty: it will be asked for again")
	}
	declared, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		declared, _, _ = strings.Cut(a.header.Get("Content-Type"), ";")
		declared = strings.ToLower(strings.TrimSpace(declared))
	}
	is, _, _ := strings.Cut(http.DetectContentType(a.body), ";")
	switch declared {
	case "text/html", "application/xhtml+xml":
		// What is stated is believed, unless the first bytes are another format's.
		if strings.HasPrefix(is, "text/") || is == "application/octet-stream" {
			return nil
		}
	case "", "text/plain", "text/xml", "application/xml", "application/octet-stream", "unknown/unknown":
		if strings.HasPrefix(is, "text/") {
			return nil
		}
	default:
		is = declared
	}
	return fmt.Errorf("the address leads to %.40q, not to a web page: enter the address of the product's page", is)
}

func clip(s string) string {
	const limit = 60
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
