package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T) Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDefaultPath(t *testing.T) {
	for _, c := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": "/home/a"}, "/home/a/.local/share/lastlook"},
		{"linux", map[string]string{"HOME": "/home/a", "XDG_DATA_HOME": "/data"}, "/data/lastlook"},
		{"linux", map[string]string{"HOME": "/home/a", "XDG_DATA_HOME": "relative"}, "/home/a/.local/share/lastlook"},
		{"linux", nil, ""},
		{"darwin", map[string]string{"HOME": "/Users/a"}, "/Users/a/Library/Application Support/lastlook"},
		{"darwin", nil, ""},
		{"windows", map[string]string{"LocalAppData": "/local"}, "/local/lastlook"},
		{"windows", nil, ""},
	} {
		got, err := defaultPath(c.goos, func(k string) string { return c.env[k] })
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s %v: got %q, %v; want %q", c.goos, c.env, got, err, c.want)
		}
	}
}

func TestOpenMakesThePlaceForItsOwnerAlone(t *testing.T) {
	d := open(t)
	info, err := os.Stat(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("the directory has mode %o", got)
	}
	if _, err := Open(d.Path()); err != nil {
		t.Errorf("opened again: %v", err)
	}
	left, err := os.ReadDir(d.Path())
	if err != nil || len(left) != 0 {
		t.Errorf("opening left %v behind, %v", left, err)
	}
}

func TestOpenSaysWhatToDo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), "cannot be written") || !strings.Contains(err.Error(), "--data") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func webhook(name string) Channel {
	return Channel{Name: name, Kind: KindWebhook, URL: "https://hooks.example/x", Secret: "whsec_c2VjcmV0"}
}

func TestChannelsRoundTrip(t *testing.T) {
	d := open(t)
	if c, err := d.Channels(); err != nil || len(c) != 0 {
		t.Fatalf("a fresh directory has channels %v, %v", c, err)
	}
	ntfy := Channel{Name: "phone", Kind: KindNtfy, URL: "https://ntfy.example/topic", Token: "tk_secret"}
	for _, ch := range []Channel{webhook("work"), ntfy} {
		if err := d.UpdateChannels(t.Context(), func(c Channels) (Channels, error) { return c.Add(ch) }); err != nil {
			t.Fatal(err)
		}
	}
	got, err := d.Channels()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Token != "tk_secret" || got[1].Secret != "whsec_c2VjcmV0" {
		t.Errorf("read back as %v", got)
	}
	if names := strings.Join(got.Names(), " "); names != "log phone work" {
		t.Errorf("names are %q", names)
	}
	info, err := os.Stat(d.ChannelsFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if err := d.UpdateChannels(t.Context(), func(c Channels) (Channels, error) { return c.Remove("work") }); err != nil {
		t.Fatal(err)
	}
	if got, err = d.Channels(); err != nil || len(got) != 1 {
		t.Errorf("after the removal: %v, %v", got, err)
	}
	files, err := os.ReadDir(d.Path())
	if err != nil || len(files) != 1 {
		t.Errorf("the updates left %v behind, %v", files, err)
	}
}

func TestAFailedUpdateChangesNothing(t *testing.T) {
	d := open(t)
	err := d.UpdateChannels(t.Context(), func(Channels) (Channels, error) { return nil, ErrInvalid })
	if !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.ChannelsFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

func TestUpdatesDoNotLoseEachOther(t *testing.T) {
	d := open(t)
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			ch := webhook(fmt.Sprintf("c%d", i))
			if err := d.UpdateChannels(t.Context(), func(c Channels) (Channels, error) { return c.Add(ch) }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := d.Channels(); err != nil || len(got) != 10 {
		t.Errorf("%d channels, %v", len(got), err)
	}
}

func TestALockLeftBehindIsNamed(t *testing.T) {
	d := open(t)
	lock := d.ChannelsFile() + ".lock"
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := d.UpdateChannels(ctx, func(c Channels) (Channels, error) { return c, nil })
	if err == nil || !strings.Contains(err.Error(), "delete "+lock) {
		t.Errorf("got %v", err)
	}
}

func TestBadChannels(t *testing.T) {
	bad := map[string]Channel{
		"small letters":      webhook("Phone"),
		"always there":       webhook("log"),
		"no secret":          {Name: "a", Kind: KindWebhook, URL: "https://a.example"},
		"the only log":       {Name: "a", Kind: KindLog},
		"of the kind":        {Name: "a", Kind: "pigeon"},
		"http or https":      {Name: "a", Kind: KindNtfy, URL: "ftp://a.example/x"},
		"such as https://":   {Name: "a", Kind: KindNtfy, URL: "https:///x"},
		"an http or https a": {Name: "a", Kind: KindNtfy, URL: "::"},
	}
	for want, ch := range bad {
		if _, err := (Channels)(nil).Add(ch); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	one, err := Channels(nil).Add(webhook("a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Add(webhook("a")); !errors.Is(err, ErrInvalid) {
		t.Errorf("added twice: %v", err)
	}
	if _, err := one.Remove("b"); !errors.Is(err, ErrUnknownChannel) || !strings.Contains(err.Error(), "known are a, log") {
		t.Errorf("removed what is not there: %v", err)
	}
	if _, err := one.Remove(LogChannel); !errors.Is(err, ErrInvalid) {
		t.Errorf("removed the log: %v", err)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	const secret = "whsec_dmVyeXNlY3JldA"
	for want, text := range map[string]string{
		"newer lastlook":    `{"version":2,"surprise":1}`,
		"unknown field":     `{"version":1,"chanels":[]}`,
		"something follows": `{"version":1,"channels":[]} x`,
		"is missing":        `{"channels":[]}`,
		"correct the file":  `{"version":1,"channels":[{"name":"a","secret":["` + secret + `"]}]}`,
		"unexpected EOF":    `{"version":1,"channels":[{"name":"a","secret":"` + secret,
		"no channel name":   `{"version":1,"channels":[{"name":"","kind":"ntfy","url":"https://a.example","token":"` + secret + `"}]}`,
	} {
		d := open(t)
		if err := os.WriteFile(d.ChannelsFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := d.Channels()
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), d.ChannelsFile()) {
			t.Errorf("%s: got %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the secret is in %v", err)
		}
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	const secret = "whsec_dmVyeXNlY3JldA"
	ch := Channel{Name: "a", Kind: KindWebhook, Secret: secret, Token: secret}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", ch.Token, "all", ch)
	b, err := json.Marshal(ch)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{log.String(), string(b)}
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(verb, ch), fmt.Sprintf(verb, ch.Token), fmt.Sprintf(verb, &ch.Secret))
	}
	for _, text := range texts {
		if strings.Contains(text, "dmVyeXNlY3JldA") || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("the secret is in %q", text)
		}
	}
	if Secret("").String() != "" {
		t.Error("no secret looks like one")
	}
}

func TestNewWebhookSecret(t *testing.T) {
	a, b := NewWebhookSecret(), NewWebhookSecret()
	if a == b || !strings.HasPrefix(string(a), "whsec_") || len(a) != len("whsec_")+44 {
		t.Errorf("made %q and %q", string(a), string(b))
	}
}

func TestRedactURL(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"https://a.example":           "https://a.example/",
		"https://a.example/":          "https://a.example/",
		"https://u:p@a.example:8/s?t": "https://a.example:8/…",
		"https://a.example?t=s":       "https://a.example/…",
		"secret":                      "[redacted]",
		"http://a b":                  "[redacted]",
	} {
		if got := RedactURL(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
