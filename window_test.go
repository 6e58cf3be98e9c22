package lastlook_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"pgregory.net/rapid"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func at(t testing.TB, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDayWindow(t *testing.T) {
	for _, tc := range []struct {
		name, zone, a, b string
		same             bool
	}{
		{"one UTC day, two in Tokyo", "Asia/Tokyo", "2026-05-01T14:59:59Z", "2026-05-01T15:00:00Z", false},
		{"two UTC days, one in Tokyo", "Asia/Tokyo", "2026-05-01T15:00:00Z", "2026-05-02T14:59:59Z", true},
		{"the 23 hours of a spring day", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", true},
		{"after the 23 hours", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", false},
		{"the 25 hours of an autumn day", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z", true},
		{"after the 25 hours", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", false},
		// Midnight of 2018-11-04 did not exist there: clocks went from 23:59:59 to 01:00.
		{"a day without a midnight", "America/Sao_Paulo", "2018-11-04T03:00:00Z", "2018-11-05T01:59:59Z", true},
		{"before a day without a midnight", "America/Sao_Paulo", "2018-11-04T02:59:59Z", "2018-11-04T03:00:00Z", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := lastlook.Day(zone(t, tc.zone))
			a, b := w.At(at(t, tc.a), 0), w.At(at(t, tc.b), 0)
			if (a == b) != tc.same {
				t.Errorf("%v and %v: same is %v, want %v", a, b, a == b, tc.same)
			}
			if a.Covers(b) != tc.same || !b.Covers(a) {
				t.Errorf("covers: %v, %v", a.Covers(b), b.Covers(a))
			}
		})
	}
}

func TestWindowOrder(t *testing.T) {
	day := lastlook.Day(time.UTC)
	mon, tue := day.At(at(t, "2026-03-02T10:00:00Z"), 0), day.At(at(t, "2026-03-03T10:00:00Z"), 0)
	never := lastlook.Window{}
	once := lastlook.Once().At(t0, 0)
	ep3, ep4 := lastlook.Episodes().At(t0, 3), lastlook.Episodes().At(t0, 4)
	always := lastlook.Always().At(t0, 0)
	for _, tc := range []struct {
		name   string
		told   lastlook.Window
		now    lastlook.Window
		covers bool
		later  lastlook.Window
	}{
		{"never told", never, mon, false, mon},
		{"same day", mon, mon, true, mon},
		{"next day", mon, tue, false, tue},
		{"the clock went back a day: told stays", tue, mon, true, tue},
		{"once", once, once, true, once},
		{"once, told by day before the policy changed", mon, once, true, lastlook.Window{Policy: "once", Start: mon.Start}},
		{"day, told once before the policy changed", once, mon, false, mon},
		{"same episode", ep3, ep3, true, ep3},
		{"next episode", ep3, ep4, false, ep4},
		{"an older episode: told stays", ep4, ep3, true, ep4},
		{"episodes and days have no order", ep4, mon, false, mon},
		{"always is never told", always, always, false, always},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.told.Covers(tc.now); got != tc.covers {
				t.Errorf("covers: %v, want %v", got, tc.covers)
			}
			if got := tc.told.Later(tc.now); got != tc.later {
				t.Errorf("later: %v, want %v", got, tc.later)
			}
		})
	}
}

func TestWindowsText(t *testing.T) {
	for _, w := range []lastlook.Windows{{}, lastlook.Once(), lastlook.Always(), lastlook.Day(time.UTC),
		lastlook.Day(zone(t, "Asia/Tokyo")), lastlook.Every(90 * time.Minute), lastlook.Episodes()} {
		back, err := lastlook.ParseWindows(w.String())
		if err != nil {
			t.Errorf("%q: %v", w, err)
			continue
		}
		if back.String() != w.String() || back.At(t0, 3) != w.At(t0, 3) {
			t.Errorf("%q came back as %q", w, back)
		}
	}
	for _, s := range []string{"weekly", "day Mars/Olympus", "day Local", "every", "every 5 minutes", "every 1ms", "every -1h"} {
		if _, err := lastlook.ParseWindows(s); !errors.Is(err, lastlook.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", s, err)
		}
	}
}

func TestWindowsValidate(t *testing.T) {
	for _, w := range []lastlook.Windows{lastlook.Day(nil), lastlook.Day(time.Local), lastlook.Every(0), lastlook.Every(-time.Hour)} {
		if err := w.Validate(); !errors.Is(err, lastlook.ErrInvalid) {
			t.Errorf("got %v, want ErrInvalid", err)
		}
	}
}

func TestWindowsAreMonotonic(t *testing.T) {
	zones := []*time.Location{time.UTC, zone(t, "Asia/Tokyo"), zone(t, "Europe/Berlin"), zone(t, "America/Sao_Paulo"), zone(t, "Australia/Lord_Howe")}
	rapid.Check(t, func(t *rapid.T) {
		var w lastlook.Windows
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			w = lastlook.Day(rapid.SampledFrom(zones).Draw(t, "zone"))
		case 1:
			w = lastlook.Every(time.Duration(rapid.Int64Range(int64(time.Second), int64(100*time.Hour)).Draw(t, "every")))
		default:
			w = lastlook.Always()
		}
		a := time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "a"))
		b := a.Add(time.Duration(rapid.Int64Range(0, int64(72*time.Hour)).Draw(t, "later")))
		wa, wb := w.At(a, 0), w.At(b, 0)
		if wb.Start < wa.Start {
			t.Fatalf("%s: the window of %v is before that of %v", w, b, a)
		}
		if wa.Later(wb) != wb {
			t.Fatalf("%s: the later of %v and %v is %v", w, wa, wb, wa.Later(wb))
		}
	})
}
