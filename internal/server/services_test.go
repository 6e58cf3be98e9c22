package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/internal/config"
)

// goodAddresses are the forms that docs/channels.md names.
var goodAddresses = map[string]string{
	"tgram://110201543:AAHdqTcvCH1vGWJx/-100987654321?topic=7":     "telegram(https://api.telegram.org)",
	"discord://1100123456789/aZ-hush/?thread=11":                   "discord(https://discord.com)",
	"slack://T0HUSH/B0HUSH/hushhush":                               "slack(https://hooks.slack.com)",
	"slack://xoxb-1234-hush/%23C0HUSH":                             "slack(https://slack.com)",
	"workflows://prod-1.logic.example:443/0123hush/sig-hush":       "teams(https://prod-1.logic.example:443)",
	"matrixs://syt_hush@matrix.example/!room:example":              "matrix(https://matrix.example)",
	"matrix://syt_hush@matrix.example:8008/!room:example":          "matrix(http://matrix.example:8008)",
	"gotifys://push.example/under/Ahush?priority=7":                "gotify(https://push.example)",
	"pover://userhush@tokenhush/phone":                             "pushover(https://api.pushover.net)",
	"line://token-hush%2Fplus/U4af":                                "line(https://api.line.me)",
	"hassio://home.example:8123/eyJ.hush?service=mobile_app_pixel": "homeassistant(http://home.example:8123)",
	"apprises://apprise.example/hushkey?tags=family":               "apprise(https://apprise.example)",
	"ntfy://hush-topic":                                            "ntfy(https://ntfy.sh)",
	"ntfys://tk_hush12@ntfy.example/hush-topic":                    "ntfy(https://ntfy.example)",
	"ntfys://kim:hush@ntfy.example/hush-topic?priority=4":          "ntfy(https://ntfy.example)",
	"jsons://kim:hush@hooks.example/hush?secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw&cloudevents=yes&%2BX-Key=hush": "webhook(https://hooks.example)",
	"mailtos://kim:hush@example.com?smtp=smtp.example.com&to=kim@example.org":                                         "email(smtp.example.com:587)",
	"mailtos://smtp.example.com:2525?user=kim&from=a@example.com&to=b@example.com":                                    "",
	"mailtos://kim:hush@example.com?mode=ssl":                                                                         "email(example.com:465)",
	"mailto://mail.lan?from=a@example.com&to=b@example.com":                                                           "email(mail.lan:25)",
}

func TestAddresses(t *testing.T) {
	opt := Options{}.withDefaults()
	for text, want := range goodAddresses {
		ch := config.Channel{Name: "x", Kind: config.KindService, Address: config.Secret(text)}
		if err := ch.Validate(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		built, err := newChannels(opt, config.Channels{ch})
		if want == "" {
			if err == nil {
				t.Errorf("%s: no error", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := fmt.Sprint(built["x"]); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if leads := ch.Leads(); strings.Contains(leads, "hush") || !strings.HasSuffix(leads, "://…") {
			t.Errorf("%s leads to %s", text, leads)
		}
	}
}

// TestBadAddresses: what is wrong is said, and nothing of the address.
func TestBadAddresses(t *testing.T) {
	for _, text := range []string{
		"", "sesame", "tgram://", "tgram:///sesame", "tgram://sesame/1", "tgram://1:sesame", "tgram://1:sesame/2?topic=x", "tgram://1:sesame/2?parse=html",
		"discord://sesame/sesame", "slack://sesame", "slack://xoxb-sesame", "workflows://sesame/x", "matrix://host/!sesame", "matrixs://sesame@host/#room",
		"gotify://host", "gotify://host/sesame?priority=99", "pover://sesame", "line://sesame", "hassio://host", "hassio://host/sesame?service=A", "apprise://host",
		"ntfy://ses/ame/", "jsons://host/sesame", "jsons://host/x?secret=sesame", "mailto://kim:sesame@host", "mailtos://host", "mailtos://kim:sesame@host?mode=x",
		"mailtos://kim:sesame@host:99999", "sesamesesamesesame://x", "tgram://1:ses ame/2", "tgram://1:%zzsesame/2", "jsons://host/x?secret=%zzsesame",
	} {
		_, err := newChannels(Options{}.withDefaults(), config.Channels{{Name: "x", Kind: config.KindService, Address: config.Secret(text)}})
		if text == "ntfy://ses/ame/" { // a server and a topic
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if !errors.Is(err, config.ErrInvalid) || strings.Contains(strings.ReplaceAll(err.Error(), "sesamesesame://", ""), "sesame") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if all := ServiceSchemes(); len(all) != 20 || !slices.IsSorted(all) {
		t.Errorf("%d schemes: %v", len(all), all)
	}
}
