package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/config"
)

// A trigger that holds and is not told is explained by what keeps it: the
// episode, or the day.
func TestWithheldSaysWhy(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	dir, err := config.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{Dir: dir, AllowPrivate: onLoopback, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	f, page := fixture{Server: s}, newShop(t, eur("480.00"))
	added := f.add(t, NewWatch{URL: page.URL, Below: "500 EUR", Zone: "Europe/Berlin"})
	withheld := func() []Withheld {
		t.Helper()
		e, err := s.FindWatch(t.Context(), added.Entry.Watch.ID)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Withheld(t.Context(), &e)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	tick := func(price string) {
		t.Helper()
		page.mu.Lock()
		page.prices = []string{eur(price)}
		page.mu.Unlock()
		now = now.Add(time.Hour)
		if _, err := s.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := withheld(); len(got) != 0 {
		t.Errorf("it will be told, and is withheld as %+v", got)
	}
	tick("480.00")
	if got := withheld(); len(got) != 1 || got[0].Channel != "log" || got[0].Told != "480.00 EUR" || got[0].ToldAt.IsZero() || !got[0].Again.IsZero() {
		t.Errorf("told in this episode: %+v", got)
	}
	tick("598.00")
	if got := withheld(); len(got) != 0 {
		t.Errorf("it does not hold: %+v", got)
	}
	tick("470.00")
	midnight := time.Date(2026, 12, 1, 23, 0, 0, 0, time.UTC) // in Berlin
	if got := withheld(); len(got) != 1 || got[0].Told != "480.00 EUR" || !got[0].Again.Equal(midnight) || got[0].Zone != "Europe/Berlin" {
		t.Errorf("told today: %+v", got)
	}
}

func TestUnmuteSaysWhetherThereWasAMute(t *testing.T) {
	f := open(t)
	if err := f.Outbox().Mute(t.Context(), "me", "log"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if got, err := f.Unmute(t.Context(), "me", "log"); err != nil || got != want {
			t.Errorf("lifted %t, %v; want %t", got, err, want)
		}
	}
	if _, err := f.Unmute(t.Context(), "me", "phone"); !errors.Is(err, config.ErrUnknownChannel) {
		t.Errorf("unmuted on no channel: %v", err)
	}
}

func TestDispatching(t *testing.T) {
	f := open(t)
	if yes, err := f.Dispatching(t.Context()); err != nil || yes {
		t.Errorf("nobody dispatches: %t, %v", yes, err)
	}
	locker, ok := f.store.(lastlook.DispatchLocker)
	if !ok {
		t.Fatalf("a store of type %T", f.store)
	}
	release, err := locker.LockDispatch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if yes, err := f.Dispatching(t.Context()); err != nil || !yes {
		t.Errorf("somebody dispatches: %t, %v", yes, err)
	}
	// Who has it for a moment only does not keep a serve from starting.
	time.AfterFunc(probePause, func() { _ = release() })
	if err := f.nobodyDispatches(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestHints(t *testing.T) {
	for in, want := range map[string]string{
		"500,00 EUR": `use a dot before the decimals: "500.00 EUR"`, "EUR 499,9": `"499.9 EUR"`, "€500": `did you mean "500 EUR"?`,
		"499,90€": `"499.90 EUR"`, "£ 20": `"20 GBP"`, "$500": "by its code", "1.299,00 EUR": "", "1,299 EUR": "", "cheap": "", "500": "", "€": "by its code",
		strings.Repeat("9", 300) + " €": "",
	} {
		if got := priceHint(in); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, hinted := range map[string]bool{
		"shop.example/lamp": true, "shop.example": true, "shop.example:8080/x": true, "ftp://shop.example/": false, "not a url": false, "lamp": false,
		"me@shop.example/": false, "shop.example/%zz": false,
	} {
		if _, err := parseURL(in); err == nil || strings.Contains(err.Error(), "did you mean https://"+in+"?") != hinted {
			t.Errorf("%q: %v", in, err)
		}
	}
}
