package ntfy

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
)

const (
	testTopic = "kim-prices-5fQ2c9Lm"
	testToken = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"
	testPass  = "hush & hash/99"
)

// inspect is what the ntfy server demands of a publication, as its source
// (server/server.go) reads it.
func inspect(tb channeltest.TB, r *http.Request, body []byte) {
	var p publication
	switch err := json.Unmarshal(body, &p); {
	case err != nil:
		tb.Errorf("the server cannot read it: %v", err)
	case len(body) >= 2*DefaultMessageLimit:
		tb.Errorf("HTTP 413: the JSON has %d bytes", len(body))
	case len(p.Message) >= DefaultMessageLimit:
		tb.Errorf("the message has %d bytes: that makes it an attachment", len(p.Message))
	case p.Message == "" || strings.TrimSpace(p.Message) != p.Message:
		tb.Errorf("the server changes the message %.40q", p.Message)
	case !identifier(p.Topic) || r.URL.Path != "/":
		tb.Errorf("HTTP 400: topic %q at %s", p.Topic, r.URL.Path)
	case p.Sequence != "" && !identifier(p.Sequence):
		tb.Errorf("HTTP 400: sequence id %q", p.Sequence)
	case !utf8.Valid(body) || strings.ContainsAny(p.Title, "\r\n\x00") || strings.ContainsAny(p.Click, "\r\n\x00 "):
		tb.Errorf("title %.40q, click %.40q", p.Title, p.Click)
	}
}

// harness tests channels that authenticate as c does.
func harness(c Config, secrets ...string) channeltest.Harness {
	return channeltest.Harness{
		New: func(tb channeltest.TB, s channeltest.Setup) lastlook.Channel {
			c := c
			c.Server, c.Topic, c.Client, c.Clock = s.URL, testTopic, s.Client, s.Clock
			ch, err := New(c)
			if err != nil {
				tb.Fatalf("%v", err)
			}
			return ch
		},
		Secrets: append(secrets, testTopic),
		Inspect: inspect,
	}
}

func TestChannel(t *testing.T) { channeltest.Run(t, harness(Config{Token: testToken}, testToken)) }

func TestPasswordIsSecret(t *testing.T) {
	h := harness(Config{Username: "kim", Password: testPass}, testPass, base64.StdEncoding.EncodeToString([]byte("kim:"+testPass)))
	for _, c := range channeltest.Clauses() {
		if strings.HasPrefix(c.Name, "secrets/") {
			t.Run(c.Name, func(t *testing.T) { c.Check(t, h) })
		}
	}
}

type server struct {
	mu     sync.Mutex
	header http.Header
	path   string
	got    publication
	answer string
	status int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header, s.path, s.got = r.Header, r.URL.Path, publication{}
	b, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(b, &s.got)
	w.Header().Set("Content-Type", "application/json")
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	_, _ = io.WriteString(w, s.answer)
}

func newChannel(t *testing.T, c Config) (*Channel, *server) {
	t.Helper()
	s := &server{answer: `{"id":"hwQ2YpKdmg3z","time":1742000000,"event":"message","topic":"` + testTopic + `","message":"x"}`}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	c.Server, c.Topic, c.Client = srv.URL+c.Server, testTopic, srv.Client()
	ch, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return ch, s
}

func delivery() lastlook.Delivery {
	k := lastlook.Key{Topic: "price", Subject: "shop.example/espresso", Recipient: "kim", Channel: "phone"}
	return lastlook.Delivery{
		ID: 42, Key: k,
		Message:     lastlook.Message{Title: "Espresso\nmachine", Body: " Below 500\r\nnow 470 ", URL: "https://shop.example/?a=1&b=2"},
		DeliveryKey: lastlook.DeliveryKey(k, 1), ReplaceKey: lastlook.ReplaceKey(k),
	}
}

func TestPublish(t *testing.T) {
	ch, s := newChannel(t, Config{Server: "/under/", Token: testToken, Priority: PriorityHigh, Tags: []string{"moneybag", "läden"}})
	receipt, err := ch.Deliver(t.Context(), delivery())
	if err != nil || receipt.Answer != "HTTP 200: message hwQ2YpKdmg3z" {
		t.Fatalf("%+v, %v", receipt, err)
	}
	want := publication{
		Topic: testTopic, Title: "Espresso machine", Message: "Below 500\nnow 470", Priority: PriorityHigh,
		Tags: []string{"moneybag", "läden"}, Click: "https://shop.example/?a=1&b=2", Sequence: delivery().ReplaceKey,
	}
	if fmt.Sprint(s.got) != fmt.Sprint(want) {
		t.Errorf("published %+v, want %+v", s.got, want)
	}
	if s.path != "/under/" || s.header.Get("Authorization") != "Bearer "+testToken {
		t.Errorf("%s %v", s.path, s.header)
	}
	s.answer = `{"id":"` + testToken + `"}`
	if receipt, err = ch.Deliver(t.Context(), delivery()); err != nil || strings.Contains(receipt.Answer, testToken) {
		t.Errorf("%+v, %v", receipt, err)
	}
	s.answer = "proxy says hello"
	if receipt, err = ch.Deliver(t.Context(), delivery()); err != nil || receipt.Answer != "HTTP 200: proxy says hello" {
		t.Errorf("%+v, %v", receipt, err)
	}

	s.answer, s.status = `{"code":40301,"http":403,"error":"forbidden"}`, http.StatusForbidden
	_, err = ch.Deliver(t.Context(), delivery())
	if class, _ := lastlook.Classify(err); class != lastlook.ClassMisconfigured || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("403: %v", err)
	}
}

func TestBasicAuth(t *testing.T) {
	ch, s := newChannel(t, Config{Username: "kim", Password: testPass})
	if _, err := ch.Deliver(t.Context(), delivery()); err != nil {
		t.Fatal(err)
	}
	user, pass, ok := (&http.Request{Header: s.header}).BasicAuth()
	if !ok || user != "kim" || pass != testPass {
		t.Errorf("sent %q, %q", user, pass)
	}
}

func TestWording(t *testing.T) {
	ch, s := newChannel(t, Config{})
	for name, tt := range map[string]struct {
		change func(*lastlook.Delivery)
		want   func(p publication) bool
	}{
		"silent": {func(d *lastlook.Delivery) { d.Message.Silent = true }, func(p publication) bool { return p.Priority == PriorityLow }},
		"loud":   {func(*lastlook.Delivery) {}, func(p publication) bool { return p.Priority == 0 }},
		"only a title": {func(d *lastlook.Delivery) { d.Message.Body = " \n" }, func(p publication) bool {
			return p.Title == "" && p.Message == "Espresso\nmachine"
		}},
		"no text":         {func(d *lastlook.Delivery) { d.Message.Title, d.Message.Body = "", "" }, func(p publication) bool { return p.Message == "shop.example/espresso" }},
		"script":          {func(d *lastlook.Delivery) { d.Message.URL = "javascript:alert(1)" }, func(p publication) bool { return p.Click == "" }},
		"relative":        {func(d *lastlook.Delivery) { d.Message.URL = "/path" }, func(p publication) bool { return p.Click == "" }},
		"broken":          {func(d *lastlook.Delivery) { d.Message.URL = "https://%zz" }, func(p publication) bool { return p.Click == "" }},
		"two lines":       {func(d *lastlook.Delivery) { d.Message.URL = "https://a\r\nX: y" }, func(p publication) bool { return p.Click == "" }},
		"mail":            {func(d *lastlook.Delivery) { d.Message.URL = "mailto:a@example.com" }, func(p publication) bool { return p.Click != "" }},
		"long address":    {func(d *lastlook.Delivery) { d.Message.URL = "https://a.example/" + strings.Repeat("x", 2000) }, func(p publication) bool { return p.Click == "" }},
		"no replace key":  {func(d *lastlook.Delivery) { d.ReplaceKey = "" }, func(p publication) bool { return p.Sequence == "" }},
		"bad replace key": {func(d *lastlook.Delivery) { d.ReplaceKey = "a/b" }, func(p publication) bool { return p.Sequence == "" }},
		"long title": {func(d *lastlook.Delivery) { d.Message.Title = strings.Repeat("日本 ", 100) }, func(p publication) bool {
			return len(p.Title) <= maxTitle && len(p.Title) > maxTitle-12 && strings.HasSuffix(p.Title, "…")
		}},
		"long body": {func(d *lastlook.Delivery) { d.Message.Body = strings.Repeat("x", 5000) }, func(p publication) bool {
			return len(p.Message) == DefaultMessageLimit-1 && strings.HasSuffix(p.Message, "x…")
		}},
		"escapes": {func(d *lastlook.Delivery) { d.Message.Body = strings.Repeat(`"\`, 3000) }, func(p publication) bool {
			return len(p.Message) > 3700 && strings.HasSuffix(p.Message, "…")
		}},
	} {
		d := delivery()
		tt.change(&d)
		if _, err := ch.Deliver(t.Context(), d); err != nil || !tt.want(s.got) {
			t.Errorf("%s: %+v, %v", name, s.got, err)
		}
	}
}

// TestLimits: the message fits whatever the limit and whatever comes with it.
func TestLimits(t *testing.T) {
	awkward := lastlook.Message{
		Title: strings.Repeat(`"`, 300), Body: strings.Repeat(`\`, 9000), URL: "https://a.example/" + strings.Repeat(`"`, 1900),
	}
	tags := []string{}
	for range maxTags {
		tags = append(tags, strings.Repeat("t", maxTag))
	}
	for _, limit := range []int{minMessageLimit, 1500, 2048, 4096, 65536} {
		f := form{topic: strings.Repeat("t", 64), priority: PriorityMax, tags: tags, limit: limit}
		d := delivery()
		for _, u := range []string{awkward.URL, awkward.URL[:limit/2%1900], ""} {
			d.Message = awkward
			d.Message.URL = u
			b, err := f.encode(d)
			var p publication
			if err != nil || len(b) >= 2*limit || json.Unmarshal(b, &p) != nil || len(p.Message) < 50 || len(p.Message) >= limit {
				t.Errorf("limit %d: %d bytes, message %d, %v", limit, len(b), len(p.Message), err)
			}
		}
	}
	if _, err := (form{topic: strings.Repeat("t", 64), limit: 40}).encode(delivery()); err == nil {
		t.Error("what cannot fit was encoded")
	}
}

func TestConfig(t *testing.T) {
	good := Config{Server: "https://ntfy.sh", Topic: testTopic, Client: &http.Client{}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		fmt.Sprintf("%v %+v %#v", good, good, good), fmt.Sprint(Config{Topic: testTopic}),
		fmt.Sprint(Config{Server: "https://ntfy.sh/x", Topic: testTopic, Token: testToken}),
	} {
		if strings.Contains(s, testTopic) || strings.Contains(s, testToken) {
			t.Errorf("printed: %s", s)
		}
	}
	for name, tt := range map[string]struct {
		change func(*Config)
		part   string
	}{
		"no server":       {func(c *Config) { c.Server = "" }, "https://"},
		"query":           {func(c *Config) { c.Server += "/?auth=sesame" }, "remove it"},
		"user":            {func(c *Config) { c.Server = "https://kim:sesame@ntfy.sh" }, "by themselves"},
		"topic in server": {func(c *Config) { c.Server += "/" + testTopic }, "remove it"},
		"no topic":        {func(c *Config) { c.Topic = "" }, "nobody guesses"},
		"bad topic":       {func(c *Config) { c.Topic = "sesame/1" }, "letters"},
		"long topic":      {func(c *Config) { c.Topic = strings.Repeat("sesame", 11) }, "64"},
		"both":            {func(c *Config) { c.Token, c.Username, c.Password = "tk_sesame", "kim", "sesame" }, "one of them"},
		"no username":     {func(c *Config) { c.Password = "sesame" }, "username"},
		"no password":     {func(c *Config) { c.Username = "kim" }, "password"},
		"colon":           {func(c *Config) { c.Username, c.Password = "k:m", "sesame" }, "colon"},
		"bad token":       {func(c *Config) { c.Token = "tk_sesame\n" }, "copy it again"},
		"priority":        {func(c *Config) { c.Priority = 6 }, "1 (min) to 5 (max)"},
		"limit":           {func(c *Config) { c.MessageLimit = 10 }, "message-size-limit"},
		"tags":            {func(c *Config) { c.Tags = make([]string, 6) }, "at most 5"},
		"tag":             {func(c *Config) { c.Tags = []string{"a,b"} }, "moneybag"},
		"empty tag":       {func(c *Config) { c.Tags = []string{""} }, "moneybag"},
		"no client":       {func(c *Config) { c.Client = nil }, "http.Client"},
	} {
		c := good
		tt.change(&c)
		err := c.Validate()
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if s := err.Error(); !errors.Is(err, lastlook.ErrInvalid) || !strings.Contains(s, tt.part) || strings.Contains(s, "sesame") || strings.Contains(s, testTopic) || strings.Contains(s, "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConfigIsCopied: what the caller changes later changes nothing here.
func TestConfigIsCopied(t *testing.T) {
	tags := []string{"one"}
	ch, s := newChannel(t, Config{Tags: tags})
	tags[0] = "other"
	if _, err := ch.Deliver(t.Context(), delivery()); err != nil || s.got.Tags[0] != "one" {
		t.Errorf("%v, %v", s.got, err)
	}
}
