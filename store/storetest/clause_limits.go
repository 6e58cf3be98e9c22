package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
)

var limitClauses = []Clause{
	{Name: "limits/largest payload", Promise: "limits", run: limitPayload},
	{Name: "limits/longest key", Promise: "limits", run: limitKey},
	{Name: "limits/JSON as given", Promise: "limits", run: limitJSON},
	{Name: "limits/microseconds", Promise: "limits", run: limitTime},
	{Name: "limits/years", Promise: "limits", run: limitYears},
}

var contextClauses = []Clause{
	{Name: "context/a cancelled call changes nothing", Promise: "errors", run: contextCancelled},
}

var lockClauses = []Clause{
	{Name: "lock/one dispatch loop", Promise: "DispatchLocker", run: lockOne},
}

func limitPayload(f *fixture) {
	payload := `"` + strings.Repeat("é", lastlook.MaxPayload/2-1) + `"`
	f.equal("its size", len(payload), lastlook.MaxPayload)
	it := item("a")
	it.Detection = []byte(payload)
	r := f.row(it)
	f.equal("the claimed detection", string(r.Detection), payload)
	f.assert(&r, lastlook.Always(), payload)
	f.equal("the asserted value", string(f.get(r.ID).Asserted), payload)
	f.enqueued(lastlook.Marked, edge(item("a"), payload))
	f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now}, lastlook.Outcome{}))
	r = f.claimOne(r.ID)
	f.equal("maybe", string(r.KeyRow.Maybe), payload)
	f.equal("the sequence of the same value", func() int64 { f.assert(&r, lastlook.Always(), payload); return r.Assertion.Seq }(), 1)
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	k := f.keyRow(r.ID)
	f.equal("the baseline", string(k.Baseline), payload)
	r = f.row(item("b"))
	f.done(r.Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{Value: []byte(payload)}))
	f.equal("what was seen", string(f.get(r.ID).Seen), payload)
}

func limitKey(f *fixture) {
	part := func(s string) string { return s + strings.Repeat("é", (lastlook.MaxKeyPart-1)/2) }
	it := lastlook.Item{
		Key:       lastlook.Key{Topic: part("t"), Subject: part("s"), Recipient: part("r"), Channel: part("c")},
		Detection: []byte(`1`), Lane: part("l"), Trace: strings.Repeat("x", lastlook.MaxTrace), Windows: lastlook.Once(),
	}
	id := f.insert(it)[0]
	rec := f.get(id)
	f.equal("key, lane, trace", []any{rec.Key, rec.Lane, rec.Trace}, []any{it.Key, it.Lane, it.Trace})
	f.enqueued(lastlook.Duplicate, it)
	other := it
	other.Subject = it.Subject[:len(it.Subject)-2] + "e"
	f.insert(other)
	lanes, err := f.store.Lanes(f.Context(), lastlook.LaneQuery{Now: f.now, Topics: []string{it.Topic}, Channels: []string{it.Channel}})
	f.ok(err)
	f.equal("lanes", len(lanes), 1)
	f.equal("lane", lanes[0].Name, it.Lane)
}

// limitJSON: values come back byte by byte; a value that is only equal would
// do for comparing, but not for people who read it.
func limitJSON(f *fixture) {
	for i, v := range []string{
		`null`, `true`, `0`, `-0`, `1.0`, `1e400`, `12345678901234567890.123456789`, `""`, `"\u0000"`, `"\ud83d\ude00"`, `"😀"`,
		`{}`, `[]`, `{"b":1,"a":2,"b":3}`, ` { "x" : [ 1 , 2 ] } `, `"<&>\u2028"`, `"'; --"`,
	} {
		it := item(string('a' + rune(i)))
		it.Detection = []byte(v)
		r := f.row(it)
		f.equal("the detection", string(r.Detection), v)
		f.assert(&r, lastlook.Always(), v)
		f.equal("the asserted value", string(f.get(r.ID).Asserted), v)
		f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now}, lastlook.Outcome{}))
		f.equal("maybe", string(f.keyRow(r.ID).Maybe), v)
		r = f.claimOne(r.ID)
		f.assert(&r, lastlook.Always(), v)
		f.equal("the sequence of the same value", r.Assertion.Seq, 1)
		f.done(r.Accepted(f.now, lastlook.Outcome{}))
		f.equal("the baseline", string(f.keyRow(r.ID).Baseline), v)
	}
}

// limitTime: microseconds are kept, what is below them is cut, zones are not
// kept.
func limitTime(f *fixture) {
	zone := time.FixedZone("odd", -3*3600-25*60)
	f.now = time.Date(2026, 7, 1, 23, 59, 59, 999999999, zone)
	it := item("a")
	it.Due, it.ExpiresAt = f.now.Add(1500*time.Nanosecond), f.now.Add(time.Hour+999*time.Nanosecond)
	id := f.insert(it)[0]
	rec := f.get(id)
	f.equal("created, due, expires", []string{rec.CreatedAt.String(), rec.Due.String(), rec.ExpiresAt.String()}, []string{
		"2026-07-02 03:24:59.999999 +0000 UTC", "2026-07-02 03:25:00.000001 +0000 UTC", "2026-07-02 04:25:00 +0000 UTC"})
	f.claimNone()
	f.tick(2 * time.Microsecond)
	r := f.claimOne(id)
	f.equal("the lease", r.Lease.String(), "2026-07-02 03:26:00.000001 +0000 UTC")
	f.assert(&r, lastlook.Always(), `1`)
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	rec = f.get(id)
	at := "2026-07-02 03:25:00.000001 +0000 UTC"
	f.equal("looked at, ended, baseline, told, last end",
		[]string{rec.LookedAt.String(), rec.EndedAt.String(), rec.KeyRow.BaselineAt.String(), rec.KeyRow.ToldAt.String(), rec.KeyRow.Last.At.String()},
		[]string{at, at, at, at, at})
}

func limitYears(f *fixture) {
	for i, now := range []time.Time{time.Unix(0, 0), time.Date(9990, 12, 31, 23, 59, 59, 0, time.UTC)} {
		f.now = now
		it := in(lastlook.Day(time.UTC), item(string('a'+rune(i))))
		it.ExpiresAt = time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)
		id := f.deliver(it, `1`)
		rec := f.get(id)
		f.equal("created, expires, told", []any{rec.CreatedAt, rec.ExpiresAt, rec.KeyRow.Told.Start}, []any{
			lastlook.Micro(now), it.ExpiresAt, lastlook.Day(time.UTC).At(now, 0).Start})
		f.enqueued(lastlook.AlreadyTold, it)
	}
}

// contextCancelled: a call whose context has ended fails, and leaves nothing.
func contextCancelled(f *fixture) {
	r := f.row(item("b"))
	id := f.insert(item("a"))[0]
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	req := f.request(5)
	drop, err := r.Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{})
	f.ok(err)
	before, stats := f.list(lastlook.Query{}), f.stats()
	s := f.store
	for name, call := range map[string]func() error{
		"Enqueue": func() error { _, err := s.Enqueue(ctx, f.now, []lastlook.Item{item("c")}); return err },
		"Lanes": func() error {
			_, err := s.Lanes(ctx, lastlook.LaneQuery{Now: f.now, Topics: []string{"t"}, Channels: []string{"push"}})
			return err
		},
		"Claim": func() error { _, err := s.Claim(ctx, req); return err },
		"Apply": func() error { _, err := s.Apply(ctx, f.now, []lastlook.Change{drop}); return err },
		"Sweep": func() error { _, err := s.Sweep(ctx, lastlook.SweepRequest{Now: f.now, Limit: 10}); return err },
		"Get":   func() error { _, err := s.Get(ctx, id); return err },
		"List":  func() error { _, err := s.List(ctx, lastlook.Query{}); return err },
		"Stats": func() error { _, err := s.Stats(ctx, f.now, start); return err },
		"Prune": func() error { _, err := s.Prune(ctx, lastlook.PruneRequest{EndedBefore: f.now}); return err },
		"Mute": func() error {
			return s.Mute(ctx, f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push"}})
		},
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			f.Errorf("%s with a cancelled context: error %v, want %v", name, err, context.Canceled)
		}
	}
	f.equal("rows", f.list(lastlook.Query{}), before)
	f.equal("counts", f.stats(), stats)
	f.done(drop, nil)
}

// lockOne: a store that allows one dispatch loop at a time says so at once.
func lockOne(f *fixture) {
	locker, ok := f.store.(lastlook.DispatchLocker)
	if !ok {
		return
	}
	release, err := locker.LockDispatch(f.Context())
	f.ok(err)
	if _, err := locker.LockDispatch(f.Context()); !errors.Is(err, lastlook.ErrDispatcherRunning) {
		f.Fatalf("a second lock: error %v, want %v", err, lastlook.ErrDispatcherRunning)
	}
	f.insert(item("a")) // the lock stops loops, not calls
	f.ok(release())
	release, err = locker.LockDispatch(f.Context())
	f.ok(err)
	f.ok(release())
}
