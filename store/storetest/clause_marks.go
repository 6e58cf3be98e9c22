package storetest

import (
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
)

var markClauses = []Clause{
	{Name: "marks/left by an edge that meets a live row", Promise: "G8", run: markLeft},
	{Name: "marks/not in a told window, not when muted", Promise: "G8", run: markNot},
	{Name: "marks/unread becomes a row", Promise: "G8", run: markUnread},
	{Name: "marks/read goes with the row", Promise: "G8", run: markRead},
	{Name: "marks/of a dead claim are read again", Promise: "G8, C13", run: markDeadClaim},
	{Name: "marks/of a claim that gave back are read again", Promise: "G8", run: markGivenBack},
	{Name: "marks/some read, some not", Promise: "G8", run: markSome},
	{Name: "marks/the new row is the last mark's", Promise: "G8", run: markRevived},
	{Name: "marks/the new row waits as any other", Promise: "G8, G10", run: markDue},
	{Name: "marks/made a row even if told or muted", Promise: "G8", run: markTold},
}

var markEndClauses = []Clause{
	{Name: "marks/the reaper ends as the holder does", Promise: "G8", run: markReaped},
	{Name: "marks/the sweep ends as the holder does", Promise: "G8, C13", run: markSwept},
	{Name: "marks/a crash loop ends", Promise: "G6, C13", run: markCrashLoop},
	{Name: "marks/what a claim read survives a crash", Promise: "C13", needs: needsReopen, run: markReopen},
	{Name: "marks/an operator takes only what the claim has read", Promise: "G8", run: markWithdrawn},
	{Name: "marks/a removed subject takes all", Promise: "C5", run: markRemoved},
	{Name: "marks/of other keys are left alone", Promise: "G8", run: markOthers},
	{Name: "marks/without a live row are swept up", Promise: "G8", needs: needsOrphan, run: markOrphan},
}

// mark leaves a mark on the subject's live row.
func (f *fixture) mark(subject, detection string) {
	f.Helper()
	f.enqueued(lastlook.Marked, edge(item(subject), detection))
}

// marks demands how many marks are left in all.
func (f *fixture) marks(want int) {
	f.Helper()
	f.equal("marks", f.stats().Marks, want)
}

// dropped ends a claimed row by a verdict.
func (f *fixture) dropped(r *lastlook.Row) {
	f.Helper()
	f.done(r.Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{}))
}

// revived demands that exactly one live row is left, made from a mark with
// this detection.
func (f *fixture) revived(after lastlook.ID, detection string) lastlook.Record {
	f.Helper()
	live := f.live()
	if len(live) != 1 || live[0].ID <= after || string(live[0].Detection) != detection || live[0].State != lastlook.StatePending {
		f.Fatalf("live rows %s, want one newer than %d with detection %s", asJSON(live), after, detection)
	}
	return live[0]
}

func markLeft(f *fixture) {
	id := f.insert(item("a"))[0]
	n := 0
	mark := func(state lastlook.State) {
		f.Helper()
		n++
		f.equal("an edge", f.enqueued(lastlook.Marked, edge(item("a"), fmt.Sprint(n))), lastlook.EnqueueResult{Status: lastlook.Marked, ID: id, State: state})
		f.marks(n)
		f.equal("marks of the row", []int{f.get(id).Marks, f.live()[0].Marks}, []int{n, n})
		f.equal("the detection", f.get(id).Detection, item("a").Detection)
	}
	mark(lastlook.StatePending)
	r := f.claimOne(id)
	mark(lastlook.StatePending)
	f.assert(&r, lastlook.Always(), `1`)
	mark(lastlook.StateSending)
	f.done(r.Transient(f.now, lastlook.Next{Due: f.now.Add(time.Minute)}, lastlook.Outcome{}))
	mark(lastlook.StateRetry)
	f.equal("live rows", recIDs(f.live()), []lastlook.ID{id})
}

func markNot(f *fixture) {
	once := func(s string) lastlook.Item { return in(lastlook.Once(), item(s)) }
	r := f.sending(once("a"), `1`)
	f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now.Add(time.Hour)}, lastlook.Outcome{}))
	f.equal("an edge in a told window", f.enqueued(lastlook.AlreadyTold, edge(once("a"), `2`)),
		lastlook.EnqueueResult{Status: lastlook.AlreadyTold, ID: r.ID, State: lastlook.StateRetry})
	b := f.insert(once("b"))[0]
	f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push"}}))
	f.equal("an edge of a muted recipient", f.enqueued(lastlook.Muted, edge(once("b"), `2`)), lastlook.EnqueueResult{Status: lastlook.Muted})
	f.equal("a level of a muted recipient", f.enqueued(lastlook.Duplicate, once("b")),
		lastlook.EnqueueResult{Status: lastlook.Duplicate, ID: b, State: lastlook.StatePending})
	f.marks(0)
}

// markUnread: what was noticed after the claim was not in its look.
func markUnread(f *fixture) {
	r := f.row(item("a"))
	f.mark("a", `2`)
	f.dropped(&r)
	f.state(r.ID, lastlook.StateDropped)
	next := f.revived(r.ID, `2`)
	f.marks(0)
	f.enqueued(lastlook.Duplicate, item("a"))
	again := f.claimOne(next.ID)
	f.dropped(&again)
	f.equal("live rows", len(f.live()), 0)
}

func markRead(f *fixture) {
	id := f.insert(item("a"))[0]
	f.mark("a", `2`)
	f.mark("a", `3`)
	r := f.claimOne(id)
	f.marks(2)
	f.assert(&r, lastlook.Always(), `1`)
	f.marks(2)
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	f.marks(0)
	f.equal("live rows", len(f.live()), 0)
}

func markDeadClaim(f *fixture) {
	id := f.insert(item("a"))[0]
	f.mark("a", `2`)
	f.claimOne(id) // and dies
	f.mark("a", `3`)
	f.tick(testLease)
	r := f.claimOne(id)
	f.dropped(&r)
	f.marks(0)
	f.equal("live rows", len(f.live()), 0)
}

func markGivenBack(f *fixture) {
	id := f.insert(item("a"))[0]
	f.mark("a", `2`)
	r := f.claimOne(id)
	f.done(r.Postpone(f.now, f.now, lastlook.Outcome{}))
	f.marks(1)
	r = f.claimOne(id)
	f.done(r.LookUnknown(f.now, lastlook.Next{Due: f.now}, "", lastlook.Outcome{Err: "x"}))
	f.mark("a", `3`)
	r = f.claimOne(id)
	f.assert(&r, lastlook.Always(), `1`)
	f.done(r.Transient(f.now, lastlook.Next{Due: f.now}, lastlook.Outcome{Err: "x"}))
	f.marks(2)
	r = f.claimOne(id)
	f.dropped(&r)
	f.marks(0)
	f.equal("live rows", len(f.live()), 0)
}

func markSome(f *fixture) {
	id := f.insert(item("a"))[0]
	f.mark("a", `"read"`)
	r := f.claimOne(id)
	f.mark("a", `"first unread"`)
	f.mark("a", `"last unread"`)
	f.dropped(&r)
	f.revived(id, `"last unread"`)
	f.marks(0)
}

func markRevived(f *fixture) {
	r := f.row(item("a"))
	it := edge(item("a"), `{"price":  470}`)
	it.Lane, it.Trace, it.Episode, it.Priority = "host2", "trace2", 9, lastlook.PriorityLow
	it.ExpiresAt = f.now.Add(99 * time.Minute)
	f.mark("a", `"older"`)
	f.enqueued(lastlook.Marked, it)
	f.tick(time.Second)
	f.dropped(&r)
	now := lastlook.Micro(f.now)
	rec := f.get(f.revived(r.ID, `{"price":  470}`).ID)
	rec.KeyRow = nil
	f.equal("the new row", rec, lastlook.Record{
		ID: rec.ID, Key: it.Key, Lane: "host2", Priority: lastlook.PriorityLow, State: lastlook.StatePending,
		Detection: it.Detection, CreatedAt: now, ExpiresAt: lastlook.Micro(it.ExpiresAt), Trace: "trace2", Episode: 9, Due: now,
	})
	f.claimOne(rec.ID)
}

func markDue(f *fixture) {
	later := edge(item("a"), `2`)
	later.Due = f.now.Add(10 * time.Minute)
	r := f.row(item("a"))
	f.enqueued(lastlook.Marked, later)
	f.dropped(&r)
	next := f.revived(r.ID, `2`)
	f.equal("due at the mark's time", next.Due, lastlook.Micro(later.Due))
	f.tick(time.Hour)

	// The failure of the row that ends counts already.
	r = f.claimOne(next.ID)
	f.mark("a", `3`)
	f.done(r.LookUnknown(f.now, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, lastlook.Outcome{Err: "x"}))
	f.equal("due after a failure", f.revived(next.ID, `3`).Due, lastlook.Micro(f.now.Add(backoff(0))))
}

// markTold: the guards at the claim, not the end of the row before, say why an
// edge was not told.
func markTold(f *fixture) {
	once := in(lastlook.Once(), item("a"))
	r := f.sending(once, `1`)
	f.enqueued(lastlook.Marked, edge(once, `2`))
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	next := f.claimOne(f.revived(r.ID, `2`).ID)
	reason, stop := guard(&next, lastlook.Once(), f.now)
	f.equal("the guard", []any{reason, stop}, []any{lastlook.ReasonAlreadyTold, true})
	f.done(next.Drop(f.now, reason, lastlook.Outcome{}))

	r = f.sending(item("b"), `1`)
	f.mark("b", `2`)
	f.done(r.RecipientGone(f.now, lastlook.Outcome{}))
	f.tick(backoff(0)) // it counts as a failure
	next = f.claimOne(f.revived(r.ID, `2`).ID)
	reason, stop = guard(&next, lastlook.Always(), f.now)
	f.equal("the guard", []any{reason, stop}, []any{lastlook.ReasonMuted, true})
}

func markReaped(f *fixture) {
	id := f.insert(item("a"))[0]
	f.mark("a", `"read"`)
	r := f.claimOne(id)
	f.assert(&r, lastlook.Always(), `1`)
	f.mark("a", `"unread"`)
	f.tick(testLease)
	dead := f.sweep(10).Dead[0]
	f.done(dead.Reap(f.now, lastlook.Next{Due: f.now}))
	f.marks(2) // the row lives on
	r = f.claimOne(id)
	f.assert(&r, lastlook.Always(), `1`)
	f.mark("a", `"late"`)
	f.tick(testLease)
	dead = f.sweep(10).Dead[0]
	f.done(dead.Reap(f.now, lastlook.Next{Last: true}))
	f.revived(id, `"late"`)
	f.marks(0)
}

func markSwept(f *fixture) {
	id := f.insert(item("a"), item("b"))[0]
	f.mark("a", `"read"`)
	rows := f.claim(5)
	f.mark("b", `"unread"`)
	f.tick(testLease)
	for _, dead := range f.sweep(10).Dead {
		f.done(dead.SweepExhausted(f.now))
	}
	f.state(id, lastlook.StateFailed)
	f.revived(rows[1].ID, `"unread"`)
	f.marks(0)
}

// markCrashLoop: an edge whose row kills the process does not come back with
// fresh attempts for ever.
func markCrashLoop(f *fixture) {
	id := f.insert(item("a"))[0]
	f.mark("a", `2`)
	for range testCap {
		f.claimOne(id)
		f.tick(testLease)
	}
	f.claimNone()
	dead := f.sweep(10).Dead
	f.equal("dead rows", rowIDs(dead), []lastlook.ID{id})
	f.done(dead[0].SweepExhausted(f.now))
	f.marks(0)
	f.equal("live rows", len(f.live()), 0)
	f.equal("rows", recIDs(f.list(lastlook.Query{})), []lastlook.ID{id})
}

func markReopen(f *fixture) {
	id := f.insert(item("a"))[0]
	f.mark("a", `2`)
	f.claimOne(id)
	f.reopen()
	f.marks(1)
	f.tick(testLease)
	dead := f.sweep(10).Dead[0]
	f.done(dead.SweepExhausted(f.now))
	f.marks(0)
	f.equal("live rows", len(f.live()), 0)
}

func markWithdrawn(f *fixture) {
	// Never claimed: nothing has been read.
	id := f.insert(item("a"))[0]
	f.mark("a", `2`)
	f.withdraw(id)
	next := f.revived(id, `2`)

	// In retry, its token cleared: the mark that came since has not been read,
	// nor will the claim that read the first one tell of it.
	f.mark("a", `3`)
	r := f.claimOne(next.ID)
	f.done(r.LookUnknown(f.now, lastlook.Next{Due: f.now}, "", lastlook.Outcome{Err: "x"}))
	f.mark("a", `4`)
	f.withdraw(next.ID)
	next = f.revived(next.ID, `4`)

	// Under a claim that has read the mark; the token compared is the row's,
	// not that of the one who ends it.
	f.mark("a", `5`)
	unclaimed := operatorRow(f.get(next.ID))
	r = f.claimOne(next.ID)
	f.done(unclaimed.Withdraw(f.now, lastlook.ReasonCancelled, "operator"))
	f.marks(0)
	f.equal("live rows", len(f.live()), 0)
	f.tryRefused(pendingMoves()[0], r)
}

func markRemoved(f *fixture) {
	r := f.row(item("a"))
	f.mark("a", `2`)
	removed := operatorRow(f.get(r.ID))
	f.done(removed.Withdraw(f.now, lastlook.ReasonWatchRemoved, "DropSubject"))
	f.marks(0)
	f.equal("live rows", len(f.live()), 0)
	f.tryRefused(pendingMoves()[0], r)
}

func markOthers(f *fixture) {
	ids := f.insert(item("a"), item("b"))
	f.mark("a", `1`)
	f.mark("b", `2`)
	rows := f.claim(5) // one token for both
	f.dropped(&rows[0])
	f.marks(1)
	f.equal("live rows", recIDs(f.live()), ids[1:])
	removed := operatorRow(f.get(rows[1].ID))
	f.insert(item("c"))
	f.mark("c", `3`)
	f.done(removed.Withdraw(f.now, lastlook.ReasonWatchRemoved, "DropSubject"))
	f.marks(1)
}

func markOrphan(f *fixture) {
	r := f.row(item("a"))
	f.dropped(&r)
	it := edge(item("a"), `"late"`)
	it.Trace = "late"
	f.h.Orphan(f, f.store, f.now, it)
	f.marks(1)
	swept := f.sweep(10)
	rec := f.revived(r.ID, `"late"`)
	f.equal("rows revived", swept.Revived, []lastlook.ID{rec.ID})
	f.equal("trace, due", []any{rec.Trace, rec.Due}, []any{"late", lastlook.Micro(f.now)})
	f.marks(0)
	f.equal("rows revived again", len(f.sweep(10).Revived), 0)
}
