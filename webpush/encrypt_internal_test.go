package webpush

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

func unhex64(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAppendixA is RFC 8291, Appendix A, byte for byte: no padding, and the
// key pair and salt given there.
func TestAppendixA(t *testing.T) {
	b, err := os.ReadFile("testdata/rfc8291.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Private   string `json:"as_private"`
		Public    string `json:"as_public"`
		Auth      string `json:"auth"`
		Body      string `json:"body"`
		Plaintext string `json:"plaintext"`
		Salt      string `json:"salt"`
		Browser   string `json:"ua_public"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	sub, err := NewSubscription("https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", unhex64(t, v.Browser), unhex64(t, v.Auth))
	if err != nil {
		t.Fatal(err)
	}
	own, err := ecdh.P256().NewPrivateKey(unhex64(t, v.Private))
	if err != nil {
		t.Fatal(err)
	}
	if got := base64.RawURLEncoding.EncodeToString(own.PublicKey().Bytes()); got != v.Public {
		t.Fatalf("public key %s", got)
	}
	got, err := seal(nil, sub.parts(), []byte(v.Plaintext), own, (*[saltLen]byte)(unhex64(t, v.Salt)), len(v.Plaintext)+1)
	if err != nil {
		t.Fatal(err)
	}
	if s := base64.RawURLEncoding.EncodeToString(got); s != v.Body {
		t.Errorf("body\n%s, want\n%s", s, v.Body)
	}
}

// TestDerive holds our HKDF to the standard library's.
func TestDerive(t *testing.T) {
	sub := someSubscription(t).parts()
	for range 50 {
		own, err := ecdh.P256().GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		var salt [saltLen]byte
		_, _ = rand.Read(salt[:])
		_, _ = rand.Read(sub.auth[:])
		public := own.PublicKey().Bytes()
		key, nonce, err := derive(sub, own, public, &salt)
		if err != nil {
			t.Fatal(err)
		}
		shared, err := own.ECDH(sub.key)
		if err != nil {
			t.Fatal(err)
		}
		ikm, err := hkdf.Key(sha256.New, shared, sub.auth[:], ikmInfo+string(sub.point[:])+string(public), sha256.Size)
		if err != nil {
			t.Fatal(err)
		}
		wantKey, err := hkdf.Key(sha256.New, ikm, salt[:], "Content-Encoding: aes128gcm\x00", 16)
		if err != nil {
			t.Fatal(err)
		}
		wantNonce, err := hkdf.Key(sha256.New, ikm, salt[:], "Content-Encoding: nonce\x00", 12)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(key[:], wantKey) || !bytes.Equal(nonce[:], wantNonce) {
			t.Fatalf("key %x, nonce %x; want %x, %x", key, nonce, wantKey, wantNonce)
		}
	}
}

func TestPadded(t *testing.T) {
	lengths := map[int]bool{}
	for n := 0; n <= MaxPayload; n++ {
		p := padded(n)
		lengths[p] = true
		if p < n+1 || p > n+Bucket || headerLen+p+tagLen > maxBody {
			t.Fatalf("%d bytes are padded to %d", n, p)
		}
		if p%Bucket != 0 && p != MaxPayload+1 {
			t.Fatalf("%d bytes are padded to %d, which is no bucket", n, p)
		}
	}
	if len(lengths) != 16 {
		t.Errorf("%d different lengths, want 16", len(lengths))
	}
	if bodyLen(0) != 358 || bodyLen(MaxPayload) != maxBody {
		t.Errorf("bodies of %d to %d bytes", bodyLen(0), bodyLen(MaxPayload))
	}
}

// TestSpareCapacity: what a buffer held before does not go out as padding.
func TestSpareCapacity(t *testing.T) {
	sub := someSubscription(t)
	dirty := bytes.Repeat([]byte{0xaa}, 2*maxBody)
	got, err := Encrypt(dirty[:3], sub, []byte("payload"))
	if err != nil {
		t.Fatal(err)
	}
	if &got[0] != &dirty[0] || len(got) != 3+bodyLen(7) || !bytes.Equal(got[:3], []byte{0xaa, 0xaa, 0xaa}) {
		t.Errorf("not appended: %d bytes", len(got))
	}
	if !bytes.Equal(dirty[len(got):], bytes.Repeat([]byte{0xaa}, len(dirty)-len(got))) {
		t.Error("written beyond the result")
	}
	long, err := Encrypt([]byte("kept"), sub, make([]byte, MaxPayload+1))
	if !errors.Is(err, ErrTooLong) || string(long) != "kept" {
		t.Errorf("too long: %q, %v", long, err)
	}
	if _, err := Encrypt(nil, Subscription{}, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("no subscription: %v", err)
	}
}

func someSubscription(tb testing.TB) Subscription {
	tb.Helper()
	key, err := ecdh.P256().NewPrivateKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	sub, err := NewSubscription("https://push.example.net/wpush/v2/capability-of-the-device", key.PublicKey().Bytes(), []byte("sixteen bytes ok"))
	if err != nil {
		tb.Fatal(err)
	}
	return sub
}

// TestTokens: one per origin, used until near its end, of a bounded number.
func TestTokens(t *testing.T) {
	keys, err := GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	all := newTokens(keys, "mailto:push@example.com")
	t0 := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(origin string, d time.Duration) string {
		t.Helper()
		k, err := all.get(origin, t0.Add(d))
		if err != nil {
			t.Fatal(err)
		}
		return k.header
	}
	const one, two = "https://push.one.example", "https://push.two.example"
	first := at(one, 0)
	if at(one, 0) != first || at(one, 10*time.Hour) != first || at(one, 11*time.Hour-time.Second) != first {
		t.Error("a token that is good was not used again")
	}
	if at(two, 0) == first {
		t.Error("two origins have one token")
	}
	second := at(one, 11*time.Hour)
	if second == first {
		t.Error("a token was used near its end")
	}
	if at(one, 0) == second {
		t.Error("a token from the future was used after the clock was set back: it may be valid for more than 24 hours")
	}
	for i := range 3 * maxTokens {
		at(fmt.Sprintf("https://%d.example", i), time.Duration(i)*time.Second)
		if len(all.all) > maxTokens {
			t.Fatalf("%d tokens are kept", len(all.all))
		}
	}
	if all.all["https://0.example"] != nil || all.all[fmt.Sprintf("https://%d.example", 3*maxTokens-1)] == nil {
		t.Error("the newest token was dropped instead of the oldest")
	}
}

func TestWords(t *testing.T) {
	secrets := []string{"/wpush/v2/gaaaaabc-def_geheim?key=value9", "eyj0exai.zxhw"}
	for in, want := range map[string]string{
		"":                      "",
		"InvalidToken: sub":     "InvalidToken: sub",
		"no\x00 line\r\n  ends": "no line ends",
		"at https://push.example/wpush/v2/gAAAAAbc-def_geheim": "at https://….example/…/v2/…",
		"%2Fwpush%2Fv2%2FgAAAAAbc-def_geheim":                  "%2Fwpush%2Fv2%…",
		"value9 VALUE9":                                        "… …",
		"x0123456789012345678901234 y":                         "… y",
		"bad \xff utf-8":                                       "bad \uFFFD utf-8",
	} {
		got := words([]byte(in), secrets)
		if got != want {
			t.Errorf("words(%q) = %q, want %q", in, got, want)
		}
	}
	if got := words(bytes.Repeat([]byte("word "), 9999), nil); len(got) > maxShown+maxWord {
		t.Errorf("%d bytes are shown", len(got))
	}
}

func BenchmarkEncrypt(b *testing.B) {
	sub, payload := someSubscription(b), bytes.Repeat([]byte("x"), 200)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encrypt(nil, sub, payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	keys, err := GenerateKeys()
	if err != nil {
		b.Fatal(err)
	}
	c, err := New(Config{Keys: keys, Subject: "mailto:push@example.com"})
	if err != nil {
		b.Fatal(err)
	}
	sub, m := someSubscription(b), Message{Payload: bytes.Repeat([]byte("x"), 200), TTL: time.Hour, Topic: "topic"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Prepare(sub, m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFloor(b *testing.B) {
	sub := someSubscription(b)
	b.ReportAllocs()
	for b.Loop() {
		own, err := ecdh.P256().GenerateKey(rand.Reader)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := own.ECDH(sub.parts().key); err != nil {
			b.Fatal(err)
		}
	}
}
