package httpcall

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lastlook/lastlook"
)

// awkward are secrets that look different once they are escaped.
var awkward = []string{
	"tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2",
	"pass word/with=all&sorts<of>\"things'\\+%é",
	"https://user:pa%20ss@hooks.example/services/T0000/B0000/XXXX?token=a+b",
	"tab\there\u2028and\x01there",
}

// forms are the ways in which servers repeat what they were sent.
var forms = map[string]func(string) string{
	"as it is":   func(s string) string { return s },
	"query":      url.QueryEscape,
	"path":       url.PathEscape,
	"html":       html.EscapeString,
	"go":         strconv.Quote,
	"go ascii":   strconv.QuoteToASCII,
	"json":       func(s string) string { b, _ := json.Marshal(s); return string(b) },
	"php":        func(s string) string { return strings.ReplaceAll(s, "/", `\/`) },
	"base64":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"upper case": strings.ToUpper,
	"lower case": strings.ToLower,
}

func TestScrub(t *testing.T) {
	for _, secret := range awkward {
		r := NewRedactor(Secrets{Strict: []string{secret}})
		for name, form := range forms {
			if name == "upper case" && strings.Contains(secret, "é") {
				continue // only ASCII is folded
			}
			in := "before " + form(secret) + " between " + form(secret) + form(secret) + " after"
			want := "before " + Redacted + " between " + Redacted + " after"
			got := r.Scrub(in)
			for _, q := range []string{`"`, "="} { // quotes and padding may stay
				got = strings.ReplaceAll(got, q, "")
			}
			if strings.ReplaceAll(got, Redacted+Redacted, Redacted) != want {
				t.Errorf("%s of %q: %q", name, secret, got)
			}
		}
		cut := r.ScrubCut("text " + secret[:len(secret)-1])
		if strings.Contains(cut, secret[:minSecret]) {
			t.Errorf("the beginning of %q stayed: %q", secret, cut)
		}
	}
}

func TestScrubOverlaps(t *testing.T) {
	r := NewRedactor(Secrets{Strict: []string{"abcabc", "bcab"}, Weak: []string{"abc", "xyz", ""}})
	for in, want := range map[string]string{
		"":             "",
		"abcabcabc":    Redacted,
		"-bcab-":       "-" + Redacted + "-",
		"abc xyz":      "abc xyz", // too short to be meant
		"x ABCABCab y": "x " + Redacted + " y",
		"çabcabcç":     "ç" + Redacted + "ç",
	} {
		if got := r.Scrub(in); got != want {
			t.Errorf("Scrub(%q) = %q, want %q", in, got, want)
		}
	}
	if got := r.ScrubCut("end abca"); got != "end " {
		t.Errorf("ScrubCut: %q", got)
	}
}

func TestShown(t *testing.T) {
	secret := "topsecretvalue"
	r := NewRedactor(Secrets{Strict: []string{secret}})
	show := func(body string, complete bool, header ...string) string {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return r.shown(&Answer{Header: h, Body: []byte(body), Complete: complete})
	}
	for _, tt := range []struct{ got, want string }{
		{show("it is "+secret+".", true), "it is " + Redacted + "."},
		{show("it is tops", false), "it is"},
		{show("it is top\x00secret\x01value.", true), "it is " + Redacted + "."},
		{show("it is top<b></b>secretvalue", true, "Content-Type", "text/html"), "it is top secretvalue"}, // in two words
		{show("<h1>No", true, "Content-Type", "text/html; charset=x"), "No"},
		{show("unclosed <", true, "Content-Type", "text/html"), "unclosed"},
		{show("\x1f\x8b", true, "Content-Encoding", "gzip"), ""},
		{show("plain", true, "Content-Encoding", "identity"), "plain"},
	} {
		if tt.got != tt.want {
			t.Errorf("shown %q, want %q", tt.got, tt.want)
		}
	}
	// Wherever the cut falls, no piece of the secret stays.
	for pad := range maxShown + 40 {
		got := show(strings.Repeat("x", pad)+" "+secret+" "+strings.Repeat("y", 2*maxShown), false)
		if strings.Contains(got, secret[:minSecret]) {
			t.Fatalf("after %d: %q", pad, got)
		}
	}
}

// TestMute: what cannot be scrubbed silences the other side.
func TestMute(t *testing.T) {
	r := NewRedactor(Secrets{Strict: []string{"abc"}})
	if got := r.shown(&Answer{Body: []byte("abc"), Complete: true}); got != "" {
		t.Errorf("shown %q", got)
	}
	if got := r.cause(errors.New(`malformed HTTP response "abc"`)).Error(); strings.Contains(got, "abc") {
		t.Error(got)
	}
}

func TestSecretsOf(t *testing.T) {
	u, err := url.Parse("https://me:hush-pw@hooks.example/api/T0000000/x?k=v&key=longvalue")
	if err != nil {
		t.Fatal(err)
	}
	r := NewRedactor(URLSecrets(u))
	for _, text := range []string{
		u.String(), "hush-pw", "me:hush-pw", "bWU6aHVzaC1wdw==", "T0000000", "longvalue", "/api/T0000000/x",
		"k=v&key=longvalue", "hooks.example/api/T0000000/x?k=v&key=longvalue",
	} {
		if got := strings.Trim(strings.ReplaceAll(r.Scrub(text), Redacted, ""), "="); got != "" && got != "https://" {
			t.Errorf("of %q stayed %q", text, got)
		}
	}
	if got := r.Scrub("api x hooks.example"); got != "api x hooks.example" {
		t.Errorf("ordinary words went: %q", got)
	}
	if Origin(u) != "https://hooks.example" || Origin(nil) != "no URL" {
		t.Error(Origin(u))
	}
	if s := URLSecrets(&url.URL{Scheme: "https", Host: "shop.example", Path: "/"}); len(s.Strict)+len(s.Weak) > 0 {
		t.Errorf("a plain address has the secrets %q", s)
	}
	if s := BasicSecrets("tk_only", ""); !slices.Contains(s.Strict, "tk_only") {
		t.Errorf("%q", s)
	}

	r = NewRedactor(HeaderSecrets(http.Header{
		"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("me:hush-pw"))},
		"X-Api-Token":   {"tokentoken"}, "X-Team": {"shopping"}, "X-N": {"1"},
	}))
	if got := r.Scrub("hush-pw tokentoken shopping 1"); got != Redacted+" "+Redacted+" "+Redacted+" 1" || r.mute {
		t.Error(got)
	}
	if !NewRedactor(HeaderSecrets(http.Header{"X-Key": {"abc"}})).mute {
		t.Error("a short key was not noticed")
	}
}

func TestParseURL(t *testing.T) {
	for raw, part := range map[string]string{
		"":                             "empty",
		"ftp://host/":                  "https://",
		"host/path":                    "https://",
		"https://":                     "no host",
		"https:///path":                "no host",
		"https://:80/":                 "no host",
		"https://host/#part":           "fragment",
		"https://host/#":               "fragment",
		"https://ho st/":               "spaces",
		"https://host/\r\nX: y":        "control",
		"https://me:se/cret@host/":     "cannot be read",
		"https://host:se-cret/":        "cannot be read",
		"https://host/%secret":         "cannot be read",
		"https://user:secret@ho%st/ab": "cannot be read",
	} {
		u, err := ParseURL("the URL", raw)
		if u != nil || !errors.Is(err, lastlook.ErrInvalid) || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "cret") {
			t.Errorf("ParseURL(%q): %v, %v", raw, u, err)
		}
	}
	if u, err := ParseURL("the URL", "http://user:pw@[::1]:8080/a?b#"[:29]); err != nil || u.Host != "[::1]:8080" {
		t.Errorf("%v, %v", u, err)
	}
}

func TestCheckHeaders(t *testing.T) {
	for _, tt := range []struct {
		name, value, part string
	}{
		{"X-Fine", "value", ""},
		{"x_fine~", "tab\tand ümlaut", ""},
		{"", "v", "characters"},
		{"X Bad", "v", "characters"},
		{"X-Bad\r\nEvil", "v", "characters"},
		{"X-Bad", "secret\r\nEvil: 1", "one line"},
		{"X-Bad", "secret\x00", "one line"},
		{"X-Bad", "secret\xff", "one line"},
		{"content-length", "1", "remove it"},
		{"HOST", "secret", "remove it"},
		{"webhook-id", "secret", "remove it"},
	} {
		err := CheckHeaders(http.Header{tt.name: {tt.value}}, "Webhook-Id")
		if tt.part == "" && err != nil || tt.part != "" && (!errors.Is(err, lastlook.ErrInvalid) || !strings.Contains(err.Error(), tt.part)) {
			t.Errorf("%q: %q: %v", tt.name, tt.value, err)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.ContainsAny(err.Error(), "\r\n")) {
			t.Errorf("the value is shown: %v", err)
		}
	}
}

func BenchmarkRedactor(b *testing.B) {
	u, _ := url.Parse("https://hooks.example/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX?token=1234567890")
	text := strings.Repeat("an answer that holds nothing of the kind; ", 100)
	for b.Loop() {
		NewRedactor(URLSecrets(u)).Scrub(text)
	}
}
