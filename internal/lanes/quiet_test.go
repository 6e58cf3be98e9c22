package lanes

import (
	"errors"
	"testing"
	"time"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestQuietByTheClock walks through days five minutes at a time and looks at the
// clock on the wall: where no hour comes twice, it alone decides.
func TestQuietByTheClock(t *testing.T) {
	for _, tt := range []struct{ zone, from string }{
		{"Europe/Berlin", "2026-03-27"},       // 02:00 becomes 03:00 on the 29th
		{"America/Sao_Paulo", "2018-11-02"},   // 00:00 becomes 01:00 on the 4th
		{"Asia/Beirut", "2022-03-25"},         // the same, on the 27th
		{"Australia/Lord_Howe", "2026-10-02"}, // half an hour, on the 4th
		{"Asia/Tokyo", "2026-12-30"},          // never, and a new year
		{"Pacific/Apia", "2011-12-28"},        // a day that did not come
	} {
		z := zone(t, tt.zone)
		start, err := time.ParseInLocation(time.DateOnly, tt.from, z)
		if err != nil {
			t.Fatal(err)
		}
		for _, hours := range []string{"22:00-07:00", "00:00-06:30", "23:55-00:05", "02:30-05:00", "12:00-13:00", "02:10-02:50", "23:00-00:00", "07:00-22:00", "23:00-02:30"} {
			q, err := ParseQuiet(hours)
			if err != nil {
				t.Fatal(err)
			}
			const step, steps = 5 * time.Minute, 4 * 24 * 12
			quiet := make([]bool, steps)
			for i := range quiet {
				quiet[i] = byTheClock(q, start.Add(time.Duration(i)*step))
			}
			ends := -1 // the first step from i on that is not quiet
			for i := steps - 1; i >= 0; i-- {
				now := start.Add(time.Duration(i) * step)
				got := q.Until(now, z)
				if !quiet[i] {
					ends = i
				}
				switch {
				case got.IsZero() == quiet[i]:
					t.Fatalf("%s %s at %s: until %v", tt.zone, hours, now, got)
				case quiet[i] && ends >= 0 && !got.Equal(start.Add(time.Duration(ends)*step)):
					t.Fatalf("%s %s at %s: until %v, want %v", tt.zone, hours, now, got, start.Add(time.Duration(ends)*step))
				}
			}
		}
	}
}

func byTheClock(q Quiet, t time.Time) bool {
	c := Clock(t.Hour()*60 + t.Minute())
	if q.From < q.To {
		return q.From <= c && c < q.To
	}
	return q.From <= c || c < q.To
}

// TestQuietWhenAnHourComesTwice: the night is the longer one, and never has a
// loud hour in its middle.
func TestQuietWhenAnHourComesTwice(t *testing.T) {
	berlin, havana := zone(t, "Europe/Berlin"), zone(t, "America/Havana")
	for _, tt := range []struct {
		zone       *time.Location
		hours, now string
		until      string
	}{
		// 03:00 summer time becomes 02:00 at 01:00 UTC.
		{berlin, "22:00-02:30", "2026-10-25T00:29:00Z", "2026-10-25T01:30:00Z"}, // the first 02:29
		{berlin, "22:00-02:30", "2026-10-25T00:45:00Z", "2026-10-25T01:30:00Z"}, // the first 02:45
		{berlin, "22:00-02:30", "2026-10-25T01:29:59Z", "2026-10-25T01:30:00Z"},
		{berlin, "22:00-02:30", "2026-10-25T01:30:00Z", ""},
		{berlin, "02:30-06:00", "2026-10-25T00:30:00Z", "2026-10-25T05:00:00Z"},
		{berlin, "02:30-06:00", "2026-10-25T01:15:00Z", "2026-10-25T05:00:00Z"}, // the second 02:15: it began before
		{berlin, "22:00-07:00", "2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z"},
		{berlin, "22:00-07:00", "2026-10-25T06:00:00Z", ""},
		// 01:00 summer time becomes 00:00 at 05:00 UTC: midnight comes twice.
		{havana, "23:00-00:30", "2026-11-01T04:15:00Z", "2026-11-01T05:30:00Z"},
		{havana, "23:00-00:30", "2026-11-01T04:45:00Z", "2026-11-01T05:30:00Z"},
		{havana, "00:00-00:30", "2026-11-01T03:59:00Z", ""},
	} {
		q, err := ParseQuiet(tt.hours)
		if err != nil {
			t.Fatal(err)
		}
		now, _ := time.Parse(time.RFC3339, tt.now)
		got := ""
		if u := q.Until(now, tt.zone); !u.IsZero() {
			got = u.UTC().Format(time.RFC3339)
		}
		if got != tt.until {
			t.Errorf("%s %s at %s: until %q, want %q", tt.zone, tt.hours, tt.now, got, tt.until)
		}
	}
}

func TestParseQuiet(t *testing.T) {
	for _, s := range []string{"22:00-07:00", "00:00-06:30", ""} {
		if q, err := ParseQuiet(s); err != nil || q.String() != s {
			t.Errorf("%q: %v, %v", s, q, err)
		}
	}
	for _, s := range []string{"22:00", "22-7", "24:00-07:00", "07:00-07:00", "a-b", "22:00-07:00-08:00"} {
		if _, err := ParseQuiet(s); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestNext(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for now, want := range map[string]string{
		"2026-03-28T08:00:00+01:00": "2026-03-29T08:00:00+02:00", // now itself is past
		"2026-03-28T07:59:59+01:00": "2026-03-28T08:00:00+01:00",
		"2026-10-25T01:00:00+02:00": "2026-10-25T08:00:00+01:00",
	} {
		n, _ := time.Parse(time.RFC3339, now)
		if got := Clock(8*60).Next(n, berlin).Format(time.RFC3339); got != want {
			t.Errorf("after %s: %s, want %s", now, got, want)
		}
	}
	n, _ := time.Parse(time.RFC3339, "2026-03-29T00:30:00Z")
	if got := Clock(150).Next(n, berlin).UTC().Format(time.RFC3339); got != "2026-03-29T01:00:00Z" {
		t.Errorf("02:30, which is skipped: %s", got)
	}
}
