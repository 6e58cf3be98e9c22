package lastlook

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// asked returns how many rows the plan claims at most.
func (p *plan) asked() int {
	n := 0
	for _, c := range p.claims {
		n += c.N
	}
	return n
}

// pass claims what is due and has room, and starts work on it. It returns how
// many rows it claimed, and by which plan.
func (d *Dispatcher) pass(ctx context.Context, limit int) (int, plan, error) {
	left := min(limit, d.cfg.MaxInFlight-d.lanes.inFlight())
	if left <= 0 {
		return 0, plan{held: true}, nil
	}
	now := d.now()
	if err := CheckClock(now); err != nil {
		return 0, plan{}, err
	}
	states, err := d.store.Lanes(ctx, LaneQuery{Now: now, Topics: d.names, Channels: d.channels})
	if err != nil {
		return 0, plan{}, fmt.Errorf("list lanes: %w", err)
	}
	room := func(l Lane) (int, time.Time) { return d.room(l, now) }
	p := planClaims(now, states, left, room,
		func(name string) Policy { return d.topics[name].policy })
	if len(p.claims) == 0 {
		return 0, p, nil
	}
	token := NewToken()
	rows, err := d.store.Claim(ctx, ClaimRequest{Now: now, Token: token, Lanes: p.claims})
	if err != nil {
		return 0, plan{}, fmt.Errorf("claim: %w", err)
	}
	d.begin(ctx, token, rows)
	return len(rows), p, nil
}

// room is what the lane itself and the gate allow.
func (d *Dispatcher) room(l Lane, now time.Time) (int, time.Time) {
	n, until := d.lanes.room(l.key(), now, d.cfg.BatchSize)
	if n <= 0 || d.cfg.Gate == nil {
		return n, until
	}
	m, wait := d.cfg.Gate.Admit(l, now)
	if m <= 0 && wait > 0 {
		until = now.Add(wait)
	}
	return min(n, m), until
}

// begin starts a batch per topic.
func (d *Dispatcher) begin(ctx context.Context, token Token, rows []Row) {
	if len(rows) == 0 {
		return
	}
	d.mu.Lock()
	d.held[token] = len(rows)
	d.mu.Unlock()
	byTopic := map[string][]*Row{}
	for i := range rows {
		r := &rows[i]
		d.lanes.add(r.Lane.key(), 1)
		byTopic[r.Key.Topic] = append(byTopic[r.Key.Topic], r)
	}
	d.countLanes(rowPointers(rows), Counter.Claimed)
	for name, rows := range byTopic {
		d.batches.Go(func() { d.process(ctx, d.topics[name], rows) })
	}
}

// process takes claimed rows of one topic through guards, the question whether
// their subjects are active, looks and verdicts. Deliveries go on after it.
func (d *Dispatcher) process(ctx context.Context, t *topic, rows []*Row) {
	ready, ended := d.guardRows(t, rows)
	ready, ended = d.holdRows(ctx, t, ready, ended)
	ready, ended = d.askActive(ctx, t, ready, ended)
	bySubject := map[string][]int{} // positions in ready
	var subjects []string
	for i := range ready {
		s := ready[i].Key.Subject
		if bySubject[s] == nil {
			subjects = append(subjects, s)
		}
		bySubject[s] = append(bySubject[s], i)
	}
	if len(subjects) == 0 {
		d.commit(ctx, t, ended, nil, time.Time{})
		return
	}
	d.look(ctx, t, subjects, func(group []seenSubject) {
		begin := d.now()
		var parcels []*parcel
		for _, g := range group {
			for _, i := range bySubject[subjects[g.index]] {
				s, p := d.judgeRow(ctx, t, ready[i], g.seen, begin)
				if p != nil {
					parcels = append(parcels, p)
				} else if s != nil {
					ended = append(ended, *s)
				}
			}
		}
		d.commit(ctx, t, ended, parcels, begin)
		ended = nil
	})
}

// guardRows drops what must not be told whatever the look would say.
func (d *Dispatcher) guardRows(t *topic, rows []*Row) (ready []*Row, ended []settled) {
	now := d.now()
	for _, r := range rows {
		reason, held := guard(r, t, now)
		if !held {
			ready = append(ready, r)
			continue
		}
		ended = d.appendEnd(ended, r, nil)(r.Drop(now, reason, Outcome{}))
	}
	return ready, ended
}

// appendEnd returns a function that takes a transition's result and appends it
// to list; a row whose transition cannot be made is given up to its lease.
func (d *Dispatcher) appendEnd(list []settled, r *Row, cause error) func(Change, error) []settled {
	return func(c Change, err error) []settled {
		if err != nil {
			d.defect(r, err)
			return list
		}
		return append(list, settled{change: c, row: r, from: c.From, err: cause})
	}
}

// defect reports a transition that does not exist. The claim's lease ends the
// attempt, and the sweep the row.
func (d *Dispatcher) defect(r *Row, err error) {
	d.log.Error("defect: no such transition", "id", r.ID, "error", err)
	d.release([]*Row{r})
}

// askActive drops rows whose subject is no longer wanted.
func (d *Dispatcher) askActive(ctx context.Context, t *topic, rows []*Row, ended []settled) ([]*Row, []settled) {
	if t.active == nil || len(rows) == 0 {
		return rows, ended
	}
	index := map[string]int{}
	var subjects []string
	for i := range rows {
		s := rows[i].Key.Subject
		if _, ok := index[s]; !ok {
			index[s] = len(subjects)
			subjects = append(subjects, s)
		}
	}
	reasons, err := guarded(ctx, d, t.policy.LookTimeout, func(ctx context.Context) ([]Reason, error) {
		rs, err := t.active(ctx, subjects)
		if err == nil && len(rs) != len(subjects) {
			err = fmt.Errorf("topic %q: Active gave %d answers for %d subjects", t.name, len(rs), len(subjects))
		}
		return rs, err
	})
	now := d.now()
	var ready []*Row
	for _, r := range rows {
		if err != nil {
			seen := looked{err: fmt.Errorf("ask whether the subject is active: %w", err), at: now}
			s, _ := d.judgeRow(ctx, t, r, seen, now)
			if s != nil {
				ended = append(ended, *s)
			}
			continue
		}
		reason := reasons[index[r.Key.Subject]]
		info, known := reason.Info()
		switch {
		case reason == "":
			ready = append(ready, r)
		case known && info.Inactive:
			ended = d.appendEnd(ended, r, nil)(r.Drop(now, reason, Outcome{}))
		default:
			seen := looked{err: fmt.Errorf("topic %q: Active gave %q: use watch_removed or listing_paused", t.name, reason), at: now}
			if s, _ := d.judgeRow(ctx, t, r, seen, now); s != nil {
				ended = append(ended, *s)
			}
		}
	}
	return ready, ended
}

// lookPause is how long a row waits whose turn to be looked at did not come.
const lookPause = time.Second

// judgeRow decides on one row: either an end of the attempt, or a parcel.
func (d *Dispatcher) judgeRow(ctx context.Context, t *topic, r *Row, seen looked, now time.Time) (*settled, *parcel) {
	cause := seen.err
	if cause != nil && (errors.Is(cause, ErrNotLooked) || ctx.Err() != nil) {
		due := r.Due
		if ctx.Err() == nil {
			due = now.Add(lookPause) // let others have their turn
		}
		c, err := r.Postpone(now, due, Outcome{Err: errText(cause)})
		if err != nil {
			d.defect(r, err)
			return nil, nil
		}
		return &settled{change: c, row: r, from: c.From, err: cause}, nil
	}
	dec, err := decide(r, t, seen, now, d.cfg.Rand(), func(p any) { d.panicked("topic "+t.name, p) })
	if err != nil {
		d.defect(r, err)
		return nil, nil
	}
	if !dec.deliver {
		return &settled{change: dec.change, row: r, from: dec.change.From, err: cause}, nil
	}
	return nil, &parcel{row: r, change: dec.change, message: dec.message, lookedAt: seen.at}
}

// commit writes all verdicts of a group in one write, and ships what is to be
// sent. The calls' deadline starts at begin, before that write.
func (d *Dispatcher) commit(ctx context.Context, t *topic, ended []settled, parcels []*parcel, begin time.Time) {
	if len(ended)+len(parcels) == 0 {
		return
	}
	left := t.policy.CallTimeout
	if len(parcels) > 0 {
		left -= d.now().Sub(begin)
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
	changes := make([]Change, 0, len(ended)+len(parcels))
	for i := range ended {
		changes = append(changes, ended[i].change)
	}
	for _, p := range parcels {
		changes = append(changes, p.change)
	}
	done, err := d.applyFresh(call, changes, begin.Add(t.policy.MaxAge))
	if err != nil {
		cancel()
		d.commitFailed(ended, parcels, err)
		return
	}
	var finished []*Row
	for i := range ended {
		d.observe(&ended[i], done[i])
		finished = append(finished, ended[i].row)
	}
	var shipped []*parcel
	for i, p := range parcels {
		applied := done[len(ended)+i]
		d.observe(&settled{change: p.change, row: p.row, from: p.change.From}, applied)
		if applied {
			shipped = append(shipped, p)
		} else {
			finished = append(finished, p.row)
		}
	}
	if len(finished) > 0 {
		d.release(finished)
	}
	if len(shipped) == 0 {
		cancel()
		return
	}
	s := &shipment{topic: t, parcels: shipped, ctx: call, done: make(chan struct{})}
	d.batches.Go(func() {
		defer cancel()
		d.deliver(ctx, s)
	})
}

// applyFresh applies changes; while the store is busy, it tries again until
// the looks are too old to be sent.
func (d *Dispatcher) applyFresh(ctx context.Context, changes []Change, until time.Time) ([]bool, error) {
	for {
		done, err := d.store.Apply(ctx, d.now(), changes)
		if err == nil || !errors.Is(err, ErrBusy) || !d.now().Before(until) || !sleep(ctx, 20*time.Millisecond) {
			return done, err
		}
	}
}

// commitFailed keeps what was decided for the writer, which tries again; rows
// that were to be sent are given back, since their look grows old.
func (d *Dispatcher) commitFailed(ended []settled, parcels []*parcel, err error) {
	d.log.Error("cannot write verdicts", "ended", len(ended), "not_sent", len(parcels), "error", err)
	for i := range ended {
		d.ends.add(&ended[i])
	}
	// If the write happened all the same, its outcome being unknown, this
	// undoes it: nothing was called. If not, the fence does not hold.
	now := d.now()
	for _, p := range parcels {
		from := p.row.State
		c, err := p.row.NotCalled(now, Outcome{Err: "the move to sending could not be written"})
		if err != nil {
			d.defect(p.row, err)
			continue
		}
		d.ends.add(&settled{change: c, row: p.row, from: from})
	}
}
