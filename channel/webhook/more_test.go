package webhook

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/channeltest"
)

const (
	otherSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	// The private key of the specification's v1a example.
	testPrivate = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
)

func TestAsymmetricVector(t *testing.T) {
	var file struct {
		V1a struct {
			Key                 string `json:"ed25519_private_key_base64"`
			ID, Body, Signature string
			Timestamp           json.Number
		}
	}
	b, err := os.ReadFile("testdata/standard-webhooks.json")
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	v := file.V1a
	key, err := parseSecret("whsk_" + v.Key)
	if err != nil {
		t.Fatal(err)
	}
	if got := (signers{key}).sign(v.ID, v.Timestamp.String(), []byte(v.Body)); got != v.Signature || got == "" {
		t.Errorf("signature %q, want %q", got, v.Signature)
	}
}

// TestAllOptions: the promises of all channels, with every option on.
func TestAllOptions(t *testing.T) {
	h := channeltest.Harness{
		New: func(tb channeltest.TB, s channeltest.Setup) lastlook.Channel {
			c, err := New(Config{URL: s.URL + testPath, Secret: testSecret, More: []string{otherSecret, testPrivate}, CloudEvents: true, Client: s.Client, Clock: s.Clock})
			if err != nil {
				tb.Fatalf("%v", err)
			}
			return c
		},
		Secrets: []string{otherSecret, strings.TrimPrefix(testPrivate, "whsk_")},
	}
	for _, c := range channeltest.Clauses() {
		if strings.HasPrefix(c.Name, "secrets/") || strings.HasPrefix(c.Name, "message/") {
			t.Run(c.Name, func(t *testing.T) { c.Check(t, h) })
		}
	}
}

// TestRotation: while secrets change, each receiver finds a signature by the one
// that it knows, and verifies it with the official library or the public key.
func TestRotation(t *testing.T) {
	private, public, err := NewKeyPair()
	if err != nil {
		t.Fatal(err)
	}
	ch, r := newChannel(t, Config{More: []string{otherSecret, private}})
	if _, err := ch.Deliver(t.Context(), delivery()); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{testSecret, otherSecret} {
		v, err := standardwebhooks.NewWebhook(secret)
		if err == nil {
			err = v.Verify(r.body, r.header)
		}
		if err != nil {
			t.Errorf("%v", err)
		}
	}
	if v, err := standardwebhooks.NewWebhook(NewSecret()); err != nil || v.Verify(r.body, r.header) == nil {
		t.Errorf("a stranger's secret verifies (%v)", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(public, "whpk_"))
	if err != nil {
		t.Fatal(err)
	}
	signed := r.header.Get(HeaderID) + "." + r.header.Get(HeaderTimestamp) + "." + string(r.body)
	verified := 0
	for one := range strings.SplitSeq(r.header.Get(HeaderSignature), " ") {
		if s, ok := strings.CutPrefix(one, "v1a,"); ok {
			b, err := base64.StdEncoding.DecodeString(s)
			if err == nil && ed25519.Verify(key, []byte(signed), b) {
				verified++
			}
		}
	}
	if verified != 1 {
		t.Errorf("verified %d of %q", verified, r.header.Get(HeaderSignature))
	}
}

func TestCloudEvents(t *testing.T) {
	ch, r := newChannel(t, Config{CloudEvents: true, Source: "https://lastlook.example/outbox"})
	d := delivery()
	d.Key.Subject = "two\nlines"
	if _, err := ch.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got := r.header.Get("Content-Type"); got != "application/cloudevents+json; charset=utf-8" {
		t.Errorf("%s", got)
	}
	var got map[string]any
	if err := json.Unmarshal(r.body, &got); err != nil {
		t.Fatal(err)
	}
	data, _ := got["data"].(map[string]any)
	delete(got, "data")
	want := map[string]any{
		"specversion": "1.0", "id": d.DeliveryKey, "source": "https://lastlook.example/outbox", "type": "lastlook.alert", "subject": "two lines",
		"time": "2026-03-29T00:59:28.123456Z", "datacontenttype": "application/json", "traceparent": d.Trace,
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %v, want %v", k, got[k], v)
		}
	}
	if len(got) != len(want) || data["subject"] != "two\nlines" || data["title"] != d.Message.Title {
		t.Errorf("%v, %v", got, data)
	}
	if _, err := time.Parse(time.RFC3339, got["time"].(string)); err != nil {
		t.Error(err)
	}
	v, err := standardwebhooks.NewWebhook(testSecret)
	if err == nil {
		err = v.Verify(r.body, r.header)
	}
	if err != nil {
		t.Error(err)
	}
}
