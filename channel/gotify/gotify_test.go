package gotify

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
	"github.com/lastlook/lastlook/channel/internal/chat"
)

// good returns a configuration; the server's address is the test's.
func good(server string, client *http.Client) Config {
	return Config{Server: server + "/under", Token: "AuzG8wHV3R.xwkX", Client: client}
}

var secrets = []string{"AuzG8wHV3R.xwkX"}

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
	case r.URL.Path != "/under/message" || r.Header.Get("X-Gotify-Key") != "AuzG8wHV3R.xwkX":
		bad("HTTP 401: %s", r.URL)
	case m.Message == "" || m.Priority < 0 || m.Priority > 10 || len(m.Title) > 250 || len(m.Message) > 16<<10:
		bad("%.200v", m)
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
	"token":    func(c *Config) { c.Token = "sesame\n" },
	"priority": func(c *Config) { c.Priority = 11 },
}

func TestWrite(t *testing.T) {
	m := Config{Priority: 7}.write(chat.Words{Title: "T", Body: "B", URL: "https://a.example/", Silent: true})
	b, err := json.Marshal(m)
	if want := `{"title":"T","message":"B","priority":1,"extras":{"client::display":{"contentType":"text/plain"},"client::notification":{"click":{"url":"https://a.example/"}}}}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}
