package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

var claimClauses = []Clause{
	{Name: "claim/what it returns", Promise: "rule 14", run: claimReturns},
	{Name: "claim/longest due first", Promise: "G9", run: claimOrder},
	{Name: "claim/only due rows", Promise: "rule 14", run: claimDue},
	{Name: "claim/not under a living claim", Promise: "G2", run: claimLiving},
	{Name: "claim/never a row in sending", Promise: "G2", run: claimSending},
	{Name: "claim/retry rows become pending", Promise: "rule 14", run: claimRetry},
	{Name: "claim/attempt cap", Promise: "G6", run: claimCap},
	{Name: "claim/attempts are counted at the claim", Promise: "G6", run: claimCounts},
	{Name: "claim/retries at the head hide nothing", Promise: "G9", run: claimHead},
	{Name: "claim/lanes do not hide each other", Promise: "G9", run: claimBacklog},
	{Name: "claim/only the lanes asked for", Promise: "G9", run: claimAsked},
	{Name: "claim/numbers per lane", Promise: "G9", run: claimPerLane},
	{Name: "claim/expired rows are left to the guard", Promise: "rule 3", run: claimExpired},
	{Name: "claim/hundreds at once", Promise: "G9", run: claimMany},
}

func claimReturns(f *fixture) {
	it := item("a")
	it.Lane, it.Trace, it.Episode = "host", "trace", 3
	id := f.insert(it)[0]
	created := lastlook.Micro(f.now)
	f.tick(1500 * time.Microsecond)
	req := f.request(1)
	r := f.claimReq(req)[0]
	if r.KeyRow.ID == 0 || r.Lane.ID == 0 || r.Lane.ID != req.Lanes[0].Lane.ID {
		f.Fatalf("claimed row with key %d and lane %d, asked for lane %d", r.KeyRow.ID, r.Lane.ID, req.Lanes[0].Lane.ID)
	}
	r.KeyRow.ID, r.Lane.ID, r.Story = 0, 0, nil
	f.equal("the claimed row", r, lastlook.Row{
		ID: id, Key: it.Key, Lane: lastlook.Lane{Topic: "t", Channel: "push", Name: "host"},
		Detection: it.Detection, CreatedAt: created, ExpiresAt: created.Add(lastlook.DefaultExpiry), Trace: "trace", Episode: 3,
		State: lastlook.StatePending, Due: created, Attempt: 1, Token: req.Token, Lease: lastlook.Micro(f.now.Add(testLease)),
	})
	rec := f.get(id)
	f.equal("the record's attempt, lease, due", []any{rec.State, rec.Attempt, rec.Leased, rec.Due},
		[]any{lastlook.StatePending, 1, lastlook.Micro(f.now.Add(testLease)), created})
}

func claimOrder(f *fixture) {
	// Inserted in an order that is neither that of due nor of names.
	var ids []lastlook.ID
	dues := []time.Duration{5, 1, 9, 3, 7, 2, 8, 4, 6}
	for i, d := range dues {
		it := item(fmt.Sprintf("s%d", (i*5)%9))
		it.Due = f.now.Add(d * time.Millisecond)
		ids = append(ids, f.insert(it)[0])
	}
	f.tick(time.Minute)
	for _, want := range [][]time.Duration{{1, 2, 3, 4}, {5, 6, 7, 8}, {9}} {
		var wantIDs []lastlook.ID
		for _, d := range want {
			wantIDs = append(wantIDs, ids[slices.Index(dues, d)])
		}
		slices.Sort(wantIDs)
		f.equal("four rows, in the order of ids", rowIDs(f.claim(4)), wantIDs)
	}
	f.claimNone()
}

func claimDue(f *fixture) {
	it := item("a")
	it.Due = f.now.Add(time.Second)
	id := f.insert(it)[0]
	f.tick(time.Second - time.Microsecond)
	f.claimNone()
	f.tick(time.Microsecond)
	f.claimOne(id)
}

func claimLiving(f *fixture) {
	id := f.insert(item("a"))[0]
	first := f.claimOne(id)
	f.tick(testLease - time.Microsecond)
	f.claimNone()
	// Not through a lane that was listed earlier, either.
	early := lastlook.ClaimRequest{Now: f.now, Token: f.token(), Lanes: []lastlook.LaneClaim{{Lane: first.Lane, N: 5, MaxAttempts: testCap, Lease: testLease}}}
	f.equal("rows claimed", rowIDs(f.claimReq(early)), []lastlook.ID{})
	f.tick(time.Microsecond) // lease <= now: dead
	second := f.claimOne(id)
	if second.Token == first.Token || second.Attempt != 2 || !second.Lease.Equal(lastlook.Micro(f.now.Add(testLease))) {
		f.Fatalf("the second claim: %s", asJSON(second))
	}
}

func claimSending(f *fixture) {
	r := f.sending(item("a"), `1`)
	f.tick(100 * time.Hour)
	f.claimNone()
	// Not through a lane that was listed earlier, either.
	rows := f.claimReq(lastlook.ClaimRequest{Now: f.now, Token: f.token(),
		Lanes: []lastlook.LaneClaim{{Lane: r.Lane, N: 5, MaxAttempts: testCap, Lease: testLease}}})
	f.equal("rows claimed", rowIDs(rows), []lastlook.ID{})
	f.state(r.ID, lastlook.StateSending)
}

func claimRetry(f *fixture) {
	r := f.sending(item("a"), `1`)
	f.done(r.Transient(f.now, lastlook.Next{Due: f.now.Add(30 * time.Second)}, lastlook.Outcome{Err: "503"}))
	f.tick(30*time.Second - time.Microsecond)
	f.claimNone()
	f.tick(time.Microsecond)
	again := f.claimOne(r.ID)
	f.equal("state, attempt, assertion", []any{again.State, again.Attempt, again.Assertion}, []any{lastlook.StatePending, 2, lastlook.Assertion{}})
	if again.Token == r.Token || again.Token.IsZero() {
		f.Fatalf("the token of the second claim: %s, of the first: %s", again.Token, r.Token)
	}
	f.state(r.ID, lastlook.StatePending)
}

func claimCap(f *fixture) {
	id := f.insert(item("a"))[0]
	capped := func(n int) []lastlook.ID {
		req := f.request(5)
		for i := range req.Lanes {
			req.Lanes[i].MaxAttempts = n
		}
		return rowIDs(f.claimReq(req))
	}
	for range 3 { // three crashes
		f.equal("rows below the cap", capped(3), []lastlook.ID{id})
		f.tick(testLease)
	}
	f.equal("rows at the cap", capped(3), []lastlook.ID{})
	f.equal("rows above the cap", capped(2), []lastlook.ID{})
	f.equal("the attempts", f.get(id).Attempt, 3)
	f.equal("rows below a higher cap", capped(4), []lastlook.ID{id})
}

func claimCounts(f *fixture) {
	r := f.row(item("a"))
	f.equal("attempts after the claim", f.get(r.ID).Attempt, 1)
	f.tick(testLease)
	r = f.claimOne(r.ID)
	f.equal("attempts after a crash", f.get(r.ID).Attempt, 2)
	f.done(r.LookUnknown(f.now, lastlook.Next{Due: f.now}, "", lastlook.Outcome{Err: "timeout"}))
	f.equal("attempts after an unknown look", f.get(r.ID).Attempt, 2)
	r = f.claimOne(r.ID)
	f.done(r.Postpone(f.now, f.now, lastlook.Outcome{}))
	f.equal("attempts after one was given back", f.get(r.ID).Attempt, 2)
	r = f.claimOne(r.ID)
	f.equal("attempts at the next claim", r.Attempt, 3)
}

// claimHead: rows that wait for a later retry, and were there first, do not
// count among the N.
func claimHead(f *fixture) {
	var items []lastlook.Item
	for i := range 40 {
		items = append(items, item(fmt.Sprintf("old%02d", i)))
	}
	f.insert(items...)
	for _, r := range f.claim(100) {
		f.done(r.LookUnknown(f.now, lastlook.Next{Due: f.now.Add(time.Hour)}, "", lastlook.Outcome{Err: "x"}))
	}
	items = items[:0]
	for i := range 12 {
		items = append(items, item(fmt.Sprintf("new%02d", i)))
	}
	ids := f.insert(items...)
	got := append(rowIDs(f.claim(5)), rowIDs(f.claim(5))...)
	got = append(got, rowIDs(f.claim(5))...)
	slices.Sort(got)
	slices.Sort(ids)
	f.equal("rows of three claims of five", got, ids)
}

func claimBacklog(f *fixture) {
	var items []lastlook.Item
	for i := range 60 {
		it := item(fmt.Sprintf("slow%02d", i))
		it.Lane = "slow"
		items = append(items, it)
	}
	f.insert(items...)
	quick := item("quick")
	quick.Lane, quick.Due = "quick", f.now.Add(time.Second)
	other := item("other")
	other.Channel = "mail"
	high := item("high")
	high.Lane, high.Priority = "slow", lastlook.PriorityHigh
	ids := f.insert(quick, other, high)
	f.tick(time.Second)
	count := map[string]int{}
	for _, r := range f.claim(3) {
		count[fmt.Sprint(r.Lane.Channel, " ", r.Lane.Name, " ", r.Lane.Priority)]++
		if r.Lane.Name != "slow" || r.Lane.Priority != 0 {
			ids = slices.DeleteFunc(ids, func(id lastlook.ID) bool { return id == r.ID })
		}
	}
	f.equal("rows per lane", count, map[string]int{"push slow 0": 3, "push quick 0": 1, "mail mail 0": 1, "push slow 1": 1})
	f.equal("rows not claimed, of the quick lanes", len(ids), 0)
}

func claimAsked(f *fixture) {
	a, b := item("a"), item("b")
	a.Lane, b.Lane = "one", "two"
	ids := f.insert(a, b)
	f.equal("rows of no lane", rowIDs(f.claimReq(lastlook.ClaimRequest{Now: f.now, Token: f.token()})), []lastlook.ID{})
	req := f.request(0)
	f.equal("no rows of each lane", rowIDs(f.claimReq(req)), []lastlook.ID{})
	req = f.request(5)
	req.Lanes = slices.DeleteFunc(req.Lanes, func(l lastlook.LaneClaim) bool { return l.Lane.Name == "one" })
	f.equal("rows of lane two", rowIDs(f.claimReq(req)), ids[1:])
	f.equal("attempts of the other", f.get(ids[0]).Attempt, 0)
}

func claimPerLane(f *fixture) {
	for _, lane := range []string{"one", "two", "three"} {
		for i := range 4 {
			it := item(fmt.Sprintf("%s%d", lane, i))
			it.Lane = lane
			f.insert(it)
		}
	}
	req := f.request(0)
	want := map[string]int{"one": 1, "two": 3, "three": 4}
	lease := map[string]time.Duration{"one": time.Second, "two": time.Minute, "three": time.Hour}
	for i := range req.Lanes {
		l := &req.Lanes[i]
		l.N, l.Lease = want[l.Lane.Name], lease[l.Lane.Name]
	}
	got := map[string]int{}
	for _, r := range f.claimReq(req) {
		got[r.Lane.Name]++
		f.equal("the lease in lane "+r.Lane.Name, r.Lease, lastlook.Micro(f.now.Add(lease[r.Lane.Name])))
		f.equal("the token", r.Token, req.Token)
	}
	f.equal("rows per lane", got, want)
}

func claimExpired(f *fixture) {
	it := item("a")
	it.ExpiresAt = f.now.Add(time.Hour)
	id := f.insert(it)[0]
	f.tick(2 * time.Hour)
	r := f.claimOne(id)
	reason, stop := guard(&r, lastlook.Always(), f.now)
	f.equal("the guard", []any{reason, stop}, []any{lastlook.ReasonExpired, true})
	f.done(r.Drop(f.now, reason, lastlook.Outcome{}))
}

func claimMany(f *fixture) {
	var items []lastlook.Item
	for i := range 400 {
		it := item(fmt.Sprintf("s%03d", i))
		it.Lane = fmt.Sprintf("host%d", i%3)
		items = append(items, it)
	}
	ids := f.insert(items...)
	slices.Sort(ids)
	rows := f.claim(1000)
	f.equal("rows claimed", rowIDs(rows), ids)
	var changes []lastlook.Change
	for i := range rows {
		c, err := rows[i].Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{Value: []byte(`520`)})
		f.ok(err)
		changes = append(changes, c)
	}
	if done := f.apply(changes...); slices.Contains(done, false) {
		f.Fatalf("of 400 changes some were not made: %v", done)
	}
	f.equal("live rows", len(f.live()), 0)
}
