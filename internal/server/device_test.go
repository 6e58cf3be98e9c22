package server

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/httpapi"
	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

// web is a server with its page, and a push service that browsers subscribe at.
type web struct {
	fixture
	t       *testing.T
	url     string
	service *webpushtest.Service
	// origin is the push service's, over https on its usual port.
	origin string
	// refusing has it refuse everybody's credentials.
	refusing atomic.Bool
	// dryRun is the watch that a dry run is asked of.
	dryRun string
}

const pushHost = "example.com" // which the test's certificate is for

func newWeb(t *testing.T, change ...func(*Options)) *web {
	t.Helper()
	dir, err := config.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &web{t: t, origin: "https://" + pushHost}
	w.service = webpushtest.NewService(webpushtest.Config{Answer: func(rw http.ResponseWriter, _ *http.Request) bool {
		if w.refusing.Load() {
			rw.WriteHeader(http.StatusForbidden)
		}
		return w.refusing.Load()
	}})
	pushes := httptest.NewTLSServer(w.service)
	t.Cleanup(pushes.Close)
	roots := x509.NewCertPool()
	roots.AddCert(pushes.Certificate())
	w.fixture = fixture{told: new(buffer), log: new(buffer)}
	opt := Options{
		Dir: dir, AllowPrivate: onLoopback, Messages: w.told, Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		RootCAs: roots, Via: map[string]string{pushHost + ":443": pushes.Listener.Addr().String()},
	}
	for _, f := range change {
		f(&opt)
	}
	if w.Server, err = Open(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(w.log)
		}
	})
	w.opt.HTTP.Listen = "127.0.0.1:0"
	if err := w.ensureKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := w.Handler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

// asRecipient is the device that a recipient is.
func asRecipient(r string) httpapi.Who {
	id, _ := device.IDOf(r)
	return httpapi.AsDevice(device.Device{ID: id})
}

// visitor is a browser at the page: it has a cookie jar, and sends what browsers
// send.
type visitor struct {
	w      *web
	client *http.Client
	bearer string
	header http.Header
}

func (w *web) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &visitor{w: w, client: &http.Client{Jar: jar, Timeout: time.Minute}, header: http.Header{}}
}

// do calls the API, and decodes the answer into out if it is not nil.
func (v *visitor) do(method, path string, body, out any) (status int) {
	v.w.t.Helper()
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			v.w.t.Fatal(err)
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(v.w.t.Context(), method, v.w.url+path, r)
	if err != nil {
		v.w.t.Fatal(err)
	}
	req.Header = v.header.Clone()
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if v.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+v.bearer)
	}
	resp, err := v.client.Do(req)
	if err != nil {
		v.w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if strings.HasSuffix(req.URL.Path, "/events") && resp.StatusCode == http.StatusOK {
		return resp.StatusCode // without an end
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		v.w.t.Fatal(err)
	}
	if resp.StatusCode >= 400 {
		var p struct {
			Status int
			Detail string
		}
		if ct := resp.Header.Get("Content-Type"); ct != "application/problem+json" {
			v.w.t.Errorf("%s %s: HTTP %d as %s: %s", method, path, resp.StatusCode, ct, b)
		} else if err := json.Unmarshal(b, &p); err != nil || p.Status != resp.StatusCode || p.Detail == "" {
			v.w.t.Errorf("%s %s: the problem is %s, %v", method, path, b, err)
		}
	}
	if out != nil && len(b) > 0 {
		if err := json.Unmarshal(b, out); err != nil {
			v.w.t.Errorf("%s %s: HTTP %d: %s: %v", method, path, resp.StatusCode, b, err)
		}
	}
	return resp.StatusCode
}

// ok is do, and wants it done.
func (v *visitor) ok(method, path string, body any) {
	v.w.t.Helper()
	var raw json.RawMessage
	if got := v.do(method, path, body, &raw); got >= http.StatusMultipleChoices {
		v.w.t.Errorf("%s %s: HTTP %d: %s", method, path, got, raw)
	}
}

// must is do, and wants a status.
func (v *visitor) must(want int, method, path string, body, out any) {
	v.w.t.Helper()
	var raw json.RawMessage
	if got := v.do(method, path, body, &raw); got != want {
		v.w.t.Fatalf("%s %s: HTTP %d, want %d: %s", method, path, got, want, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			v.w.t.Fatalf("%s %s: %s: %v", method, path, raw, err)
		}
	}
}

// arrive makes a device of the visitor.
func (v *visitor) arrive(name string) httpapi.Device {
	v.w.t.Helper()
	var d httpapi.Device
	v.must(http.StatusCreated, http.MethodPost, "/api/v1/devices", map[string]any{"name": name}, &d)
	return d
}

// subscribe subscribes the device at the push service.
func (v *visitor) subscribe() webpush.Subscription {
	v.w.t.Helper()
	key := v.w.PushKey()
	sub, err := v.w.service.Subscribe(v.w.origin, key)
	if err != nil {
		v.w.t.Fatal(err)
	}
	var d httpapi.Device
	v.must(http.StatusOK, http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"subscription": sub, "application_server_key": key}, &d)
	if d.Push.State != "active" || d.Push.Key != key || d.Push.Service != pushHost {
		v.w.t.Errorf("subscribed, and shown as %+v", d.Push)
	}
	return sub
}

// pushed returns the payloads that came for a subscription.
func (w *web) pushed(sub webpush.Subscription) (out []map[string]any) {
	w.t.Helper()
	for _, p := range w.service.Pushes(sub) {
		var m map[string]any
		if err := json.Unmarshal(p.Payload, &m); err != nil || p.Err != nil {
			w.t.Errorf("the browser got %q: %v, %v", p.Payload, err, p.Err)
		}
		out = append(out, m)
	}
	return out
}

// watchThere watches the shop at [shopHost]: devices may only watch what is
// public, and the door takes that name for a public host.
func (w *web) watchThere(v *visitor, below string) httpapi.Added {
	w.t.Helper()
	var added httpapi.Added
	v.must(http.StatusCreated, http.MethodPost, "/api/v1/watches", map[string]any{"url": "http://" + shopHost + "/lamp", "below": below}, &added)
	return added
}

const shopHost = "shop.example"

// at has the door connect to a shop when shop.example is asked for.
func at(s *shop) func(*Options) {
	u, err := url.Parse(s.URL)
	if err != nil {
		panic(err)
	}
	return func(o *Options) { o.Via[shopHost+":80"] = u.Host }
}

// From the page to the phone: a device watches a page, the price falls, the
// browser decrypts what its push service was given.
func TestAWatchIsPushed(t *testing.T) {
	s := newShop(t, eur("598.00"), eur("480.00"))
	w := newWeb(t, at(s))
	v := w.visitor()
	d := v.arrive("phone")
	sub := v.subscribe()
	added := w.watchThere(v, "500 EUR")
	if *added.Price != (httpapi.Money{Amount: "598", Currency: "EUR"}) || len(added.Holding) != 0 || added.Name != "Lamp" {
		t.Errorf("added as %+v", added)
	}
	e, err := w.FindWatch(t.Context(), added.ID)
	if err != nil || e.Listing.Private || e.Watch.Recipient != DeviceRecipient(d.ID) {
		t.Fatalf("kept as %+v, %v", e, err)
	}
	w.tickLater(t, time.Hour)
	got := w.pushed(sub)
	if len(got) != 1 || got[0]["title"] != "Lamp" || !strings.Contains(got[0]["body"].(string), "480.00 EUR") || got[0]["subject"] != added.ID {
		t.Fatalf("pushed %v; refused %v", got, w.service.Refused())
	}
	// The worker compares what it was sent with what it is told is true now.
	var now httpapi.Now
	v.must(http.StatusOK, http.MethodGet, "/api/v1/watches/"+added.ID+"/now", nil, &now)
	told, err := json.Marshal(got[0]["data"].(map[string]any)["price"])
	if err != nil {
		t.Fatal(err)
	}
	if is, err := json.Marshal(now.Price); err != nil || string(is) != string(told) || now.Availability != got[0]["data"].(map[string]any)["availability"] {
		t.Errorf("told %s, and now it is %s, %v", told, is, err)
	}
	recs, err := w.Outbox().List(t.Context(), lastlook.Query{Subject: added.ID})
	if err != nil || len(recs) != 1 || recs[0].State != lastlook.StateSent || recs[0].Lane != "push:"+pushHost {
		t.Errorf("the outbox has %+v, %v", recs, err)
	}
}

// tickLater ticks as if so much time had passed.
func (w *web) tickLater(t *testing.T, by time.Duration) {
	t.Helper()
	opt := w.opt
	opt.Clock = func() time.Time { return time.Now().Add(by) }
	later, err := Open(context.WithoutCancel(t.Context()), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if _, err := later.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
}
