package storetest

import (
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
)

var liveClauses = []Clause{
	{Name: "live/one row per key", Promise: "G1", run: liveOne},
	{Name: "live/twice in one call", Promise: "G1", run: liveSameCall},
	{Name: "live/ended rows do not block", Promise: "G1", run: liveEnded},
	{Name: "live/recipient gone or muted does", Promise: "G1", run: liveGone},
}

var keyPartClauses = []Clause{
	{Name: "keys/each part counts", Promise: "G1", run: keyParts},
	{Name: "keys/as given", Promise: "G1", run: keyText},
}

// liveOne: in every live state, the key's next item is a duplicate of the row.
func liveOne(f *fixture) {
	id := f.insert(item("a"))[0]
	dup := func(state lastlook.State) {
		f.Helper()
		other := item("a")
		other.Detection = []byte(`{"price":1}`)
		f.equal("a second item", f.enqueued(lastlook.Duplicate, other), lastlook.EnqueueResult{Status: lastlook.Duplicate, ID: id, State: state})
		f.equal("live rows", recIDs(f.live()), []lastlook.ID{id})
		f.equal("the detection", f.get(id).Detection, item("a").Detection)
	}
	dup(lastlook.StatePending)
	r := f.claimOne(id)
	dup(lastlook.StatePending)
	f.assert(&r, lastlook.Always(), `1`)
	dup(lastlook.StateSending)
	f.done(r.Transient(f.now, lastlook.Next{Due: f.now.Add(time.Minute)}, lastlook.Outcome{}))
	dup(lastlook.StateRetry)
	f.tick(time.Hour)
	r = f.claimOne(id)
	f.assert(&r, lastlook.Always(), `1`)
	f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now.Add(time.Minute)}, lastlook.Outcome{}))
	dup(lastlook.StateRetry)
	f.equal("marks of level-triggered items", f.stats().Marks, 0)
}

func liveSameCall(f *fixture) {
	res := f.enqueue(item("b"), item("a"), item("a"), edge(item("a"), `2`), edge(item("c"), `3`))
	a := res[1].ID
	f.equal("results", res, []lastlook.EnqueueResult{
		{Status: lastlook.Inserted, ID: res[0].ID, State: lastlook.StatePending},
		{Status: lastlook.Inserted, ID: a, State: lastlook.StatePending},
		{Status: lastlook.Duplicate, ID: a, State: lastlook.StatePending},
		{Status: lastlook.Marked, ID: a, State: lastlook.StatePending},
		{Status: lastlook.Inserted, ID: res[4].ID, State: lastlook.StatePending},
	})
	f.equal("live rows", len(f.live()), 3)
	f.equal("marks", f.stats().Marks, 1)
}

// liveEnded: however a row ends, if it was not told, the same window takes the
// next one.
func liveEnded(f *fixture) {
	day := lastlook.Day(time.UTC)
	for i, e := range []struct {
		name    string
		sending bool
		end     func(r *lastlook.Row) (lastlook.Change, error)
	}{
		{"condition lost", false, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{Value: []byte(`520`)})
		}},
		{"guarded", false, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.Drop(f.now, lastlook.ReasonAlreadyTold, lastlook.Outcome{})
		}},
		{"look unavailable", false, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.LookUnknown(f.now, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, lastlook.Outcome{Err: "x"})
		}},
		{"cancelled", false, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.Withdraw(f.now, lastlook.ReasonCancelled, "operator")
		}},
		{"rejected", true, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.Rejected(f.now, lastlook.Outcome{Err: "x"})
		}},
		{"attempts exhausted", true, func(r *lastlook.Row) (lastlook.Change, error) {
			return r.Transient(f.now, lastlook.Next{Last: true}, lastlook.Outcome{Err: "x"})
		}},
	} {
		it := in(day, item(fmt.Sprintf("s%d", i)))
		r := f.row(it)
		if e.sending {
			f.assert(&r, day, `1`)
		}
		f.done(e.end(&r))
		res := f.enqueue(it)[0]
		if res.Status != lastlook.Inserted || res.ID == r.ID {
			f.Fatalf("after a row that ended %s: %s, want inserted", e.name, asJSON(res))
		}
		f.withdraw(res.ID)
	}
}

func liveGone(f *fixture) {
	r := f.sending(item("a"), `1`)
	f.done(r.RecipientGone(f.now, lastlook.Outcome{Err: "410"}))
	f.equal("the next item", f.enqueued(lastlook.Muted, item("a")), lastlook.EnqueueResult{Status: lastlook.Muted})
}

func keyParts(f *fixture) {
	base := item("s")
	vary := []lastlook.Key{
		{Topic: "u", Subject: "s", Recipient: "anna", Channel: "push"},
		{Topic: "t", Subject: "s2", Recipient: "anna", Channel: "push"},
		{Topic: "t", Subject: "s", Recipient: "bert", Channel: "push"},
		{Topic: "t", Subject: "s", Recipient: "anna", Channel: "mail"},
		// The same text when the parts are joined.
		{Topic: "t", Subject: "s/anna", Recipient: "push", Channel: "mail"},
		{Topic: "t", Subject: "s", Recipient: "anna/push", Channel: "mail"},
		{Topic: "t", Subject: "sanna", Recipient: "x", Channel: "push"},
		{Topic: "t", Subject: "s", Recipient: "annax", Channel: "push"},
	}
	f.insert(base)
	for _, k := range vary {
		it := base
		it.Key = k
		f.insert(it)
		f.enqueued(lastlook.Duplicate, it)
	}
	f.equal("live rows", len(f.live()), len(vary)+1)
}

// keyText: keys are compared byte by byte, and come back as they were given.
func keyText(f *fixture) {
	subjects := []string{
		"é", "e\u0301", "É", "E", "e", "e ", " e", "ß", "ss", "İ", "i", "I", "ı",
		"👩‍👧", "👩", "\u202Ertl", "שלום", "日本", "a'b", `a"b`, `a\b`, "a%b", "a_b", "axb", "a\nb", "a\r\nb", "a\tb",
		"'; DROP TABLE lastlook_keys; --", "NULL", "null", "0", "00", "1e3", "1000", "\uFEFFx", "x", "\uFFFD", "\U0010FFFF", "{}", "?", ":a", "$1",
	}
	var items []lastlook.Item
	for _, s := range subjects {
		items = append(items, item(s))
	}
	ids := f.insert(items...)
	for i, id := range ids {
		f.equal("the key", f.get(id).Key, items[i].Key)
		f.equal("rows with the subject", recIDs(f.list(lastlook.Query{Subject: subjects[i]})), []lastlook.ID{id})
	}
	for i, res := range f.enqueue(items...) {
		f.equal("the duplicate of "+subjects[i], res, lastlook.EnqueueResult{Status: lastlook.Duplicate, ID: ids[i], State: lastlook.StatePending})
	}
}
