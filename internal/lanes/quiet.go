package lanes

import (
	"fmt"
	"strings"
	"time"
)

// Clock is a time of day, in minutes after midnight.
type Clock int

// ParseClock reads a time of day such as 22:30.
func ParseClock(s string) (Clock, error) {
	t, err := time.Parse("15:04", strings.TrimSpace(s))
	if err != nil {
		return 0, fmt.Errorf("%w: %.20q is no time of day: write it as 22:30", ErrInvalid, s)
	}
	return Clock(t.Hour()*60 + t.Minute()), nil
}

// String returns the time of day as ParseClock reads it.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

// Quiet are hours, every day, in which nobody is told. The zero value is none.
// To before From reaches over midnight.
type Quiet struct{ From, To Clock }

// ParseQuiet reads hours such as 22:00-07:00; an empty text means none.
func ParseQuiet(s string) (Quiet, error) {
	if strings.TrimSpace(s) == "" {
		return Quiet{}, nil
	}
	a, b, ok := strings.Cut(s, "-")
	if !ok {
		return Quiet{}, fmt.Errorf("%w: %.20q are no quiet hours: write them as 22:00-07:00", ErrInvalid, s)
	}
	from, err := ParseClock(a)
	if err != nil {
		return Quiet{}, err
	}
	to, err := ParseClock(b)
	if err != nil {
		return Quiet{}, err
	}
	if from == to {
		return Quiet{}, fmt.Errorf("%w: quiet hours from %s to %s have no length", ErrInvalid, from, to)
	}
	return Quiet{from, to}, nil
}

// IsZero reports whether there are none.
func (q Quiet) IsZero() bool { return q == Quiet{} }

// String returns the hours as ParseQuiet reads them.
func (q Quiet) String() string {
	if q.IsZero() {
		return ""
	}
	return q.From.String() + "-" + q.To.String()
}

// Until returns when the quiet hours in which now lies end, or the zero time
// if it lies in none. What clocks show twice counts for the longer night, and
// what they skip begins or ends when they skip it.
func (q Quiet) Until(now time.Time, zone *time.Location) time.Time {
	var until time.Time
	// Where a zone skips a whole day, one night follows the other.
	for end := q.ends(now, zone); !end.IsZero(); end = q.ends(end, zone) {
		until = end
	}
	return until
}

// ends returns the end of the night in which now lies.
func (q Quiet) ends(now time.Time, zone *time.Location) time.Time {
	if q.IsZero() {
		return time.Time{}
	}
	y, m, d := now.In(zone).Date()
	// A night that began yesterday, or today; and, where clocks go back over
	// midnight, one that began on what is tomorrow again.
	for _, day := range []int{d - 1, d, d + 1} {
		end := day
		if q.To <= q.From {
			end++
		}
		begins, _ := instants(y, m, day, q.From, zone)
		_, ends := instants(y, m, end, q.To, zone)
		if !now.Before(begins) && now.Before(ends) {
			return ends
		}
	}
	return time.Time{}
}

// Next returns the first moment after now at which clocks show c.
func (c Clock) Next(now time.Time, zone *time.Location) time.Time {
	y, m, d := now.In(zone).Date()
	for day := d - 1; ; day++ {
		if first, _ := instants(y, m, day, c, zone); first.After(now) {
			return first
		}
	}
}

// instants returns the first and the last moment at which clocks in the zone
// show a time of day on a date; if they skip it, the moment at which they do.
func instants(y int, m time.Month, day int, c Clock, zone *time.Location) (first, last time.Time) {
	wall := time.Date(y, m, day, 0, int(c), 0, 0, time.UTC)
	offset := func(t time.Time) time.Duration {
		_, seconds := t.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	// No zone changes twice within two days.
	before, after := offset(wall.Add(-26*time.Hour)), offset(wall.Add(26*time.Hour))
	for _, o := range []time.Duration{max(before, after), min(before, after)} {
		if t := wall.Add(-o); offset(t) == o {
			if first.IsZero() {
				first = t
			}
			last = t
		}
	}
	if first.IsZero() {
		skipped, _ := wall.Add(-before).In(zone).ZoneBounds()
		first, last = skipped, skipped
	}
	return first.In(zone), last.In(zone)
}
