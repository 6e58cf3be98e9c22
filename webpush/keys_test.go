package webpush_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/webpush"
)

func TestKeysInEveryForm(t *testing.T) {
	keys, err := webpush.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	point, err := base64.RawURLEncoding.DecodeString(keys.Public())
	if err != nil || len(point) != 65 || point[0] != 4 {
		t.Fatalf("public key %s: %v", keys.Public(), err)
	}
	text, err := keys.PEM()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := keys.Raw()
	if err != nil {
		t.Fatal(err)
	}
	scalar, err := base64.RawURLEncoding.DecodeString(raw)
	if err != nil {
		t.Fatal(err)
	}
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	openssl := append(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8, 0x2a}}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1})...)
	for name, in := range map[string][]byte{
		"PKCS 8":       text,
		"raw":          []byte(raw),
		"raw, a line":  []byte(" " + raw + "\n"),
		"raw, padded":  []byte(raw + "="),
		"raw, std":     []byte(base64.StdEncoding.EncodeToString(scalar)),
		"openssl":      openssl,
		"text before":  append([]byte("the key:\n"), text...),
		"CRLF":         bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")),
		"SEC 1 by Go":  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1}),
		"and another ": append(bytes.Clone(text), text...),
	} {
		got, err := webpush.ParseKeys(in)
		if err != nil || got.Public() != keys.Public() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestKeysInvalid(t *testing.T) {
	keys, err := webpush.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	big, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	order, err := base64.RawURLEncoding.DecodeString("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE")
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }
	for name, in := range map[string][]byte{
		"empty":         nil,
		"no base64":     []byte("secret material!"),
		"short":         []byte("AAAA"),
		"zero":          []byte(base64.RawURLEncoding.EncodeToString(make([]byte, 32))),
		"too large":     []byte(base64.RawURLEncoding.EncodeToString(order)),
		"public":        []byte(keys.Public()),
		"P-384":         block("PRIVATE KEY", p384),
		"RSA":           block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(big))),
		"broken":        block("PRIVATE KEY", []byte("secret material")),
		"broken SEC 1":  block("EC PRIVATE KEY", []byte("secret material")),
		"a certificate": block("CERTIFICATE", []byte("secret material")),
		"cut off":       []byte("-----BEGIN PRIVATE KEY-----\nsecret"),
	} {
		got, err := webpush.ParseKeys(in)
		if got != nil || !errors.Is(err, webpush.ErrInvalid) || strings.Contains(err.Error(), "secret material") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestSubject(t *testing.T) {
	for subject, fine := range map[string]bool{
		"mailto:push@example.com":               true,
		"mailto:push+shop@mail.example.com":     true,
		"https://example.com":                   true,
		"https://example.com/contact?x=1":       true,
		"":                                      false,
		"push@example.com":                      false,
		"mailto:":                               false,
		"mailto:mailto:push@example.com":        false,
		"mailto:Push <push@example.com>":        false,
		"mailto:<push@example.com>":             false,
		"mailto:a@example.com,b@example.com":    false,
		"mailto:push@localhost":                 false,
		"https://localhost":                     false,
		"https://":                              false,
		"http://example.com":                    false,
		"https://user:secret@example.com":       false,
		"ftp://example.com":                     false,
		"mailto:push@example.com\r\nX: y":       false,
		"https://exämple.com":                   false,
		"https://example.com/" + long("x", 600): false,
	} {
		err := webpush.CheckSubject(subject)
		if (err == nil) != fine || err != nil && !errors.Is(err, webpush.ErrInvalid) {
			t.Errorf("subject %q: %v", subject, err)
		}
		if _, err := webpush.New(webpush.Config{Keys: someKeys(t), Subject: subject}); (err == nil) != fine {
			t.Errorf("a client with the subject %q: %v", subject, err)
		}
	}
}

func long(s string, n int) string { return strings.Repeat(s, n) }

func someKeys(tb testing.TB) *webpush.Keys {
	tb.Helper()
	keys, err := webpush.GenerateKeys()
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}
