package storetest

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// The numbers of the fixture's claims.
const (
	testLease = time.Minute
	testCap   = 10
)

// start is the moment at which each clause begins: the day before New York
// changes to daylight-saving time, with odd microseconds.
var start = time.Date(2026, 3, 7, 12, 0, 0, 123457000, time.UTC)

// fixture is a clause at work: a store, a clock that the clause moves, and
// short words for what clauses do.
type fixture struct {
	TB
	h      Harness
	store  lastlook.Store
	now    time.Time
	tokens uint64
}

func newFixture(tb TB, h Harness) *fixture {
	return &fixture{TB: tb, h: h, store: h.Open(tb), now: start}
}

// tick moves the clock.
func (f *fixture) tick(d time.Duration) { f.now = f.now.Add(d) }

// reopen lets the process die.
func (f *fixture) reopen() { f.store = f.h.Reopen(f, f.store) }

func (f *fixture) token() lastlook.Token {
	f.tokens++
	return tokenOf(f.tokens)
}

// tokenOf makes a token of a number, so that runs repeat exactly.
func tokenOf(n uint64) lastlook.Token {
	var t lastlook.Token
	binary.BigEndian.PutUint64(t[:], n*0x9E3779B97F4A7C15)
	binary.BigEndian.PutUint64(t[8:], n)
	return t
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("unexpected error: %v", err)
	}
}

// equal compares two values by their JSON.
func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if g, w := asJSON(got), asJSON(want); g != w {
		f.Fatalf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "not JSON: " + err.Error()
	}
	return string(b)
}

// item is a level-triggered item of topic "t" for a subject.
func item(subject string) lastlook.Item {
	return lastlook.Item{
		Key:       lastlook.Key{Topic: "t", Subject: subject, Recipient: "anna", Channel: "push"},
		Detection: json.RawMessage(`{"price":499}`),
		Windows:   lastlook.Always(),
	}
}

// in sets the item's window policy.
func in(w lastlook.Windows, it lastlook.Item) lastlook.Item {
	it.Windows = w
	return it
}

// edge makes an edge of an item, with a detection of its own.
func edge(it lastlook.Item, detection string) lastlook.Item {
	it.Edge, it.Detection = true, json.RawMessage(detection)
	return it
}

func (f *fixture) enqueue(items ...lastlook.Item) []lastlook.EnqueueResult {
	f.Helper()
	res, err := f.store.Enqueue(f.Context(), f.now, items)
	f.ok(err)
	if len(res) != len(items) {
		f.Fatalf("Enqueue of %d items gave %d results", len(items), len(res))
	}
	return res
}

// enqueued enqueues one item and demands what becomes of it.
func (f *fixture) enqueued(want lastlook.EnqueueStatus, it lastlook.Item) lastlook.EnqueueResult {
	f.Helper()
	res := f.enqueue(it)[0]
	if res.Status != want {
		f.Fatalf("enqueue of %s: %s, want %s", it.Key, asJSON(res), want)
	}
	return res
}

// insert enqueues items that must all become rows.
func (f *fixture) insert(items ...lastlook.Item) []lastlook.ID {
	f.Helper()
	var ids []lastlook.ID
	for i, res := range f.enqueue(items...) {
		if res.Status != lastlook.Inserted || res.ID == 0 || res.State != lastlook.StatePending {
			f.Fatalf("enqueue of %s: %s, want inserted", items[i].Key, asJSON(res))
		}
		ids = append(ids, res.ID)
	}
	return ids
}

// lanes lists the lanes of the given topics on the channels push and mail.
func (f *fixture) lanes(topics ...string) []lastlook.LaneState {
	f.Helper()
	lanes, err := f.store.Lanes(f.Context(), lastlook.LaneQuery{Now: f.now, Topics: topics, Channels: []string{"push", "mail"}})
	f.ok(err)
	return lanes
}

// request asks for n rows of each lane of the topics t and u.
func (f *fixture) request(n int) lastlook.ClaimRequest {
	f.Helper()
	req := lastlook.ClaimRequest{Now: f.now, Token: f.token()}
	for _, l := range f.lanes("t", "u") {
		req.Lanes = append(req.Lanes, lastlook.LaneClaim{Lane: l.Lane, N: n, MaxAttempts: testCap, Lease: testLease})
	}
	return req
}

func (f *fixture) claimReq(req lastlook.ClaimRequest) []lastlook.Row {
	f.Helper()
	rows, err := f.store.Claim(f.Context(), req)
	f.ok(err)
	return rows
}

// claim takes up to n rows of each lane of the topics t and u.
func (f *fixture) claim(n int) []lastlook.Row {
	f.Helper()
	return f.claimReq(f.request(n))
}

// claimOne claims, and demands that exactly this row is got.
func (f *fixture) claimOne(id lastlook.ID) lastlook.Row {
	f.Helper()
	rows := f.claim(100)
	if len(rows) != 1 || rows[0].ID != id {
		f.Fatalf("claim got rows %v, want %d alone", rowIDs(rows), id)
	}
	return rows[0]
}

// claimNone claims, and demands that nothing is got.
func (f *fixture) claimNone() {
	f.Helper()
	if rows := f.claim(100); len(rows) != 0 {
		f.Fatalf("claim got rows %v, want none", rowIDs(rows))
	}
}

// row inserts an item and claims it.
func (f *fixture) row(it lastlook.Item) lastlook.Row {
	f.Helper()
	return f.claimOne(f.insert(it)[0])
}

// sending inserts an item, claims it and moves it to sending.
func (f *fixture) sending(it lastlook.Item, value string) lastlook.Row {
	f.Helper()
	r := f.row(it)
	f.assert(&r, it.Windows, value)
	return r
}

// assert moves a claimed row to sending, as a dispatcher does.
func (f *fixture) assert(r *lastlook.Row, w lastlook.Windows, value string) {
	f.Helper()
	a, err := assertionOf(r, w, f.now, json.RawMessage(value), lastlook.AtLeastOnce)
	f.ok(err)
	f.done(r.Sending(f.now, a, f.now.Add(testLease)))
}

// deliver inserts an item and has it delivered.
func (f *fixture) deliver(it lastlook.Item, value string) lastlook.ID {
	f.Helper()
	r := f.sending(it, value)
	f.done(r.Accepted(f.now, lastlook.Outcome{Answer: "201"}))
	return r.ID
}

func (f *fixture) apply(changes ...lastlook.Change) []bool {
	f.Helper()
	done, err := f.store.Apply(f.Context(), f.now, changes)
	f.ok(err)
	if len(done) != len(changes) {
		f.Fatalf("Apply of %d changes gave %d answers", len(changes), len(done))
	}
	return done
}

// done applies a change that must be made.
func (f *fixture) done(c lastlook.Change, err error) {
	f.Helper()
	f.ok(err)
	if !f.apply(c)[0] {
		f.Fatalf("row %d: %q was not made: %s", c.ID, c.Event, asJSON(f.get(c.ID)))
	}
}

// refused applies a change that must not be made, and must change nothing.
func (f *fixture) refused(c lastlook.Change, err error) {
	f.Helper()
	f.ok(err)
	before, stats := f.get(c.ID), f.stats()
	if f.apply(c)[0] {
		f.Fatalf("row %d: %q was made, and must not be; it was %s", c.ID, c.Event, asJSON(before))
	}
	f.equal("a row after a refused "+string(c.Event), f.get(c.ID), before)
	f.equal("the counts after a refused "+string(c.Event), f.stats(), stats)
}

// operatorRow is a live row as an operator's command knows it: from Get.
func operatorRow(rec lastlook.Record) lastlook.Row {
	return lastlook.Row{ID: rec.ID, Key: rec.Key, State: rec.State, Attempt: rec.Attempt, Story: rec.Story, KeyRow: *rec.KeyRow}
}

// withdraw cancels a row if it is pending or in retry.
func (f *fixture) withdraw(id lastlook.ID) {
	f.Helper()
	if rec := f.get(id); rec.State.Live() {
		r := operatorRow(rec)
		f.done(r.Withdraw(f.now, lastlook.ReasonCancelled, "test"))
	}
}

func (f *fixture) get(id lastlook.ID) lastlook.Record {
	f.Helper()
	rec, err := f.store.Get(f.Context(), id)
	f.ok(err)
	return rec
}

func (f *fixture) state(id lastlook.ID, want lastlook.State) lastlook.Record {
	f.Helper()
	rec := f.get(id)
	if rec.State != want {
		f.Fatalf("row %d is %s (%s), want %s", id, rec.State, rec.Reason, want)
	}
	return rec
}

func (f *fixture) keyRow(id lastlook.ID) lastlook.KeyRow {
	f.Helper()
	rec := f.get(id)
	if rec.KeyRow == nil {
		f.Fatalf("Get of %d has no key row", id)
	}
	return *rec.KeyRow
}

func (f *fixture) list(q lastlook.Query) []lastlook.Record {
	f.Helper()
	recs, err := f.store.List(f.Context(), q)
	f.ok(err)
	return recs
}

// live lists the live rows, oldest first.
func (f *fixture) live() []lastlook.Record {
	f.Helper()
	recs := f.list(lastlook.Query{States: []lastlook.State{lastlook.StatePending, lastlook.StateSending, lastlook.StateRetry}, Limit: 1000})
	slices.Reverse(recs)
	return recs
}

func (f *fixture) stats() lastlook.Stats {
	f.Helper()
	st, err := f.store.Stats(f.Context(), f.now, start.Add(-time.Hour))
	f.ok(err)
	return tidyStats(st)
}

// sweep returns all pages of a sweep as one.
func (f *fixture) sweep(limit int) lastlook.Swept {
	f.Helper()
	all, err := sweepAll(f.Context(), f.store, f.now, limit, nil)
	f.ok(err)
	return all
}

func rowIDs(rows []lastlook.Row) []lastlook.ID {
	ids := []lastlook.ID{}
	for i := range rows {
		ids = append(ids, rows[i].ID)
	}
	return ids
}

func recIDs(recs []lastlook.Record) []lastlook.ID {
	ids := []lastlook.ID{}
	for i := range recs {
		ids = append(ids, recs[i].ID)
	}
	return ids
}
