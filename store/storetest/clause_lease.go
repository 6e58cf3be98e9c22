package storetest

import (
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
)

var leaseClauses = []Clause{
	{Name: "lease/sending needs a living one", Promise: "G2", run: leaseSending},
	{Name: "lease/sending renews it", Promise: "rule 2", run: leaseRenewed},
	{Name: "lease/ends do not ask", Promise: "G2", run: leaseEnds},
	{Name: "lease/the reaper waits for it", Promise: "G2, G6", run: leaseReaper},
	{Name: "lease/reaper or holder, not both", Promise: "G2", run: leaseEither},
	{Name: "lease/given back at once", Promise: "rule 4", run: leaseGivenBack},
}

func leaseSending(f *fixture) {
	send := pendingMoves()[0]
	r := f.row(item("a"))
	f.tick(testLease) // lease <= now: dead
	f.tryRefused(send, r)
	f.tick(time.Hour)
	f.tryRefused(send, r)
	// Nobody else took it: the same claim is still good for anything else.
	f.done(r.Postpone(f.now, f.now, lastlook.Outcome{}))

	r = f.claimOne(r.ID)
	f.tick(testLease - time.Microsecond)
	f.done(send.make(&r, f.now))
	f.state(r.ID, lastlook.StateSending)
}

func leaseRenewed(f *fixture) {
	r := f.row(item("a"))
	f.tick(testLease / 2)
	f.assert(&r, lastlook.Always(), `1`)
	until := lastlook.Micro(f.now.Add(testLease))
	f.equal("the lease", f.get(r.ID).Leased, until)
	f.tick(testLease - time.Microsecond)
	f.equal("dead rows", rowIDs(f.sweep(10).Dead), []lastlook.ID{})
	f.tick(time.Microsecond)
	f.equal("dead rows", rowIDs(f.sweep(10).Dead), []lastlook.ID{r.ID})
}

// leaseEnds: a holder that is late, but first, may still say what happened: a
// delivery that was accepted is better recorded than repeated.
func leaseEnds(f *fixture) {
	for i, m := range append(pendingMoves()[1:], sendingMoves()...) {
		r := f.row(item(fmt.Sprintf("s%d", i)))
		if i >= len(pendingMoves())-1 {
			f.assert(&r, lastlook.Always(), `1`)
		}
		f.tick(10 * testLease)
		f.done(m.make(&r, f.now))
		f.withdraw(r.ID)
		f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push", Lift: true}}))
	}
}

func leaseReaper(f *fixture) {
	sending := f.sending(item("a"), `1`)
	pending := f.row(item("b"))
	reap := move{make: func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
		return r.Reap(at, lastlook.Next{Due: at.Add(time.Minute)})
	}}
	exhaust := move{make: func(r *lastlook.Row, at time.Time) (lastlook.Change, error) { return r.SweepExhausted(at) }}
	f.tick(testLease - time.Microsecond)
	f.tryRefused(reap, sending)
	f.tryRefused(exhaust, pending)
	f.tick(time.Microsecond)
	f.done(reap.make(&sending, f.now))
	f.done(exhaust.make(&pending, f.now))
	rec := f.state(sending.ID, lastlook.StateRetry)
	f.equal("the reaped row's due and attempt", []any{rec.Due, rec.Attempt, rec.Leased}, []any{lastlook.Micro(f.now.Add(time.Minute)), 1, time.Time{}})
	rec = f.state(pending.ID, lastlook.StateFailed)
	f.equal("the exhausted row's reason", rec.Reason, lastlook.ReasonAttemptsExhausted)
}

func leaseEither(f *fixture) {
	first, second := f.sending(item("a"), `1`), f.sending(item("b"), `1`)
	f.tick(testLease)
	reaped := f.sweep(10).Dead
	f.equal("dead rows", rowIDs(reaped), []lastlook.ID{first.ID, second.ID})
	f.done(reaped[0].Reap(f.now, lastlook.Next{Due: f.now.Add(time.Minute)}))
	f.tryRefused(sendingMoves()[0], first)
	f.done(second.Accepted(f.now, lastlook.Outcome{}))
	f.tryRefused(move{make: func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
		return r.Reap(at, lastlook.Next{Due: at.Add(time.Minute)})
	}}, reaped[1])
}

// leaseGivenBack: a row that is given back can be claimed again at its due
// time, long before the claim's lease would have passed.
func leaseGivenBack(f *fixture) {
	r := f.row(item("a"))
	f.done(r.Postpone(f.now, f.now.Add(time.Second), lastlook.Outcome{}))
	rec := f.state(r.ID, lastlook.StatePending)
	f.equal("attempt, lease, due", []any{rec.Attempt, rec.Leased, rec.Due}, []any{0, time.Time{}, lastlook.Micro(f.now.Add(time.Second))})
	f.claimNone()
	f.tick(time.Second)
	f.claimOne(r.ID)
}
