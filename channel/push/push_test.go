package push

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

const capability = "/wpush/v2/gAAAAABk5oU4capabilityOfTheDevice"

// finder answers with what a function says.
type finder func(ctx context.Context, recipient string) (webpush.Subscription, error)

func (f finder) Subscription(ctx context.Context, recipient string) (webpush.Subscription, error) {
	return f(ctx, recipient)
}

func always(sub webpush.Subscription) finder {
	return func(context.Context, string) (webpush.Subscription, error) { return sub, nil }
}

func newKeys(t *testing.T) *webpush.Keys {
	t.Helper()
	keys, err := webpush.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestChannel: what all channels must do, and that each request is one that a
// strict push service takes and the browser can decrypt.
func TestChannel(t *testing.T) {
	keys := newKeys(t)
	raw, err := keys.Raw()
	if err != nil {
		t.Fatal(err)
	}
	browser, err := webpushtest.NewBrowser()
	if err != nil {
		t.Fatal(err)
	}
	some, err := browser.Subscription("https://push.example.net" + capability)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Date(2026, 3, 29, 0, 59, 30, 0, time.UTC) // the suite's
	channeltest.Run(t, channeltest.Harness{
		New: func(tb channeltest.TB, s channeltest.Setup) lastlook.Channel {
			sub, err := browser.Subscription(s.URL + capability)
			if err != nil {
				tb.Fatalf("%v", err)
			}
			c, err := New(Config{Keys: keys, Subject: "mailto:push@example.com", Subscriptions: always(sub), Client: s.Client, Clock: s.Clock})
			if err != nil {
				tb.Fatalf("%v", err)
			}
			return c
		},
		Secrets: []string{capability, capability[len("/wpush/v2/"):], raw, base64.RawURLEncoding.EncodeToString(some.Auth())},
		Statuses: map[int]channeltest.Want{
			http.StatusNotFound: {Class: lastlook.ClassGone, Why: "a push service's word for a subscription that has ended"},
		},
		Open: browser.Decrypt,
		Inspect: func(tb channeltest.TB, r *http.Request, body []byte) {
			o, err := webpushtest.CheckRequest(r, body)
			if err != nil || o.Topic == "" || o.TTL > time.Hour {
				tb.Errorf("%+v, %v", o, err)
			}
			if _, err := webpushtest.VerifyVAPID(r.Header.Get("Authorization"), "http://"+r.Host, clock); err != nil {
				tb.Errorf("%v", err)
			}
			plain, err := browser.Decrypt(body)
			if err != nil {
				tb.Errorf("%v", err)
			}
			var p payload
			if err := json.Unmarshal(plain, &p); err != nil || p.Version != 1 || p.Title == "" || p.ID == "" || p.Tag != o.Topic || p.At != clock.UnixMilli() {
				tb.Errorf("payload %.200q, %v", plain, err)
			}
		},
	})
}

// world is a channel, and a strict service on loopback.
type world struct {
	channel *Channel
	service *webpushtest.Service
	server  *httptest.Server
	keys    *webpush.Keys
	subs    map[string]webpush.Subscription
	asked   int
}

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, cfg webpushtest.Config) *world {
	t.Helper()
	w := &world{keys: newKeys(t), subs: map[string]webpush.Subscription{}}
	cfg.Clock = func() time.Time { return now }
	w.service = webpushtest.NewService(cfg)
	w.server = httptest.NewServer(w.service)
	t.Cleanup(w.server.Close)
	w.subs["kim"] = w.subscribe(t)
	w.channel = w.with(t, Config{})
	return w
}

func (w *world) subscribe(t *testing.T) webpush.Subscription {
	t.Helper()
	sub, err := w.service.Subscribe(w.server.URL, w.keys.Public())
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func (w *world) with(t *testing.T, c Config) *Channel {
	t.Helper()
	if c.Keys == nil {
		c.Keys = w.keys
	}
	if c.Subscriptions == nil {
		c.Subscriptions = finder(func(_ context.Context, recipient string) (webpush.Subscription, error) {
			w.asked++
			sub, known := w.subs[recipient]
			if !known {
				return sub, fmt.Errorf("%w: %s", ErrNoSubscription, recipient)
			}
			return sub, nil
		})
	}
	c.Subject, c.Client, c.Clock = "mailto:push@example.com", w.server.Client(), func() time.Time { return now }
	ch, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func delivery() lastlook.Delivery {
	k := lastlook.Key{Topic: "watch", Subject: "w7", Recipient: "kim", Channel: "push"}
	return lastlook.Delivery{
		ID: 42, Key: k,
		Message: lastlook.Message{
			Title: "Espresso machine: 470.00 EUR", Body: "Below your 500.00 EUR.\nIt was 520.00 EUR.",
			URL: "https://shop.example/?a=1&b=<2>", Data: []byte(`{"price": "470.00"}`),
		},
		DeliveryKey: lastlook.DeliveryKey(k, 1), ReplaceKey: lastlook.ReplaceKey(k), ExpiresAt: now.Add(24 * time.Hour),
	}
}

func (w *world) deliver(t *testing.T, d lastlook.Delivery, want lastlook.Class) error {
	t.Helper()
	r, err := w.channel.Deliver(t.Context(), d)
	if err == nil {
		t.Fatalf("accepted (%s), want an error of class %s", r.Answer, want)
	}
	if class, _ := lastlook.Classify(err); class != want {
		t.Fatalf("error %q is %s, want %s", err, class, want)
	}
	return err
}

// TestPayload is the schema that the service worker relies on, as it stands in
// the package's description.
func TestPayload(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	d := delivery()
	silent := delivery()
	silent.Message = lastlook.Message{Title: "Sold out", Silent: true}
	for _, d := range []lastlook.Delivery{d, silent} {
		if r, err := w.channel.Deliver(t.Context(), d); err != nil || r.Answer != "HTTP 201" {
			t.Fatalf("%v, %v", r, err)
		}
	}
	got := w.service.Pushes(w.subs["kim"])
	if len(got) != 2 || !got[0].Replaced || got[1].Replaced {
		t.Fatalf("came %+v", got)
	}
	for i, want := range []string{
		`{"v":1,"title":"Espresso machine: 470.00 EUR","body":"Below your 500.00 EUR.\nIt was 520.00 EUR.","url":"https://shop.example/?a=1&b=<2>",` +
			`"tag":"` + d.ReplaceKey + `","id":"` + d.DeliveryKey + `","at":1777636800000,"subject":"w7","data":{"price":"470.00"}}`,
		`{"v":1,"title":"Sold out","tag":"` + d.ReplaceKey + `","id":"` + d.DeliveryKey + `","at":1777636800000,"subject":"w7","silent":true}`,
	} {
		if string(got[i].Payload) != want {
			t.Errorf("payload\n%s, want\n%s", got[i].Payload, want)
		}
	}
	if got[0].Options != (webpushtest.Options{TTL: 24 * time.Hour, Urgency: "normal", Topic: d.ReplaceKey}) || got[1].Urgency != "low" {
		t.Errorf("options %+v, %+v", got[0].Options, got[1].Options)
	}
}

func TestOptions(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	for name, tt := range map[string]struct {
		change func(d *lastlook.Delivery)
		want   webpushtest.Options
	}{
		"expires soon": {func(d *lastlook.Delivery) { d.ExpiresAt = now.Add(90*time.Second + 900*time.Millisecond) }, webpushtest.Options{TTL: 90 * time.Second, Urgency: "normal"}},
		"has expired":  {func(d *lastlook.Delivery) { d.ExpiresAt = now.Add(-time.Second) }, webpushtest.Options{Urgency: "normal"}},
		"never":        {func(d *lastlook.Delivery) { d.ExpiresAt = time.Time{} }, webpushtest.Options{TTL: webpush.MaxTTL, Urgency: "normal"}},
		"in a year":    {func(d *lastlook.Delivery) { d.ExpiresAt = now.AddDate(1, 0, 0) }, webpushtest.Options{TTL: webpush.MaxTTL, Urgency: "normal"}},
		"high":         {func(d *lastlook.Delivery) { d.Priority = lastlook.PriorityHigh }, webpushtest.Options{TTL: 24 * time.Hour, Urgency: "high"}},
		"low":          {func(d *lastlook.Delivery) { d.Priority = lastlook.PriorityLow }, webpushtest.Options{TTL: 24 * time.Hour, Urgency: "low"}},
		"silent":       {func(d *lastlook.Delivery) { d.Priority, d.Message.Silent = lastlook.PriorityHigh, true }, webpushtest.Options{TTL: 24 * time.Hour, Urgency: "low"}},
		"no topic":     {func(d *lastlook.Delivery) { d.ReplaceKey = "not a topic" }, webpushtest.Options{TTL: 24 * time.Hour, Urgency: "normal"}},
	} {
		sub := w.subscribe(t)
		w.subs["kim"] = sub
		d := delivery()
		tt.want.Topic = d.ReplaceKey
		tt.change(&d)
		if d.ReplaceKey != tt.want.Topic {
			tt.want.Topic = ""
		}
		if _, err := w.channel.Deliver(t.Context(), d); err != nil {
			t.Errorf("%s: %v; refused: %v", name, err, w.service.Refused())
			continue
		}
		if got := w.service.Pushes(sub); got[0].Options != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got[0].Options, tt.want)
		}
	}
}

// TestShorterOnce: a service that takes little gets less; one that takes
// nothing is asked twice, not more.
func TestShorterOnce(t *testing.T) {
	w := newWorld(t, webpushtest.Config{MaxBody: 2000})
	d := delivery()
	d.Message.Body = strings.Repeat("much to say; ", 300)
	if _, err := w.channel.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	got := w.service.Pushes(w.subs["kim"])
	var p payload
	if len(got) != 1 || json.Unmarshal(got[0].Payload, &p) != nil || len(got[0].Payload) > shortPayload || len(got[0].Payload) < shortPayload-10 {
		t.Fatalf("came %+v", got)
	}
	if p.Title != d.Message.Title || !strings.HasPrefix(p.Body, "much to say; much") || !strings.HasSuffix(p.Body, "…") || p.URL != d.Message.URL || string(p.Data) != `{"price":"470.00"}` {
		t.Errorf("shortened to %s", got[0].Payload)
	}

	w = newWorld(t, webpushtest.Config{MaxBody: 100})
	w.deliver(t, d, lastlook.ClassPermanent)
	if n := len(w.service.Refused()); n != 2 {
		t.Errorf("%d requests for a long message, want 2", n)
	}
	w.deliver(t, delivery(), lastlook.ClassPermanent)
	if n := len(w.service.Refused()); n != 3 {
		t.Errorf("%d requests for a short message, want 1", n-2)
	}
}

func TestGone(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	for _, status := range []int{http.StatusNotFound, http.StatusGone} {
		sub := w.subscribe(t)
		w.subs["kim"] = sub
		w.service.End(sub, status)
		w.deliver(t, delivery(), lastlook.ClassGone)
	}
	d := delivery()
	d.Key.Recipient = "nobody"
	if err := w.deliver(t, d, lastlook.ClassGone); !errors.Is(err, ErrNoSubscription) {
		t.Error(err)
	}
	w.channel = w.with(t, Config{Subscriptions: always(webpush.Subscription{})})
	w.deliver(t, delivery(), lastlook.ClassGone)
	w.channel = w.with(t, Config{Subscriptions: finder(func(context.Context, string) (webpush.Subscription, error) {
		return webpush.Subscription{}, errors.New("database is busy")
	})})
	w.deliver(t, delivery(), lastlook.ClassTransient)
}

// TestReplacedMeanwhile: the old subscription's end is not the recipient's.
func TestReplacedMeanwhile(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	old, current := w.subs["kim"], w.subscribe(t)
	w.service.End(old, http.StatusGone)
	answers := []webpush.Subscription{old, current, current}
	w.channel = w.with(t, Config{Subscriptions: finder(func(context.Context, string) (webpush.Subscription, error) {
		sub := answers[0]
		answers = answers[1:]
		return sub, nil
	})})
	w.deliver(t, delivery(), lastlook.ClassTransient)
	if _, err := w.channel.Deliver(t.Context(), delivery()); err != nil || len(w.service.Pushes(current)) != 1 {
		t.Error(err)
	}
}

// TestMisconfigured: what is about VAPID never ends a subscription.
func TestMisconfigured(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	right := w.channel
	w.channel = w.with(t, Config{Keys: newKeys(t)})
	w.deliver(t, delivery(), lastlook.ClassMisconfigured)
	w.channel = right
	if _, err := w.channel.Deliver(t.Context(), delivery()); err != nil {
		t.Error(err)
	}
	for body, want := range map[string]lastlook.Class{
		`{"reason":"VapidPkHashMismatch"}`:                  lastlook.ClassMisconfigured,
		`<TITLE>UnauthorizedRegistration</TITLE>`:           lastlook.ClassMisconfigured,
		`{"reason":"BadWebPushTopic"}`:                      lastlook.ClassPermanent,
		`{"errno":111,"message":"Missing header: ttl"}`:     lastlook.ClassPermanent,
		`{"message":"Invalid aes128gcm Crypto-Key header"}`: lastlook.ClassMisconfigured,
	} {
		w := newWorld(t, webpushtest.Config{Answer: func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(body))
			return true
		}})
		w.deliver(t, delivery(), want)
	}
}

// TestOneTable: package webpush, which is usable alone, has a table of its
// own. The two say the same of every status.
func TestOneTable(t *testing.T) {
	classes := map[webpush.Kind]lastlook.Class{
		webpush.Retry: lastlook.ClassTransient, webpush.Gone: lastlook.ClassGone, webpush.TooLarge: lastlook.ClassPermanent,
		webpush.Misconfigured: lastlook.ClassMisconfigured, webpush.Rejected: lastlook.ClassPermanent, webpush.Unknown: lastlook.ClassUnknown,
	}
	var code int
	w := newWorld(t, webpushtest.Config{Answer: func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		return true
	}})
	client, err := webpush.New(webpush.Config{Keys: w.keys, Subject: "https://example.com", Doer: w.server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	for code = 200; code <= 599; code++ {
		_, alone := client.Send(t.Context(), w.subs["kim"], webpush.Message{})
		_, err := w.channel.Deliver(t.Context(), delivery())
		e, refused := errors.AsType[*webpush.Error](alone)
		if refused != (err != nil) {
			t.Errorf("HTTP %d: %v, alone %v", code, err, alone)
			continue
		}
		if class, _ := lastlook.Classify(err); refused && class != classes[e.Kind] {
			t.Errorf("HTTP %d is %s, and %s alone", code, class, e.Kind)
		}
	}
}

func TestConfig(t *testing.T) {
	keys := newKeys(t)
	fine := Config{Keys: keys, Subject: "mailto:push@example.com", Subscriptions: always(webpush.Subscription{}), Client: &http.Client{Timeout: time.Second}}
	if err := fine.Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(c *Config){
		"no keys":          func(c *Config) { c.Keys = nil },
		"no subject":       func(c *Config) { c.Subject = "" },
		"no subscriptions": func(c *Config) { c.Subscriptions = nil },
		"no client":        func(c *Config) { c.Client = nil },
	} {
		c := fine
		change(&c)
		if err := c.Validate(); !errors.Is(err, lastlook.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	raw, err := keys.Raw()
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{fine, &fine, Config{}} {
			if strings.Contains(fmt.Sprintf(verb, v), raw) {
				t.Errorf("%T printed with %s", v, verb)
			}
		}
	}
}

func TestLane(t *testing.T) {
	w := newWorld(t, webpushtest.Config{})
	if got := Lane(w.subs["kim"]); !slices.Contains([]string{strings.TrimPrefix(w.server.URL, "http://")}, got) {
		t.Errorf("lane %s", got)
	}
}
