package webpush_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a client, and a strict service on loopback.
type world struct {
	keys    *webpush.Keys
	client  *webpush.Client
	service *webpushtest.Service
	server  *httptest.Server
}

func newWorld(t *testing.T, cfg webpushtest.Config) *world {
	t.Helper()
	w := &world{keys: someKeys(t)}
	cfg.Clock = func() time.Time { return now }
	w.service = webpushtest.NewService(cfg)
	w.server = httptest.NewServer(w.service)
	t.Cleanup(w.server.Close)
	w.client = w.with(t, webpush.Config{})
	return w
}

func (w *world) with(t *testing.T, cfg webpush.Config) *webpush.Client {
	t.Helper()
	if cfg.Keys == nil {
		cfg.Keys = w.keys
	}
	if cfg.Subject == "" {
		cfg.Subject = "mailto:push@example.com"
	}
	if cfg.Doer == nil {
		cfg.Doer = w.server.Client()
	}
	if cfg.Clock == nil {
		cfg.Clock = func() time.Time { return now }
	}
	c, err := webpush.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) subscribe(t *testing.T) webpush.Subscription {
	t.Helper()
	sub, err := w.service.Subscribe(w.server.URL, w.keys.Public())
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func failure(t *testing.T, err error, want webpush.Kind) *webpush.Error {
	t.Helper()
	e, ok := errors.AsType[*webpush.Error](err)
	if !ok || e.Kind != want {
		t.Fatalf("error %v, want one of kind %s", err, want)
	}
	return e
}

func TestSend(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	sub := w.subscribe(t)
	sent := []webpush.Message{
		{Payload: []byte("470 EUR"), TTL: 90 * time.Second, Urgency: webpush.High, Topic: "a-topic_of-32-characters-0123456"},
		{Payload: nil},
		{Payload: bytes.Repeat([]byte("x"), webpush.MaxPayload), TTL: 1000 * 24 * time.Hour, Urgency: webpush.VeryLow},
		{Payload: []byte("日本"), TTL: 1999 * time.Millisecond, Urgency: webpush.Normal, Topic: "a-topic_of-32-characters-0123456"},
	}
	for _, m := range sent {
		r, err := w.client.Send(t.Context(), sub, m)
		if err != nil || r.Status != http.StatusCreated {
			t.Fatalf("%d bytes: %v, %v; refused: %v", len(m.Payload), r, err, w.service.Refused())
		}
	}
	want := []webpushtest.Options{
		{TTL: 90 * time.Second, Urgency: "high", Topic: "a-topic_of-32-characters-0123456"},
		{Urgency: "normal"},
		{TTL: webpush.MaxTTL, Urgency: "very-low"},
		{TTL: time.Second, Urgency: "normal", Topic: "a-topic_of-32-characters-0123456"},
	}
	got := w.service.Pushes(sub)
	if len(got) != len(sent) {
		t.Fatalf("%d messages came", len(got))
	}
	for i, p := range got {
		if p.Err != nil || !bytes.Equal(p.Payload, sent[i].Payload) || p.Options != want[i] {
			t.Errorf("message %d: %q with %+v, %v", i, p.Payload, p.Options, p.Err)
		}
		if p.Replaced != (i == 0) || p.Claims != got[0].Claims || p.Claims.Expires != now.Add(12*time.Hour) || p.Claims.Key != w.keys.Public() {
			t.Errorf("message %d: %+v", i, p)
		}
		if l := len(p.Payload) + 1 + p.Padding; l%webpush.Bucket != 0 && l != webpush.MaxPayload+1 {
			t.Errorf("message %d has %d bytes of padding", i, p.Padding)
		}
	}
}

// TestMessageInvalid: nothing is sent of what a service would refuse.
func TestMessageInvalid(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	sub := w.subscribe(t)
	for name, m := range map[string]webpush.Message{
		"negative TTL":    {TTL: -1},
		"urgency":         {Urgency: "urgent"},
		"topic too long":  {Topic: strings.Repeat("a", 33)},
		"topic, a space":  {Topic: "a b"},
		"topic, line end": {Topic: "a\r\nX: y"},
	} {
		if _, err := w.client.Send(t.Context(), sub, m); !errors.Is(err, webpush.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.client.Send(t.Context(), sub, webpush.Message{Payload: make([]byte, webpush.MaxPayload+1)}); !errors.Is(err, webpush.ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
	if _, err := w.client.Send(t.Context(), webpush.Subscription{}, webpush.Message{}); !errors.Is(err, webpush.ErrInvalid) {
		t.Errorf("no subscription: %v", err)
	}
	dry, err := webpush.New(webpush.Config{Keys: w.keys, Subject: "https://example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dry.Send(t.Context(), sub, webpush.Message{}); !errors.Is(err, webpush.ErrInvalid) {
		t.Errorf("no doer: %v", err)
	}
	var none *http.Client
	for _, cfg := range []webpush.Config{{}, {Keys: w.keys, Subject: "https://example.com", Doer: none}, {Keys: w.keys, Subject: "https://example.com", UserAgent: "a\nb"}} {
		if _, err := webpush.New(cfg); !errors.Is(err, webpush.ErrInvalid) {
			t.Errorf("a client of %+v: %v", cfg, err)
		}
	}
	if n := w.service.Count() + len(w.service.Refused()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// kindOf is the table, written down once more.
func kindOf(code int) (kind webpush.Kind, accepted bool) {
	switch code {
	case 404, 410:
		return webpush.Gone, false
	case 413:
		return webpush.TooLarge, false
	case 401, 402, 403, 405, 407, 414, 415, 426, 431:
		return webpush.Misconfigured, false
	case 408, 421, 423, 425, 429:
		return webpush.Retry, false
	case 504, 524:
		return webpush.Unknown, false
	}
	return map[int]webpush.Kind{1: webpush.Unknown, 3: webpush.Misconfigured, 4: webpush.Rejected, 5: webpush.Retry}[code/100], code/100 == 2
}

// doer answers by itself.
type doer func(r *http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

func answer(code int, body string, header ...string) doer {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
	}
}

func TestEveryStatus(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	sub := w.subscribe(t)
	for code := 100; code <= 599; code++ {
		c := w.with(t, webpush.Config{Doer: answer(code, `{"errno":1,"message":"for people"}`, "Retry-After", "120")})
		r, err := c.Send(t.Context(), sub, webpush.Message{})
		kind, accepted := kindOf(code)
		if accepted {
			if err != nil || r.Status != code {
				t.Errorf("HTTP %d: %v, %v", code, r, err)
			}
			continue
		}
		e := failure(t, err, kind)
		waits := kind == webpush.Retry || kind == webpush.Unknown
		if e.Status != code || e.Host != sub.Host() || (e.After == 2*time.Minute) != waits || !strings.Contains(err.Error(), strconv.Itoa(code)) || strings.Contains(err.Error(), "for people") != (code >= 200) {
			t.Errorf("HTTP %d: %+v: %v", code, e, err)
		}
	}
}

// TestAboutVAPID: answers of real push services with status 400 (and 401, 403),
// which must never end a subscription.
func TestAboutVAPID(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	sub := w.subscribe(t)
	for _, tt := range []struct {
		code int
		body string
		want webpush.Kind
	}{
		{400, `{"code":400,"errno":110,"error":"Bad Request","message":"Invalid aes128gcm Crypto-Key header"}`, webpush.Misconfigured},
		{400, "<HTML><TITLE>UnauthorizedRegistration</TITLE>", webpush.Misconfigured},
		{400, `{"reason":"BadAuthorizationHeader"}`, webpush.Misconfigured},
		{400, `{"reason":"VapidPkHashMismatch"}`, webpush.Misconfigured},
		{400, "missing required JWT claim", webpush.Misconfigured},
		{400, `{"reason":"BadWebPushTopic"}`, webpush.Rejected},
		{400, "", webpush.Rejected},
		{401, `{"errno":109,"error":"Unauthorized"}`, webpush.Misconfigured},
		{403, `{"reason":"BadJwtToken"}`, webpush.Misconfigured},
		{403, "gone", webpush.Misconfigured},
		{410, "vapid", webpush.Gone},
	} {
		c := w.with(t, webpush.Config{Doer: answer(tt.code, tt.body)})
		_, err := c.Send(t.Context(), sub, webpush.Message{})
		failure(t, err, tt.want)
	}
	// And of a service that verifies.
	for name, c := range map[string]*webpush.Client{
		"another key":      w.with(t, webpush.Config{Keys: someKeys(t)}),
		"a clock too late": w.with(t, webpush.Config{Clock: func() time.Time { return now.Add(-13 * time.Hour) }}),
		"too early":        w.with(t, webpush.Config{Clock: func() time.Time { return now.Add(13 * time.Hour) }}),
	} {
		_, err := c.Send(t.Context(), sub, webpush.Message{})
		if e := failure(t, err, webpush.Misconfigured); e.Status != http.StatusForbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEnded(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	sub, stays := w.subscribe(t), w.subscribe(t)
	w.service.End(sub, http.StatusGone)
	_, err := w.client.Send(t.Context(), sub, webpush.Message{})
	failure(t, err, webpush.Gone)
	if _, err := w.client.Send(t.Context(), stays, webpush.Message{}); err != nil {
		t.Error(err)
	}
}

func TestRetryAfter(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	sub := w.subscribe(t)
	const most = 365 * 24 * time.Hour
	for field, want := range map[string]time.Duration{
		"":     0,
		"120":  2 * time.Minute,
		" 7 ":  7 * time.Second,
		"0":    0,
		"-5":   0,
		"1.5":  0,
		"soon": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat):                  90 * time.Second,
		now.Add(90 * time.Second).Format("Monday, 02-Jan-06 15:04:05 GMT"): 90 * time.Second,
		now.Add(90 * time.Second).Format(time.ANSIC):                       90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):                        0,
		"99999999999999999999":                                             most,
		"Fri, 31 Dec 9999 23:59:59 GMT":                                    most,
	} {
		for _, code := range []int{408, 429, 500, 503} {
			c := w.with(t, webpush.Config{Doer: answer(code, "", "Retry-After", field)})
			_, err := c.Send(t.Context(), sub, webpush.Message{})
			if e := failure(t, err, webpush.Retry); e.After != want {
				t.Errorf("HTTP %d with Retry-After %q: wait %s, want %s", code, field, e.After, want)
			}
		}
	}
}

func TestShorterOnce(t *testing.T) {
	w := newWorld(t, webpushtest.Config{MaxBody: 1000})
	sub := w.subscribe(t)
	long, short := bytes.Repeat([]byte("long "), 300), []byte("short")
	if _, err := w.client.Send(t.Context(), sub, webpush.Message{Payload: long, Short: short}); err != nil {
		t.Fatal(err)
	}
	if got := w.service.Pushes(sub); len(got) != 1 || string(got[0].Payload) != "short" || len(w.service.Refused()) != 1 {
		t.Errorf("came %v, refused %v", got, w.service.Refused())
	}
	_, err := w.client.Send(t.Context(), sub, webpush.Message{Payload: long, Short: long})
	failure(t, err, webpush.TooLarge)
	if n := len(w.service.Refused()); n != 3 {
		t.Errorf("%d requests were refused, want 3: shorter once, then no more", n)
	}
	_, err = w.client.Send(t.Context(), sub, webpush.Message{Payload: long})
	failure(t, err, webpush.TooLarge)
	if n := len(w.service.Refused()); n != 4 {
		t.Errorf("%d requests were refused, want 4", n)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(target.Close)
	for _, code := range []int{301, 302, 303, 307, 308} {
		w := newWorld(t, webpushtest.Config{Answer: func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, target.URL, code)
			return true
		}})
		given := w.server.Client()
		_, err := w.with(t, webpush.Config{Doer: given}).Send(t.Context(), w.subscribe(t), webpush.Message{Payload: []byte("x")})
		failure(t, err, webpush.Misconfigured)
		if given.CheckRedirect != nil {
			t.Error("the given client was changed")
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("the target saw %d requests", n)
	}
}

// TestNoSecretInErrors: a service that repeats all it was sent, and errors of
// the network that name the URL.
func TestNoSecretInErrors(t *testing.T) {
	w := newWorld(t, webpushtest.Config{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, "no %s or %q\n", r.URL.Path, r.Header)
		return true
	}})
	sub := w.subscribe(t)
	_, capability, _ := strings.Cut(sub.Endpoint(), "/v2/")
	check := func(c *webpush.Client, to webpush.Subscription) {
		t.Helper()
		_, err := c.Send(t.Context(), to, webpush.Message{})
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, verb := range []string{"%v", "%+v", "%#v"} {
				if text := fmt.Sprintf(verb, e); strings.Contains(text, capability[:6]) || strings.Contains(text, "eyJ") {
					t.Errorf("%T with %s: %s", e, verb, text)
				}
			}
		}
		if err == nil || !strings.Contains(err.Error(), to.Host()) {
			t.Errorf("the error does not name the host: %v", err)
		}
	}
	check(w.client, sub)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	deaf, err := webpush.NewSubscription(nobody+"/wpush/v2/"+capability, sub.P256dh(), sub.Auth())
	if err != nil {
		t.Fatal(err)
	}
	check(w.client, deaf)
	check(w.with(t, webpush.Config{Doer: doer(func(r *http.Request) (*http.Response, error) {
		return nil, errors.New("cannot reach " + r.URL.String() + " with " + r.Header.Get("Authorization"))
	})}), sub)
}

func TestNoAnswer(t *testing.T) {
	release := make(chan struct{})
	got := make(chan struct{}, 1)
	w := newWorld(t, webpushtest.Config{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- struct{}{}
		<-release
		return true
	}})
	defer close(release)
	sub := w.subscribe(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := w.client.Send(ctx, sub, webpush.Message{})
		done <- err
	}()
	<-got
	cancel()
	err := <-done
	if failure(t, err, webpush.Unknown); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	_, err = w.client.Send(ctx, sub, webpush.Message{})
	if failure(t, err, webpush.Retry); !errors.Is(err, context.Canceled) || len(got) != 0 {
		t.Errorf("cancelled before: %v", err)
	}
}

// TestOnePayloadManySubscriptions: the caller's bytes, and those behind them,
// stay what they are. The race detector watches.
func TestOnePayloadManySubscriptions(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	const canary = "canary canary canary canary canary"
	whole := []byte("one payload for all" + canary)
	payload := whole[:len(whole)-len(canary)]
	subs := make([]webpush.Subscription, 8)
	for i := range subs {
		subs[i] = w.subscribe(t)
	}
	var wg sync.WaitGroup
	for _, sub := range subs {
		for range 4 {
			wg.Go(func() {
				if _, err := w.client.Send(t.Context(), sub, webpush.Message{Payload: payload, Topic: "same"}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if string(whole) != "one payload for all"+canary {
		t.Errorf("the caller's memory was changed: %q", whole)
	}
	clear(whole) // whoever still reads it races with this
	for _, sub := range subs {
		got := w.service.Pushes(sub)
		salts := map[string]bool{}
		for _, p := range got {
			salts[string(p.Body[:16])], salts[string(p.Body[21:86])] = true, true
			if string(p.Payload) != "one payload for all" {
				t.Errorf("came %q, %v", p.Payload, p.Err)
			}
		}
		if len(got) != 4 || len(salts) != 8 {
			t.Errorf("%d messages with %d different salts and keys", len(got), len(salts))
		}
	}
}
