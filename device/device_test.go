package device_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/device"
)

func TestToken(t *testing.T) {
	a, b := device.NewToken(), device.NewToken()
	if a.Reveal() == b.Reveal() || len(a.Reveal()) != 43 {
		t.Errorf("tokens %d and %d characters long", len(a.Reveal()), len(b.Reveal()))
	}
	back, err := device.ParseToken(a.Reveal())
	if err != nil || back != a || back.Hash() != a.Hash() || a.Hash() == b.Hash() {
		t.Errorf("a token does not come back: %v", err)
	}
	if a.Hash() != sha256.Sum256([]byte(a.Reveal())) {
		t.Error("the hash is not the text's SHA-256")
	}
	secret := a.Reveal()
	for _, bad := range []string{
		"", "x", secret[:42], secret + "A", secret + "=", " " + secret, secret + "\n", secret[:20] + "\r\n" + secret[20:], strings.Repeat("+", 43), strings.Repeat("é", 22),
	} {
		if _, err := device.ParseToken(bad); !errors.Is(err, device.ErrUnauthorized) || strings.Contains(err.Error(), "x") && bad == secret {
			t.Errorf("%q: %v", bad, err)
		}
	}
	// Bits beyond the 256 would make two texts of one token.
	if _, err := device.ParseToken(strings.Repeat("A", 42) + "B"); !errors.Is(err, device.ErrUnauthorized) {
		t.Errorf("a token with stray bits: %v", err)
	}
}

func TestTokensAreNotPrinted(t *testing.T) {
	token := device.NewToken()
	j, err := json.Marshal(map[string]any{"token": token})
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "token", token)
	for _, text := range []string{
		fmt.Sprint(token), fmt.Sprintf("%v %+v %#v %s %q %x %d", token, token, token, token, token, token, token), string(j), logged.String(),
		fmt.Sprintf("%+v", struct{ T device.Token }{token}),
	} {
		if strings.Contains(text, token.Reveal()) || !strings.Contains(text, "redacted") {
			t.Errorf("printed as %s", text)
		}
	}
}

func TestRecipient(t *testing.T) {
	if id, ok := device.IDOf(device.Recipient("d_1")); !ok || id != "d_1" {
		t.Errorf("%q, %v", id, ok)
	}
	for _, other := range []string{"", "me", "device:", "Device:d_1", "xdevice:d_1"} {
		if id, ok := device.IDOf(other); ok {
			t.Errorf("%q is device %q", other, id)
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"phone": true, "Käthes Telefon 📱": true, strings.Repeat("n", device.MaxName): true,
		"": false, "  ": false, "a\nb": false, "a\x00": false, "a\u2028b": false, "\xff": false, "\x1b[31m": false, strings.Repeat("n", device.MaxName+1): false,
	} {
		if err := device.CheckName(name); ok != (err == nil) || err != nil && !errors.Is(err, device.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestConfig(t *testing.T) {
	unmute := func(context.Context, string) error { return nil }
	for name, c := range map[string]device.Config{
		"no store": {Unmute: unmute}, "no unmute": {Store: noStore{}}, "limit": {Store: noStore{}, Unmute: unmute, Limit: -1},
	} {
		if _, err := device.New(c); !errors.Is(err, device.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type noStore struct{ device.Store }
