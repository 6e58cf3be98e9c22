package page

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/source/internal/blocked"
	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// read says what an answer means.
func read(ctx context.Context, l watch.Listing, a fetch.Answer) (watch.Observation, error) {
	fail := func(o Outcome, err error) (watch.Observation, error) {
		return watch.Observation{}, &Error{Outcome: o, Status: a.Status, Err: err}
	}
	isPage := a.Status == http.StatusOK || a.Status == http.StatusNonAuthoritativeInfo
	if by := blocked.ByHeader(a.Header, a.Final.Hostname()); by != "" {
		return fail(Blocked, wait(a, blockedBy(by, a.Status)))
	}
	if isPage {
		if err := checkPage(a); err != nil {
			return fail(Failed, err)
		}
	}
	d, err := extract.Parse(ctx, extract.Page{
		URL: l.URL, Final: a.Final.String(), ContentType: a.Header.Get("Content-Type"), Body: a.Body, Hint: extract.HintOf(l.Options),
	})
	if err != nil {
		return watch.Observation{}, err
	}
	if !isPage {
		return watch.Observation{}, byStatus(a, d)
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
func wait(a fetch.Answer, err error) error {
	if d := fetch.RetryAfter(a.Began, a.Header); d > 0 {
		return lastlook.RetryAfter(d, err)
	}
	return err
}

// byStatus says what an answer means that is no page; a robot check can come
// with any status.
func byStatus(a fetch.Answer, d *extract.Document) error {
	by := ""
	switch a.Status {
	case http.StatusTooManyRequests:
	case http.StatusNotFound, http.StatusGone:
		// Shops' own error pages hold all sorts of forms: only what nothing but
		// a robot check has counts against a definite answer.
		by = blocked.ByVendor(d)
	default:
		by = blocked.ByPage(d)
	}
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusUnavailableForLegalReasons:
	default:
		if by == "" {
			return fetch.ByStatus(a, a.Began)
		}
	}
	return &Error{Outcome: Blocked, Status: a.Status, Err: wait(a, blockedBy(by, a.Status))}
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

// checkPage checks that what was answered is a page at all.
func checkPage(a fetch.Answer) error {
	if len(a.Body) == 0 {
		return errors.New("the answer is empty: it will be asked for again")
	}
	declared, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		declared, _, _ = strings.Cut(a.Header.Get("Content-Type"), ";")
		declared = strings.ToLower(strings.TrimSpace(declared))
	}
	is, _, _ := strings.Cut(http.DetectContentType(a.Body), ";")
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
