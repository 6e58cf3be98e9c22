package channeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/httpcall"
)

// The suite is tried on a channel that is careful, and on one that makes a
// mistake at a time: it must find each, with the clause that is about it.

const planted = "/hook/planted-secret-part"

// careful sends the body as JSON.
type careful struct {
	caller *httpcall.Caller
	url    string
	fault  string
	client *http.Client
	clock  func() time.Time
	mu     sync.Mutex
}

func (c *careful) String() string   { return "careful" }
func (c *careful) GoString() string { return "careful" }

func newCareful(tb TB, s Setup, fault string) lastlook.Channel {
	caller, err := httpcall.New(httpcall.Config{Name: "careful", Client: s.Client, Clock: s.Clock})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	c := &careful{caller: caller, url: s.URL + planted, fault: fault, client: s.Client, clock: s.Clock}
	if fault == "printed" {
		return &naked{URL: c.url, c: c}
	}
	return c
}

// naked prints as it is.
type naked struct {
	URL string
	c   *careful
}

func (n *naked) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	return n.c.Deliver(ctx, d)
}

func (c *careful) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	u, err := httpcall.ParseURL("url", c.url)
	if err != nil {
		return lastlook.Receipt{}, err
	}
	body, err := json.Marshal(map[string]any{"title": d.Message.Title, "text": d.Message.Body, "url": d.Message.URL})
	if err != nil {
		return lastlook.Receipt{}, lastlook.Permanent(err)
	}
	if out, err, done := c.before(ctx, &d, &body); done {
		return out, err
	}
	a, err := c.caller.Do(ctx, httpcall.Request{URL: u, Header: http.Header{"Content-Type": {"application/json"}}, Body: body})
	return c.after(a, err)
}

// before makes the mistakes that replace or change the call.
func (c *careful) before(ctx context.Context, d *lastlook.Delivery, body *[]byte) (lastlook.Receipt, error, bool) {
	switch c.fault {
	case "unclassified context":
		if err := ctx.Err(); err != nil {
			return lastlook.Receipt{}, err, true
		}
	case "memory":
		c.mu.Lock() // or the race detector would find it first
		_ = append(d.Value, '!')
		c.mu.Unlock()
	case "too long":
		if len(d.Message.Title) > 100 {
			return lastlook.Receipt{}, lastlook.Permanent(errors.New("too long")), true
		}
	case "raw bytes":
		*body = []byte(`{"text":"` + d.Message.Body + `"}`)
	case "naive", "naive, reads all", "follows":
		r, err := c.naive(ctx, *body)
		return r, err, true
	case "twice":
		u, _ := httpcall.ParseURL("url", c.url)
		_, _ = c.caller.Do(ctx, httpcall.Request{URL: u, Body: *body})
	}
	return lastlook.Receipt{}, nil, false
}

// after makes the mistakes that misread the answer.
func (c *careful) after(a httpcall.Answer, err error) (lastlook.Receipt, error) {
	if err == nil {
		if c.fault == "shows answer" {
			return lastlook.Receipt{Answer: "HTTP " + strconv.Itoa(a.Status) + " " + strings.ToValidUTF8(string(a.Body), "")}, nil
		}
		return a.Receipt(""), nil
	}
	class, wait := lastlook.Classify(err)
	switch {
	case c.fault == "no wait" && wait > 0:
		err = lastlook.RetryAfter(0, err)
	case c.fault == "timeout is transient" && class == lastlook.ClassUnknown:
		err = lastlook.RetryAfter(0, err)
	case c.fault == "refused is permanent" && a.Status == 0 && class == lastlook.ClassTransient:
		err = lastlook.Permanent(err)
	case c.fault == "refused is unknown" && a.Status == 0 && class == lastlook.ClassTransient:
		err = lastlook.Unknown(err)
	case c.fault == "404 is gone" && a.Status == http.StatusNotFound:
		err = lastlook.Gone(err)
	case c.fault == "403 is permanent" && a.Status == http.StatusForbidden:
		err = lastlook.Permanent(err)
	case c.fault == "unclassified":
		return lastlook.Receipt{}, errors.New(err.Error())
	case c.fault == "names the URL":
		return lastlook.Receipt{}, &lastlook.Error{Class: class, After: wait, Err: fmt.Errorf("%s: %w", c.url, err)}
	case c.fault == "two lines":
		return lastlook.Receipt{}, &lastlook.Error{Class: class, After: wait, Err: fmt.Errorf("first\n%w", err)}
	case c.fault == "receipt and error":
		return lastlook.Receipt{Answer: "well"}, err
	}
	return lastlook.Receipt{}, err
}

// naive is what one writes on the first day.
func (c *careful) naive(ctx context.Context, body []byte) (lastlook.Receipt, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return lastlook.Receipt{}, err
	}
	req.Header.Set("Idempotency-Key", "k")
	resp, err := c.client.Do(req)
	if err != nil {
		return lastlook.Receipt{}, err
	}
	defer resp.Body.Close()
	if c.fault == "naive, reads all" {
		if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 2*maxDrain)); err != nil {
			return lastlook.Receipt{}, lastlook.Unknown(errors.New("no body"))
		}
	}
	if resp.StatusCode >= 300 {
		return lastlook.Receipt{}, lastlook.RetryAfter(0, errors.New("HTTP "+strconv.Itoa(resp.StatusCode)))
	}
	return lastlook.Receipt{Answer: resp.Status}, nil
}

func plantedHarness(fault string) Harness {
	return Harness{
		New:     func(tb TB, s Setup) lastlook.Channel { return newCareful(tb, s, fault) },
		Secrets: []string{planted, "planted-secret-part"},
	}
}

func TestCareful(t *testing.T) {
	var mu sync.Mutex
	seen := 0
	h := plantedHarness("")
	h.Inspect = func(TB, *http.Request, []byte) { mu.Lock(); defer mu.Unlock(); seen++ }
	Run(t, h)
	t.Cleanup(func() {
		if seen == 0 {
			t.Error("requests were not inspected")
		}
	})
}

// TestPlanted names, for each mistake, clauses that must find it.
func TestPlanted(t *testing.T) {
	for fault, names := range map[string][]string{
		"unclassified context": {"message/not called", "network/cancelled before"},
		"memory":               {"message/memory"},
		"too long":             {"message/hostile"},
		"raw bytes":            {"request/hostile"},
		"naive":                {"status/every code", "network/nobody listens", "network/stale connection", "secrets/no answer", "network/cancelled while waiting"},
		"naive, reads all":     {"answer/body without end", "answer/body cut off"},
		"follows":              {"status/redirects"},
		"twice":                {"request/once", "status/every code"},
		"shows answer":         {"secrets/echoed"},
		"no wait":              {"status/retry after"},
		"timeout is transient": {"network/cancelled while waiting", "network/deadline while waiting", "network/half an answer", "network/HTTP 2", "network/stale connection", "network/reset", "status/interim answers", "network/endless header"},
		"refused is permanent": {"network/nobody listens", "network/no TLS"},
		"refused is unknown":   {"network/nobody listens", "network/no TLS"},
		"404 is gone":          {"status/every code"},
		"403 is permanent":     {"status/every code"},
		"unclassified":         {"status/every code"},
		"names the URL":        {"network/nobody listens"},
		"two lines":            {"network/nobody listens"},
		"receipt and error":    {"network/nobody listens"},
		"printed":              {"message/printed"},
	} {
		for _, name := range names {
			if failures := attempt(t.Context(), func(tb TB) { clause(t, name).Check(tb, plantedHarness(fault)) }); len(failures) == 0 {
				t.Errorf("mistake %q: clause %q found nothing", fault, name)
			}
		}
	}
}

func clause(t *testing.T, name string) Clause {
	t.Helper()
	all := Clauses()
	i := slices.IndexFunc(all, func(c Clause) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no clause %q", name)
	}
	return all[i]
}

// TestDeviation: what a harness declares is expected, and nothing else.
func TestDeviation(t *testing.T) {
	h := plantedHarness("404 is gone")
	h.Statuses = map[int]Want{http.StatusNotFound: {Class: lastlook.ClassGone, Why: "a push service's word for unsubscribed"}}
	clause(t, "status/every code").Check(t, h)
	h.New = plantedHarness("").New
	if failures := attempt(t.Context(), func(tb TB) { clause(t, "status/every code").Check(tb, h) }); len(failures) != 1 {
		t.Errorf("a deviation that was declared and not made: %q", failures)
	}
}

func TestClauses(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Clauses() {
		if seen[c.Name] || c.Promise == "" {
			t.Errorf("clause %q is there twice, or promises nothing", c.Name)
		}
		seen[c.Name] = true
	}
	failures := attempt(t.Context(), func(tb TB) {
		Clauses()[0].Check(tb, Harness{New: func(TB, Setup) lastlook.Channel { return nil }})
	})
	if len(failures) != 1 {
		t.Errorf("no channel: %q", failures)
	}
}

// recorder is a TB that keeps failures instead of failing a test.
type recorder struct {
	ctx      context.Context
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

// attempt runs f with a recorder and returns the failures it reported.
func attempt(ctx context.Context, f func(tb TB)) []string {
	ctx, cancel := context.WithCancel(ctx)
	r := &recorder{ctx: ctx}
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine, as in testing
		defer close(done)
		defer func() {
			cancel()
			for _, clean := range slices.Backward(r.cleanups) {
				clean()
			}
		}()
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		f(r)
	}()
	<-done
	return r.failures
}

func (r *recorder) Helper()                  {}
func (r *recorder) Name() string             { return "recorder" }
func (r *recorder) Logf(string, ...any)      {}
func (r *recorder) FailNow()                 { runtime.Goexit() }
func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.FailNow()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}
