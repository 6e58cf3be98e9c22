package pushover

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
	return Config{Token: "azGDORePK8gMaC0QOYAMyEEuzJnyUi", User: "uQiRzpo4DXghDmr9QzzfQu27cmVRsG", Device: "phone", Server: server, Client: client}
}

var secrets = []string{"azGDORePK8gMaC0QOYAMyEEuzJnyUi", "uQiRzpo4DXghDmr9QzzfQu27cmVRsG"}

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
	case r.URL.Path != "/1/messages.json":
		bad("HTTP 404: %s", r.URL)
	case m.Token != "azGDORePK8gMaC0QOYAMyEEuzJnyUi" || m.User != "uQiRzpo4DXghDmr9QzzfQu27cmVRsG":
		bad("token or user invalid")
	case m.Message == "" || len([]rune(m.Message)) > 1024 || len([]rune(m.Title)) > 250 || len(m.URL) > 512:
		bad("lengths %d %d %d", len(m.Message), len(m.Title), len(m.URL))
	case m.Priority < -2 || m.Priority > 1 || m.TTL < 1 || m.TTL > 31*24*3600:
		bad("priority %d, ttl %d", m.Priority, m.TTL)
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
	"user key": func(c *Config) { c.User = "se same" },
	"device":   func(c *Config) { c.Device = "sesame\n" },
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

func TestAnswers(t *testing.T) {
	for answer, want := range map[string]lastlook.Class{
		`400 {"user":"invalid","errors":["user identifier is invalid"],"status":0,"request":"r"}`: lastlook.ClassMisconfigured,
		`400 {"token":"invalid","errors":["application token is invalid"],"status":0}`:            lastlook.ClassMisconfigured,
		`429 {"errors":["application is over its quota"],"status":0}`:                             lastlook.ClassMisconfigured,
		`400 {"message":"cannot be blank","errors":["message cannot be blank"],"status":0}`:       lastlook.ClassPermanent,
		`500 {"status":0,"errors":["try again"]}`:                                                 lastlook.ClassTransient,
	} {
		ch, _ := channelTo(t, answer)
		_, err := ch.Deliver(t.Context(), delivery("Espresso"))
		if class, _ := lastlook.Classify(err); err == nil || class != want {
			t.Errorf("%s: %v (%v), want %v", answer, err, class, want)
		}
	}
}
