package line

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
	"github.com/lastlook/lastlook/channel/internal/chat"
)

// good returns a configuration; the server's address is the test's.
func good(server string, client *http.Client) Config {
	return Config{Token: "line-channel-access-token/with+parts=", To: "U4af4980629hushhush", Server: server, Client: client}
}

var secrets = []string{"line-channel-access-token/with+parts=", "U4af4980629hushhush"}

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
	case r.URL.Path != "/v2/bot/message/push" || r.Header.Get("Authorization") != "Bearer line-channel-access-token/with+parts=":
		bad("HTTP 401: %s", r.URL)
	case m.To != "U4af4980629hushhush" || len(m.Messages) != 1 || m.Messages[0].Type != "text" || m.Messages[0].Text == "":
		bad("%.100v", m)
	case chat.UTF16(m.Messages[0].Text) > 5000:
		bad("%d units", chat.UTF16(m.Messages[0].Text))
	case !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(r.Header.Get("X-Line-Retry-Key")):
		bad("retry key %q", r.Header.Get("X-Line-Retry-Key"))
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
		Statuses: map[int]channeltest.Want{http.StatusConflict: {Accepted: true, Why: "LINE has the message already"}},
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
	"to":       func(c *Config) { c.To = "se\nsame" },
}

func TestRetryKey(t *testing.T) {
	if a, b := retryKey("one"), retryKey("two"); a == b || a != retryKey("one") {
		t.Errorf("%s, %s", a, b)
	}
}
