package webpushtest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/webpush"
)

func decoded(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDecryptAppendixA: the browser's side of RFC 8291, Appendix A, and what
// it must refuse.
func TestDecryptAppendixA(t *testing.T) {
	b, err := os.ReadFile("../testdata/rfc8291.json")
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]string
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	browser, err := BrowserOf(decoded(t, v["ua_private"]), decoded(t, v["auth"]))
	if err != nil {
		t.Fatal(err)
	}
	body := decoded(t, v["body"])
	if got, err := browser.Decrypt(body); err != nil || string(got) != v["plaintext"] {
		t.Errorf("decrypted %q, %v", got, err)
	}
	for i := range body {
		changed := bytes.Clone(body)
		changed[i] ^= 1
		// A record size that is only larger changes nothing.
		if got, err := browser.Decrypt(changed); err == nil && (i < 16 || i > 19) {
			t.Errorf("with byte %d changed: %q", i, got)
		}
		if _, err := browser.Decrypt(body[:i]); err == nil {
			t.Errorf("%d bytes of it were taken", i)
		}
	}
	if other, err := NewBrowser(); err != nil || other == nil {
		t.Error(err)
	} else if _, err := other.Decrypt(body); err == nil {
		t.Error("another browser could read it")
	}
}

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// field signs a token of the given header and claims.
func field(t *testing.T, key *ecdsa.PrivateKey, header, claims string) string {
	t.Helper()
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return "vapid t=" + text + "." + base64.RawURLEncoding.EncodeToString(sig) + ", k=" + base64.RawURLEncoding.EncodeToString(point)
}

func TestVerifyVAPID(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const (
		aud    = "https://push.example.net"
		header = `{"typ":"JWT","alg":"ES256"}`
		fine   = `{"aud":"https://push.example.net","exp":1777723200,"sub":"mailto:push@example.com"}` // 24 h after now
	)
	claims, err := VerifyVAPID(field(t, key, header, fine), aud, now.Add(time.Hour))
	if err != nil || claims.Audience != aud || claims.Subject != "mailto:push@example.com" {
		t.Fatalf("%+v, %v", claims, err)
	}
	with := func(old, new string) string { return field(t, key, header, strings.Replace(fine, old, new, 1)) }
	good := field(t, key, header, fine)
	flipped := []byte(good)
	if at := strings.LastIndex(good, ",") - 20; flipped[at] == 'A' {
		flipped[at] = 'B'
	} else {
		flipped[at] = 'A'
	}
	for name, tt := range map[string]struct {
		field  string
		now    time.Time
		status int
	}{
		"none":             {"", now, 401},
		"another scheme":   {"WebPush " + good, now, 401},
		"no key":           {good[:strings.Index(good, ",")], now, 401},
		"padded":           {strings.Replace(good, ",", "=,", 1), now, 401},
		"signature":        {string(flipped), now, 403},
		"another alg":      {field(t, key, `{"typ":"JWT","alg":"none"}`, fine), now, 403},
		"header":           {field(t, key, `{`, fine), now, 403},
		"claims":           {field(t, key, header, `{`), now, 403},
		"aud of a path":    {with(`.net"`, `.net/"`), now, 403},
		"aud with a port":  {with(`.net"`, `.net:443"`), now, 403},
		"aud in capitals":  {with(`push.`, `Push.`), now, 403},
		"aud of many":      {with(`"https://push.example.net"`, `["https://push.example.net"]`), now, 403},
		"exp as text":      {with("1777723200", `"1777723200"`), now, 403},
		"exp in parts":     {with("1777723200", `1777723200.5`), now, 403},
		"expired":          {good, time.Unix(1777723200, 0), 403},
		"too long":         {good, time.Unix(1777723199, 0).Add(-24 * time.Hour), 403},
		"no sub":           {with(`,"sub":"mailto:push@example.com"`, ""), now, 403},
		"sub twice mailto": {with("mailto:", "mailto:mailto:"), now, 403},
		"sub bare":         {with("mailto:", ""), now, 403},
	} {
		_, err := VerifyVAPID(tt.field, aud, tt.now)
		if r, ok := errors.AsType[*Refusal](err); !ok || r.Status != tt.status {
			t.Errorf("%s: %v, want HTTP %d", name, err, tt.status)
		}
	}
}

func TestServiceRefuses(t *testing.T) {
	keys, err := webpush.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	client, err := webpush.New(webpush.Config{Keys: keys, Subject: "mailto:push@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	s := NewService(Config{})
	sub, err := s.Subscribe("https://push.example.net", keys.Public())
	if err != nil {
		t.Fatal(err)
	}
	post := func(change func(p *webpush.Request) (method string)) int {
		t.Helper()
		p, err := client.Prepare(sub, webpush.Message{Payload: []byte("x"), Topic: "t"})
		if err != nil {
			t.Fatal(err)
		}
		method := change(&p)
		r := httptest.NewRequest(method, p.URL.String(), bytes.NewReader(p.Body))
		r.Header = p.Header
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	set := func(name, value string) func(p *webpush.Request) string {
		return func(p *webpush.Request) string { p.Header.Set(name, value); return http.MethodPost }
	}
	for name, tt := range map[string]struct {
		change func(p *webpush.Request) string
		want   int
	}{
		"nothing":          {func(*webpush.Request) string { return http.MethodPost }, 201},
		"method":           {func(*webpush.Request) string { return http.MethodPut }, 405},
		"no VAPID":         {set("Authorization", ""), 401},
		"no TTL":           {set("TTL", ""), 400},
		"negative TTL":     {set("TTL", "-1"), 400},
		"TTL in parts":     {set("TTL", "1.5"), 400},
		"urgency":          {set("Urgency", "urgent"), 400},
		"empty topic":      {set("Topic", ""), 400},
		"long topic":       {set("Topic", strings.Repeat("t", 33)), 400},
		"topic":            {set("Topic", "a.b"), 400},
		"coding":           {set("Content-Encoding", "aesgcm"), 400},
		"two topics":       {func(p *webpush.Request) string { p.Header.Add("Topic", "u"); return http.MethodPost }, 400},
		"too long":         {func(p *webpush.Request) string { p.Body = make([]byte, 4097); return http.MethodPost }, 413},
		"no body to speak": {func(p *webpush.Request) string { p.Body = p.Body[:50]; return http.MethodPost }, 400},
		"unknown":          {func(p *webpush.Request) string { p.URL.Path += "x"; return http.MethodPost }, 404},
	} {
		if got := post(tt.change); got != tt.want {
			t.Errorf("%s: HTTP %d, want %d", name, got, tt.want)
		}
	}
	if s.Count() != 1 || len(s.Refused()) != 14 {
		t.Errorf("%d taken, %d refused", s.Count(), len(s.Refused()))
	}
	s.End(sub, http.StatusNotFound)
	if got := post(set("TTL", "5")); got != http.StatusNotFound {
		t.Errorf("ended: HTTP %d", got)
	}
	other, err := s.Subscribe("https://push.example.net", "another-key")
	if err != nil {
		t.Fatal(err)
	}
	sub = other
	if got := post(set("TTL", "5")); got != http.StatusForbidden {
		t.Errorf("another key: HTTP %d", got)
	}
	if s.Pushes(webpush.Subscription{}) != nil {
		t.Error("messages of no subscription")
	}
}
