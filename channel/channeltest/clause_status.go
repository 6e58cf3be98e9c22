package channeltest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
)

var statusClauses = []Clause{
	{Name: "status/every code", Promise: "one status table for all HTTP channels", run: everyStatus},
	{Name: "status/interim answers", Promise: "RFC 9110, section 15.2", run: interimAnswers},
	{Name: "status/no status", Promise: "RFC 9110, section 15", run: noStatus},
	{Name: "status/redirects", Promise: "delivery follows no redirects", run: redirects},
	{Name: "status/retry after", Promise: "RFC 9110, section 10.2.3", run: retryAfter},
}

// expected is the table, written down once more.
func expected(code int) Want {
	switch code {
	case 401, 402, 403, 404, 405, 407, 414, 415, 426, 431:
		return Want{Class: lastlook.ClassMisconfigured}
	case 410:
		return Want{Class: lastlook.ClassGone}
	case 408, 421, 423, 425, 429:
		return Want{Class: lastlook.ClassTransient}
	case 504, 524:
		return Want{Class: lastlook.ClassUnknown}
	}
	switch code / 100 {
	case 1:
		return Want{Class: lastlook.ClassUnknown}
	case 2:
		return Want{Accepted: true}
	case 3:
		return Want{Class: lastlook.ClassMisconfigured}
	case 4:
		return Want{Class: lastlook.ClassPermanent}
	}
	return Want{Class: lastlook.ClassTransient}
}

func (f *fixture) want(code int) Want {
	if w, ok := f.h.Statuses[code]; ok {
		return w
	}
	return expected(code)
}

// status checks an outcome against the table.
func (f *fixture) status(o outcome, code int) {
	f.Helper()
	after := fmt.Sprintf("HTTP %d", code)
	w := f.want(code)
	if w.Accepted {
		f.accepted(o, after)
		if o.err == nil && !strings.Contains(o.receipt.Answer, strconv.Itoa(code)) {
			f.Errorf("the receipt of %s does not name the status: %q", after, o.receipt.Answer)
		}
		return
	}
	f.class(o, after, w.Class)
	if o.err != nil && !strings.Contains(o.err.Error(), strconv.Itoa(code)) {
		f.Errorf("the error after %s does not name the status: %q", after, o.err)
	}
}

// passedOver says that a status need not be tried under the race detector, which
// makes each call some ten times dearer: one of those that nobody has assigned. A
// run without it tries them all.
func passedOver(code int) bool { return underRace && code%100 > 31 && code%10 != 1 }

func everyStatus(f *fixture) {
	var code, requests atomic.Int64
	url := f.serve(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		requests.Add(1)
		w.WriteHeader(int(code.Load()))
		_, _ = io.WriteString(w, `{"detail":"for people"}`)
	})
	ch := f.channel(url)
	for c := 200; c <= 599; c++ {
		if passedOver(c) {
			continue
		}
		code.Store(int64(c))
		requests.Store(0)
		f.status(f.deliver(f.Context(), ch, message()), c)
		if n := requests.Load(); n != 1 {
			f.Errorf("HTTP %d led to %d requests", c, n)
		}
	}
}

// interimAnswers: 1xx before the answer is nothing; instead of one it is no
// answer.
func interimAnswers(f *fixture) {
	var code atomic.Int64
	followed := f.serve(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(int(code.Load()))
		w.WriteHeader(http.StatusNoContent)
	})
	alone := f.answers(func(*http.Request, []byte) string {
		return fmt.Sprintf("HTTP/1.1 %d Wait\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n", code.Load())
	})
	before, instead := f.channel(followed), f.channel(alone)
	for c := 100; c <= 199; c++ {
		if passedOver(c) {
			continue
		}
		code.Store(int64(c))
		if c != http.StatusSwitchingProtocols { // which is never interim
			f.status(f.deliver(f.Context(), before, message()), http.StatusNoContent)
		}
		f.class(f.deliver(f.Context(), instead, message()), fmt.Sprintf("only HTTP %d", c), f.want(c).Class)
	}
}

// noStatus: codes outside HTTP's classes count as 5xx.
func noStatus(f *fixture) {
	for _, c := range []string{"000", "099", "600", "999"} {
		ch := f.channel(f.raw("HTTP/1.1 " + c + " What\r\nContent-Length: 0\r\n\r\n"))
		f.class(f.deliver(f.Context(), ch, message()), "HTTP "+c, lastlook.ClassTransient)
	}
}

func redirects(f *fixture) {
	var target counter
	elsewhere := f.serve(target.handler(http.StatusOK))
	var (
		code, requests atomic.Int64
		location       atomic.Value
	)
	url := f.serve(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		requests.Add(1)
		w.Header().Set("Location", location.Load().(string))
		w.Header().Set("Refresh", "0; url="+elsewhere)
		w.WriteHeader(int(code.Load()))
	})
	follows := *f.client
	follows.CheckRedirect = nil // a client that would follow
	ch := f.channelWith(url, &follows)
	for c := 300; c <= 399; c++ {
		// Elsewhere, here, as written by people, and nowhere.
		for _, to := range []string{elsewhere + "/there", "/here", "there", "http://[broken", ""} {
			if to != elsewhere+"/there" && c != 301 && c != 307 {
				continue
			}
			code.Store(int64(c))
			location.Store(to)
			requests.Store(0)
			o := f.deliver(f.Context(), ch, message())
			f.class(o, fmt.Sprintf("HTTP %d to %q", c, to), f.want(c).Class)
			if n := requests.Load(); n != 1 {
				f.Errorf("HTTP %d to %q led to %d requests", c, to, n)
			}
		}
	}
	if n := target.n.Load(); n != 0 {
		f.Errorf("redirects were followed: the target saw %d requests", n)
	}
}

func retryAfter(f *fixture) {
	var (
		code  atomic.Int64
		field atomic.Value
	)
	url := f.serve(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Retry-After", field.Load().(string))
		w.WriteHeader(int(code.Load()))
	})
	ch := f.channel(url)
	hours := 48 * time.Hour // more than any core heeds; may be cut to no less
	for _, tt := range []struct {
		field    string
		min, max time.Duration
	}{
		{"120", 2 * time.Minute, 2 * time.Minute},
		{"0", 0, 0},
		{now.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second, 90 * time.Second},
		{now.Add(90 * time.Second).Format("Monday, 02-Jan-06 15:04:05 GMT"), 90 * time.Second, 90 * time.Second},
		{now.Add(90 * time.Second).Format(time.ANSIC), 90 * time.Second, 90 * time.Second},
		{now.Add(-time.Hour).Format(http.TimeFormat), 0, 0},
		{"99999999999999999999", hours, 1 << 62},
		{"Fri, 31 Dec 9999 23:59:59 GMT", hours, 1 << 62},
		{"-5", 0, 0},
		{"soon", 0, 0},
		{"1.5", 0, 0},
		{"", 0, 0},
	} {
		for _, c := range []int{408, 429, 500, 503} {
			if w := f.want(c); w.Accepted || w.Class != lastlook.ClassTransient {
				continue
			}
			code.Store(int64(c))
			field.Store(tt.field)
			o := f.deliver(f.Context(), ch, message())
			f.status(o, c)
			if _, wait := lastlook.Classify(o.err); wait < tt.min || wait > tt.max {
				f.Errorf("HTTP %d with Retry-After %q: wait %s, want %s", c, tt.field, wait, tt.min)
			}
		}
	}
}
