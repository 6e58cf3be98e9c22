package telegram

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
	return Config{Token: "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", Chat: "-100987654321", Thread: 7, Server: server, Client: client}
}

var secrets = []string{"110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "-100987654321"}

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
	case r.URL.Path != "/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/sendMessage":
		bad("HTTP 404: %s", r.URL.Path)
	case m.Text == "" || m.Chat == "" || m.Thread != 7:
		bad("text %.20q to %q", m.Text, m.Chat)
	case chat.UTF16(m.Text) > 4096:
		bad("message is too long: %d", chat.UTF16(m.Text))
	case m.Mode != "HTML" || !parses(m.Text):
		bad("can't parse entities in %.100q", m.Text)
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
	"no token":  func(c *Config) { c.Token = "" },
	"token":     func(c *Config) { c.Token = "sesame" },
	"two lines": func(c *Config) { c.Token = "1:sesame\n" },
	"no chat":   func(c *Config) { c.Chat = "" },
	"thread":    func(c *Config) { c.Thread = -1 },
}

// parses reports what Telegram's HTML parser takes: known tags, closed, and no
// other < and &.
func parses(s string) bool {
	s = strings.NewReplacer("<b>", "", "</b>", "", "&amp;", "", "&lt;", "", "&gt;", "", "&#34;", "", "&#39;", "").Replace(s)
	return !strings.ContainsAny(s, "<>&")
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
	ch, s := channelTo(t, `400 {"ok":false,"error_code":400,"description":"Bad Request: can't parse entities: Unsupported start tag"}`, `200 {"ok":true,"result":{"message_id":8}}`)
	r, err := ch.Deliver(t.Context(), delivery("Espresso"))
	if err != nil || !strings.Contains(r.Answer, "without formatting") || len(s.requests) != 2 || strings.Contains(s.requests[1], "parse_mode") || !strings.Contains(s.requests[1], "<EUR> & falling") {
		t.Errorf("%+v, %v, %q", r, err, s.requests)
	}
	// One that is refused for something else is sent once.
	ch, s = channelTo(t, `400 {"ok":false,"description":"Bad Request: message is too short"}`)
	_, err = ch.Deliver(t.Context(), delivery("Espresso"))
	if class, _ := lastlook.Classify(err); err == nil || class != lastlook.ClassPermanent || len(s.requests) != 1 {
		t.Errorf("%v, %q", err, s.requests)
	}
}

// TestReplaces: the newer message takes the older one's place, also if the older
// one cannot be taken back.
func TestReplaces(t *testing.T) {
	ch, s := channelTo(t, `200 {"ok":true,"result":{"message_id":8}}`, `200 {"ok":true,"result":{"message_id":9}}`, "500 {}", `200 {"ok":true,"result":{"message_id":10}}`)
	for _, title := range []string{"one", "two", "three"} {
		if _, err := ch.Deliver(t.Context(), delivery(title)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.requests) != 5 || !strings.HasPrefix(s.requests[2], `POST /bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/deleteMessage {"chat_id":"-100987654321","message_id":8}`) || !strings.HasPrefix(s.requests[4], `POST /bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/deleteMessage {"chat_id":"-100987654321","message_id":9}`) {
		t.Errorf("%q", s.requests)
	}
}

func TestAnswers(t *testing.T) {
	for answer, want := range map[string]lastlook.Class{
		`403 {"ok":false,"description":"Forbidden: bot was blocked by the user"}`:                            lastlook.ClassGone,
		`403 {"ok":false,"description":"Forbidden: bot is not a member"}`:                                    lastlook.ClassMisconfigured,
		`400 {"ok":false,"description":"Bad Request: chat not found"}`:                                       lastlook.ClassMisconfigured,
		`429 {"ok":false,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}`: lastlook.ClassTransient,
	} {
		ch, _ := channelTo(t, answer)
		_, err := ch.Deliver(t.Context(), delivery("Espresso"))
		if class, _ := lastlook.Classify(err); err == nil || class != want {
			t.Errorf("%s: %v (%v), want %v", answer, err, class, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	ch, _ := channelTo(t, `429 {"ok":false,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}`)
	_, err := ch.Deliver(t.Context(), delivery("Espresso"))
	if _, after := lastlook.Classify(err); after != 35*time.Second {
		t.Errorf("%v after %v", err, after)
	}
}
