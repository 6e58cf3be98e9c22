package storetest

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// pair makes the same calls of the store under test and of an oracle, and
// compares what they say. Its callers see the store's answers only. Without an
// oracle it just makes the calls.
type pair struct {
	TB
	store  lastlook.Store
	oracle lastlook.Store // nil: no comparison

	// ids maps the store's identifiers to the oracle's, back the reverse.
	ids, back map[lastlook.ID]lastlook.ID
	keys      map[lastlook.ID]lastlook.Key
	lanes     map[lastlook.Lane]int64 // the oracle's, by lane without its ID
	// born is told of rows that are made from marks.
	born func(k lastlook.Key, rec lastlook.Record)
}

func newPair(tb TB, store, oracle lastlook.Store) *pair {
	return &pair{TB: tb, store: store, oracle: oracle, ids: map[lastlook.ID]lastlook.ID{}, back: map[lastlook.ID]lastlook.ID{},
		keys: map[lastlook.ID]lastlook.Key{}, lanes: map[lastlook.Lane]int64{}, born: func(lastlook.Key, lastlook.Record) {}}
}

// same compares the store's answer with the oracle's, in the store's numbers.
func (p *pair) same(what string, got, want any) {
	p.Helper()
	if p.oracle == nil {
		return
	}
	if g, w := asJSON(got), asJSON(want); g != w {
		p.Fatalf("%s: the store and the oracle differ:\n store %s\noracle %s", what, g, w)
	}
}

// check demands that a call succeeded on both sides.
func (p *pair) check(what string, err, oracleErr error) {
	p.Helper()
	if err != nil || oracleErr != nil {
		p.Fatalf("%s: error %v of the store, %v of the oracle", what, err, oracleErr)
	}
}

// meet notes that two rows are the same one.
func (p *pair) meet(key lastlook.Key, id, oracleID lastlook.ID) {
	p.Helper()
	if old, ok := p.keys[id]; ok {
		p.Fatalf("row %d of key %s: the number was used before, by key %s", id, key, old)
	}
	p.keys[id], p.ids[id], p.back[oracleID] = key, oracleID, id
}

// mine translates an identifier of the oracle's.
func (p *pair) mine(id lastlook.ID) lastlook.ID {
	if id == 0 {
		return 0
	}
	return p.back[id]
}

func (p *pair) mineKeyRow(k lastlook.KeyRow) lastlook.KeyRow {
	k.ToldBy, k.Last.ID = p.mine(k.ToldBy), p.mine(k.Last.ID)
	return k
}

func (p *pair) mineRows(rows []lastlook.Row) []lastlook.Row {
	rows = slices.Clone(rows)
	for i := range rows {
		r := &rows[i]
		r.ID, r.RetryOf, r.KeyRow = p.mine(r.ID), p.mine(r.RetryOf), p.mineKeyRow(r.KeyRow)
	}
	return sortRows(rows)
}

func (p *pair) mineRecords(recs []lastlook.Record) []lastlook.Record {
	for i := range recs {
		r := &recs[i]
		r.ID, r.RetryOf = p.mine(r.ID), p.mine(r.RetryOf)
		if r.KeyRow != nil {
			r.KeyRow = new(p.mineKeyRow(*r.KeyRow))
		}
	}
	slices.SortFunc(recs, func(a, b lastlook.Record) int { return cmp.Compare(b.ID, a.ID) })
	return recs
}

// sortRows brings rows into the order of identifiers, and empty stories into
// one form.
func sortRows(rows []lastlook.Row) []lastlook.Row {
	rows = append([]lastlook.Row{}, rows...)
	for i := range rows {
		if len(rows[i].Story) == 0 {
			rows[i].Story = nil
		}
	}
	slices.SortFunc(rows, func(a, b lastlook.Row) int { return cmp.Compare(a.ID, b.ID) })
	return rows
}

func errorClass(err error) string {
	for _, e := range []error{lastlook.ErrInvalid, lastlook.ErrPayloadTooLarge, lastlook.ErrWindowBackwards, lastlook.ErrClock, lastlook.ErrNotFound} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	if err != nil {
		return "another error"
	}
	return ""
}

// enqueue may fail, on both sides alike.
func (p *pair) enqueue(now time.Time, items []lastlook.Item) ([]lastlook.EnqueueResult, error) {
	p.Helper()
	res, err := p.store.Enqueue(p.Context(), now, items)
	if p.oracle == nil {
		for i := range res {
			if res[i].Status == lastlook.Inserted {
				p.meet(items[i].Key, res[i].ID, 0)
			}
		}
		return res, err
	}
	mapped := slices.Clone(items)
	for i := range mapped {
		mapped[i].RetryOf = p.ids[mapped[i].RetryOf]
	}
	want, oracleErr := p.oracle.Enqueue(p.Context(), now, mapped)
	p.same("the error of an enqueue", errorClass(err), errorClass(oracleErr))
	if err != nil {
		return nil, err
	}
	for i := range res {
		if res[i].Status == lastlook.Inserted && want[i].Status == lastlook.Inserted {
			p.meet(items[i].Key, res[i].ID, want[i].ID)
		}
	}
	for i := range want {
		want[i].ID = p.mine(want[i].ID)
	}
	p.same("enqueue", res, want)
	return res, nil
}

func (p *pair) listLanes(q lastlook.LaneQuery) []lastlook.LaneState {
	p.Helper()
	got, err := p.store.Lanes(p.Context(), q)
	if p.oracle == nil {
		p.check("Lanes", err, nil)
		return got
	}
	want, oracleErr := p.oracle.Lanes(p.Context(), q)
	p.check("Lanes", err, oracleErr)
	for _, l := range want {
		lane := l.Lane
		lane.ID = 0
		p.lanes[lane] = l.Lane.ID
	}
	p.same("lanes", tidyLanes(got), tidyLanes(want))
	return got
}

// tidyLanes brings lanes into one order.
func tidyLanes(lanes []lastlook.LaneState) []lastlook.LaneState {
	lanes = append([]lastlook.LaneState{}, lanes...)
	slices.SortFunc(lanes, func(a, b lastlook.LaneState) int { return compareLanes(a.Lane, b.Lane) })
	return lanes
}

func (p *pair) claim(req lastlook.ClaimRequest) []lastlook.Row {
	p.Helper()
	rows, err := p.store.Claim(p.Context(), req)
	if !slices.IsSorted(rowIDs(rows)) {
		p.Fatalf("claim: rows %v are not in the order of ids", rowIDs(rows))
	}
	if p.oracle == nil {
		p.check("Claim", err, nil)
		return rows
	}
	mapped := req
	mapped.Lanes = slices.Clone(req.Lanes)
	for i := range mapped.Lanes {
		l := mapped.Lanes[i].Lane
		l.ID = 0
		mapped.Lanes[i].Lane.ID = p.lanes[l]
	}
	want, oracleErr := p.oracle.Claim(p.Context(), mapped)
	p.check("Claim", err, oracleErr)
	p.same("claim", sortRows(rows), p.mineRows(want))
	return rows
}

// apply is to be followed by discover, for the key of each row that ended.
func (p *pair) apply(now time.Time, changes []lastlook.Change) []bool {
	p.Helper()
	done, err := p.store.Apply(p.Context(), now, changes)
	if p.oracle == nil {
		p.check("Apply", err, nil)
	} else {
		mapped := slices.Clone(changes)
		for i := range mapped {
			mapped[i].ID = p.ids[mapped[i].ID]
		}
		want, oracleErr := p.oracle.Apply(p.Context(), now, mapped)
		p.check("Apply", err, oracleErr)
		for i := range changes {
			p.same("whether a change was made: "+asJSON(changes[i]), done[i], want[i])
		}
	}
	return done
}

// liveQuery selects the live row of a key.
func liveQuery(k lastlook.Key) lastlook.Query {
	return lastlook.Query{Topic: k.Topic, Subject: k.Subject, Recipient: k.Recipient, Channel: k.Channel, Limit: 5,
		States: []lastlook.State{lastlook.StatePending, lastlook.StateSending, lastlook.StateRetry}}
}

// discover looks for a live row of the key that came by itself. It must be one
// on both sides.
func (p *pair) discover(k lastlook.Key) {
	p.Helper()
	got, err := p.store.List(p.Context(), liveQuery(k))
	p.check("List", err, nil)
	if len(got) > 1 {
		p.Fatalf("key %s has live rows %v", k, recIDs(got))
	}
	var oracleID lastlook.ID
	if p.oracle != nil {
		want, err := p.oracle.List(p.Context(), liveQuery(k))
		p.check("List", nil, err)
		p.same("live rows of "+k.String(), len(got), len(want))
		if len(want) == 1 {
			oracleID = want[0].ID
		}
	}
	if len(got) == 1 {
		if _, known := p.keys[got[0].ID]; !known {
			p.meet(k, got[0].ID, oracleID)
			p.born(k, got[0])
		}
	}
}

func (p *pair) sweep(now time.Time, limit int) lastlook.Swept {
	p.Helper()
	got, err := sweepAll(p.Context(), p.store, now, limit, nil)
	if p.oracle == nil {
		p.check("Sweep", err, nil)
	} else {
		want, oracleErr := sweepAll(p.Context(), p.oracle, now, limit, nil)
		p.check("Sweep", err, oracleErr)
		p.same("dead rows", sortRows(got.Dead), p.mineRows(want.Dead))
		p.same("expired rows", sortRows(got.Expired), p.mineRows(want.Expired))
		p.same("rows made from marks by a sweep", len(got.Revived), len(want.Revived))
	}
	return got
}

func (p *pair) get(id lastlook.ID) (lastlook.Record, bool) {
	p.Helper()
	rec, err := p.store.Get(p.Context(), id)
	if p.oracle != nil {
		want, oracleErr := p.oracle.Get(p.Context(), p.ids[id])
		p.same("the error of Get", errorClass(err), errorClass(oracleErr))
		if err == nil {
			if len(rec.Story) == 0 {
				rec.Story = nil
			}
			p.same("get", rec, p.mineRecords([]lastlook.Record{want})[0])
		}
	}
	if err != nil && !errors.Is(err, lastlook.ErrNotFound) {
		p.Fatalf("Get: %v", err)
	}
	return rec, err == nil
}

// list takes no Before: its pages differ if identifiers do.
func (p *pair) list(q lastlook.Query) []lastlook.Record {
	p.Helper()
	got, err := p.store.List(p.Context(), q)
	for i := 1; i < len(got); i++ {
		if got[i].ID >= got[i-1].ID {
			p.Fatalf("list: rows %v are not newest first", recIDs(got))
		}
	}
	if p.oracle == nil {
		p.check("List", err, nil)
		return got
	}
	want, oracleErr := p.oracle.List(p.Context(), q)
	p.check("List", err, oracleErr)
	p.same("list of "+asJSON(q), append([]lastlook.Record{}, got...), p.mineRecords(want))
	return got
}

func (p *pair) stats(now, since time.Time) lastlook.Stats {
	p.Helper()
	got, err := p.store.Stats(p.Context(), now, since)
	if p.oracle == nil {
		p.check("Stats", err, nil)
		return tidyStats(got)
	}
	want, oracleErr := p.oracle.Stats(p.Context(), now, since)
	p.check("Stats", err, oracleErr)
	p.same("stats", tidyStats(got), tidyStats(want))
	return tidyStats(got)
}

func (p *pair) prune(r lastlook.PruneRequest) {
	p.Helper()
	got, err := p.store.Prune(p.Context(), r)
	if p.oracle == nil {
		p.check("Prune", err, nil)
		return
	}
	want, oracleErr := p.oracle.Prune(p.Context(), r)
	p.check("Prune", err, oracleErr)
	p.same("prune", got, want)
}

func (p *pair) mute(now time.Time, changes []lastlook.MuteChange) {
	p.Helper()
	err := p.store.Mute(p.Context(), now, changes)
	var oracleErr error
	if p.oracle != nil {
		oracleErr = p.oracle.Mute(p.Context(), now, changes)
	}
	p.check("Mute", err, oracleErr)
}
