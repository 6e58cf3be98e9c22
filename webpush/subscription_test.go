package webpush_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

const (
	p256dh   = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	auth     = "BTBZMqHH6r4Tts7J_aSIgg"
	endpoint = "https://push.example.net/wpush/v2/capability?key=of&the=device"
)

func subscriptionJSON(endpoint, p256dh, auth string) []byte {
	b, err := json.Marshal(map[string]any{"endpoint": endpoint, "expirationTime": nil, "keys": map[string]string{"p256dh": p256dh, "auth": auth}})
	if err != nil {
		panic(err) // texts
	}
	return b
}

func TestSubscriptionJSON(t *testing.T) {
	std := strings.NewReplacer("-", "+", "_", "/")
	for name, keys := range map[string][2]string{
		"as browsers give it": {p256dh, auth},
		"padded":              {p256dh + "=", auth + "=="},
		"other alphabet":      {std.Replace(p256dh) + "=", std.Replace(auth) + "=="},
	} {
		var sub webpush.Subscription
		if err := json.Unmarshal(subscriptionJSON(endpoint, keys[0], keys[1]), &sub); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := json.Marshal(sub)
		if want := `{"endpoint":"` + strings.ReplaceAll(endpoint, "&", `\u0026`) + `","keys":{"p256dh":"` + p256dh + `","auth":"` + auth + `"}}`; err != nil || string(b) != want {
			t.Errorf("%s: encoded as %s, %v", name, b, err)
		}
		var again webpush.Subscription
		if err := json.Unmarshal(b, &again); err != nil || !again.Equal(sub) || again == sub || again.IsZero() {
			t.Errorf("%s: decoded again: %v, %v", name, again, err)
		}
		made, err := webpush.NewSubscription(sub.Endpoint(), sub.P256dh(), sub.Auth())
		if err != nil || !made.Equal(sub) || sub.Host() != "push.example.net" || sub.Endpoint() != endpoint {
			t.Errorf("%s: made of its parts: %v, %v", name, made, err)
		}
		sub.P256dh()[0], sub.Auth()[0] = 9, 9
		if !made.Equal(sub) {
			t.Error("the parts are not copies")
		}
	}
	var none webpush.Subscription
	if _, err := json.Marshal(none); err == nil || !none.IsZero() || none.Equal(webpush.Subscription{}) == false || none.Host() != "" {
		t.Errorf("the zero value: %v", err)
	}
}

func TestSubscriptionInvalid(t *testing.T) {
	point, err := base64.RawURLEncoding.DecodeString(p256dh)
	if err != nil {
		t.Fatal(err)
	}
	point[40] ^= 1
	offCurve := base64.RawURLEncoding.EncodeToString(point)
	long := "https://push.example.net/" + strings.Repeat("x", 2048)
	for name, b := range map[string][]byte{
		"off the curve":     subscriptionJSON(endpoint, offCurve, auth),
		"compressed point":  subscriptionJSON(endpoint, base64.RawURLEncoding.EncodeToString(append([]byte{2}, point[1:33]...)), auth),
		"infinity":          subscriptionJSON(endpoint, "AA", auth),
		"no key":            subscriptionJSON(endpoint, "", auth),
		"no base64":         subscriptionJSON(endpoint, "secret!!", auth),
		"mixed alphabets":   subscriptionJSON(endpoint, p256dh[:85]+"+_", auth),
		"short auth":        subscriptionJSON(endpoint, p256dh, auth[:20]),
		"long auth":         subscriptionJSON(endpoint, p256dh, auth+"AAAA"),
		"no auth":           subscriptionJSON(endpoint, p256dh, ""),
		"auth of no base64": subscriptionJSON(endpoint, p256dh, "capability!!"),
		"http":              subscriptionJSON("http://push.example.net/capability", p256dh, auth),
		"http, numbers":     subscriptionJSON("http://10.0.0.1/capability", p256dh, auth),
		"other scheme":      subscriptionJSON("file:///capability", p256dh, auth),
		"no scheme":         subscriptionJSON("push.example.net/capability", p256dh, auth),
		"empty":             subscriptionJSON("", p256dh, auth),
		"no host":           subscriptionJSON("https:///capability", p256dh, auth),
		"user":              subscriptionJSON("https://capability@push.example.net/", p256dh, auth),
		"fragment":          subscriptionJSON("https://push.example.net/#capability", p256dh, auth),
		"space":             subscriptionJSON("https://push.example.net/capa bility", p256dh, auth),
		"line end":          subscriptionJSON("https://push.example.net/capability\r\nX: y", p256dh, auth),
		"not ASCII":         subscriptionJSON("https://püsh.example.net/capability", p256dh, auth),
		"port 0":            subscriptionJSON("https://push.example.net:0/capability", p256dh, auth),
		"port too high":     subscriptionJSON("https://push.example.net:65536/capability", p256dh, auth),
		"bad escape":        subscriptionJSON("https://push.example.net/%zzcapability", p256dh, auth),
		"zone":              subscriptionJSON("https://[fe80::1%25eth0]/capability", p256dh, auth),
		"too long":          subscriptionJSON(long, p256dh, auth),
		"null":              []byte("null"),
		"text":              []byte(`"capability"`),
		"keys of a list":    []byte(`{"endpoint":"https://a.example/capability","keys":["capability"]}`),
	} {
		var sub webpush.Subscription
		err := sub.UnmarshalJSON(b)
		if !errors.Is(err, webpush.ErrInvalid) || !sub.IsZero() {
			t.Errorf("%s: %v, %v", name, sub, err)
		}
		if err != nil && strings.Contains(err.Error(), "capability") {
			t.Errorf("%s: the error shows the endpoint: %v", name, err)
		}
	}
}

// TestOrigin: what VAPID's audience must be, in the one form that push
// services compare with.
func TestOrigin(t *testing.T) {
	b, err := webpushtest.NewBrowser()
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"https://push.example.net/x":              "https://push.example.net",
		"HTTPS://Push.Example.NET/X":              "https://push.example.net",
		"https://push.example.net:443/x":          "https://push.example.net",
		"https://push.example.net:0443/x":         "https://push.example.net",
		"https://push.example.net:/x":             "https://push.example.net",
		"https://push.example.net:8443/x":         "https://push.example.net:8443",
		"https://push.example.net":                "https://push.example.net",
		"https://[2001:DB8::1]/x":                 "https://[2001:db8::1]",
		"https://[2001:db8::1]:444/x":             "https://[2001:db8::1]:444",
		"https://push.example.net:80/x":           "https://push.example.net:80",
		"http://127.0.0.1:8080/x":                 "http://127.0.0.1:8080",
		"http://[::1]:80/x":                       "http://[::1]",
		"http://localhost/x":                      "http://localhost",
		"https://jmt17.google.com/fcm/send/a:b-c": "https://jmt17.google.com",
	} {
		sub, err := b.Subscription(in)
		if err != nil || sub.Origin() != want || "https://"+sub.Host() != want && "http://"+sub.Host() != want {
			t.Errorf("origin of %s: %s (host %s), want %s: %v", in, sub.Origin(), sub.Host(), want, err)
		}
	}
}

// TestPrinted: no verb of fmt and no encoder shows a secret, also deep inside
// a caller's structs.
func TestPrinted(t *testing.T) {
	var sub webpush.Subscription
	if err := json.Unmarshal(subscriptionJSON(endpoint, p256dh, auth), &sub); err != nil {
		t.Fatal(err)
	}
	keys, err := webpush.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := keys.Raw()
	if err != nil {
		t.Fatal(err)
	}
	client, err := webpush.New(webpush.Config{Keys: keys, Subject: "mailto:push@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	request, err := client.Prepare(sub, webpush.Message{})
	if err != nil {
		t.Fatal(err)
	}
	type inside struct {
		Sub     webpush.Subscription
		sub     webpush.Subscription
		Keys    *webpush.Keys
		keys    *webpush.Keys
		Client  *webpush.Client
		config  webpush.Config
		Request webpush.Request
	}
	secrets := []string{"capability", raw, auth, request.Token()}
	for _, v := range []any{sub, &sub, keys, client, request, &request, inside{sub, sub, keys, keys, client, webpush.Config{Keys: keys}, request}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			text := fmt.Sprintf(verb, v)
			for _, s := range secrets {
				if strings.Contains(text, s) {
					t.Errorf("%T printed with %s: %s", v, verb, text)
				}
			}
		}
	}
	if b, err := json.Marshal(map[string]any{"keys": keys}); err != nil || strings.Contains(string(b), raw) {
		t.Errorf("keys as JSON: %s, %v", b, err)
	}
}
