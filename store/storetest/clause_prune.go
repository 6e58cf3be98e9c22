package storetest

import (
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
)

var pruneClauses = []Clause{
	{Name: "prune/ended rows only", Promise: "retention", run: pruneEnded},
	{Name: "prune/by time and reason", Promise: "retention", run: pruneSelects},
	{Name: "prune/limit", Promise: "retention", run: pruneLimit},
	{Name: "prune/numbers are not used again", Promise: "G2", run: pruneNumbers},
	{Name: "prune/idle keys", Promise: "retention", run: pruneKeys},
	{Name: "prune/keys in use", Promise: "retention", run: pruneKeysInUse},
	{Name: "prune/keys told without end", Promise: "retention, G1", run: pruneKeysTold},
}

func (f *fixture) prune(r lastlook.PruneRequest) lastlook.Pruned {
	f.Helper()
	got, err := f.store.Prune(f.Context(), r)
	f.ok(err)
	return got
}

func pruneEnded(f *fixture) {
	f.sweepScene()
	f.mark("looking", `1`)
	f.tick(1000 * time.Hour)
	live, marks := f.live(), f.stats().Marks
	f.equal("pruned", f.prune(lastlook.PruneRequest{EndedBefore: f.now, KeysIdleBefore: f.now}), lastlook.Pruned{Notifications: 1, Keys: 1})
	f.equal("live rows", f.live(), live)
	f.equal("all rows", len(f.list(lastlook.Query{})), len(live))
	f.equal("marks", f.stats().Marks, marks)
	f.equal("pruned again", f.prune(lastlook.PruneRequest{EndedBefore: f.now, KeysIdleBefore: f.now}), lastlook.Pruned{})
}

func pruneSelects(f *fixture) {
	end := map[string]func(r *lastlook.Row){
		"sent": func(r *lastlook.Row) {
			f.assert(r, lastlook.Always(), `1`)
			f.done(r.Accepted(f.now, lastlook.Outcome{}))
		},
		"lost": f.dropped,
		"failed": func(r *lastlook.Row) {
			f.done(r.LookUnknown(f.now, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, lastlook.Outcome{}))
		},
	}
	ids := map[string]lastlook.ID{}
	for day := range 2 {
		for _, name := range []string{"sent", "lost", "failed"} {
			r := f.row(item(fmt.Sprint(name, day)))
			end[name](&r)
			ids[fmt.Sprint(name, day)] = r.ID
		}
		f.tick(24 * time.Hour)
	}
	left := func(what string, n int, names ...string) {
		f.Helper()
		f.equal("rows after "+what, len(f.list(lastlook.Query{})), n)
		for _, name := range names {
			f.get(ids[name])
		}
	}
	secondDay := start.Add(24 * time.Hour)
	f.equal("nothing", f.prune(lastlook.PruneRequest{}), lastlook.Pruned{})
	f.equal("before the first end", f.prune(lastlook.PruneRequest{EndedBefore: start}), lastlook.Pruned{})
	f.equal("sent ones", f.prune(lastlook.PruneRequest{EndedBefore: secondDay, Reasons: []lastlook.Reason{""}}), lastlook.Pruned{Notifications: 1})
	left("pruning sent ones", 5, "lost0", "failed0", "sent1", "lost1", "failed1")
	f.equal("failed ones", f.prune(lastlook.PruneRequest{EndedBefore: f.now, Reasons: []lastlook.Reason{"x", lastlook.ReasonLookUnavailable}}), lastlook.Pruned{Notifications: 2})
	left("pruning failed ones", 3, "lost0", "sent1", "lost1")
	f.equal("up to the second day", f.prune(lastlook.PruneRequest{EndedBefore: secondDay}), lastlook.Pruned{Notifications: 1})
	left("pruning the first day", 2, "sent1", "lost1")
	f.equal("a reason and sent ones", f.prune(lastlook.PruneRequest{EndedBefore: f.now, Reasons: []lastlook.Reason{"", lastlook.ReasonConditionLost}}), lastlook.Pruned{Notifications: 2})
}

func pruneLimit(f *fixture) {
	var items []lastlook.Item
	for i := range 11 {
		items = append(items, item(fmt.Sprintf("s%02d", i)))
	}
	f.insert(items...)
	for _, r := range f.claim(20) {
		f.dropped(&r)
	}
	f.tick(time.Hour)
	req := lastlook.PruneRequest{EndedBefore: f.now, Limit: 4}
	for i, want := range []int{4, 4, 3, 0} {
		f.equal(fmt.Sprintf("call %d", i+1), f.prune(req), lastlook.Pruned{Notifications: want})
	}
	req.KeysIdleBefore = f.now
	for i, want := range []int{4, 4, 3, 0} {
		f.equal(fmt.Sprintf("call %d for keys", i+1), f.prune(req), lastlook.Pruned{Keys: want})
	}
}

func pruneNumbers(f *fixture) {
	old := f.row(item("a"))
	f.dropped(&old)
	f.tick(time.Hour)
	f.equal("pruned", f.prune(lastlook.PruneRequest{EndedBefore: f.now, KeysIdleBefore: f.now}), lastlook.Pruned{Notifications: 1, Keys: 1})
	if f.h.Reopen != nil {
		f.reopen()
	}
	next := f.insert(item("a"))[0]
	if next <= old.ID {
		f.Fatalf("after row %d was pruned, a new one got number %d", old.ID, next)
	}
}

// pruneKeys: a key that nothing refers to is forgotten, with its baseline.
func pruneKeys(f *fixture) {
	day := in(lastlook.Day(time.UTC), item("a"))
	id := f.deliver(day, `480`)
	r := f.row(item("b"))
	f.done(r.LookUnknown(f.now, lastlook.Next{Last: true}, lastlook.ReasonLookUnavailable, lastlook.Outcome{}))
	f.tick(100 * time.Hour)
	// As long as a row of theirs is there, the keys stay.
	f.equal("keys with rows", f.prune(lastlook.PruneRequest{KeysIdleBefore: f.now}), lastlook.Pruned{})
	f.equal("rows", f.prune(lastlook.PruneRequest{EndedBefore: f.now}), lastlook.Pruned{Notifications: 2})
	f.equal("keys used since", f.prune(lastlook.PruneRequest{KeysIdleBefore: start.Add(-time.Hour)}), lastlook.Pruned{})
	f.equal("idle keys", f.prune(lastlook.PruneRequest{KeysIdleBefore: f.now.Add(-time.Hour)}), lastlook.Pruned{Keys: 2})
	for _, it := range []lastlook.Item{day, item("b")} {
		r := f.row(it)
		k := r.KeyRow
		k.ID = 0
		f.equal("the key row", k, lastlook.KeyRow{})
		if r.ID <= id {
			f.Fatalf("row %d after row %d", r.ID, id)
		}
		f.dropped(&r)
	}
}

// pruneKeysInUse: neither a live row nor a mark loses its key.
func pruneKeysInUse(f *fixture) {
	f.deliver(item("a"), `"a"`)
	f.deliver(item("b"), `"b"`)
	f.tick(time.Second)
	waiting, held := item("a"), f.row(item("b"))
	waiting.ExpiresAt, waiting.Due = f.now.Add(1000*time.Hour), f.now.Add(200*time.Hour)
	id := f.insert(waiting)[0]
	f.mark("b", `2`)
	f.tick(500 * time.Hour)
	f.equal("pruned", f.prune(lastlook.PruneRequest{EndedBefore: f.now, KeysIdleBefore: f.now}), lastlook.Pruned{Notifications: 2})
	f.equal("a waiting row's baseline", string(f.keyRow(id).Baseline), `"a"`)
	f.equal("a held row's baseline", string(f.keyRow(held.ID).Baseline), `"b"`)
	f.marks(1)
	f.dropped(&held)
	f.marks(0)
	f.equal("pruned", f.prune(lastlook.PruneRequest{EndedBefore: f.now.Add(time.Hour), KeysIdleBefore: f.now.Add(time.Hour)}), lastlook.Pruned{Notifications: 1})
	f.claim(5)
	for _, rec := range f.live() {
		f.equal("baseline of "+rec.Key.Subject, string(f.keyRow(rec.ID).Baseline), `"`+rec.Key.Subject+`"`)
	}
}

func pruneKeysTold(f *fixture) {
	once, episode := in(lastlook.Once(), item("once")), in(lastlook.Episodes(), item("episode"))
	episode.Episode = 3
	first, second := f.deliver(once, `1`), f.deliver(episode, `1`)
	f.deliver(in(lastlook.Every(time.Hour), item("every")), `1`)
	f.deliver(in(lastlook.Always(), item("always")), `1`)
	f.tick(10000 * time.Hour)
	f.equal("pruned", f.prune(lastlook.PruneRequest{EndedBefore: f.now, KeysIdleBefore: f.now.Add(-time.Hour)}), lastlook.Pruned{Notifications: 4, Keys: 2})
	f.equal("told once", f.enqueued(lastlook.AlreadyTold, once).ID, first)
	f.equal("told in an episode", f.enqueued(lastlook.AlreadyTold, episode).ID, second)
}
