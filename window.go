package lastlook

import (
	"fmt"
	"strings"
	"time"
)

type windowKind uint8

const (
	windowNone windowKind = iota
	windowOnce
	windowAlways
	windowDay
	windowEvery
	windowEpisodes
)

// Windows is a window policy: it says which round of telling a moment belongs
// to. A key is told at most once per window. The zero value is no policy.
//
// Windows values are comparable and safe for concurrent use.
type Windows struct {
	kind  windowKind
	loc   *time.Location
	every time.Duration
}

// Once is one window for ever.
func Once() Windows { return Windows{kind: windowOnce} }

// Always makes each telling a window of its own: nothing is ever already told.
func Always() Windows { return Windows{kind: windowAlways} }

// Day is the calendar day in the given zone, by its IANA name. A day with a
// daylight-saving change has 23 or 25 hours.
func Day(zone *time.Location) Windows { return Windows{kind: windowDay, loc: zone} }

// Every cuts time into stretches of d, aligned to the Unix epoch.
func Every(d time.Duration) Windows { return Windows{kind: windowEvery, every: d} }

// Episodes makes each episode a window. The number comes from [Topic.Episode],
// or else from [Item.Episode]; per key, it must not go backwards.
func Episodes() Windows { return Windows{kind: windowEpisodes} }

// IsZero reports whether w is no policy.
func (w Windows) IsZero() bool { return w.kind == windowNone }

// Validate reports what is wrong with the policy, wrapping [ErrInvalid].
func (w Windows) Validate() error {
	switch {
	case w.kind == windowDay && w.loc == nil:
		return fmt.Errorf("%w: a day window needs a zone: pass time.UTC or a location loaded by its IANA name", ErrInvalid)
	case w.kind == windowDay && w.loc == time.Local:
		return fmt.Errorf("%w: a day window in the process's local zone would change with the machine: load the zone by its IANA name", ErrInvalid)
	case w.kind == windowEvery && w.every < time.Second:
		return fmt.Errorf("%w: a window of %s: use a second or more, or Always", ErrInvalid, w.every)
	}
	return nil
}

// String returns the policy as it is stored, e.g. "day Asia/Tokyo".
func (w Windows) String() string {
	switch w.kind {
	case windowOnce:
		return "once"
	case windowAlways:
		return "always"
	case windowDay:
		return "day " + w.loc.String()
	case windowEvery:
		return "every " + w.every.String()
	case windowEpisodes:
		return "episodes"
	case windowNone:
	}
	return ""
}

// ParseWindows is the inverse of [Windows.String].
func ParseWindows(s string) (Windows, error) {
	kind, arg, _ := strings.Cut(s, " ")
	switch kind {
	case "":
		return Windows{}, nil
	case "once":
		return Once(), nil
	case "always":
		return Always(), nil
	case "episodes":
		return Episodes(), nil
	case "day":
		loc, err := time.LoadLocation(arg)
		if err != nil || loc == time.Local {
			return Windows{}, fmt.Errorf("%w: window policy %q: unknown zone", ErrInvalid, s)
		}
		return Day(loc), nil
	case "every":
		d, err := time.ParseDuration(arg)
		if err != nil {
			return Windows{}, fmt.Errorf("%w: window policy %q: %w", ErrInvalid, s, err)
		}
		return Every(d), Every(d).Validate()
	}
	return Windows{}, fmt.Errorf("%w: window policy %q is none of once, always, day ZONE, every DURATION, episodes", ErrInvalid, s)
}

// At returns the window that now belongs to. episode matters to [Episodes] only.
func (w Windows) At(now time.Time, episode int64) Window {
	win := Window{Policy: w.String()}
	switch w.kind {
	case windowAlways:
		win.Start = now.UnixMicro()
	case windowDay:
		y, m, d := now.In(w.loc).Date()
		// Where midnight does not exist, Date gives a moment near the gap
		// that may lie on the day before; any fixed instant per day will do
		// as long as it is the same for all of the day's moments.
		win.Start = time.Date(y, m, d, 0, 0, 0, 0, w.loc).UnixMicro()
	case windowEvery:
		e := w.every.Microseconds()
		n := now.UnixMicro()
		win.Start = n - ((n%e)+e)%e
	case windowEpisodes:
		win.Start = episode
	case windowNone, windowOnce:
	}
	return win
}

// Window is one round of telling. The zero value means "never told".
type Window struct {
	// Policy is the policy that formed it, as text.
	Policy string `json:"policy,omitzero"`
	// Start orders windows: the window's first instant in microseconds since
	// the Unix epoch, or the episode's number.
	Start int64 `json:"start,omitzero"`
}

// IsZero reports whether w is no window.
func (w Window) IsZero() bool { return w.Policy == "" }

// comparable says whether the Starts of two windows are on one scale.
func (w Window) comparable(o Window) bool {
	return !w.IsZero() && !o.IsZero() && (w.Policy == "episodes") == (o.Policy == "episodes")
}

// Covers reports whether a key last told in w counts as told in o.
func (w Window) Covers(o Window) bool {
	return o.Policy != "always" && w.comparable(o) && w.Start >= o.Start
}

// Later returns the later of o, the window of now, and the told window w, so
// that told never moves back. Windows on different scales (episodes and times)
// have no order; there the policy in force wins.
func (w Window) Later(o Window) Window {
	if w.comparable(o) && w.Start > o.Start {
		return Window{Policy: o.Policy, Start: w.Start}
	}
	return o
}

// String returns the window for people, e.g. "day Asia/Tokyo 2026-12-01T15:00:00Z".
func (w Window) String() string {
	switch w.Policy {
	case "":
		return "never"
	case "once":
		return "once"
	case "episodes":
		return fmt.Sprintf("episode %d", w.Start)
	}
	return w.Policy + " from " + time.UnixMicro(w.Start).UTC().Format(time.RFC3339)
}
