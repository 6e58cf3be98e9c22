package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
)

// good returns a configuration; the server's address is the test's.
func good(server string, client *http.Client) Config {
	return Config{Token: "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy", Channel: "C0HUSH123", Server: server, Client: client}
}

var secrets = []string{"xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy", "C0HUSH123"}

// inspect is what the service demands of a message, as its reference says.
func inspect(tb channeltest.TB, r *http.Request, body []byte) {
	var m message
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		tb.Errorf("the service cannot read it: %v", err)
		return
	}
	bad := func(format string, args ...any) { tb.Errorf("the service refuses it: "+format, args...) }
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		bad("content type %q", r.Header.Get("Content-Type"))
	}
	switch {
	case r.URL.Path != "/api/chat.postMessage" || r.Header.Get("Authorization") != "Bearer xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy":
		bad("not_authed: %s", r.URL)
	case m.Channel != "C0HUSH123" || m.Text == "" || len(m.Blocks) == 0 || m.Markup:
		bad("%.100v", m)
	}
	for _, b := range m.Blocks {
		if n := len([]rune(b.Text.Text)); n == 0 || n > 3000 || b.Type != "section" {
			bad("invalid_blocks: %d characters", n)
		}
	}
	if rest := strings.NewReplacer("&amp;", "", "&lt;", "", "&gt;", "").Replace(m.Text); strings.ContainsAny(rest, "<>&") {
		bad("not escaped: %.100q", m.Text)
	}
}

func TestChannel(t *testing.T) {
	channeltest.Run(t, channeltest.Harness{
		New: func(tb channeltest.TB, s channeltest.Setup) lastlook.Channel {
			c := good(s.URL, s.Client)
			c.Clock = s.Clock
			ch, err := New(c)
			if err != nil {
				tb.Fatalf("%v", err)
			}
			return ch
		},
		Secrets: secrets, Inspect: inspect,
	})
}

func TestConfigIsChecked(t *testing.T) {
	c := good("https://service.example", &http.Client{})
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	ch, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprintf("%v %+v %#v", c, c, c), fmt.Sprintf("%v %+v %#v", ch, ch, ch)} {
		for _, secret := range secrets {
			if strings.Contains(s, secret) {
				t.Errorf("printed: %s", s)
			}
		}
	}
	for name, change := range wrong {
		c := c
		change(&c)
		err := c.Validate()
		if !errors.Is(err, lastlook.ErrInvalid) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var wrong = map[string]func(*Config){
	"server": func(c *Config) { c.Server = "ftp://sesame" }, "query": func(c *Config) { c.Server += "?sesame=1" }, "user": func(c *Config) { c.Server = "https://kim:sesame@a.example" }, "no client": func(c *Config) { c.Client = nil },
	"no token":   func(c *Config) { c.Token = "" },
	"no channel": func(c *Config) { c.Channel = "" },
	"both":       func(c *Config) { c.Webhook = "https://hooks.slack.com/services/sesame" },
	"webhook":    func(c *Config) { c.Token, c.Channel, c.Webhook = "", "", "sesame" },
}

// TestWebhook: the promises of all channels, through an incoming webhook.
func TestWebhook(t *testing.T) {
	h := channeltest.Harness{
		New: func(tb channeltest.TB, s channeltest.Setup) lastlook.Channel {
			ch, err := New(Config{Webhook: s.URL + "/services/T0HUSH/B0HUSH/XXXXhushhush", Client: s.Client, Clock: s.Clock})
			if err != nil {
				tb.Fatalf("%v", err)
			}
			return ch
		},
		Secrets: []string{"/services/T0HUSH/B0HUSH/XXXXhushhush", "XXXXhushhush"},
	}
	for _, c := range channeltest.Clauses() {
		if strings.HasPrefix(c.Name, "secrets/") || strings.HasPrefix(c.Name, "message/") {
			t.Run(c.Name, func(t *testing.T) { c.Check(t, h) })
		}
	}
}

// service answers one after the other, and keeps what it was asked.
type service struct {
	answers  []string // "STATUS BODY"
	requests []string // "METHOD PATH BODY"
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI()+" "+string(b))
	answer := "200 {}"
	if len(s.answers) > 0 {
		answer, s.answers = s.answers[0], s.answers[1:]
	}
	status, body, _ := strings.Cut(answer, " ")
	n, _ := strconv.Atoi(status)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(n)
	_, _ = io.WriteString(w, body)
}

func channelTo(t *testing.T, answers ...string) (*Channel, *service) {
	t.Helper()
	s := &service{answers: answers}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	ch, err := New(good(srv.URL, srv.Client()))
	if err != nil {
		t.Fatal(err)
	}
	return ch, s
}

func delivery(title string) lastlook.Delivery {
	k := lastlook.Key{Topic: "price", Subject: "espresso", Recipient: "kim", Channel: "c"}
	return lastlook.Delivery{Key: k, Message: lastlook.Message{Title: title, Body: "now *470* <EUR> & falling", URL: "https://shop.example/?a=1&b=2"}, DeliveryKey: lastlook.DeliveryKey(k, 1), ReplaceKey: lastlook.ReplaceKey(k)}
}

// TestPlainText: a refusal of the formatting is not the message's end.
func TestPlainText(t *testing.T) {
	ch, s := channelTo(t, `400 invalid_blocks`, `200 {"ok":true,"ts":"8.1"}`)
	r, err := ch.Deliver(t.Context(), delivery("Espresso"))
	if err != nil || !strings.Contains(r.Answer, "without formatting") || len(s.requests) != 2 || strings.Contains(s.requests[1], `"blocks"`) || !strings.Contains(s.requests[1], "&lt;EUR&gt; &amp; falling") {
		t.Errorf("%+v, %v, %q", r, err, s.requests)
	}
	// One that is refused for something else is sent once.
	ch, s = channelTo(t, `200 {"ok":false,"error":"msg_too_long"}`)
	_, err = ch.Deliver(t.Context(), delivery("Espresso"))
	if class, _ := lastlook.Classify(err); err == nil || class != lastlook.ClassPermanent || len(s.requests) != 1 {
		t.Errorf("%v, %q", err, s.requests)
	}
}

// TestReplaces: the newer message takes the older one's place, also if the older
// one cannot be taken back.
func TestReplaces(t *testing.T) {
	ch, s := channelTo(t, `200 {"ok":true,"ts":"8.1"}`, `200 {"ok":true,"ts":"9.1"}`, "500 {}", `200 {"ok":true,"ts":"10.1"}`)
	for _, title := range []string{"one", "two", "three"} {
		if _, err := ch.Deliver(t.Context(), delivery(title)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.requests) != 5 || !strings.HasPrefix(s.requests[2], `POST /api/chat.delete {"channel":"C0HUSH123","ts":"8.1"}`) || !strings.HasPrefix(s.requests[4], `POST /api/chat.delete {"channel":"C0HUSH123","ts":"9.1"}`) {
		t.Errorf("%q", s.requests)
	}
}

func TestAnswers(t *testing.T) {
	for answer, want := range map[string]lastlook.Class{
		`200 {"ok":false,"error":"invalid_auth"}`:      lastlook.ClassMisconfigured,
		`200 {"ok":false,"error":"channel_not_found"}`: lastlook.ClassMisconfigured,
		`200 {"ok":false,"error":"is_archived"}`:       lastlook.ClassGone,
		`200 {"ok":false,"error":"ratelimited"}`:       lastlook.ClassTransient,
		`200 {"ok":false,"error":"no_text"}`:           lastlook.ClassPermanent,
	} {
		ch, _ := channelTo(t, answer)
		_, err := ch.Deliver(t.Context(), delivery("Espresso"))
		if class, _ := lastlook.Classify(err); err == nil || class != want {
			t.Errorf("%s: %v (%v), want %v", answer, err, class, want)
		}
	}
}
