package storetest

import (
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
)

var keyRowClauses = []Clause{
	{Name: "keyrow/a delivery moves the baseline", Promise: "G5", run: keyDelivered},
	{Name: "keyrow/nothing else does", Promise: "G5", run: keyOnlyDelivered},
	{Name: "keyrow/one per key", Promise: "G5", run: keyPerKey},
	{Name: "keyrow/read by the next claim", Promise: "G5", run: keyNextClaim},
	{Name: "keyrow/sequence of assertions", Promise: "G7, C3", run: keySequence},
	{Name: "keyrow/a delivery clears maybe", Promise: "rule 6", run: keyMaybeCleared},
	{Name: "keyrow/survives its rows", Promise: "G5", run: keySurvives},
	{Name: "keyrow/a delivery survives a crash whole", Promise: "G5, G6", needs: needsReopen, run: keyCrash},
}

var failureClauses = []Clause{
	{Name: "failures/which ends count", Promise: "G10", run: failuresCount},
	{Name: "failures/delay the next row", Promise: "G10, C8", run: failuresDelay},
	{Name: "failures/a delivery resets them", Promise: "G10", run: failuresReset},
}

func keyDelivered(f *fixture) {
	day := lastlook.Day(time.UTC)
	r := f.sending(in(day, item("a")), `{"price":480}`)
	f.tick(time.Second)
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	now := lastlook.Micro(f.now)
	k := f.keyRow(r.ID)
	k.ID = 0
	f.equal("the key row", k, lastlook.KeyRow{
		Baseline: []byte(`{"price":480}`), BaselineAt: now, Seq: 1, Told: day.At(start, 0), ToldBy: r.ID, ToldAt: now,
		Last: lastlook.End{ID: r.ID, State: lastlook.StateSent, At: now},
	})
}

// keyOnlyDelivered: whatever else becomes of a row leaves the baseline.
func keyOnlyDelivered(f *fixture) {
	for i, m := range append(pendingMoves(), sendingMoves()[1:]...) {
		it := item(fmt.Sprintf("s%02d", i))
		f.deliver(it, `"told"`)
		f.tick(time.Second)
		r := f.row(it)
		if i >= len(pendingMoves()) {
			f.assert(&r, lastlook.Always(), `"other"`)
		}
		before := f.keyRow(r.ID)
		f.done(m.make(&r, f.now))
		after := f.keyRow(r.ID)
		f.equal("the baseline after "+string(m.event), []any{string(after.Baseline), after.BaselineAt}, []any{string(before.Baseline), before.BaselineAt})
		if rec := f.get(r.ID); rec.State == lastlook.StateSending {
			f.done(r.NotCalled(f.now, lastlook.Outcome{}))
		}
		f.withdraw(r.ID)
		f.equal("the baseline at the end", string(f.keyRow(r.ID).Baseline), `"told"`)
		f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push", Lift: true}}))
	}
}

// keyPerKey: one channel's delivery says nothing about another's, nor one
// recipient's, subject's or topic's.
func keyPerKey(f *fixture) {
	base := in(lastlook.Once(), item("a"))
	vary := []func(k *lastlook.Key){
		func(k *lastlook.Key) { k.Channel = "mail" },
		func(k *lastlook.Key) { k.Recipient = "bert" },
		func(k *lastlook.Key) { k.Subject = "b" },
		func(k *lastlook.Key) { k.Topic = "u" },
	}
	f.deliver(base, `"told"`)
	for _, v := range vary {
		it := base
		v(&it.Key)
		r := f.row(it)
		k := r.KeyRow
		k.ID = 0
		f.equal("the key row of "+it.Key.String(), k, lastlook.KeyRow{})
		f.done(r.LookUnknown(f.now, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, lastlook.Outcome{Err: "x"}))
	}
	f.enqueued(lastlook.AlreadyTold, base)
}

// keyNextClaim: the next row's claim sees what the last one told, with nothing
// between.
func keyNextClaim(f *fixture) {
	r := f.sending(item("a"), `480`)
	f.enqueued(lastlook.Marked, edge(item("a"), `470`))
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	next := f.claim(5)
	if len(next) != 1 || string(next[0].KeyRow.Baseline) != `480` || next[0].KeyRow.ToldBy != r.ID {
		f.Fatalf("the next claim: %s", asJSON(next))
	}
	f.equal("the key row, by Get", f.keyRow(r.ID), next[0].KeyRow)
}

// keySequence: 480, 470, 480 has three delivery keys; a resend of what may
// have been delivered has the same, also by another row.
func keySequence(f *fixture) {
	step := func(value string, known bool, want int64) {
		f.Helper()
		r := f.row(item("a"))
		f.assert(&r, lastlook.Always(), value)
		f.equal("the sequence of "+value, f.get(r.ID).Seq, want)
		if known {
			f.done(r.Accepted(f.now, lastlook.Outcome{}))
		} else {
			f.done(r.OutcomeUnknown(f.now, lastlook.Next{Last: true}, lastlook.Outcome{}))
		}
		f.equal("the key's sequence", f.keyRow(r.ID).Seq, want)
		f.tick(time.Hour) // longer than failures hold back
	}
	step(`{"price":480,"in":true}`, true, 1)
	step(`{"price":470}`, true, 2)
	step(`{"price":480,"in":true}`, true, 3)
	step(`{"price":460,"in":true}`, false, 4)
	step(`{"in": true, "price": 460}`, false, 4)
	step(`{"price":450}`, false, 5)
	step(`{"price":460,"in":true}`, false, 6)
	step(`{"price":460,"in":true}`, true, 6)
	step(`{"price":460,"in":true}`, true, 7)
}

func keyMaybeCleared(f *fixture) {
	r := f.sending(item("a"), `480`)
	f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now}, lastlook.Outcome{}))
	r = f.claimOne(r.ID)
	f.equal("maybe", string(r.KeyRow.Maybe), `480`)
	f.assert(&r, lastlook.Always(), `470`)
	f.equal("maybe, while sending another value", string(f.keyRow(r.ID).Maybe), `480`)
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	k := f.keyRow(r.ID)
	f.equal("maybe and baseline", []any{string(k.Maybe), string(k.Baseline), k.Seq}, []any{"", `470`, 2})
}

func keySurvives(f *fixture) {
	it := in(lastlook.Day(time.UTC), item("a"))
	id := f.deliver(it, `480`)
	f.tick(time.Second)
	_, err := f.store.Prune(f.Context(), lastlook.PruneRequest{EndedBefore: f.now})
	f.ok(err)
	f.equal("rows", len(f.list(lastlook.Query{})), 0)
	f.equal("the next item", f.enqueued(lastlook.AlreadyTold, it), lastlook.EnqueueResult{Status: lastlook.AlreadyTold, ID: id})
	f.tick(24 * time.Hour)
	r := f.row(it)
	f.equal("the key row", []any{string(r.KeyRow.Baseline), r.KeyRow.Seq, r.KeyRow.ToldBy}, []any{`480`, 1, id})
}

// keyCrash: a process that dies right after a delivery was recorded leaves all
// of it, or none.
func keyCrash(f *fixture) {
	r := f.sending(in(lastlook.Once(), item("a")), `480`)
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	f.reopen()
	rec := f.state(r.ID, lastlook.StateSent)
	f.equal("the key row", []any{string(rec.KeyRow.Baseline), rec.KeyRow.ToldBy, rec.KeyRow.Last.ID}, []any{`480`, r.ID, r.ID})
	f.enqueued(lastlook.AlreadyTold, in(lastlook.Once(), item("a")))
}

func failuresCount(f *fixture) {
	now := func() time.Time { return f.now }
	drop := func(reason lastlook.Reason) func(r *lastlook.Row) (lastlook.Change, error) {
		return func(r *lastlook.Row) (lastlook.Change, error) { return r.Drop(now(), reason, lastlook.Outcome{}) }
	}
	withdraw := func(reason lastlook.Reason) func(r *lastlook.Row) (lastlook.Change, error) {
		return func(r *lastlook.Row) (lastlook.Change, error) { return r.Withdraw(now(), reason, "x") }
	}
	fail := func(reason lastlook.Reason) func(r *lastlook.Row) (lastlook.Change, error) {
		return func(r *lastlook.Row) (lastlook.Change, error) {
			return r.LookUnknown(now(), lastlook.Next{Last: true}, reason, lastlook.Outcome{})
		}
	}
	failures := 0
	for _, e := range []struct {
		reason lastlook.Reason
		end    func(r *lastlook.Row) (lastlook.Change, error)
		counts int
	}{
		{"condition_lost", drop(lastlook.ReasonConditionLost), 0},
		{"look_unavailable", fail(lastlook.ReasonLookUnavailable), 1},
		{"out_of_stock", drop(lastlook.ReasonOutOfStock), 0},
		{"already_told", drop(lastlook.ReasonAlreadyTold), 1},
		{"gone", drop(lastlook.ReasonGone), 0},
		{"muted", drop(lastlook.ReasonMuted), 1},
		{"cancelled", withdraw(lastlook.ReasonCancelled), 0},
		{"expired", withdraw(lastlook.ReasonExpired), 1},
		{"bad_payload", fail(lastlook.ReasonBadPayload), 1},
	} {
		r := f.row(item("a"))
		f.done(e.end(&r))
		failures += e.counts
		k := f.keyRow(r.ID)
		f.equal("the key row after "+string(e.reason), []any{k.Failures, k.Last},
			[]any{failures, lastlook.End{ID: r.ID, State: f.get(r.ID).State, Reason: e.reason, At: lastlook.Micro(f.now)}})
		f.tick(time.Hour)
	}
}

func failuresDelay(f *fixture) {
	for n := range 9 {
		id := f.insert(item("a"))[0]
		if n > 0 {
			wait := backoff(n - 1)
			f.equal(fmt.Sprintf("due after %d failures", n), f.get(id).Due, lastlook.Micro(f.now.Add(wait)))
			f.tick(wait - time.Microsecond)
			f.claimNone()
			f.tick(time.Microsecond)
		}
		r := f.claimOne(id)
		f.done(r.LookUnknown(f.now, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, lastlook.Outcome{Err: "x"}))
	}
	// Later than any backoff, the item's own time counts.
	f.tick(31 * time.Minute)
	it := item("a")
	it.Due = f.now.Add(time.Second)
	f.equal("due long after", f.get(f.insert(it)[0]).Due, lastlook.Micro(it.Due))
}

func failuresReset(f *fixture) {
	for range 3 {
		r := f.row(item("a"))
		f.done(r.LookUnknown(f.now, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, lastlook.Outcome{Err: "x"}))
		f.tick(time.Hour)
	}
	id := f.deliver(item("a"), `1`)
	f.equal("failures", f.keyRow(id).Failures, 0)
	next := f.insert(item("a"))[0]
	f.equal("due", f.get(next).Due, lastlook.Micro(f.now))
	r := f.claimOne(next)
	f.equal("failures, as claimed", r.KeyRow.Failures, 0)
}
