package pushservice_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/browsertest/pushservice"
	"github.com/lastlook/lastlook/internal/door"
	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

// fixture is a service, one browser, and who sends to it.
type fixture struct {
	*pushservice.Service
	side
	browser *webpushtest.Browser
	keys    *webpush.Keys
	http    *http.Client
	client  *webpush.Client
	sub     webpush.Subscription
}

// each runs a test with both kinds of browsers.
func each(t *testing.T, test func(*testing.T, *fixture)) {
	for name, newSide := range map[string]func(*testing.T, *pushservice.Service) side{
		"autopush": func(_ *testing.T, s *pushservice.Service) side { return &fox{service: s, url: s.Autopush()} },
		"google": func(t *testing.T, s *pushservice.Service) side {
			at, err := s.Google()
			must(t, err)
			return &chrome{service: s, at: at}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := pushservice.Start()
			must(t, err)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			f := &fixture{Service: s, side: newSide(t, s)}
			f.keys, err = webpush.GenerateKeys()
			must(t, err)
			f.browser, err = webpushtest.NewBrowser()
			must(t, err)
			f.http, err = door.New(door.Config{Via: s.Via(), RootCAs: s.Roots()})
			must(t, err)
			t.Cleanup(f.http.CloseIdleConnections)
			f.client = f.sender(t, f.keys)
			f.connect(t)
			f.subscribeAnew(t)
			test(t, f)
		})
	}
}

func (f *fixture) sender(t *testing.T, keys *webpush.Keys) *webpush.Client {
	t.Helper()
	c, err := webpush.New(webpush.Config{Keys: keys, Subject: "mailto:test@lastlook.example", Doer: f.http})
	must(t, err)
	return c
}

func (f *fixture) subscribeAnew(t *testing.T) {
	t.Helper()
	key, err := base64.RawURLEncoding.DecodeString(f.keys.Public())
	must(t, err)
	f.sub, err = f.browser.Subscription(f.subscribe(t, key))
	must(t, err)
}

func (f *fixture) send(t *testing.T, text, topic string, ttl time.Duration) error {
	t.Helper()
	_, err := f.client.Send(t.Context(), f.sub, webpush.Message{Payload: []byte(text), Topic: topic, TTL: ttl})
	return err
}

func (f *fixture) expect(t *testing.T, text string) {
	t.Helper()
	plain, err := f.browser.Decrypt(f.receive(t))
	if err != nil || string(plain) != text {
		t.Errorf("received %q, %v; want %q", plain, err, text)
	}
}

func kindOf(err error) webpush.Kind {
	if e, ok := errors.AsType[*webpush.Error](err); ok {
		return e.Kind
	}
	return 99 // none
}

func TestDelivery(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		must(t, f.send(t, "now", "", 0))
		f.expect(t, "now")
		f.disconnect(t)
		must(t, f.send(t, "now or never", "", 0))
		must(t, f.send(t, "short", "", time.Second))
		for _, text := range []string{"a", "b", "c"} {
			must(t, f.send(t, text, "one", time.Hour))
		}
		must(t, f.send(t, "other", "two", time.Hour))
		if n := len(f.Stored()); n != 3 {
			t.Errorf("%d are stored, want those of a second, of topic one and of topic two", n)
		}
		// What has expired is not delivered.
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for len(f.Stored()) == 3 {
			<-ticker.C
		}
		f.connect(t)
		f.expect(t, "c")
		f.expect(t, "other")
		must(t, f.send(t, "last", "", time.Hour))
		f.expect(t, "last")

		f.Hold()
		must(t, f.send(t, "replaced", "one", time.Hour))
		must(t, f.send(t, "held", "one", time.Hour))
		if stored := f.Stored(); len(stored) != 1 {
			t.Errorf("%d are held, want the last", len(stored))
		}
		f.Release()
		f.expect(t, "held")
	})
}

func TestDropAndForget(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.Drop()
		away(t, f.Service)
		must(t, f.send(t, "meanwhile", "", time.Hour))
		f.connect(t)
		f.expect(t, "meanwhile")

		f.Forget()
		if err := f.send(t, "forgotten", "", time.Hour); kindOf(err) != webpush.Gone {
			t.Errorf("forgotten: %v", err)
		}
		if fox, ok := f.side.(*fox); ok {
			fox.connect(t)
			if !fox.changed {
				t.Error("the browser cannot know that it was forgotten")
			}
		}
		f.subscribeAnew(t)
		must(t, f.send(t, "anew", "", time.Hour))
		f.expect(t, "anew")
		f.unsubscribe(t)
		if err := f.send(t, "ended", "", time.Hour); kindOf(err) != webpush.Gone || len(f.Live()) != 0 || len(f.Subscriptions()) != 2 {
			t.Errorf("ended: %v; %+v", err, f.Subscriptions())
		}
	})
}

func TestStrict(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		good, err := f.client.Prepare(f.sub, webpush.Message{Payload: []byte("x"), TTL: time.Minute, Topic: "t"})
		must(t, err)
		post := func(change func(r *http.Request, m *webpush.Request)) int {
			t.Helper()
			m := good
			m.Header, m.Body = good.Header.Clone(), slices.Clone(good.Body)
			r, err := http.NewRequestWithContext(soon(t), http.MethodPost, m.URL.String(), http.NoBody)
			must(t, err)
			r.Header = m.Header
			change(r, &m)
			r.Body, r.ContentLength = bodyOf(m.Body), int64(len(m.Body))
			resp, err := f.http.Do(r)
			must(t, err)
			must(t, resp.Body.Close())
			return resp.StatusCode
		}
		for name, c := range map[string]struct {
			want   int
			change func(r *http.Request, m *webpush.Request)
		}{
			"good":        {201, func(*http.Request, *webpush.Request) {}},
			"no TTL":      {400, func(r *http.Request, _ *webpush.Request) { r.Header.Del("TTL") }},
			"topic":       {400, func(r *http.Request, _ *webpush.Request) { r.Header.Set("Topic", "ä") }},
			"urgency":     {400, func(r *http.Request, _ *webpush.Request) { r.Header.Set("Urgency", "now") }},
			"encoding":    {400, func(r *http.Request, _ *webpush.Request) { r.Header.Set("Content-Encoding", "aesgcm") }},
			"old headers": {400, func(r *http.Request, _ *webpush.Request) { r.Header.Set("Crypto-Key", "dh=x") }},
			"no VAPID":    {401, func(r *http.Request, _ *webpush.Request) { r.Header.Del("Authorization") }},
			"changed VAPID": {403, func(r *http.Request, _ *webpush.Request) {
				r.Header.Set("Authorization", changed(r.Header.Get("Authorization")))
			}},
			"unknown":         {404, func(r *http.Request, _ *webpush.Request) { r.URL.Path += "x" }},
			"another host":    {404, func(r *http.Request, _ *webpush.Request) { r.Host = "push.example" }},
			"key id":          {400, func(_ *http.Request, m *webpush.Request) { m.Body[21] = 3 }},
			"key length":      {400, func(_ *http.Request, m *webpush.Request) { m.Body[20] = 33 }},
			"several records": {400, func(_ *http.Request, m *webpush.Request) { copy(m.Body[16:], []byte{0, 0, 0, 20}) }},
			"too long":        {413, func(_ *http.Request, m *webpush.Request) { m.Body = append(m.Body, make([]byte, 4096)...) }},
		} {
			if got := post(c.change); got != c.want {
				t.Errorf("%s: status %d, want %d", name, got, c.want)
			}
		}
		other, err := webpush.GenerateKeys()
		must(t, err)
		if _, err := f.sender(t, other).Send(t.Context(), f.sub, webpush.Message{}); kindOf(err) != webpush.Misconfigured {
			t.Errorf("another key: %v", err)
		}
		if err := f.Bind(f.Live()[0].Token, []byte("another")); err != nil {
			t.Error(err)
		}
		if err := f.send(t, "x", "", 0); kindOf(err) != webpush.Misconfigured {
			t.Errorf("bound to another key: %v", err)
		}
		if err := f.Bind("nix", nil); err == nil {
			t.Error("bound a subscription that is none")
		}
		f.Override(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
		if err := f.send(t, "x", "", 0); kindOf(err) != webpush.Retry {
			t.Errorf("overridden: %v", err)
		}
		refused := slices.DeleteFunc(f.Requests(), func(r pushservice.Request) bool { return r.Refused == "" })
		if len(refused) != 15 || len(f.Requests()) != 16 {
			t.Errorf("%d of %d requests were refused: %+v", len(refused), len(f.Requests()), refused)
		}
	})
}

func bodyOf(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// changed changes a character in the middle of a header.
func changed(s string) string {
	b := []byte(s)
	if i := len(b) / 2; b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}
