package watch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/watch"
)

func TestParseURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://shop.example/kettle":                  "https://shop.example/kettle",
		" HTTPS://Shop.EXAMPLE/Kettle?b=2&a=1#reviews": "https://shop.example/Kettle?b=2&a=1",
		"http://shop.example":                          "http://shop.example/",
		"https://shop.example:443/k":                   "https://shop.example/k",
		"http://shop.example:80/k":                     "http://shop.example/k",
		"https://shop.example:80/k":                    "https://shop.example:80/k",
		"http://127.0.0.1:8080/k":                      "http://127.0.0.1:8080/k",
		"http://[2001:DB8::1]:80/k":                    "http://[2001:db8::1]/k",
		"https://shop.example/ein kessel":              "https://shop.example/ein%20kessel",
		"https://shop.example:/k":                      "https://shop.example/k",
		"https://shop.example/k?":                      "https://shop.example/k",
	} {
		got, err := watch.ParseURL(in)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
		if again, err := watch.ParseURL(got); err != nil || again != got {
			t.Errorf("%q, parsed again: %q, %v", got, again, err)
		}
	}
	for in, want := range map[string]string{
		"":                                       "not an http or https address",
		"kettle":                                 "not an http or https address",
		"shop.example/kettle":                    "not an http or https address",
		"ftp://shop.example/kettle":              "not an http or https address",
		"file:///etc/passwd":                     "not an http or https address",
		"javascript:alert(1)":                    "not an http or https address",
		"https://":                               "names no host",
		"https:///kettle":                        "names no host",
		"https:shop.example":                     "names no host",
		"https://:443/":                          "names no host",
		"https://shop example/":                  "not a URL",
		"https://shop.example:port/":             "not a URL",
		"https://shop.example:99999/":            "port",
		"https://[::1/":                          "not a URL",
		"https://%zz/":                           "not a URL",
		"https://shop.example/\x00":              "not a URL",
		"https://ann@shop.example/":              "user name or password",
		"https://ann:sesame@shop.example/":       "user name or password",
		"ftp://ann:sesame@shop.example/":         "user name or password",
		"ann:sesame@shop.example/kettle":         "not an http or https address",
		"https://x/" + strings.Repeat("y", 9000): "the limit is",
		"gopher://" + strings.Repeat("ü", 9000):  "not an http or https address",
	} {
		_, err := watch.ParseURL(in)
		if !errors.Is(err, watch.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", in, err, want)
			continue
		}
		if strings.Contains(err.Error(), "sesame") || len(err.Error()) > 300 || strings.Contains(err.Error(), "\x00") {
			t.Errorf("%.40q: the error carries a secret, or the whole input: %v", in, err)
		}
	}
}

func TestValidate(t *testing.T) {
	valid := func() *watch.Watch {
		w := watchFor(below(t, "500 EUR"), restock)
		w.Zone = "Europe/Berlin"
		return w
	}
	if err := valid().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(*watch.Watch)
		want  string
	}{
		"no recipient":       {func(w *watch.Watch) { w.Recipient = "" }, "a recipient"},
		"a long recipient":   {func(w *watch.Watch) { w.Recipient = strings.Repeat("x", 600) }, "the limit is"},
		"a broken recipient": {func(w *watch.Watch) { w.Recipient = "a\xff" }, "UTF-8"},
		"no channel":         {func(w *watch.Watch) { w.Channels = nil }, "at least one channel"},
		"an unnamed channel": {func(w *watch.Watch) { w.Channels = []string{"push", ""} }, "channel is empty"},
		"a channel twice":    {func(w *watch.Watch) { w.Channels = []string{"push", "push"} }, "named twice"},
		"too many channels":  {func(w *watch.Watch) { w.Channels = numbered(21) }, "at most"},
		"no trigger":         {func(w *watch.Watch) { w.Triggers = nil }, "at least one trigger"},
		"too many triggers": {func(w *watch.Watch) {
			w.Triggers = nil
			for _, id := range numbered(21) {
				w.Triggers = append(w.Triggers, watch.Trigger{ID: id, Kind: watch.BackInStock})
			}
		}, "at most"},
		"an unnamed trigger": {func(w *watch.Watch) { w.Triggers[0].ID = "" }, "is empty or used twice"},
		"a trigger twice":    {func(w *watch.Watch) { w.Triggers[0].ID = w.Triggers[1].ID }, "is empty or used twice"},
		"a long trigger id":  {func(w *watch.Watch) { w.Triggers[0].ID = strings.Repeat("x", 100) }, "trigger id"},
		"an unknown kind":    {func(w *watch.Watch) { w.Triggers[0].Kind = "free" }, `no trigger "free"`},
		"no target":          {func(w *watch.Watch) { w.Triggers[0].Target = money(t, "") }, `such as "499.90 EUR"`},
		"a target of zero":   {func(w *watch.Watch) { w.Triggers[0].Target = money(t, "0 EUR") }, "not above zero"},
		"a negative target":  {func(w *watch.Watch) { w.Triggers[0].Target = money(t, "-5 EUR") }, "not above zero"},
		"an unknown zone":    {func(w *watch.Watch) { w.Zone = "Mars/Olympus" }, "Mars/Olympus"},
		"the machine's zone": {func(w *watch.Watch) { w.Zone = "Local" }, "Local"},
		"a long name":        {func(w *watch.Watch) { w.Name = strings.Repeat("x", 600) }, "name"},
	} {
		w := valid()
		c.spoil(w)
		if err := w.Validate(); !errors.Is(err, watch.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	return out
}

func TestValidateListing(t *testing.T) {
	l := watch.Listing{Source: "page", URL: "https://shop.example/", Interval: time.Minute}
	if err := l.Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*watch.Listing){
		"source":   func(l *watch.Listing) { l.Source = "" },
		"address":  func(l *watch.Listing) { l.URL = "" },
		"length":   func(l *watch.Listing) { l.URL = strings.Repeat("x", 9000) },
		"hasty":    func(l *watch.Listing) { l.Interval = 9 * time.Second },
		"sleepy":   func(l *watch.Listing) { l.Interval = 32 * 24 * time.Hour },
		"negative": func(l *watch.Listing) { l.Interval = -time.Hour },
	} {
		l := l
		spoil(&l)
		if err := l.Validate(); !errors.Is(err, watch.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

// What was told of a trigger is kept by its id.
func TestRenewIDs(t *testing.T) {
	before := watchFor(below(t, "500 EUR"), restock, watch.Trigger{ID: "third", Kind: watch.Below, Target: money(t, "400 EUR")})
	after := watchFor(below(t, "500.00 EUR"), watch.Trigger{ID: "stock", Kind: watch.Below, Target: money(t, "450 EUR")},
		watch.Trigger{ID: "third", Kind: watch.Below, Target: money(t, "400 USD")}, watch.Trigger{ID: "new", Kind: watch.BackInStock}, watch.Trigger{Kind: watch.BackInStock})
	after.Triggers[0].PerDay = 5
	watch.RenewIDs(before, after)
	if after.Triggers[0].ID != "below" {
		t.Errorf("the same question has a new id, %q", after.Triggers[0].ID)
	}
	ids := map[string]bool{"stock": true, "third": true, "new": true, "": true}
	for _, tr := range after.Triggers[1:] {
		if ids[tr.ID] {
			t.Errorf("%s has kept the id %q, or shares it", tr, tr.ID)
		}
		ids[tr.ID] = true
	}
	if err := after.Validate(); err != nil {
		t.Error(err)
	}
	fresh := watchFor(below(t, "500 EUR"), watch.Trigger{Kind: watch.BackInStock})
	watch.RenewIDs(nil, fresh)
	if fresh.Triggers[0].ID != "below" || fresh.Triggers[1].ID == "" {
		t.Errorf("a new watch: %+v", fresh.Triggers)
	}
}
