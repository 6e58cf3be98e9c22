package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
)

var enqueueClauses = []Clause{
	{Name: "enqueue/defaults", Promise: "rule 1", run: enqueueDefaults},
	{Name: "enqueue/values given", Promise: "rule 1", run: enqueueGiven},
	{Name: "enqueue/nothing", Promise: "rule 1", run: func(f *fixture) {
		f.enqueue()
		f.equal("rows", recIDs(f.live()), []lastlook.ID{})
	}},
	{Name: "enqueue/results in the order of items", Promise: "rule 1", run: enqueueOrder},
	{Name: "enqueue/caller's buffers", Promise: "rule 1", run: enqueueBuffers},
	{Name: "enqueue/invalid item", Promise: "all or nothing", run: enqueueInvalid},
	{Name: "enqueue/window backwards", Promise: "all or nothing", run: enqueueBackwards},
	{Name: "enqueue/may repeat", Promise: "C1", run: enqueueMayRepeat},
}

func enqueueDefaults(f *fixture) {
	it := item("a")
	id := f.insert(it)[0]
	rec := f.get(id)
	if rec.KeyRow == nil || rec.KeyRow.ID == 0 {
		f.Fatalf("Get gives no key row with a number: %s", asJSON(rec))
	}
	now := lastlook.Micro(f.now)
	f.equal("the row", rec, lastlook.Record{
		ID: id, Key: it.Key, Lane: "push", State: lastlook.StatePending, Detection: it.Detection,
		CreatedAt: now, ExpiresAt: now.Add(lastlook.DefaultExpiry), Due: now, KeyRow: &lastlook.KeyRow{},
	})
}

func enqueueGiven(f *fixture) {
	it := lastlook.Item{
		Key:       lastlook.Key{Topic: "u", Subject: "s", Recipient: "r", Channel: "mail"},
		Detection: []byte(`{"b": 1,  "a":[1.0, 1e2, "é"]}`),
		Lane:      "smtp.example.org", Due: f.now.Add(90 * time.Minute), ExpiresAt: f.now.Add(50 * time.Hour),
		Priority: lastlook.PriorityHigh, Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Edge: true,
		Windows: lastlook.Episodes(), Episode: 7, RetryOf: 12345, MayRepeat: true,
	}
	id := f.insert(it)[0]
	f.equal("the row", f.get(id), lastlook.Record{
		ID: id, Key: it.Key, Lane: it.Lane, Priority: it.Priority, State: lastlook.StatePending, Detection: it.Detection,
		CreatedAt: lastlook.Micro(f.now), ExpiresAt: lastlook.Micro(it.ExpiresAt), Due: lastlook.Micro(it.Due),
		Trace: it.Trace, Episode: 7, RetryOf: 12345, MayRepeat: true, KeyRow: &lastlook.KeyRow{},
	})
	f.tick(2 * time.Hour)
	r := f.claimOne(id)
	f.equal("the claimed row's priority, lane, episode, trace, retry of",
		[]any{r.Lane.Priority, r.Lane.Name, r.Lane.Topic, r.Lane.Channel, r.Episode, r.Trace, r.RetryOf},
		[]any{it.Priority, it.Lane, "u", "mail", 7, it.Trace, 12345})
}

func enqueueOrder(f *fixture) {
	live := f.insert(item("m"))[0]
	res := f.enqueue(item("z"), item("a"), item("m"), item("k"))
	f.equal("the duplicate's result", res[2], lastlook.EnqueueResult{Status: lastlook.Duplicate, ID: live, State: lastlook.StatePending})
	for i, subject := range []string{"z", "a", "m", "k"} {
		f.equal(fmt.Sprintf("the subject of result %d", i), f.get(res[i].ID).Key.Subject, subject)
	}
}

// enqueueBuffers: what is stored does not change with the caller's memory.
func enqueueBuffers(f *fixture) {
	it := item("a")
	it.Detection = []byte(`{"price":499}`)
	id := f.insert(it)[0]
	copy(it.Detection, `{"price":111}`)
	f.equal("the detection", f.get(id).Detection, item("a").Detection)
	rec := f.get(id)
	copy(rec.Detection, `{"price":222}`)
	f.equal("the detection, read again", f.get(id).Detection, item("a").Detection)
}

// nothingWritten demands that a failed enqueue left nothing.
func (f *fixture) nothingWritten(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("error %v, want %v", err, want)
	}
	f.equal("what is stored after a failed enqueue", f.stats(), lastlook.Stats{Live: []lastlook.LaneStats{}, Ended: []lastlook.EndCount{}})
	f.equal("rows after a failed enqueue", recIDs(f.list(lastlook.Query{})), []lastlook.ID{})
}

func enqueueInvalid(f *fixture) {
	long := make([]byte, lastlook.MaxPayload+1)
	for i := range long {
		long[i] = '1'
	}
	for _, c := range []struct {
		spoil func(it *lastlook.Item)
		want  error
	}{
		{func(it *lastlook.Item) { it.Subject = "" }, lastlook.ErrInvalid},
		{func(it *lastlook.Item) { it.Subject = "a\x00b" }, lastlook.ErrInvalid},
		{func(it *lastlook.Item) { it.Detection = nil }, lastlook.ErrInvalid},
		{func(it *lastlook.Item) { it.Detection = []byte(`{"a":`) }, lastlook.ErrInvalid},
		{func(it *lastlook.Item) { it.Detection = long }, lastlook.ErrPayloadTooLarge},
		{func(it *lastlook.Item) { it.ExpiresAt = f.now }, lastlook.ErrInvalid},
		{func(it *lastlook.Item) { it.Due = time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC) }, lastlook.ErrClock},
	} {
		bad := item("b")
		c.spoil(&bad)
		_, err := f.store.Enqueue(f.Context(), f.now, []lastlook.Item{item("a"), bad, item("c")})
		f.nothingWritten(err, c.want)
	}
	_, err := f.store.Enqueue(f.Context(), time.Time{}, []lastlook.Item{item("a")})
	f.nothingWritten(err, lastlook.ErrClock)
}

// enqueueBackwards: an item that is refused on the key's standing, in the
// middle of a call, takes the others with it.
func enqueueBackwards(f *fixture) {
	told := in(lastlook.Episodes(), item("m"))
	told.Episode = 5
	id := f.deliver(told, `1`)
	live := f.insert(item("live"))[0]
	told.Episode = 4
	_, err := f.store.Enqueue(f.Context(), f.now, []lastlook.Item{item("a"), told, item("z"), edge(item("live"), `2`)})
	if !errors.Is(err, lastlook.ErrWindowBackwards) {
		f.Fatalf("error %v, want %v", err, lastlook.ErrWindowBackwards)
	}
	f.equal("rows after a failed enqueue", recIDs(f.list(lastlook.Query{})), []lastlook.ID{live, id})
	f.equal("marks after a failed enqueue", f.stats().Marks, 0)
	told.Episode = 6
	f.insert(told)
}

func enqueueMayRepeat(f *fixture) {
	it := in(lastlook.Once(), item("a"))
	it.Due = f.now
	first := f.sending(it, `1`)
	f.done(first.Accepted(f.now, lastlook.Outcome{}))
	f.tick(time.Second)
	second := it
	second.MayRepeat = true
	r := f.row(second)
	k := f.keyRow(r.ID)
	f.equal("what was told, after a may-repeat", []any{k.Told, k.ToldBy}, []any{lastlook.Window{}, 0})
	f.equal("the rest of the key row", []any{string(k.Baseline), k.Seq, k.Last.ID}, []any{`1`, 1, first.ID})
	f.equal("the key row as claimed", r.KeyRow, k)

	// Only an insert clears: meeting a live row, it does not.
	f.assert(&r, lastlook.Once(), `2`)
	f.done(r.OutcomeUnknown(f.now, lastlook.Next{Due: f.now.Add(time.Minute)}, lastlook.Outcome{}))
	f.enqueued(lastlook.Duplicate, second)
	f.equal("told by", f.keyRow(r.ID).ToldBy, r.ID)
}
