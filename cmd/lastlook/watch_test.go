package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/server"
)

func TestStanding(t *testing.T) {
	a := &app{now: func() time.Time { return storyNow }}
	a.out = &printer{w: io.Discard, now: a.now}
	for want, change := range map[string]func(*server.Entry){
		"next look in 1m":   func(e *server.Entry) { e.Listing.NextLook = storyNow.Add(time.Minute) },
		"due":               func(e *server.Entry) { e.Listing.NextLook = storyNow },
		"paused":            func(e *server.Entry) { e.Watch.Paused = true },
		"cannot read it: x": func(e *server.Entry) { e.Listing.Failures, e.Listing.LastError = 1, "x" },
		"snoozed until 2026-12-01 04:00:00 UTC": func(e *server.Entry) {
			e.Watch.SnoozedUntil = storyNow.Add(time.Hour)
		},
		"cannot be used: of a newer version": func(e *server.Entry) { e.Err, e.Watch.Paused = errors.New("of a newer version"), true },
	} {
		var e server.Entry
		change(&e)
		if got := a.standing(&e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if v := newWatchView(&e); (v.Error != "") != strings.HasPrefix(want, "cannot be used") || v.Channels == nil || v.Triggers == nil {
			t.Errorf("%s: as JSON %+v", want, v)
		}
	}
}
