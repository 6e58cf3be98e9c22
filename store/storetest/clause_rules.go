package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

var ruleClauses = []Clause{
	{Name: "rules/each as stored", Promise: "rules 2-17", run: rulesStored},
	{Name: "rules/reaper's as stored", Promise: "rules 10, 11, 16", run: rulesReaper},
	{Name: "rules/none is left out", Promise: "rules 1-17", run: rulesComplete},
}

// ruleMove says how a rule's transition is made, starting from which state.
type ruleMove struct {
	move
	number int
	from   lastlook.State
	guar   lastlook.Guarantee
}

func ruleMoves() []ruleMove {
	const pending, sending, retry = lastlook.StatePending, lastlook.StateSending, lastlook.StateRetry
	p, s := pendingMoves(), sendingMoves()
	moves := []ruleMove{
		{p[0], 2, pending, 0}, {p[1], 3, pending, 0}, {p[2], 4, pending, 0}, {p[3], 5, pending, 0}, {p[4], 15, pending, 0},
		{s[0], 6, sending, 0}, {s[1], 7, sending, 0}, {s[2], 8, sending, 0}, {s[3], 9, sending, 0}, {s[4], 10, sending, 0},
		{s[5], 11, sending, lastlook.AtMostOnce}, {s[6], 12, sending, 0}, {s[7], 13, sending, 0}, {s[8], 15, sending, 0},
		{move{lastlook.EventExhausted, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			return r.OutcomeUnknown(at, lastlook.Next{Last: true}, lastlook.Outcome{Err: "e"})
		}}, 15, sending, 0},
	}
	for _, reason := range []lastlook.Reason{lastlook.ReasonCancelled, lastlook.ReasonExpired, lastlook.ReasonListingPaused, lastlook.ReasonWatchRemoved} {
		for _, from := range []lastlook.State{pending, retry} {
			moves = append(moves, ruleMove{move{lastlook.EventWithdrawn, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
				return r.Withdraw(at, reason, "operator")
			}}, 17, from, 0})
		}
	}
	return moves
}

// bring makes a row in the given state, held by a claim unless in retry, whose
// key was told before.
func (f *fixture) bring(subject string, state lastlook.State, g lastlook.Guarantee) lastlook.Row {
	f.Helper()
	f.deliver(item(subject), `400`)
	f.tick(time.Second)
	r := f.row(item(subject))
	switch state {
	case lastlook.StateSending:
		a, err := assertionOf(&r, lastlook.Always(), f.now, []byte(`{"v":480}`), g)
		f.ok(err)
		f.done(r.Sending(f.now, a, f.now.Add(testLease)))
	case lastlook.StateRetry:
		f.done(r.LookUnknown(f.now, lastlook.Next{Due: f.now.Add(time.Hour)}, "", lastlook.Outcome{Err: "first"}))
		r = operatorRow(f.get(r.ID))
	default: // pending, as claimed
	}
	return r
}

func rulesStored(f *fixture) {
	for i, m := range ruleMoves() {
		r := f.bring(fmt.Sprintf("s%02d", i), m.from, m.guar)
		f.tick(time.Second)
		f.stored(m, r)
	}
}

// stored makes the move and checks everything that it must and must not write.
func (f *fixture) stored(m ruleMove, r lastlook.Row) {
	f.Helper()
	before := f.get(r.ID)
	c, err := m.make(&r, f.now)
	f.done(c, err)
	got := f.get(r.ID)
	what := fmt.Sprintf("rule %d, %s by %s", m.number, m.from, c.Event)

	want := before
	want.State, want.Attempt, want.Story, want.KeyRow = c.To, c.Attempt, r.Story, wantKeyRow(*before.KeyRow, &c)
	want.Due, want.Leased = time.Time{}, time.Time{}
	want.Asserted, want.LookedAt, want.Window, want.Seq = nil, time.Time{}, lastlook.Window{}, 0
	if c.To == lastlook.StateSending || c.Ends() {
		want.Asserted, want.LookedAt = c.Assertion.Value, lastlook.Micro(c.Assertion.LookedAt)
		want.Window, want.Seq = c.Assertion.Window, c.Assertion.Seq
	}
	switch {
	case c.To == lastlook.StateSending:
		want.Due, want.Leased = before.Due, c.Lease
		want.Story = got.Story // see the clauses about stories
	case c.Ends():
		want.Reason, want.Seen, want.EndedAt = c.Reason, c.Seen, lastlook.Micro(f.now)
	default:
		want.Due = c.Due
	}
	got.KeyRow.ID, want.KeyRow.ID = 0, 0
	f.equal(what, got, want)

	listed := f.list(lastlook.Query{Subject: r.Key.Subject, Limit: 1})[0]
	want.Story, want.KeyRow = nil, nil
	f.equal(what+", in the list", listed, want)
	f.equal(what+", mute", f.stats().Muted, b2i(c.Mute))
	f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push", Lift: true}}))

	res := f.enqueue(item(r.Key.Subject))[0]
	if c.Ends() != (res.Status == lastlook.Inserted) {
		f.Fatalf("%s: the next item is %s", what, asJSON(res))
	}
	if got.State == lastlook.StateSending {
		f.done(r.Accepted(f.now, lastlook.Outcome{}))
	}
	f.withdraw(res.ID)
}

// wantKeyRow is what a change makes of the key row.
func wantKeyRow(k lastlook.KeyRow, c *lastlook.Change) *lastlook.KeyRow {
	a := c.Assertion
	switch c.Key {
	case lastlook.KeyDelivered:
		k.Baseline, k.BaselineAt, k.Maybe, k.Failures = a.Value, c.At, nil, 0
		k.Seq, k.Told, k.ToldBy, k.ToldAt = a.Seq, a.Window, c.ID, c.At
	case lastlook.KeyMaybe:
		k.Maybe, k.Seq, k.Told, k.ToldBy, k.ToldAt = a.Value, a.Seq, a.Window, c.ID, c.At
	case lastlook.KeyKeep:
	}
	if c.AddFailure {
		k.Failures++
	}
	if c.Ends() {
		k.Last = lastlook.End{ID: c.ID, State: c.To, Reason: c.Reason, At: c.At}
	}
	return &k
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rulesReaper: the transitions that a sweep makes of a dead claim's row.
func rulesReaper(f *fixture) {
	reap := func(last bool) move {
		return move{make: func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			return r.Reap(at, lastlook.Next{Due: at.Add(time.Minute), Last: last})
		}}
	}
	for i, m := range []ruleMove{
		{reap(false), 10, lastlook.StateSending, lastlook.AtLeastOnce},
		{reap(true), 15, lastlook.StateSending, lastlook.AtLeastOnce},
		{reap(false), 11, lastlook.StateSending, lastlook.AtMostOnce},
		{move{make: func(r *lastlook.Row, at time.Time) (lastlook.Change, error) { return r.SweepExhausted(at) }}, 16, lastlook.StatePending, 0},
	} {
		r := f.bring(fmt.Sprintf("s%d", i), m.from, m.guar)
		f.tick(2 * testLease)
		dead := f.sweep(10).Dead
		f.equal("dead rows", rowIDs(dead), []lastlook.ID{r.ID})
		// What is stored of the assertion; the guarantee is stored with it.
		f.equal("the assertion, as the sweep reads it", dead[0].Assertion, microAssertion(r.Assertion))
		f.stored(m, dead[0])
	}
}

func microAssertion(a lastlook.Assertion) lastlook.Assertion {
	a.LookedAt = lastlook.Micro(a.LookedAt)
	return a
}

// rulesComplete: the suite has a move for every rule of the core's table.
func rulesComplete(f *fixture) {
	have := []int{1, 14, 16} // enqueue, claim, the reaper's
	for _, m := range ruleMoves() {
		have = append(have, m.number)
	}
	for _, r := range lastlook.Rules() {
		if !slices.Contains(have, r.Number) {
			f.Errorf("no move for rule %d, %s", r.Number, r.Event)
		}
	}
}
