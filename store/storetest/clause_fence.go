package storetest

import (
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
)

var fenceClauses = []Clause{
	{Name: "fence/stale token while pending", Promise: "G2", run: fenceStalePending},
	{Name: "fence/stale token while sending", Promise: "G2", run: fenceStaleSending},
	{Name: "fence/a given-back row's token is dead", Promise: "G2", run: fenceReleased},
	{Name: "fence/no token opens nothing", Promise: "G2", run: fenceNoToken},
	{Name: "fence/the state is compared", Promise: "G2", run: fenceState},
	{Name: "fence/once only", Promise: "G2", run: fenceOnce},
	{Name: "fence/the row is compared", Promise: "G2", run: fenceRow},
	{Name: "fence/each change of a batch by itself", Promise: "G2", run: fenceBatch},
	{Name: "fence/unknown rows", Promise: "G2", run: fenceUnknown},
}

// move is a transition of a claimed row, made by the row's methods.
type move struct {
	event lastlook.Event
	make  func(r *lastlook.Row, at time.Time) (lastlook.Change, error)
}

// pendingMoves are what the holder of a claim can do with a row that it has
// not begun to send.
func pendingMoves() []move {
	o := lastlook.Outcome{Err: "e", LookedAt: start, Value: []byte(`520`)}
	return []move{
		{lastlook.EventSending, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			a, err := assertionOf(r, lastlook.Always(), at, []byte(`480`), lastlook.AtLeastOnce)
			if err != nil {
				return lastlook.Change{}, err
			}
			return r.Sending(at, a, at.Add(testLease))
		}},
		{lastlook.EventDropped, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			return r.Drop(at, lastlook.ReasonConditionLost, o)
		}},
		{lastlook.EventPostponed, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			return r.Postpone(at, at.Add(time.Hour), lastlook.Outcome{})
		}},
		{lastlook.EventLookUnknown, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			return r.LookUnknown(at, lastlook.Next{Due: at.Add(time.Hour)}, "", o)
		}},
		{lastlook.EventExhausted, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			return r.LookUnknown(at, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, o)
		}},
	}
}

// sendingMoves are what can become of a row that is being sent. The rows that
// they are given are at-least-once.
func sendingMoves() []move {
	o := lastlook.Outcome{Err: "e", Answer: "a"}
	return []move{
		{lastlook.EventAccepted, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) { return r.Accepted(at, o) }},
		{lastlook.EventTransient, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			return r.Transient(at, lastlook.Next{Due: at.Add(time.Hour)}, o)
		}},
		{lastlook.EventNotCalled, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) { return r.NotCalled(at, o) }},
		{lastlook.EventMisconfigured, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			return r.Misconfigured(at, at.Add(time.Hour), o)
		}},
		{lastlook.EventOutcomeUnknown, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			return r.OutcomeUnknown(at, lastlook.Next{Due: at.Add(time.Hour)}, o)
		}},
		{lastlook.EventGaveUpUnknown, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			r.Assertion.Guarantee = lastlook.AtMostOnce
			return r.OutcomeUnknown(at, lastlook.Next{}, o)
		}},
		{lastlook.EventRecipientGone, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) { return r.RecipientGone(at, o) }},
		{lastlook.EventRejected, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) { return r.Rejected(at, o) }},
		{lastlook.EventExhausted, func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
			return r.Transient(at, lastlook.Next{Last: true}, o)
		}},
	}
}

// tryRefused makes a move of a copy of the row, and demands that it is refused.
func (f *fixture) tryRefused(m move, r lastlook.Row) {
	f.Helper()
	f.refused(m.make(&r, f.now))
}

// fenceStalePending: the first claim's lease has passed, and another has the
// row. Nothing of the first is written, even though the states agree.
func fenceStalePending(f *fixture) {
	old := f.row(item("a"))
	f.insert(item("b"))
	f.enqueued(lastlook.Marked, edge(item("a"), `2`))
	f.tick(testLease)
	f.claim(5)
	for _, m := range pendingMoves() {
		f.tryRefused(m, old)
	}
	f.tryRefused(move{make: func(r *lastlook.Row, at time.Time) (lastlook.Change, error) { return r.SweepExhausted(at) }}, old)
}

func fenceStaleSending(f *fixture) {
	old := f.sending(item("a"), `1`)
	f.tick(testLease)
	reaped := old
	f.done(reaped.Reap(f.now, lastlook.Next{Due: f.now}))
	fresh := f.claimOne(old.ID)
	for _, m := range sendingMoves() {
		f.tryRefused(m, old) // the row is pending, under another token
	}
	f.assert(&fresh, lastlook.Always(), `2`)
	f.enqueued(lastlook.Marked, edge(item("a"), `2`))
	for _, m := range sendingMoves() {
		f.tryRefused(m, old) // the states agree, the tokens do not
	}
	f.tick(2 * testLease)
	f.tryRefused(move{make: func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
		return r.Reap(at, lastlook.Next{Due: at})
	}}, old)
	f.done(fresh.Accepted(f.now, lastlook.Outcome{}))
	for _, m := range sendingMoves() {
		f.tryRefused(m, old) // the row has ended
	}
	k := f.keyRow(old.ID)
	f.equal("baseline, told by, failures", []any{string(k.Baseline), k.ToldBy, k.Failures}, []any{`2`, old.ID, 0})
}

// fenceReleased: a claim that gave its row back has no say any more, even
// though nobody else has claimed it.
func fenceReleased(f *fixture) {
	give := append(pendingMoves()[2:4], sendingMoves()[1:5]...)
	for i, g := range give {
		r := f.row(item(fmt.Sprintf("s%d", i)))
		old, moves := r, pendingMoves()
		if i >= 2 {
			f.assert(&r, lastlook.Always(), `1`)
			old, moves = r, sendingMoves()
		}
		f.done(g.make(&r, f.now))
		for _, m := range moves {
			f.tryRefused(m, old)
		}
		f.withdraw(r.ID)
	}
}

// fenceNoToken: a row that nobody holds has no token, and a change without one
// must not be taken for its holder's.
func fenceNoToken(f *fixture) {
	id := f.insert(item("a"))[0]
	rec := f.get(id)
	for _, m := range pendingMoves() {
		f.tryRefused(m, lastlook.Row{ID: id, Key: rec.Key, State: rec.State, KeyRow: *rec.KeyRow})
	}
	r := f.claimOne(id)
	r.Token = lastlook.Token{}
	for _, m := range pendingMoves() {
		f.tryRefused(m, r)
	}
}

func fenceState(f *fixture) {
	r := f.row(item("a"))
	pending := r
	f.assert(&r, lastlook.Always(), `1`)
	for _, m := range pendingMoves() {
		f.tryRefused(m, pending)
	}
	f.tryRefused(move{make: func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
		return r.Withdraw(at, lastlook.ReasonCancelled, "operator")
	}}, pending)
	other := f.row(item("b"))
	other.State, other.Assertion = lastlook.StateSending, r.Assertion
	for _, m := range sendingMoves() {
		f.tryRefused(m, other)
	}
	retry := r
	retry.State = lastlook.StateRetry
	f.tryRefused(move{make: func(r *lastlook.Row, at time.Time) (lastlook.Change, error) {
		return r.Withdraw(at, lastlook.ReasonExpired, "sweep")
	}}, retry)
}

func fenceOnce(f *fixture) {
	for i, m := range append(pendingMoves(), sendingMoves()...) {
		r := f.row(item(fmt.Sprintf("s%d", i)))
		if i >= len(pendingMoves()) {
			f.assert(&r, lastlook.Always(), `1`)
		}
		c, err := m.make(&r, f.now)
		f.done(c, err)
		f.refused(c, err)
		if rec := f.get(r.ID); rec.State == lastlook.StateSending {
			f.done(r.Accepted(f.now, lastlook.Outcome{}))
		}
		f.withdraw(r.ID)
		lift := []lastlook.MuteChange{{Recipient: "anna", Channel: "push", Lift: true}}
		f.ok(f.store.Mute(f.Context(), f.now, lift))
	}
}

// fenceRow: the rows of one claim share its token, but a change is one row's.
func fenceRow(f *fixture) {
	ids := f.insert(item("a"), item("b"), item("c"))
	rows := f.claim(5)
	f.done(rows[1].Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{}))
	f.state(rows[1].ID, lastlook.StateDropped)
	for _, id := range ids {
		if id != rows[1].ID {
			f.state(id, lastlook.StatePending)
		}
	}
}

// fenceBatch: lost changes do not take the others of their batch with them,
// and the answers are in the order of the changes.
func fenceBatch(f *fixture) {
	f.insert(item("a"), item("b"), item("c"), item("d"))
	lost := f.claim(2)
	f.tick(testLease)
	rows := f.claim(5)
	var changes []lastlook.Change
	var want []bool
	add := func(r lastlook.Row, ok bool) {
		c, err := r.Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{})
		f.ok(err)
		changes, want = append(changes, c), append(want, ok)
	}
	add(rows[3], true)
	add(lost[1], false)
	add(rows[0], true)
	add(lastlook.Row{ID: 1 << 40, State: lastlook.StatePending, Token: rows[0].Token}, false)
	add(rows[2], true)
	f.equal("answers", f.apply(changes...), want)
	f.equal("what is left", recIDs(f.live()), []lastlook.ID{rows[1].ID})
	f.equal("no changes", f.apply(), []bool{})
}

func fenceUnknown(f *fixture) {
	r := f.row(item("a"))
	f.done(r.Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{}))
	if _, err := f.store.Prune(f.Context(), lastlook.PruneRequest{EndedBefore: f.now.Add(time.Hour)}); err != nil {
		f.Fatalf("prune: %v", err)
	}
	gone := lastlook.Row{ID: r.ID, State: lastlook.StatePending, Token: r.Token, KeyRow: r.KeyRow}
	c, err := gone.Withdraw(f.now, lastlook.ReasonCancelled, "operator")
	f.ok(err)
	f.equal("a change of a row that does not exist", f.apply(c), []bool{false})
}
