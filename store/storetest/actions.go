package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// callTimeout is how long after the move to sending the channel may be called.
const callTimeout = 15 * time.Second

// action is something that can happen next in a run.
type action struct {
	name string
	do   func()
}

// actions lists them. What should happen often stands there more than once,
// and early: rapid likes the first ones better.
func (w *world) actions() []action {
	a, b := w.claimers[0], w.claimers[1]
	return []action{
		{"work A", func() { w.work(a) }},
		{"enqueue", w.enqueue},
		{"work B", func() { w.work(b) }},
		{"advance to a retry", func() { w.now = w.now.Add(31 * time.Second) }},
		{"claim A", func() { w.claim(a) }},
		{"claim B", func() { w.claim(b) }},
		{"look A", func() { w.lookAt(a) }},
		{"look B", func() { w.lookAt(b) }},
		{"deliver A", func() { w.deliver(a) }},
		{"deliver B", func() { w.deliver(b) }},
		{"world", w.change},
		{"advance", w.advance},
		{"sweep", w.sweepSome},
		{"commit A", func() { w.commit(a) }},
		{"crash A", func() { w.crash(a) }},
		{"work A more", func() { w.work(a) }},
		{"work B more", func() { w.work(b) }},
		{"enqueue more", w.enqueue},
		{"retry failed", w.retryFailed},
		{"commit B", func() { w.commit(b) }},
		{"crash B", func() { w.crash(b) }},
		{"advance a little", func() { w.now = w.now.Add(time.Second) }},
		{"commit late", w.commitLate},
		{"replay", w.replay},
		{"operator", w.operator},
		{"reopen", w.reopen},
		{"enqueue bad", w.enqueueBad},
		{"prune", w.pruneSome},
		{"mute", w.muteSome},
		{"compare", w.compareAll},
	}
}

// work is what a dispatcher does most of the time: all of it, in one go.
func (w *world) work(c *claimer) {
	w.claim(c)
	for range len(c.held) {
		w.lookAt(c)
	}
	for range len(c.held) {
		w.deliver(c)
	}
}

// clock is a claimer's own.
func (w *world) clock(c *claimer) time.Time { return w.now.Add(c.skew) }

func (w *world) advance() {
	steps := []time.Duration{5 * time.Second, 61 * time.Second, 61 * time.Second, 5 * time.Minute, 31 * time.Minute, 31 * time.Minute, 0, 0, 3 * time.Hour, 11 * time.Hour}
	d := steps[w.c.choose("by", len(steps))]
	if w.chance("days", 15) {
		d = []time.Duration{26 * time.Hour, 100 * time.Hour}[w.c.choose("days", 2)]
	}
	if d > 0 {
		w.now = w.now.Add(d)
		return
	}
	// To a second before the next midnight somewhere.
	in := w.now.In(zone(pick(w.c, "midnight", "Asia/Tokyo", "America/New_York", "Africa/Cairo")))
	year, month, day := in.Date()
	if next := time.Date(year, month, day+1, 0, 0, -1, 0, in.Location()); next.After(w.now) {
		w.now = next.UTC()
	}
}

// change moves what there is to see.
func (w *world) change() {
	w.values[pick(w.c, "subject", "a", "b")] = []int{0, 0, 1, 1, 2, 2, 3, 4, 5}[w.c.choose("value", 9)]
	if w.chance("episode", 3) {
		w.episode++
	}
}

func (w *world) enqueue() {
	var items []lastlook.Item
	for range 1 + w.c.choose("items", 3) {
		items = append(items, w.item(w.places[w.c.choose("place", len(w.places))]))
	}
	w.admit(items...)
}

// enqueueBad: one item of a call is refused, and takes the others with it.
func (w *world) enqueueBad() {
	good := w.item(w.places[w.c.choose("place", len(w.places))])
	bad := w.item(w.places[w.c.choose("place", len(w.places))])
	want := lastlook.ErrInvalid
	kj := w.journal.keys[bad.Key]
	if kj.topic.episodes && kj.told != nil {
		bad.Windows, bad.Episode, want = kj.topic.windows, kj.told.window-1, lastlook.ErrWindowBackwards
		good.MayRepeat = false
	} else {
		bad.Detection = json.RawMessage(`{`)
	}
	if _, err := w.pair.enqueue(w.now, []lastlook.Item{good, bad}); !errors.Is(err, want) {
		w.Fatalf("an enqueue with a bad item: error %v, want %v", err, want)
	}
	for _, kj := range w.journal.keys {
		for _, rec := range w.list(liveQuery(kj.key)) {
			if rec.ID != kj.live || rec.Marks != len(kj.marks) {
				w.Fatalf("after a refused enqueue: %s; want row %d with %d marks", asJSON(rec), kj.live, len(kj.marks))
			}
		}
	}
}

func (w *world) claim(c *claimer) {
	lanes := w.listLanes(lastlook.LaneQuery{Now: w.clock(c), Topics: c.topics, Channels: c.channels})
	slices.SortFunc(lanes, func(a, b lastlook.LaneState) int { return compareLanes(a.Lane, b.Lane) })
	req := lastlook.ClaimRequest{Now: w.clock(c), Token: w.token()}
	for _, l := range lanes {
		if !c.registered(lastlook.Key{Topic: l.Topic, Channel: l.Channel}) {
			w.Fatalf("G13: lane %+v was listed for %s", l, c.name)
		}
		if n := (w.c.choose("rows", 4) + 1) % 4; n > 0 {
			req.Lanes = append(req.Lanes, lastlook.LaneClaim{Lane: l.Lane, N: n, MaxAttempts: w.topics[l.Topic].cap, Lease: testLease})
		}
	}
	rows := w.pair.claim(req)
	w.journal.claimed(c, req, rows)
	for _, r := range rows {
		c.held = append(c.held, &held{row: r, topic: w.topics[r.Key.Topic]})
	}
}

// some picks a row that the claimer holds and has not decided on.
func (w *world) some(c *claimer, sending bool) *held {
	var of []*held
	for _, h := range c.held {
		if h.next == nil && h.sentAt.IsZero() != sending {
			of = append(of, h)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return of[w.c.choose("row", len(of))]
}

// lookAt takes a claimed row to its verdict.
func (w *world) lookAt(c *claimer) {
	h := w.some(c, false)
	if h == nil {
		return
	}
	now := w.clock(c)
	change, err := w.verdict(h, now)
	if err != nil {
		w.Fatalf("row %s: %v", asJSON(h.row), err)
	}
	h.next = &change
	if !w.chance("later", 4) {
		w.commit(c)
	}
}

func (w *world) verdict(h *held, now time.Time) (lastlook.Change, error) {
	r, t := &h.row, h.topic
	if w.chance("give back", 8) {
		return r.Postpone(now, now.Add([]time.Duration{0, time.Minute, 3 * time.Hour}[w.c.choose("until", 3)]), lastlook.Outcome{})
	}
	if reason, stop := guard(r, t.windows, now); stop {
		return r.Drop(now, reason, lastlook.Outcome{})
	}
	value := json.RawMessage(observed[w.values[r.Key.Subject]])
	seen := lastlook.Outcome{LookedAt: now, Value: value}
	switch string(value) {
	case "unknown":
		return r.LookUnknown(now, nextOf(t, r, now), lastlook.ReasonLookUnavailable, lastlook.Outcome{Err: "timeout"})
	case "gone":
		return r.Drop(now, lastlook.ReasonGone, lastlook.Outcome{Err: "404"})
	case observed[3]:
		return r.Drop(now, lastlook.ReasonConditionLost, seen)
	}
	if t.always && (canonical(value) == canonical(r.KeyRow.Baseline)) {
		return r.Drop(now, lastlook.ReasonConditionLost, seen) // no news
	}
	a, err := assertionOf(r, t.windows, now, value, t.guarantee)
	if err != nil {
		return lastlook.Change{}, err
	}
	return r.Sending(now, a, now.Add(testLease))
}

func nextOf(t *topicSpec, r *lastlook.Row, now time.Time) lastlook.Next {
	return lastlook.Next{Due: now.Add(backoff(r.Attempt - 1)), Last: r.Attempt >= t.cap}
}

// deliver calls the channel for a row that is being sent, and decides what the
// answer means.
func (w *world) deliver(c *claimer) {
	h := w.some(c, true)
	if h == nil {
		return
	}
	now, r := w.clock(c), &h.row
	o := lastlook.Outcome{Answer: "answer"}
	var change lastlook.Change
	var err error
	outcome := w.c.choose("outcome", 14)
	if now.Sub(h.sentAt) >= callTimeout {
		outcome = 11 // too late to call
	}
	switch outcome {
	case 0, 1, 2, 3, 4:
		w.journal.arrived(r.ID)
		change, err = r.Accepted(now, o)
	case 5:
		w.journal.arrived(r.ID)
		c.drop(h) // dies between the acceptance and the commit
		return
	case 6:
		w.journal.arrived(r.ID)
		change, err = r.OutcomeUnknown(now, nextOf(h.topic, r, now), o)
	case 7:
		change, err = r.OutcomeUnknown(now, nextOf(h.topic, r, now), o)
	case 8, 9, 10:
		change, err = r.Transient(now, nextOf(h.topic, r, now), o)
	case 11:
		change, err = r.NotCalled(now, o)
	case 12:
		change, err = r.Misconfigured(now, now.Add(10*time.Minute), o)
	case 13:
		if w.chance("gone", 2) {
			change, err = r.RecipientGone(now, o)
		} else {
			change, err = r.Rejected(now, o)
		}
	}
	if err != nil {
		w.Fatalf("row %s: %v", asJSON(r), err)
	}
	h.next = &change
	if !w.chance("later", 4) {
		w.commit(c)
	}
}

func (c *claimer) drop(h *held) {
	c.held = slices.DeleteFunc(c.held, func(o *held) bool { return o == h })
}

// commit writes what the claimer has decided on, in one call. What was lost is
// let go.
func (w *world) commit(c *claimer) {
	var batch []*held
	var changes []lastlook.Change
	for _, h := range c.held {
		if h.next != nil {
			batch, changes = append(batch, h), append(changes, *h.next)
		}
	}
	for i, done := range w.write(changes) {
		h := batch[i]
		if h.next = nil; done && changes[i].To == lastlook.StateSending {
			h.sentAt = changes[i].At
			continue
		}
		c.drop(h)
	}
}

func (w *world) crash(c *claimer) { c.held = nil }

func (w *world) reopen() {
	if w.h.Reopen == nil {
		return
	}
	w.pair.store = w.h.Reopen(w, w.pair.store)
	for _, c := range w.claimers {
		c.held = nil
	}
	w.late = nil
}

func (w *world) commitLate() {
	w.write(w.late)
	w.late = nil
}

// replay writes a change once more, or one that was lost.
func (w *world) replay() {
	if len(w.past) > 0 {
		w.write([]lastlook.Change{w.past[w.c.choose("which", len(w.past))]})
	}
}
