package storetest

import (
	"time"

	"github.com/lastlook/lastlook"
)

var crashClauses = []Clause{
	{Name: "crash/nothing committed is lost", Promise: "G6", needs: needsReopen, run: crashKeeps},
	{Name: "crash/at each step", Promise: "G6", needs: needsReopen, run: crashSteps},
	{Name: "crash/a claim outlives its process", Promise: "G2, G6", needs: needsReopen, run: crashClaim},
}

// crashKeeps: everything reads the same after the process has died.
func crashKeeps(f *fixture) {
	for i, m := range ruleMoves() {
		r := f.bring(string('a'+rune(i)), m.from, m.guar)
		f.done(m.make(&r, f.now))
		if i%2 == 0 {
			f.enqueue(edge(item(r.Key.Subject), `2`))
		}
		f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push", Lift: true}}))
		if rec := f.get(r.ID); rec.State == lastlook.StateSending {
			f.done(r.Accepted(f.now, lastlook.Outcome{}))
		}
		f.claim(5)
	}
	f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "bert", Channel: "push"}}))
	all := func() (recs []lastlook.Record) {
		for _, rec := range f.list(lastlook.Query{Limit: 1000}) {
			recs = append(recs, f.get(rec.ID))
		}
		return recs
	}
	before, stats, swept, lanes := all(), f.stats(), f.sweep(100), f.laneNames([]string{"t"}, []string{"push"})
	f.reopen()
	f.equal("rows", all(), before)
	f.equal("counts", f.stats(), stats)
	f.equal("a sweep", f.sweep(100), swept)
	f.equal("lanes", f.laneNames([]string{"t"}, []string{"push"}), lanes)
}

// crashSteps: the process dies after each step of a delivery; the next one
// brings the row to its end, and the receiver can tell a repeat.
func crashSteps(f *fixture) {
	it := in(lastlook.Once(), item("a"))
	id := f.insert(it)[0]
	f.reopen()
	r := f.claimOne(id)
	f.reopen()
	f.claimNone()
	f.tick(testLease)
	r = f.claimOne(id)
	f.assert(&r, lastlook.Once(), `480`)
	first := lastlook.DeliveryKey(r.Key, f.get(id).Seq)
	f.reopen()
	f.claimNone()
	f.tick(testLease)
	dead := f.sweep(10).Dead
	f.equal("dead rows", rowIDs(dead), []lastlook.ID{id})
	f.done(dead[0].Reap(f.now, lastlook.Next{Due: f.now}))
	f.reopen()
	r = f.claimOne(id)
	f.assert(&r, lastlook.Once(), `480`)
	f.equal("the delivery key of the repeat", lastlook.DeliveryKey(r.Key, f.get(id).Seq), first)
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
	f.reopen()
	rec := f.state(id, lastlook.StateSent)
	f.equal("attempts, events", []any{rec.Attempt, events(rec.Story)}, []any{3, "sending outcome_unknown sending accepted"})
	f.enqueued(lastlook.AlreadyTold, it)
}

// crashClaim: what was claimed before stays claimed, under the same token.
func crashClaim(f *fixture) {
	r := f.row(item("a"))
	f.reopen()
	f.claimNone()
	f.tick(time.Second)
	f.assert(&r, lastlook.Always(), `1`)
	f.reopen()
	f.done(r.Accepted(f.now, lastlook.Outcome{}))
}
