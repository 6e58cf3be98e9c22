package storetest

import (
	"time"

	"github.com/lastlook/lastlook"
)

var toldClauses = []Clause{
	{Name: "told/one telling per window", Promise: "G1", run: toldOnce},
	{Name: "told/an unknown outcome counts", Promise: "G1, C1", run: toldMaybe},
	{Name: "told/an unknown outcome counts after the row has ended", Promise: "G1, C1", run: toldMaybeEnded},
	{Name: "told/at most once", Promise: "C2", run: toldAtMostOnce},
	{Name: "told/by the reaper", Promise: "G1, G6", run: toldReaped},
	{Name: "told/the day of sending", Promise: "G1, C10", run: toldMidnight},
	{Name: "told/never moves back", Promise: "C11", run: toldBack},
	{Name: "told/except by this very row", Promise: "rule 2", run: toldSelf},
	{Name: "told/without a policy", Promise: "G1", run: toldNoPolicy},
}

var windowClauses = []Clause{
	{Name: "windows/as stored", Promise: "G1", run: windowsStored},
	{Name: "windows/daylight saving", Promise: "G1", run: windowsDST},
}

func mustZone(f *fixture, name string) *time.Location {
	f.Helper()
	loc, err := time.LoadLocation(name)
	f.ok(err)
	return loc
}

func toldOnce(f *fixture) {
	day := lastlook.Day(mustZone(f, "Asia/Tokyo"))
	it := in(day, item("a"))
	id := f.deliver(it, `480`)
	f.equal("the next item", f.enqueued(lastlook.AlreadyTold, it), lastlook.EnqueueResult{Status: lastlook.AlreadyTold, ID: id})
	f.enqueued(lastlook.AlreadyTold, edge(it, `1`))
	f.equal("marks", f.stats().Marks, 0)
	other := it
	other.Recipient = "bert"
	f.insert(other)
	f.now = time.Date(2026, 3, 7, 14, 59, 59, 0, time.UTC) // Tokyo's midnight is 15:00 UTC
	f.enqueued(lastlook.AlreadyTold, it)
	f.tick(time.Second)
	next := f.insert(it)[0]
	f.withdraw(next)
	f.equal("told", f.keyRow(next).ToldBy, id)
}

// toldMaybe: a row that may have been delivered, and is to be tried again,
// answers for its window.
func toldMaybe(f *fixture) {
	it := in(lastlook.Day(time.UTC), item("a"))
	r := f.sending(it, `480`)
	f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now.Add(time.Minute)}, lastlook.Outcome{Err: "timeout"}))
	k := f.keyRow(r.ID)
	f.equal("the key row", []any{string(k.Maybe), k.Seq, k.Told, k.ToldBy, len(k.Baseline)},
		[]any{`480`, 1, lastlook.Day(time.UTC).At(f.now, 0), r.ID, 0})
	f.equal("an edge", f.enqueued(lastlook.AlreadyTold, edge(it, `1`)),
		lastlook.EnqueueResult{Status: lastlook.AlreadyTold, ID: r.ID, State: lastlook.StateRetry})
	f.tick(time.Minute)
	r = f.claimOne(r.ID)
	f.equal("the key row, as claimed", r.KeyRow, k)
}

// toldMaybeEnded: then it is dropped, or fails; it still may have been
// delivered.
func toldMaybeEnded(f *fixture) {
	day := lastlook.Day(time.UTC)
	drop := func(r *lastlook.Row) (lastlook.Change, error) {
		return r.Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{Value: []byte(`520`)})
	}
	fail := func(r *lastlook.Row) (lastlook.Change, error) {
		return r.LookUnknown(f.now, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, lastlook.Outcome{Err: "x"})
	}
	cancel := func(r *lastlook.Row) (lastlook.Change, error) {
		return r.Withdraw(f.now, lastlook.ReasonCancelled, "operator")
	}
	for i, end := range []func(*lastlook.Row) (lastlook.Change, error){drop, fail, cancel} {
		it := in(day, item(string('a'+rune(i))))
		r := f.sending(it, `480`)
		f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now}, lastlook.Outcome{Err: "timeout"}))
		r = f.claimOne(r.ID)
		f.done(end(&r))
		f.equal("the next item", f.enqueued(lastlook.AlreadyTold, it), lastlook.EnqueueResult{Status: lastlook.AlreadyTold, ID: r.ID})
	}
	last := in(day, item("last"))
	r := f.sending(last, `480`)
	f.done(r.OutcomeUnknown(f.now, lastlook.Next{Last: true}, lastlook.Outcome{Err: "timeout"}))
	f.state(r.ID, lastlook.StateFailed)
	f.enqueued(lastlook.AlreadyTold, last)
	f.tick(24 * time.Hour)
	f.insert(last)
}

func toldAtMostOnce(f *fixture) {
	it := in(lastlook.Day(time.UTC), item("a"))
	f.deliver(in(lastlook.Always(), item("a")), `500`)
	f.tick(24 * time.Hour)
	r := f.row(it)
	a, err := assertionOf(&r, it.Windows, f.now, []byte(`480`), lastlook.AtMostOnce)
	f.ok(err)
	f.done(r.Sending(f.now, a, f.now.Add(testLease)))
	f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now}, lastlook.Outcome{Err: "timeout"}))
	rec := f.state(r.ID, lastlook.StateFailed)
	f.equal("reason, asserted", []any{rec.Reason, string(rec.Asserted)}, []any{lastlook.ReasonUnknownOutcome, `480`})
	k := rec.KeyRow
	f.equal("the key row", []any{string(k.Baseline), string(k.Maybe), k.Seq, k.ToldBy, k.Failures}, []any{`500`, `480`, 2, r.ID, 1})
	f.equal("the next item", f.enqueued(lastlook.AlreadyTold, it), lastlook.EnqueueResult{Status: lastlook.AlreadyTold, ID: r.ID})
}

func toldReaped(f *fixture) {
	it := in(lastlook.Day(time.UTC), item("a"))
	r := f.sending(it, `480`)
	f.tick(testLease)
	dead := f.sweep(10).Dead[0]
	f.done(dead.Reap(f.now, lastlook.Next{Due: f.now}))
	k := f.keyRow(r.ID)
	f.equal("the key row", []any{string(k.Maybe), k.Seq, k.ToldBy}, []any{`480`, 1, r.ID})
	f.enqueued(lastlook.AlreadyTold, edge(it, `1`))
}

// toldMidnight: a row that waited over midnight counts for the day on which it
// was sent, not for that of its detection.
func toldMidnight(f *fixture) {
	tokyo := lastlook.Day(mustZone(f, "Asia/Tokyo"))
	it := in(tokyo, item("a"))
	f.now = time.Date(2026, 3, 7, 14, 59, 0, 0, time.UTC)
	id := f.insert(it)[0]
	f.tick(2 * time.Minute) // over midnight
	r := f.claimOne(id)
	f.assert(&r, tokyo, `480`)
	today := lastlook.Window{Policy: "day Asia/Tokyo", Start: time.Date(2026, 3, 7, 15, 0, 0, 0, time.UTC).UnixMicro()}
	f.equal("the window, while sending", f.get(id).Window, today)
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	f.equal("the window", f.get(id).Window, today)
	f.equal("told", f.keyRow(id).Told, today)
	f.tick(time.Hour)
	f.enqueued(lastlook.AlreadyTold, it)
}

// toldBack: a dispatcher whose clock is behind tries again what another may
// have delivered after midnight.
func toldBack(f *fixture) {
	day := lastlook.Day(time.UTC)
	it := in(day, item("a"))
	f.now = time.Date(2026, 3, 8, 0, 0, 1, 0, time.UTC)
	r := f.sending(it, `480`)
	f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now.Add(-time.Minute)}, lastlook.Outcome{}))
	told := f.keyRow(r.ID).Told
	f.tick(-10 * time.Second)
	r = f.claimOne(r.ID)
	f.assert(&r, day, `480`)
	f.equal("the window, while sending", f.get(r.ID).Window, told)
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	f.equal("told", f.keyRow(r.ID).Told, told)
	f.tick(time.Minute)
	f.enqueued(lastlook.AlreadyTold, it)
}

// toldSelf: the row that may have told may tell again; the key's next row may
// not.
func toldSelf(f *fixture) {
	day := lastlook.Day(time.UTC)
	it := in(day, item("a"))
	r := f.sending(it, `480`)
	f.enqueued(lastlook.Marked, edge(it, `470`))
	f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now}, lastlook.Outcome{}))
	f.tick(time.Second)
	r = f.claimOne(r.ID)
	if reason, stop := guard(&r, day, f.now); stop {
		f.Fatalf("the row that told is guarded by %s", reason)
	}
	f.enqueued(lastlook.AlreadyTold, edge(it, `460`))
	f.assert(&r, day, `480`)
	f.equal("the sequence of the same value", r.Assertion.Seq, 1)
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	f.equal("live rows", len(f.live()), 0)
}

func toldNoPolicy(f *fixture) {
	it := in(lastlook.Day(time.UTC), item("a"))
	id := f.deliver(it, `480`)
	it.Windows = lastlook.Windows{}
	f.equal("the next item", f.enqueued(lastlook.AlreadyTold, it), lastlook.EnqueueResult{Status: lastlook.AlreadyTold, ID: id})
	f.tick(24 * time.Hour)
	f.withdraw(f.insert(it)[0])
	other := item("b")
	f.deliver(other, `1`)
	other.Windows = lastlook.Windows{}
	f.insert(other)
}

func windowsStored(f *fixture) {
	for i, c := range []struct {
		windows lastlook.Windows
		episode int64
	}{
		{lastlook.Once(), 0}, {lastlook.Always(), 0},
		{lastlook.Day(time.UTC), 0}, {lastlook.Day(mustZone(f, "America/Argentina/Buenos_Aires")), 0},
		{lastlook.Every(time.Second), 0}, {lastlook.Every(90 * time.Minute), 0}, {lastlook.Every(24 * 365 * time.Hour), 0},
		{lastlook.Episodes(), 0}, {lastlook.Episodes(), 1}, {lastlook.Episodes(), 1 << 62}, {lastlook.Episodes(), -1 << 62},
	} {
		w, it := c.windows, in(c.windows, item(string('a'+rune(i))))
		it.Episode = c.episode
		id := f.deliver(it, `1`)
		want := w.At(f.now, it.Episode)
		rec := f.get(id)
		f.equal("the window of the row", rec.Window, want)
		f.equal("told", rec.KeyRow.Told, want)
		f.equal("the episode", rec.Episode, it.Episode)
		if w == lastlook.Always() {
			f.withdraw(f.insert(it)[0])
		} else {
			f.enqueued(lastlook.AlreadyTold, it)
		}
	}
}

func windowsDST(f *fixture) {
	for i, c := range []struct{ zone, told, covered, next string }{
		// 23 hours: the clocks go forward at 2:00.
		{"America/New_York", "2026-03-08T05:00:01Z", "2026-03-09T03:59:59Z", "2026-03-09T04:00:00Z"},
		// 25 hours.
		{"America/New_York", "2026-11-01T04:00:00Z", "2026-11-02T04:59:59Z", "2026-11-02T05:00:00Z"},
		// Midnight does not exist.
		{"Africa/Cairo", "2026-04-23T22:00:00Z", "2026-04-24T20:59:59Z", "2026-04-24T21:00:00Z"},
		// The hour before midnight comes twice.
		{"Asia/Beirut", "2026-10-23T21:00:00Z", "2026-10-24T21:59:59Z", "2026-10-24T22:00:00Z"},
		{"Pacific/Apia", "2026-06-01T11:00:00Z", "2026-06-02T10:59:59Z", "2026-06-02T11:00:00Z"},
	} {
		day := lastlook.Day(mustZone(f, c.zone))
		it := in(day, item(string('a'+rune(i))))
		at := func(text string) {
			f.Helper()
			t, err := time.Parse(time.RFC3339, text)
			f.ok(err)
			f.now = t
		}
		at(c.told)
		f.deliver(it, `1`)
		at(c.covered)
		f.enqueued(lastlook.AlreadyTold, it)
		at(c.next)
		f.withdraw(f.insert(it)[0])
	}
}
