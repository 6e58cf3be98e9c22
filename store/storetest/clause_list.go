package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

var listClauses = []Clause{
	{Name: "list/newest first, by pages", Promise: "G12", run: listPages},
	{Name: "list/filters", Promise: "G12", run: listFilters},
}

var statsClauses = []Clause{
	{Name: "stats/live rows", Promise: "G13", run: statsLive},
	{Name: "stats/ended rows", Promise: "G13", run: statsEnded},
}

func listPages(f *fixture) {
	f.equal("an empty store", recIDs(f.list(lastlook.Query{})), []lastlook.ID{})
	var ids []lastlook.ID
	for i := range 105 {
		ids = append(ids, f.insert(item(fmt.Sprintf("s%03d", i)))...)
	}
	for _, r := range f.claim(20) {
		f.dropped(&r)
	}
	if !slices.IsSorted(ids) {
		f.Fatalf("rows got numbers that do not rise: %v", ids)
	}
	slices.Reverse(ids)
	f.equal("without a limit", recIDs(f.list(lastlook.Query{})), ids[:100])
	f.equal("all", recIDs(f.list(lastlook.Query{Limit: 1000})), ids)
	var got []lastlook.ID
	q := lastlook.Query{Limit: 10}
	for range 11 {
		page := recIDs(f.list(q))
		got = append(got, page...)
		q.Before = page[len(page)-1]
	}
	f.equal("by pages", got, ids)
	f.equal("past the end", recIDs(f.list(q)), []lastlook.ID{})
	f.equal("before a number that is no row's", recIDs(f.list(lastlook.Query{Before: ids[0] + 1000, Limit: 2})), ids[:2])
	ended := lastlook.Query{States: []lastlook.State{lastlook.StateDropped}, Before: ids[90], Limit: 5}
	f.equal("ended ones, by pages", recIDs(f.list(ended)), ids[91:96])
}

func listFilters(f *fixture) {
	for _, topic := range []string{"t", "u"} {
		for _, subject := range []string{"a", "b"} {
			for _, channel := range []string{"push", "mail"} {
				for _, recipient := range []string{"anna", "bert"} {
					it := item(subject)
					it.Topic, it.Channel, it.Recipient = topic, channel, recipient
					f.insert(it)
				}
			}
		}
	}
	for i, r := range f.claim(3) {
		switch i % 6 {
		case 0:
			f.dropped(&r)
		case 1:
			f.done(r.LookUnknown(f.now, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, lastlook.Outcome{Err: "x"}))
		case 2:
			f.done(r.LookUnknown(f.now, lastlook.Next{Due: f.now.Add(time.Hour)}, "", lastlook.Outcome{Err: "x"}))
		case 3:
			f.assert(&r, lastlook.Always(), `1`)
		case 4:
			f.assert(&r, lastlook.Always(), `1`)
			f.done(r.Accepted(f.now, lastlook.Outcome{}))
		}
	}
	all := f.list(lastlook.Query{})
	for _, q := range []lastlook.Query{
		{Topic: "t"}, {Subject: "a"}, {Recipient: "bert"}, {Channel: "mail"},
		{Topic: "t", Subject: "b", Recipient: "anna", Channel: "push"},
		{States: []lastlook.State{lastlook.StatePending}}, {States: []lastlook.State{lastlook.StateSending}},
		{States: []lastlook.State{lastlook.StateRetry}}, {States: []lastlook.State{lastlook.StateSent}},
		{States: []lastlook.State{lastlook.StateDropped}}, {States: []lastlook.State{lastlook.StateFailed}},
		{States: []lastlook.State{lastlook.StateRetry, lastlook.StateSent, lastlook.StateFailed}},
		{States: []lastlook.State{lastlook.StatePending, lastlook.StateDropped}, Channel: "push"},
		{Reason: lastlook.ReasonConditionLost}, {Reason: lastlook.ReasonLookUnavailable, Topic: "u"},
		{Reason: lastlook.ReasonConditionLost, States: []lastlook.State{lastlook.StateFailed}},
		{Topic: "none"}, {Subject: "A"}, {Recipient: "%"}, {Channel: "pus_"},
		{Topic: "t", Before: all[6].ID}, {States: []lastlook.State{lastlook.StatePending, lastlook.StateSent}, Before: all[3].ID, Limit: 2},
	} {
		want := []lastlook.ID{}
		for _, r := range all {
			if selected(q, r) && (q.Limit == 0 || len(want) < q.Limit) {
				want = append(want, r.ID)
			}
		}
		f.equal("rows of "+asJSON(q), recIDs(f.list(q)), want)
	}
}

// selected is what a query means.
func selected(q lastlook.Query, r lastlook.Record) bool {
	for _, p := range [][2]string{{q.Topic, r.Key.Topic}, {q.Subject, r.Key.Subject}, {q.Recipient, r.Key.Recipient}, {q.Channel, r.Key.Channel}, {string(q.Reason), string(r.Reason)}} {
		if p[0] != "" && p[0] != p[1] {
			return false
		}
	}
	return (len(q.States) == 0 || slices.Contains(q.States, r.State)) && (q.Before == 0 || r.ID < q.Before)
}

func statsLive(f *fixture) {
	none := lastlook.Stats{Live: []lastlook.LaneStats{}, Ended: []lastlook.EndCount{}}
	f.equal("an empty store", f.stats(), none)
	var items []lastlook.Item
	for i := range 6 {
		it := item(fmt.Sprintf("s%d", i))
		it.Due = f.now.Add(time.Duration(6-i) * time.Second)
		items = append(items, it)
	}
	high, stranger := item("high"), item("stranger")
	high.Priority, high.Lane, stranger.Topic = lastlook.PriorityHigh, "host", "stranger"
	items = append(items, high, stranger)
	f.insert(items...)
	f.mark("s0", `1`)
	f.mark("s0", `2`)
	f.mark("s1", `2`)
	f.tick(time.Minute)
	push := lastlook.Lane{Topic: "t", Channel: "push", Name: "push"}
	host := lastlook.Lane{Topic: "t", Channel: "push", Name: "host", Priority: lastlook.PriorityHigh}
	strange := lastlook.Lane{Topic: "stranger", Channel: "push", Name: "push"}
	at := func(s int) time.Time { return lastlook.Micro(start.Add(time.Duration(s) * time.Second)) }
	const pending, sending, retry = lastlook.StatePending, lastlook.StateSending, lastlook.StateRetry
	want := func(lanes ...lastlook.LaneStats) {
		f.Helper()
		st := f.stats()
		f.equal("live rows", st.Live, tidyStats(lastlook.Stats{Live: lanes}).Live)
		f.equal("marks", st.Marks, 3)
	}
	hostRow := lastlook.LaneStats{Lane: host, State: pending, Count: 1, OldestDue: at(0)}
	strangeRow := lastlook.LaneStats{Lane: strange, State: pending, Count: 1, OldestDue: at(0)}
	want(hostRow, strangeRow, lastlook.LaneStats{Lane: push, State: pending, Count: 6, OldestDue: at(1)})
	rows := f.claim(4) // of the push lane, the last four; and the host's row
	hostRow.Leased = 1
	want(hostRow, strangeRow, lastlook.LaneStats{Lane: push, State: pending, Count: 6, Leased: 4, OldestDue: at(1)})
	for i := range rows {
		switch rows[i].Key.Subject {
		case "s5":
			f.assert(&rows[i], lastlook.Always(), `1`)
		case "s4":
			f.done(rows[i].LookUnknown(f.now, lastlook.Next{Due: f.now.Add(time.Hour)}, "", lastlook.Outcome{}))
		}
	}
	want(hostRow, strangeRow,
		lastlook.LaneStats{Lane: push, State: pending, Count: 4, Leased: 2, OldestDue: at(3)},
		lastlook.LaneStats{Lane: push, State: sending, Count: 1, Leased: 1, OldestDue: at(1)},
		lastlook.LaneStats{Lane: push, State: retry, Count: 1, OldestDue: at(60 + 3600)})
	f.tick(testLease)
	hostRow.Leased = 0
	want(hostRow, strangeRow,
		lastlook.LaneStats{Lane: push, State: pending, Count: 4, OldestDue: at(3)},
		lastlook.LaneStats{Lane: push, State: sending, Count: 1, OldestDue: at(1)},
		lastlook.LaneStats{Lane: push, State: retry, Count: 1, OldestDue: at(60 + 3600)})
}

func statsEnded(f *fixture) {
	f.deliver(item("a"), `1`)
	f.deliver(item("b"), `1`)
	other := item("a")
	other.Topic = "u"
	r := f.row(other)
	f.dropped(&r)
	f.tick(time.Hour)
	middle := f.now.Add(-time.Minute)
	r = f.row(other)
	f.dropped(&r)
	f.deliver(item("b"), `2`)
	r = f.row(item("c"))
	f.done(r.LookUnknown(f.now, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, lastlook.Outcome{}))
	want := func(since time.Time, counts ...lastlook.EndCount) {
		f.Helper()
		st, err := f.store.Stats(f.Context(), f.now, since)
		f.ok(err)
		f.equal("ended rows", tidyStats(st).Ended, append([]lastlook.EndCount{}, counts...))
	}
	failed := lastlook.EndCount{Topic: "t", State: lastlook.StateFailed, Reason: lastlook.ReasonLookUnavailable, Count: 1}
	sent := lastlook.EndCount{Topic: "t", State: lastlook.StateSent, Count: 1}
	dropped := lastlook.EndCount{Topic: "u", State: lastlook.StateDropped, Reason: lastlook.ReasonConditionLost, Count: 1}
	want(f.now.Add(time.Second))
	want(middle, sent, failed, dropped)
	sent.Count, dropped.Count = 3, 2
	want(start.Add(-time.Second), sent, failed, dropped)
}
