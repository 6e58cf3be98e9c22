package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
)

var getClauses = []Clause{
	{Name: "get/not found", Promise: "G12", run: getMissing},
	{Name: "get/as the list", Promise: "G12", run: getAsList},
}

var storyClauses = []Clause{
	{Name: "story/each step", Promise: "G12", run: storySteps},
	{Name: "story/travels with the row", Promise: "G12", run: storyTravels},
	{Name: "story/any text", Promise: "G12", run: storyText},
	{Name: "story/long ones", Promise: "G12", run: storyLong},
}

func getMissing(f *fixture) {
	id := f.deliver(item("a"), `1`)
	for _, missing := range []lastlook.ID{0, -1, id + 1, 1 << 62} {
		if _, err := f.store.Get(f.Context(), missing); !errors.Is(err, lastlook.ErrNotFound) {
			f.Errorf("Get(%d): error %v, want %v", missing, err, lastlook.ErrNotFound)
		}
	}
	_, err := f.store.Prune(f.Context(), lastlook.PruneRequest{EndedBefore: f.now.Add(time.Second)})
	f.ok(err)
	if _, err := f.store.Get(f.Context(), id); !errors.Is(err, lastlook.ErrNotFound) {
		f.Errorf("Get of a pruned row: error %v, want %v", err, lastlook.ErrNotFound)
	}
}

// getAsList: Get and List say the same of a row, in every state; a List has
// the story and the key row only if asked.
func getAsList(f *fixture) {
	for i, m := range ruleMoves() {
		r := f.bring(fmt.Sprintf("s%02d", i), m.from, m.guar)
		f.mark(r.Key.Subject, `2`)
		f.done(m.make(&r, f.now))
		f.ok(f.store.Mute(f.Context(), f.now, []lastlook.MuteChange{{Recipient: "anna", Channel: "push", Lift: true}}))
		for _, rec := range f.list(lastlook.Query{Subject: r.Key.Subject}) {
			got := f.get(rec.ID)
			full := f.list(lastlook.Query{Subject: r.Key.Subject, Full: true, Before: rec.ID + 1, Limit: 1})
			f.equal("the row by Get, and by a List in full", full, []lastlook.Record{got})
			if full[0].KeyRow.ID != got.KeyRow.ID {
				f.Fatalf("row %d: the number of its key is %d by List, %d by Get", rec.ID, full[0].KeyRow.ID, got.KeyRow.ID)
			}
			if got.KeyRow == nil || len(rec.Story) > 0 || rec.KeyRow != nil {
				f.Fatalf("row %d: key row %v of Get, story %v and key row %v of List", rec.ID, got.KeyRow, rec.Story, rec.KeyRow)
			}
			got.Story, got.KeyRow = nil, nil
			f.equal("the row by Get, and by List", got, rec)
		}
		for _, rec := range f.list(lastlook.Query{Subject: r.Key.Subject}) {
			if rec.State == lastlook.StateSending {
				f.done(r.Accepted(f.now, lastlook.Outcome{}))
			}
		}
		for _, rec := range f.live() {
			f.withdraw(rec.ID)
		}
		for _, rec := range f.live() { // made from a mark
			f.withdraw(rec.ID)
		}
	}
}

func storySteps(f *fixture) {
	it := item("a")
	r := f.row(it)
	f.equal("the story at first", len(f.get(r.ID).Story), 0)
	f.done(r.LookUnknown(f.now, lastlook.Next{Due: f.now}, "", lastlook.Outcome{Err: "timeout"}))
	f.tick(time.Second)
	r = f.claimOne(r.ID)
	f.assert(&r, lastlook.Always(), `{"price":480}`)
	looked := lastlook.Micro(f.now)
	want := []lastlook.Step{
		{At: lastlook.Micro(start), Event: lastlook.EventLookUnknown, State: lastlook.StateRetry, Attempt: 1, Error: "timeout"},
		{At: looked, Event: lastlook.EventSending, State: lastlook.StateSending, Attempt: 2, LookedAt: looked, Value: []byte(`{"price":480}`)},
	}
	f.equal("the story while sending", f.get(r.ID).Story, want)
	f.tick(time.Second)
	f.done(r.Transient(f.now, lastlook.Next{Last: true}, lastlook.Outcome{Err: "503", Answer: "try later"}))
	at := lastlook.Micro(f.now)
	want = append(want,
		lastlook.Step{At: at, Event: lastlook.EventTransient, State: lastlook.StateRetry, Attempt: 2, Error: "503", Answer: "try later"},
		lastlook.Step{At: at, Event: lastlook.EventExhausted, State: lastlook.StateFailed, Attempt: 2, Reason: lastlook.ReasonAttemptsExhausted})
	f.equal("the story at the end", f.get(r.ID).Story, want)
}

// storyTravels: the next claim, the sweep and Get all read the story so far.
func storyTravels(f *fixture) {
	r := f.row(item("a"))
	f.done(r.Postpone(f.now, f.now, lastlook.Outcome{}))
	r = f.claimOne(r.ID)
	f.equal("the claimed row's story", len(r.Story), 1)
	f.assert(&r, lastlook.Always(), `1`)
	f.tick(testLease)
	dead := f.sweep(10).Dead[0]
	f.equal("the dead row's story", dead.Story, f.get(r.ID).Story)
	f.equal("its length", len(dead.Story), 2)
	f.done(dead.Reap(f.now, lastlook.Next{Due: f.now}))
	r = f.claimOne(r.ID)
	f.equal("the events", events(r.Story), "postponed sending outcome_unknown")
	f.done(r.Drop(f.now, lastlook.ReasonConditionLost, lastlook.Outcome{Value: []byte(`520`), LookedAt: f.now}))
	rec := f.get(r.ID)
	f.equal("the events", events(rec.Story), "postponed sending outcome_unknown dropped")
	f.equal("what was seen", []string{string(rec.Seen), string(rec.Asserted)}, []string{`520`, ""})
}

func events(story []lastlook.Step) string {
	var names []string
	for _, s := range story {
		names = append(names, string(s.Event))
	}
	return strings.Join(names, " ")
}

func storyText(f *fixture) {
	text := "\"'`\\ \u2028 é 👩‍👧 \x01 <b>&amp; %s $1 ?1 :x \n\t }{]["
	r := f.sending(item("a"), `{"k\"ey":"v\u0000'x"}`)
	f.done(r.Rejected(f.now, lastlook.Outcome{Err: text, Answer: text, By: text}))
	rec := f.get(r.ID)
	last := rec.Story[len(rec.Story)-1]
	f.equal("the texts", []string{last.Error, last.Answer, last.By}, []string{text, text, text})
	f.equal("the asserted value", string(rec.Asserted), `{"k\"ey":"v\u0000'x"}`)
}

// storyLong: a row that is tried for weeks.
func storyLong(f *fixture) {
	r := f.row(item("a"))
	long := strings.Repeat("é", 400)
	for range 46 {
		f.done(r.Postpone(f.now, f.now, lastlook.Outcome{Err: long, Value: []byte(`"` + long + `"`)}))
		r = f.claimOne(r.ID)
	}
	f.equal("the stored story", f.get(r.ID).Story, r.Story)
	if n := len(r.Story); n > 41 {
		f.Errorf("a story of %d steps", n)
	}
	f.equal("attempts", r.Attempt, 1)
}
