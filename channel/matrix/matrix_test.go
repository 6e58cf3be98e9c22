package matrix

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
	return Config{Server: server, Token: "syt_a2lt_hushhushhush_0x1y2z", Room: "!hushroom:example.org", Client: client}
}

var secrets = []string{"syt_a2lt_hushhushhush_0x1y2z", "!hushroom:example.org"}

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
	case r.Method != http.MethodPut || !strings.HasPrefix(r.URL.Path, "/_matrix/client/v3/rooms/!hushroom:example.org/send/m.room.message/") || strings.Count(r.URL.EscapedPath(), "/") != 8:
		bad("M_UNRECOGNIZED: %s %s", r.Method, r.URL)
	case r.Header.Get("Authorization") != "Bearer syt_a2lt_hushhushhush_0x1y2z":
		bad("M_UNKNOWN_TOKEN")
	case m.Type != "m.text" && m.Type != "m.notice" || m.Body == "" || m.HTML == "" || m.Format != "org.matrix.custom.html":
		bad("M_BAD_JSON: %.100v", m)
	case len(body) > 60<<10:
		bad("M_TOO_LARGE: %d bytes", len(body))
	case strings.Contains(m.HTML, "<script"):
		bad("%.100q", m.HTML)
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
	"room":     func(c *Config) { c.Room = "#sesame:example.org" },
	"no room":  func(c *Config) { c.Room = "" },
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

// TestReplaces: the newer message takes the older one's place, also if the older
// one cannot be taken back.
func TestReplaces(t *testing.T) {
	ch, s := channelTo(t, `200 {"event_id":"$a1:x"}`, `200 {"event_id":"$b/2"}`, "500 {}", `200 {"event_id":"$c"}`)
	for _, title := range []string{"one", "two", "three"} {
		if _, err := ch.Deliver(t.Context(), delivery(title)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.requests) != 5 || !strings.HasPrefix(s.requests[2], "PUT /_matrix/client/v3/rooms/%21hushroom:example.org/redact/$a1:x/after-$a1:x ") || !strings.HasPrefix(s.requests[4], "PUT /_matrix/client/v3/rooms/%21hushroom:example.org/redact/$b%2F2/after-$b%2F2 ") {
		t.Errorf("%q", s.requests)
	}
}

// TestResend: the same assertion has the same transaction, so that the server
// knows it again.
func TestResend(t *testing.T) {
	ch, s := channelTo(t)
	for range 2 {
		if _, err := ch.Deliver(t.Context(), delivery("Espresso")); err != nil {
			t.Fatal(err)
		}
	}
	if s.requests[0] != s.requests[1] || !strings.Contains(s.requests[0], "/"+delivery("").DeliveryKey+" ") {
		t.Errorf("%q", s.requests)
	}
	ch, _ = channelTo(t, `429 {"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":2000}`)
	_, err := ch.Deliver(t.Context(), delivery("Espresso"))
	if class, after := lastlook.Classify(err); class != lastlook.ClassTransient || after.Seconds() != 2 {
		t.Errorf("%v after %v", err, after)
	}
}
