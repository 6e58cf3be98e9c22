package pushbench

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"runtime"
	"time"

	peer "github.com/SherClockHolmes/webpush-go"

	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

const subject = "push@example.com" // webpush-go puts mailto: before it

// payload is of the size of a usual message.
var payload = []byte(`{"v":1,"title":"Espresso machine: 470.00 EUR","body":"Below your 500.00 EUR. It was 520.00 EUR.","url":"https://shop.example/espresso","tag":"0kSdeXmwCbdVtDpsEE9c0kSd","at":1777636800000,"subject":"w7"}`)

// taken answers every request as a push service would, without any network.
type taken struct{ last []byte }

func (t *taken) Do(r *http.Request) (*http.Response, error) {
	if t.last != nil { // somebody wants to know
		b := make([]byte, r.ContentLength)
		if _, err := r.Body.Read(b); err != nil {
			return nil, err
		}
		t.last = b
	}
	return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody}, nil
}

// pair is both libraries, sending to one browser.
type pair struct {
	browser *webpushtest.Browser
	ours    func(ctx context.Context, payload []byte) error
	theirs  func(ctx context.Context, payload []byte) error
	http    *taken
}

func newPair() (*pair, error) {
	keys, err := webpush.GenerateKeys()
	if err != nil {
		return nil, err
	}
	browser, err := webpushtest.NewBrowser()
	if err != nil {
		return nil, err
	}
	sub, err := browser.Subscription("https://push.example.net/wpush/v2/some-capability-of-the-usual-length-0123456789")
	if err != nil {
		return nil, err
	}
	raw, err := keys.Raw()
	if err != nil {
		return nil, err
	}
	p := &pair{browser: browser, http: &taken{}}
	client, err := webpush.New(webpush.Config{Keys: keys, Subject: "mailto:" + subject, Doer: p.http})
	if err != nil {
		return nil, err
	}
	p.ours = func(ctx context.Context, payload []byte) error {
		_, err := client.Send(ctx, sub, webpush.Message{Payload: payload, TTL: time.Hour, Topic: "topic"})
		return err
	}
	theirSub := &peer.Subscription{Endpoint: sub.Endpoint(), Keys: peer.Keys{
		Auth: base64.RawURLEncoding.EncodeToString(sub.Auth()), P256dh: base64.RawURLEncoding.EncodeToString(sub.P256dh()),
	}}
	options := &peer.Options{HTTPClient: p.http, Subscriber: subject, TTL: 3600, Topic: "topic", VAPIDPublicKey: keys.Public(), VAPIDPrivateKey: raw}
	p.theirs = func(ctx context.Context, payload []byte) error {
		resp, err := peer.SendNotificationWithContext(ctx, payload, theirSub, options)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	return p, nil
}

// cost is what a message costs.
type cost struct{ ns, bytes float64 }

// measure calls f n times.
func measure(ctx context.Context, n int, f func(ctx context.Context, payload []byte) error) (cost, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	for range n {
		if err := f(ctx, payload); err != nil {
			return cost{}, err
		}
	}
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	return cost{float64(took.Nanoseconds()) / float64(n), float64(after.TotalAlloc-before.TotalAlloc) / float64(n)}, nil
}

// peers measures a message from payload to response beside webpush-go.
func (b *Bench) peers(ctx context.Context) error {
	p, err := newPair()
	if err != nil {
		return err
	}
	rounds, n := b.pick(100, 5), b.pick(100, 20) // short turns, so that a slow moment hits both
	var ns, theirNS, bytes, theirBytes []float64
	for i := range rounds + 1 {
		ours, err := measure(ctx, n, p.ours)
		if err != nil {
			return fmt.Errorf("webpush: %w", err)
		}
		theirs, err := measure(ctx, n, p.theirs)
		if err != nil {
			return fmt.Errorf("webpush-go: %w", err)
		}
		if i == 0 {
			continue // tables are made, a token signed
		}
		ns, bytes = append(ns, ours.ns), append(bytes, ours.bytes)
		theirNS, theirBytes = append(theirNS, theirs.ns), append(theirBytes, theirs.bytes)
	}
	b.add("message, webpush", "ns", "from payload to the HTTP client: encryption, cached VAPID token, request", ns)
	b.add("message, webpush-go v1.4.0", "ns", "the same; it signs a token for each message, and pads to 4096 bytes", theirNS)
	b.add("allocated per message, webpush", "B", "", bytes)
	b.add("allocated per message, webpush-go v1.4.0", "B", "", theirBytes)
	b.Summary["ns_vs_webpush_go"] = b.add("message: webpush ÷ webpush-go", "×", "aim: ≤ 0.5", ratios(ns, theirNS))
	b.Summary["bytes_vs_webpush_go"] = b.add("allocated: webpush ÷ webpush-go", "×", "aim: ≤ 0.3", ratios(bytes, theirBytes))
	return nil
}
