package push

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/webpush"
)

// limits are those that fit is called with.
var limits = []int{webpush.MaxPayload, shortPayload}

func TestFit(t *testing.T) {
	long := func(s string) string { return strings.Repeat(s, 20<<10/len(s)) }
	link := func(n int) string { return "https://shop.example/" + strings.Repeat("x", n) }
	for name, tt := range map[string]struct {
		message lastlook.Message
		subject string
		check   func(p payload) bool
	}{
		"body": {lastlook.Message{Title: "t", Body: long("word "), URL: link(9), Data: []byte(`{"a":1}`)}, "w7", func(p payload) bool {
			return p.Title == "t" && len(p.Body) > 500 && p.URL != "" && p.Data != nil && p.Subject == "w7"
		}},
		"quotes":          {lastlook.Message{Title: "t", Body: long(`"\`)}, "w7", func(p payload) bool { return len(p.Body) > 300 }},
		"title":           {lastlook.Message{Title: long("日本"), Body: "short"}, "w7", func(p payload) bool { return len(p.Title) > 240 && p.Body == "short" }},
		"title and body":  {lastlook.Message{Title: long("title "), Body: long("👩\u200d👩\u200d👧")}, "w7", func(p payload) bool { return len(p.Title) > 240 && len(p.Body) > 100 }},
		"data":            {lastlook.Message{Title: "t", Body: "short", Data: []byte(`"` + long("x") + `"`)}, "w7", func(p payload) bool { return p.Body == "short" && p.Data == nil }},
		"url":             {lastlook.Message{Title: "t", Body: "short", URL: link(9 << 10)}, "w7", func(p payload) bool { return p.Body == "short" && p.URL == "" }},
		"subject":         {lastlook.Message{Title: "t", Body: long("x")}, strings.Repeat("\x01", 512), func(p payload) bool { return p.Subject == "" && len(p.Body) > 700 }},
		"all just so big": {lastlook.Message{Title: long("t"), Body: long("x"), URL: link(230), Data: []byte(`"` + strings.Repeat("d", 250) + `"`)}, strings.Repeat("s", 250), func(p payload) bool { return p.Title != "" && p.URL != "" && p.Data != nil && p.Subject != "" }},
	} {
		d := delivery()
		d.Message, d.Key.Subject = tt.message, tt.subject
		for _, limit := range limits {
			b, err := newPayload(d, now).fit(limit)
			var p payload
			if err != nil || len(b) > limit || json.Unmarshal(b, &p) != nil || !utf8.Valid(b) || p.Title == "" || p.ID != d.DeliveryKey || p.Tag != d.ReplaceKey {
				t.Errorf("%s in %d: %d bytes, %v: %.300s", name, limit, len(b), err, b)
				continue
			}
			if !tt.check(p) {
				t.Errorf("%s in %d: %.400s", name, limit, b)
			}
			if tt.message.Body != "" && len(tt.message.Body) > limit && p.Body != "" && len(b) < limit-30 {
				t.Errorf("%s in %d: room for %d bytes was not used", name, limit, limit-len(b))
			}
		}
	}
}

// TestNewPayload: what is shown of messages that have something odd, or
// nothing.
func TestNewPayload(t *testing.T) {
	for name, tt := range map[string]struct {
		message     lastlook.Message
		subject     string
		title, body string
		url, data   string
	}{
		"nothing":         {lastlook.Message{}, "", nobody, "", "", ""},
		"only a subject":  {lastlook.Message{}, "w7", "w7", "", "", ""},
		"only a body":     {lastlook.Message{Body: " Sold out "}, "w7", "Sold out", "", "", ""},
		"a body of two":   {lastlook.Message{Body: "one\ntwo"}, "w7", "one two", "one\ntwo", "", ""},
		"controls":        {lastlook.Message{Title: "a\r\nb\x00", Body: "c\r\nd\x1b"}, "w7", "a b", "c\nd", "", ""},
		"script":          {lastlook.Message{Title: "t", URL: "javascript:alert(1)"}, "w7", "t", "", "", ""},
		"file":            {lastlook.Message{Title: "t", URL: "file:///etc/passwd"}, "w7", "t", "", "", ""},
		"a URL in two":    {lastlook.Message{Title: "t", URL: "https://a.example/\n"}, "w7", "t", "", "", ""},
		"a path":          {lastlook.Message{Title: "t", URL: "/watch/7"}, "w7", "t", "", "", ""},
		"http":            {lastlook.Message{Title: "t", URL: "http://a.example"}, "w7", "t", "", "http://a.example", ""},
		"data of no JSON": {lastlook.Message{Title: "t", Data: []byte(`{"a":`)}, "w7", "t", "", "", ""},
		"data not UTF-8":  {lastlook.Message{Title: "t", Data: []byte("\"\xff\"")}, "w7", "t", "", "", "\"\uFFFD\""},
	} {
		d := delivery()
		d.Message, d.Key.Subject = tt.message, tt.subject
		p := newPayload(d, now)
		if p.Title != tt.title || p.Body != tt.body || p.URL != tt.url || string(p.Data) != tt.data {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func FuzzFit(f *testing.F) {
	f.Add("title", "body", "https://a.example/", "w7", `{"a":1}`, uint16(3))
	f.Add("\xff\"\\", "日本\u0301", "x", "\x00", `[`, uint16(4000))
	f.Fuzz(func(t *testing.T, title, body, link, subject, data string, times uint16) {
		d := delivery()
		n := int(times)%5000 + 1
		d.Message = lastlook.Message{Title: title, Body: strings.Repeat(body, min(n, 100<<10/(len(body)+1)+1)), URL: link, Data: []byte(data)}
		d.Key.Subject = subject
		for _, limit := range limits {
			b, err := newPayload(d, now).fit(limit)
			if err != nil || len(b) > limit || !json.Valid(b) || !utf8.Valid(b) {
				t.Errorf("%d bytes of %d: %v: %q", len(b), limit, err, b)
			}
		}
	})
}
