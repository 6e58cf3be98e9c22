package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

var sweepClauses = []Clause{
	{Name: "sweep/finds dead claims", Promise: "G6", run: sweepDead},
	{Name: "sweep/what it returns", Promise: "G6", run: sweepReturns},
	{Name: "sweep/pages", Promise: "G6", run: sweepPages},
	{Name: "sweep/pages while rows end", Promise: "G6", run: sweepEnding},
	{Name: "sweep/changes nothing by itself", Promise: "G6", run: sweepReads},
}

var expiryClauses = []Clause{
	{Name: "expiry/finds what has passed", Promise: "rule 17, C12", run: expiryFinds},
	{Name: "expiry/claimed or not", Promise: "rule 17", run: expiryClaimed},
	{Name: "expiry/not while being sent", Promise: "rule 17", run: expirySending},
	{Name: "expiry/every row ends", Promise: "G6", run: expiryEnds},
}

var muteClauses = []Clause{
	{Name: "mute/keeps items out", Promise: "rule 1", run: muteOut},
	{Name: "mute/is seen by the claim", Promise: "rule 3", run: muteSeen},
	{Name: "mute/by a recipient that is gone", Promise: "rule 12", run: muteGone},
}

func sweepDead(f *fixture) {
	dead := f.sweepScene()
	swept := f.sweep(10)
	f.equal("dead", rowIDs(swept.Dead), dead)
	f.equal("expired", rowIDs(swept.Expired), []lastlook.ID{})
	f.equal("revived, next", []any{len(swept.Revived), swept.Next}, []any{0, ""})
	f.tick(-time.Microsecond)
	f.equal("dead, a moment earlier", rowIDs(f.sweep(10).Dead), []lastlook.ID{})
}

// sweepScene makes a row of every kind and returns the dead ones.
func (f *fixture) sweepScene() (dead []lastlook.ID) {
	f.Helper()
	stranger := item("stranger")
	stranger.Topic = "stranger"
	looking, sending := f.row(item("looking")), f.row(item("sending"))
	f.assert(&sending, lastlook.Always(), `1`)
	retry, given, ended := f.row(item("retry")), f.row(item("given back")), f.row(item("ended"))
	f.done(retry.LookUnknown(f.now, lastlook.Next{Due: f.now.Add(time.Hour)}, "", lastlook.Outcome{Err: "x"}))
	f.done(given.Postpone(f.now, f.now.Add(time.Hour), lastlook.Outcome{}))
	f.dropped(&ended)
	f.insert(stranger)
	f.tick(testLease - time.Second)
	f.row(item("alive"))
	f.insert(item("idle"))
	f.tick(time.Second)
	return []lastlook.ID{looking.ID, sending.ID}
}

func sweepReturns(f *fixture) {
	it := item("a")
	it.Trace, it.Lane, it.Episode = "trace", "host", 4
	f.deliver(it, `400`)
	f.tick(time.Second)
	claimed := f.row(it)
	f.enqueued(lastlook.Marked, edge(it, `2`))
	f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push"}}))
	f.tick(testLease)
	claimed.Muted, claimed.Story = true, nil
	got := f.sweep(10).Dead[0]
	got.Story = nil
	f.equal("a dead row", got, claimed)
	if got.KeyRow.ID != claimed.KeyRow.ID || got.KeyRow.ID == 0 {
		f.Fatalf("the dead row's key has number %d, the claimed one's %d", got.KeyRow.ID, claimed.KeyRow.ID)
	}
}

func sweepPages(f *fixture) {
	var items []lastlook.Item
	for i := range 25 {
		it := item(fmt.Sprintf("s%02d", i))
		it.ExpiresAt = f.now.Add(time.Hour + time.Duration(25-i)*time.Second)
		items = append(items, it)
	}
	ids := f.insert(items...)
	f.claim(10)
	f.tick(2 * time.Hour)
	for _, limit := range []int{1, 3, 10, 25, 26, 1000} {
		got := f.sweep(limit)
		f.equal(fmt.Sprintf("dead rows, %d at a time", limit), len(got.Dead), 10)
		expired := rowIDs(got.Expired)
		slices.Sort(expired)
		f.equal(fmt.Sprintf("expired rows, %d at a time", limit), expired, slices.Sorted(slices.Values(ids)))
	}
}

// sweepEnding: the rows of a page end before the next page is asked for, as
// in a dispatcher; none is passed over.
func sweepEnding(f *fixture) {
	var items []lastlook.Item
	for i := range 20 {
		items = append(items, item(fmt.Sprintf("s%02d", i)))
	}
	f.insert(items...)
	f.claim(7)
	f.tick(48 * time.Hour)
	_, err := sweepAll(f.Context(), f.store, f.now, 3, func(page lastlook.Swept) error {
		seen := map[lastlook.ID]bool{}
		for _, r := range slices.Concat(page.Dead, page.Expired) {
			if seen[r.ID] || !f.get(r.ID).State.Live() {
				continue
			}
			seen[r.ID] = true
			f.done(r.Withdraw(f.now, lastlook.ReasonExpired, "sweep"))
		}
		return nil
	})
	f.ok(err)
	f.equal("live rows", recIDs(f.live()), []lastlook.ID{})
}

func sweepReads(f *fixture) {
	f.sweepScene()
	f.tick(48 * time.Hour)
	before, stats := f.list(lastlook.Query{}), f.stats()
	first := f.sweep(2)
	f.equal("the second sweep", f.sweep(2), first)
	f.equal("rows", f.list(lastlook.Query{}), before)
	f.equal("counts", f.stats(), stats)
}

func expiryFinds(f *fixture) {
	a, b, c := item("a"), item("b"), item("c")
	a.ExpiresAt, b.ExpiresAt, c.ExpiresAt = f.now.Add(time.Hour), f.now.Add(time.Hour), f.now.Add(2*time.Hour)
	b.Topic, b.Channel = "stranger", "fax"
	ids := f.insert(a, b)
	slices.Sort(ids)
	f.insert(c)
	f.tick(time.Hour - time.Microsecond)
	f.equal("expired", rowIDs(f.sweep(10).Expired), []lastlook.ID{})
	f.tick(time.Microsecond) // expiry <= now: passed
	swept := f.sweep(10)
	f.equal("expired", rowIDs(swept.Expired), ids)
	f.equal("dead", rowIDs(swept.Dead), []lastlook.ID{})
	for _, r := range swept.Expired {
		f.done(r.Withdraw(f.now, lastlook.ReasonExpired, "sweep"))
		rec := f.state(r.ID, lastlook.StateDropped)
		f.equal("reason", rec.Reason, lastlook.ReasonExpired)
	}
	f.equal("expired", rowIDs(f.sweep(10).Expired), []lastlook.ID{})
}

func expiryClaimed(f *fixture) {
	retry, held := f.row(item("retry")), f.row(item("held"))
	f.done(retry.LookUnknown(f.now, lastlook.Next{Due: f.now.Add(48 * time.Hour)}, "", lastlook.Outcome{Err: "x"}))
	f.tick(24*time.Hour - time.Second)
	held = f.claimOne(held.ID)
	f.tick(time.Second)
	swept := f.sweep(10)
	f.equal("expired", rowIDs(swept.Expired), []lastlook.ID{retry.ID, held.ID})
	f.equal("dead", rowIDs(swept.Dead), []lastlook.ID{})
	f.tick(testLease)
	swept = f.sweep(10)
	f.equal("expired", rowIDs(swept.Expired), []lastlook.ID{retry.ID, held.ID})
	f.equal("dead", rowIDs(swept.Dead), []lastlook.ID{held.ID})
	for _, r := range swept.Expired {
		f.done(r.Withdraw(f.now, lastlook.ReasonExpired, "sweep"))
	}
	f.tryRefused(pendingMoves()[1], held)
}

// expirySending: nobody takes a row away while it is being delivered; once its
// claim is dead it is reaped, and then expires.
func expirySending(f *fixture) {
	r := f.sending(item("a"), `1`)
	f.tick(48 * time.Hour)
	swept := f.sweep(10)
	f.equal("expired", rowIDs(swept.Expired), []lastlook.ID{})
	f.equal("dead", rowIDs(swept.Dead), []lastlook.ID{r.ID})
	f.done(swept.Dead[0].Reap(f.now, lastlook.Next{Due: f.now.Add(time.Minute)}))
	swept = f.sweep(10)
	f.equal("expired", rowIDs(swept.Expired), []lastlook.ID{r.ID})
	f.equal("dead", rowIDs(swept.Dead), []lastlook.ID{})
}

// expiryEnds: a sweep alone, without any dispatcher, ends everything.
func expiryEnds(f *fixture) {
	f.sweepScene()
	f.mark("looking", `2`)
	f.mark("sending", `2`)
	for range 4 {
		f.tick(48 * time.Hour)
		swept := f.sweep(3)
		for _, r := range swept.Dead {
			if r.State == lastlook.StateSending {
				f.done(r.Reap(f.now, lastlook.Next{Due: f.now}))
			}
		}
		for _, r := range swept.Expired {
			f.done(r.Withdraw(f.now, lastlook.ReasonExpired, "sweep"))
		}
	}
	st := f.stats()
	f.equal("live rows and marks", []int{len(st.Live), st.Marks}, []int{0, 0})
}

func muteOut(f *fixture) {
	mute := func(lift bool, channel string) {
		f.Helper()
		f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: channel, Lift: lift}}))
	}
	mute(false, "push")
	mute(false, "push")
	f.equal("mutes", f.stats().Muted, 1)
	f.equal("an item", f.enqueued(lastlook.Muted, item("a")), lastlook.EnqueueResult{Status: lastlook.Muted})
	f.enqueued(lastlook.Muted, edge(item("b"), `1`))
	mail, bert := item("a"), item("a")
	mail.Channel, bert.Recipient = "mail", "bert"
	f.insert(mail, bert)
	mute(true, "mail") // lifts nothing
	f.equal("mutes", f.stats().Muted, 1)
	mute(true, "push")
	mute(true, "push")
	f.equal("mutes", f.stats().Muted, 0)
	f.insert(item("a"))
	f.ok(f.store.Mute(f.Context(), f.now, nil))
	f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{
		{Recipient: "anna", Channel: "push"}, {Recipient: "bert", Channel: "push"}, {Recipient: "anna", Channel: "push", Lift: true},
	}))
	f.equal("mutes, in the order given", f.stats().Muted, 1)
	f.insert(item("c"))
}

func muteSeen(f *fixture) {
	ids := f.insert(item("a"), item("b"))
	f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push"}}))
	mail := item("a")
	mail.Channel = "mail"
	free := f.insert(mail)[0]
	for _, r := range f.claim(5) {
		f.equal("muted", r.Muted, r.ID != free)
	}
	f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push", Lift: true}}))
	f.tick(testLease)
	for _, r := range f.claim(5) {
		f.equal("muted, after it was lifted", r.Muted, false)
	}
	f.state(ids[0], lastlook.StatePending)
}

func muteGone(f *fixture) {
	f.insert(item("a"), item("b"))
	rows := f.claim(5)
	for i := range rows {
		f.assert(&rows[i], lastlook.Always(), `1`)
		f.done(rows[i].RecipientGone(f.now, lastlook.Outcome{Err: "410"}))
		rec := f.state(rows[i].ID, lastlook.StateDropped)
		f.equal("reason", rec.Reason, lastlook.ReasonRecipientGone)
		f.equal("mutes", f.stats().Muted, 1)
	}
	f.enqueued(lastlook.Muted, item("a"))
	f.enqueued(lastlook.Muted, item("new"))
	f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push", Lift: true}}))
	f.insert(item("new"))
}
