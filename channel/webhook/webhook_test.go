package webhook

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
)

const (
	testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	testPath   = "/hooks/T0G9PQBBK/aZ-very-secret-part"
	testToken  = "hush-hush/token+1"
	testPass   = "pass:w0rd&more"
)

var errNone = errors.New("no error")

func TestChannel(t *testing.T) {
	channeltest.Run(t, channeltest.Harness{
		New: func(tb channeltest.TB, s channeltest.Setup) lastlook.Channel {
			c, err := New(Config{
				URL:    strings.Replace(s.URL, "://", "://kim:pass%3Aw0rd%26more@", 1) + testPath + "?token=query-secret-9&x=1",
				Secret: testSecret,
				Header: http.Header{"X-Api-Key": {testToken}, "Idempotency-Key": {"idem-potent-key"}},
				Client: s.Client, Clock: s.Clock,
			})
			if err != nil {
				tb.Fatalf("%v", err)
			}
			return c
		},
		Secrets: []string{
			testSecret, strings.TrimPrefix(testSecret, "whsec_"), testPath, "aZ-very-secret-part", "query-secret-9",
			testToken, testPass, base64.StdEncoding.EncodeToString([]byte("kim:" + testPass)), "idem-potent-key",
		},
		Inspect: func(tb channeltest.TB, r *http.Request, body []byte) {
			v, err := standardwebhooks.NewWebhook(testSecret)
			if err != nil {
				tb.Fatalf("%v", err)
			}
			if err := v.VerifyIgnoringTimestamp(body, r.Header); err != nil { // the suite's clock stands still
				tb.Errorf("the official library refuses it: %v", err)
			}
		},
	})
}

func TestVectors(t *testing.T) {
	var file struct {
		V1 struct {
			Secret, ID, Body, Signature string
			Timestamp                   int64
		}
	}
	b, err := os.ReadFile("testdata/standard-webhooks.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	key, err := parseSecret(file.V1.Secret)
	if err != nil {
		t.Fatal(err)
	}
	got := signers{key}.sign(file.V1.ID, fmt.Sprint(file.V1.Timestamp), []byte(file.V1.Body))
	if got != file.V1.Signature || got == "" {
		t.Errorf("signature %q, want %q", got, file.V1.Signature)
	}
}

// receiver keeps the last request.
type receiver struct {
	mu     sync.Mutex
	header http.Header
	body   []byte
	status int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.header = req.Header
	r.body, _ = io.ReadAll(req.Body)
	if r.status != 0 {
		w.WriteHeader(r.status)
	}
	_, _ = io.WriteString(w, "thanks")
}

func newChannel(t *testing.T, c Config) (*Channel, *receiver) {
	t.Helper()
	r := &receiver{}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	c.URL, c.Client = srv.URL, srv.Client()
	if c.Secret == "" {
		c.Secret = testSecret
	}
	ch, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return ch, r
}

func delivery() lastlook.Delivery {
	k := lastlook.Key{Topic: "price", Subject: "shop.example/espresso", Recipient: "kim", Channel: "hook"}
	return lastlook.Delivery{
		ID: 42, Key: k,
		Message: lastlook.Message{Title: "Espresso <machine>", Body: "Below\n500", URL: "https://shop.example/?a=1&b=2", Silent: true, Data: json.RawMessage(`{"trigger": "below"}`)},
		Value:   json.RawMessage(`{"price": "470.00"}`), DeliveryKey: "dk", ReplaceKey: "rk", Attempt: 3,
		LookedAt:  time.Date(2026, 3, 29, 2, 59, 28, 123456789, time.FixedZone("CEST", 7200)),
		ExpiresAt: time.Date(2026, 3, 30, 0, 50, 0, 0, time.UTC),
		Trace:     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
}

// TestSchema holds the body to what the package documents. It may only grow.
func TestSchema(t *testing.T) {
	ch, r := newChannel(t, Config{Header: http.Header{"X-Team": {"a", "b"}}})
	receipt, err := ch.Deliver(t.Context(), delivery())
	if err != nil || receipt.Answer != "HTTP 200: thanks" {
		t.Fatalf("%+v, %v", receipt, err)
	}
	const want = `{"type":"lastlook.alert","timestamp":"2026-03-29T00:59:28.123456Z","data":{"id":42,` +
		`"topic":"price","subject":"shop.example/espresso","recipient":"kim","channel":"hook",` +
		`"title":"Espresso <machine>","body":"Below\n500","url":"https://shop.example/?a=1&b=2","silent":true,` +
		`"details":{"trigger":"below"},"value":{"price":"470.00"},"delivery_key":"dk","replace_key":"rk","attempt":3,` +
		`"looked_at":"2026-03-29T00:59:28.123456Z","expires_at":"2026-03-30T00:50:00Z"}}`
	if string(r.body) != want {
		t.Errorf("body\n%s\nwant\n%s", r.body, want)
	}
	if r.header.Get("Content-Type") != "application/json; charset=utf-8" || len(r.header["X-Team"]) != 2 || r.header.Get("Traceparent") == "" {
		t.Errorf("headers %v", r.header)
	}

	bare := delivery()
	bare.Value, bare.Message.Data, bare.Trace = nil, nil, "not a trace"
	if _, err := ch.Deliver(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	var e Event
	if err := json.Unmarshal(r.body, &e); err != nil || !strings.Contains(string(r.body), `"details":null,"value":null`) || r.header.Get("Traceparent") != "" {
		t.Errorf("%s, %v, %v", r.body, err, r.header)
	}
}

// TestOfficial has the official library verify, its clock and tolerance
// included, and refuse what was tampered with.
func TestOfficial(t *testing.T) {
	secret := NewSecret()
	ch, r := newChannel(t, Config{Secret: secret})
	if _, err := ch.Deliver(t.Context(), delivery()); err != nil {
		t.Fatal(err)
	}
	v, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Verify(r.body, r.header); err != nil {
		t.Error(err)
	}
	if id := r.header.Get(HeaderID); id != "dk" {
		t.Errorf("webhook-id is %q", id)
	}
	for _, h := range []string{HeaderID, HeaderTimestamp} {
		forged := r.header.Clone()
		forged.Set(h, "1"+forged.Get(h))
		if v.VerifyIgnoringTimestamp(r.body, forged) == nil {
			t.Errorf("a forged %s passes", h)
		}
	}
	if v.Verify(append(r.body, ' '), r.header) == nil {
		t.Error("a forged body passes")
	}
}

func TestDeliveryErrors(t *testing.T) {
	ch, r := newChannel(t, Config{})
	for _, key := range []string{"", "a.b", "a\r\nb", "é", strings.Repeat("x", 257)} {
		d := delivery()
		d.DeliveryKey = key
		_, err := ch.Deliver(t.Context(), d)
		if class, _ := lastlook.Classify(err); err == nil || class != lastlook.ClassPermanent {
			t.Errorf("delivery key %q: %v", key, err)
		}
	}
	d := delivery()
	d.Value = json.RawMessage(`{"broken`)
	_, err := ch.Deliver(t.Context(), d)
	if class, _ := lastlook.Classify(err); err == nil || class != lastlook.ClassPermanent {
		t.Errorf("broken value: %v", err)
	}
	if r.body != nil {
		t.Errorf("something was sent: %s", r.body)
	}
	r.status = http.StatusGone
	_, err = ch.Deliver(t.Context(), delivery())
	if class, _ := lastlook.Classify(err); class != lastlook.ClassGone {
		t.Errorf("410: %v", err)
	}
}

func TestConfig(t *testing.T) {
	good := Config{URL: "https://kim:sesame@hooks.example/secret-path", Secret: testSecret, Client: &http.Client{}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprintf("%v %+v %#v", good, good, good), fmt.Sprint(Config{URL: ":sesame"}), fmt.Sprintf("%v", []Config{good})} {
		if strings.Contains(s, "sesame") || strings.Contains(s, "secret-path") || strings.Contains(s, "MfKQ") {
			t.Errorf("printed: %s", s)
		}
	}
	for name, tt := range map[string]struct {
		change func(*Config)
		part   string
	}{
		"no url":        {func(c *Config) { c.URL = "" }, "https://"},
		"bad url":       {func(c *Config) { c.URL = "mailto:sesame" }, "https://"},
		"no secret":     {func(c *Config) { c.Secret = "" }, "openssl rand"},
		"no prefix":     {func(c *Config) { c.Secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }, "whsec_"},
		"ed25519":       {func(c *Config) { c.Secret = "whsk_MfKQ" }, "Ed25519"},
		"public":        {func(c *Config) { c.More = []string{"whpk_MfKQ"} }, "whsk_"},
		"wrong halves":  {func(c *Config) { c.More = []string{"whsk_" + strings.Repeat("A", 86) + "=="} }, "halves"},
		"many":          {func(c *Config) { c.More = slices.Repeat([]string{testSecret}, 8) }, "at most 8"},
		"source":        {func(c *Config) { c.CloudEvents = true; c.Source = "a b" }, "URI"},
		"not base64":    {func(c *Config) { c.Secret = "whsec_sesame!" }, "base64"},
		"cut":           {func(c *Config) { c.Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS" }, "base64"},
		"short":         {func(c *Config) { c.Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZI" }, "24 to 64"},
		"long":          {func(c *Config) { c.Secret = "whsec_" + strings.Repeat("MfKQ", 22) }, "24 to 64"},
		"own header":    {func(c *Config) { c.Header = http.Header{"webhook-ID": {"sesame"}} }, "remove it"},
		"broken header": {func(c *Config) { c.Header = http.Header{"X": {"sesame\n"}} }, "one line"},
		"no client":     {func(c *Config) { c.Client = nil }, "http.Client"},
	} {
		c := good
		tt.change(&c)
		err := c.Validate()
		if err == nil {
			err = errNone
		}
		if s := err.Error(); !errors.Is(err, lastlook.ErrInvalid) || !strings.Contains(s, tt.part) || strings.Contains(s, "sesame") || strings.Contains(s, "MfKQ") || strings.Contains(s, "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if a, b := NewSecret(), NewSecret(); a == b || len(a) != len("whsec_")+44 {
		t.Errorf("new secrets %q, %q", a, b)
	}
}

func TestTraceparent(t *testing.T) {
	good := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if !traceparent(good) {
		t.Error("a trace context is refused")
	}
	for _, s := range []string{
		"", "x", good + "-1", "01" + good[2:], strings.ToUpper(good), good[:54] + "\n",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01",
	} {
		if traceparent(s) {
			t.Errorf("%q is accepted", s)
		}
	}
}

func Example() {
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		verifier, _ := standardwebhooks.NewWebhook(testSecret)
		if verifier.Verify(body, r.Header) == nil {
			var event Event
			_ = json.Unmarshal(body, &event)
			fmt.Println(event.Data.Title)
		}
	}))
	defer receiver.Close()

	hook, err := New(Config{URL: receiver.URL, Secret: testSecret, Client: receiver.Client()})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The dispatcher does this, after the last look.
	receipt, err := hook.Deliver(context.Background(), lastlook.Delivery{
		Message: lastlook.Message{Title: "Espresso machine: 470.00 EUR"}, DeliveryKey: "KzU4aXN0ZWxsdQ",
	})
	fmt.Println(receipt.Answer, err)
	// Output:
	// Espresso machine: 470.00 EUR
	// HTTP 200 <nil>
}
