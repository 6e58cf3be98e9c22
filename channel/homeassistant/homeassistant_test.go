package homeassistant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
)

// good returns a configuration; the server's address is the test's.
func good(server string, client *http.Client) Config {
	return Config{Server: server, Token: "eyJhbGciOi.hush-hush.long-lived", Service: "mobile_app_pixel", Client: client}
}

var secrets = []string{"eyJhbGciOi.hush-hush.long-lived"}

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
	case r.URL.Path != "/api/services/notify/mobile_app_pixel" || r.Header.Get("Authorization") != "Bearer eyJhbGciOi.hush-hush.long-lived":
		bad("HTTP 401: %s", r.URL)
	case m.Message == "" || len(m.Message) > 3000 || len(m.Title) > 250 || len(body) > 40<<10:
		bad("%.100v", m)
	case m.Data.Tag == "":
		bad("no tag: a newer message cannot take its place")
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
	"service":  func(c *Config) { c.Service = "../sesame" },
}
