package discord

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
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
	"github.com/lastlook/lastlook/channel/internal/chat"
)

// good returns a configuration; the server's address is the test's.
func good(server string, client *http.Client) Config {
	return Config{ID: "1100123456789", Token: "aZ-very-secret-webhook-token", Thread: "1100987654321", Server: server, Client: client}
}

var secrets = []string{"aZ-very-secret-webhook-token", "1100123456789"}

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
	case r.URL.Path != "/api/webhooks/1100123456789/aZ-very-secret-webhook-token" || r.URL.RawQuery != "thread_id=1100987654321&wait=true":
		bad("HTTP 404: %s", r.URL)
	case len(m.Embeds) != 1 || m.Content != "" || m.Mentions.Parse == nil || len(m.Mentions.Parse) != 0:
		bad("%+v", m)
	case m.Embeds[0].Description == "" || chat.UTF16(m.Embeds[0].Description) > 4096 || chat.UTF16(m.Embeds[0].Title) > 256:
		bad("lengths %d, %d", chat.UTF16(m.Embeds[0].Description), chat.UTF16(m.Embeds[0].Title))
	case strings.Contains(m.Embeds[0].Description, "](") || strings.Contains(m.Embeds[0].Title, "\n"):
		bad("%.100q", m.Embeds[0].Description)
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
	"no token": func(c *Config) { c.Token = "" },
	"id":       func(c *Config) { c.ID = "sesame" },
	"thread":   func(c *Config) { c.Thread = "sesame" },
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
	ch, s := channelTo(t, `400 {"code":50035,"message":"Invalid Form Body"}`, `200 {"id":"8"}`)
	r, err := ch.Deliver(t.Context(), delivery("Espresso"))
	if err != nil || !strings.Contains(r.Answer, "without formatting") || len(s.requests) != 2 || strings.Contains(s.requests[1], `"embeds"`) || !strings.Contains(s.requests[1], "now *470* <EUR> & falling") {
		t.Errorf("%+v, %v, %q", r, err, s.requests)
	}
	// One that is refused for something else is sent once.
	ch, s = channelTo(t, `400 {"code":50006,"message":"Cannot send an empty message"}`)
	_, err = ch.Deliver(t.Context(), delivery("Espresso"))
	if class, _ := lastlook.Classify(err); err == nil || class != lastlook.ClassPermanent || len(s.requests) != 1 {
		t.Errorf("%v, %q", err, s.requests)
	}
}

// TestReplaces: the newer message takes the older one's place, also if the older
// one cannot be taken back.
func TestReplaces(t *testing.T) {
	ch, s := channelTo(t, `200 {"id":"8"}`, `200 {"id":"9"}`, "500 {}", `200 {"id":"10"}`)
	for _, title := range []string{"one", "two", "three"} {
		if _, err := ch.Deliver(t.Context(), delivery(title)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.requests) != 5 || !strings.HasPrefix(s.requests[2], "DELETE /api/webhooks/1100123456789/aZ-very-secret-webhook-token/messages/8?thread_id=1100987654321 ") || !strings.HasPrefix(s.requests[4], "DELETE /api/webhooks/1100123456789/aZ-very-secret-webhook-token/messages/9?") {
		t.Errorf("%q", s.requests)
	}
}

func TestMarkdownMeansNothing(t *testing.T) {
	ch, s := channelTo(t)
	d := delivery("**bold** @everyone")
	d.Message.Body = "[click](https://evil.example) <@123> `code`"
	d.Message.Silent = true
	if _, err := ch.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`\\*\\*bold\\*\\* \\@everyone`, `\\[click\\]\\(`, `\\<\\@123\\>`, `"flags":4096`} {
		if !strings.Contains(s.requests[0], part) {
			t.Errorf("no %s in %s", part, s.requests[0])
		}
	}
}

func TestRetryAfter(t *testing.T) {
	ch, _ := channelTo(t, `429 {"message":"You are being rate limited.","retry_after":64.57,"global":false}`)
	_, err := ch.Deliver(t.Context(), delivery("Espresso"))
	if class, after := lastlook.Classify(err); class != lastlook.ClassTransient || after.Round(time.Millisecond) != 64570*time.Millisecond {
		t.Errorf("%v after %v", err, after)
	}
}
