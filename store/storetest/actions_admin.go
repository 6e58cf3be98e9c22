package storetest

import (
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// sweepSome reaps, exhausts and expires, as a dispatcher's sweep does.
func (w *world) sweepSome() {
	swept := w.pair.sweep(w.now, []int{100, 1, 2, 5}[w.c.choose("limit", 4)])
	changes := w.sweepChanges(swept)
	if w.chance("later", 4) {
		w.late = append(w.late, changes...)
		return
	}
	w.write(changes)
}

// sweepChanges decides on what a sweep found; of each row once.
func (w *world) sweepChanges(swept lastlook.Swept) []lastlook.Change {
	var changes []lastlook.Change
	decided := map[lastlook.ID]bool{}
	add := func(id lastlook.ID, c lastlook.Change, err error) {
		w.Helper()
		if err != nil {
			w.Fatalf("row %d: %v", id, err)
		}
		if !decided[id] {
			decided[id] = true
			changes = append(changes, c)
		}
	}
	for _, r := range swept.Dead {
		switch t := w.topics[r.Key.Topic]; {
		case r.State == lastlook.StateSending:
			c, err := r.Reap(w.now, nextOf(t, &r, w.now))
			add(r.ID, c, err)
		case r.Attempt >= t.cap:
			c, err := r.SweepExhausted(w.now)
			add(r.ID, c, err)
		}
	}
	for _, r := range swept.Expired {
		c, err := r.Withdraw(w.now, lastlook.ReasonExpired, "sweep")
		add(r.ID, c, err)
	}
	return changes
}

// operator cancels, pauses or removes.
func (w *world) operator() {
	if !w.chance("really", 3) {
		return
	}
	p := w.places[w.c.choose("place", len(w.places))]
	q := liveQuery(p.key)
	q.Full = true
	reason := []lastlook.Reason{lastlook.ReasonCancelled, lastlook.ReasonWatchRemoved, lastlook.ReasonListingPaused}[w.c.choose("reason", 3)]
	for _, rec := range w.list(q) {
		if rec.State == lastlook.StateSending {
			continue
		}
		r := operatorRow(rec)
		c, err := r.Withdraw(w.now, reason, "operator")
		if err != nil {
			w.Fatalf("row %d: %v", rec.ID, err)
		}
		if w.chance("later", 3) {
			w.late = append(w.late, c)
		} else {
			w.write([]lastlook.Change{c})
		}
	}
}

// retryFailed tries a failed row again, with and without leave to repeat.
func (w *world) retryFailed() {
	failed := w.list(lastlook.Query{States: []lastlook.State{lastlook.StateFailed}})
	if len(failed) == 0 {
		return
	}
	rec := failed[w.c.choose("which", len(failed))]
	i := slices.IndexFunc(w.places, func(p place) bool { return p.key == rec.Key })
	it := w.item(w.places[i])
	it.Detection, it.RetryOf, it.Edge = rec.Detection, rec.ID, false
	it.MayRepeat = w.chance("may repeat", 2)
	w.admit(it)
}

func (w *world) muteSome() {
	var changes []lastlook.MuteChange
	for range 1 + w.c.choose("mutes", 2) {
		c := lastlook.MuteChange{Recipient: pick(w.c, "recipient", "anna", "bert"), Channel: pick(w.c, "channel", "push", "mail"), Lift: !w.chance("set", 8)}
		changes = append(changes, c)
		if c.Lift {
			delete(w.journal.muted, [2]string{c.Recipient, c.Channel})
		} else {
			w.journal.muted[[2]string{c.Recipient, c.Channel}] = true
		}
	}
	w.pair.mute(w.now, changes)
}

// pruneSome forgets: rows after hours, keys only beyond every window.
func (w *world) pruneSome() {
	req := lastlook.PruneRequest{EndedBefore: w.now.Add(-time.Duration(w.c.choose("hours", 60))*time.Hour - 333*time.Microsecond)}
	switch w.c.choose("which", 4) {
	case 2:
		req.Reasons = []lastlook.Reason{"", lastlook.ReasonConditionLost}
	case 3:
		req.Reasons = []lastlook.Reason{lastlook.ReasonExpired, lastlook.ReasonUnknownOutcome}
	}
	if w.chance("keys", 2) {
		req.KeysIdleBefore = w.now.Add(-72*time.Hour - 333*time.Microsecond)
	}
	w.pair.prune(req)
	if req.KeysIdleBefore.IsZero() {
		return
	}
	for _, p := range w.places {
		k := p.key
		rows := w.list(lastlook.Query{Topic: k.Topic, Subject: k.Subject, Recipient: k.Recipient, Channel: k.Channel, Limit: 1})
		w.journal.forget(w.journal.keys[k], req.KeysIdleBefore, len(rows))
	}
}

// drain brings everything to its end, and checks that it does: nothing new is
// noticed, time passes, dispatchers and sweeps go on.
func (w *world) drain() {
	w.Helper()
	w.commitLate()
	for _, c := range w.claimers {
		w.commit(c)
		w.crash(c)
		c.skew = 0
	}
	for s := range w.values {
		w.values[s] = 0
	}
	for range 60 {
		w.write(w.sweepChanges(w.pair.sweep(w.now, 10)))
		for _, c := range w.claimers {
			w.drainOnce(c)
		}
		if st := w.pair.stats(w.now, w.now.Add(-time.Hour-333*time.Microsecond)); len(st.Live) == 0 && st.Marks == 0 {
			w.compareAll()
			return
		}
		w.now = w.now.Add(35 * time.Minute)
	}
	w.now = w.now.Add(100 * time.Hour) // strangers expire
	for range 3 {
		w.write(w.sweepChanges(w.pair.sweep(w.now, 10)))
		w.now = w.now.Add(100 * time.Hour)
	}
	if live := w.list(lastlook.Query{States: []lastlook.State{lastlook.StatePending, lastlook.StateSending, lastlook.StateRetry}}); len(live) > 0 {
		w.Fatalf("G6: rows that do not end: %s", asJSON(live))
	}
	if st := w.pair.stats(w.now, w.now); st.Marks != 0 {
		w.Fatalf("G8: %d marks are left at the end", st.Marks)
	}
	w.compareAll()
}

// drainOnce claims everything and has it delivered.
func (w *world) drainOnce(c *claimer) {
	w.Helper()
	req := lastlook.ClaimRequest{Now: w.now, Token: w.token()}
	for _, l := range w.listLanes(lastlook.LaneQuery{Now: w.now, Topics: c.topics, Channels: c.channels}) {
		req.Lanes = append(req.Lanes, lastlook.LaneClaim{Lane: l.Lane, N: 100, MaxAttempts: w.topics[l.Topic].cap, Lease: testLease})
	}
	rows := w.pair.claim(req)
	w.journal.claimed(c, req, rows)
	for i := range rows {
		r, t := &rows[i], w.topics[rows[i].Key.Topic]
		if reason, stop := guard(r, t.windows, w.now); stop {
			ch, err := r.Drop(w.now, reason, lastlook.Outcome{})
			w.must(ch, err)
			continue
		}
		a, err := assertionOf(r, t.windows, w.now, []byte(observed[0]), t.guarantee)
		if err != nil {
			w.Fatalf("row %d: %v", r.ID, err)
		}
		ch, err := r.Sending(w.now, a, w.now.Add(testLease))
		w.must(ch, err)
		w.journal.arrived(r.ID)
		ch, err = r.Accepted(w.now, lastlook.Outcome{})
		w.must(ch, err)
	}
}

// must writes a change under a living claim, alone in the world.
func (w *world) must(c lastlook.Change, err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("row %d: %v", c.ID, err)
	}
	if !w.write([]lastlook.Change{c})[0] {
		w.Fatalf("row %d: %q under a living claim was not made", c.ID, c.Event)
	}
}
