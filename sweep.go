package lastlook

import (
	"context"
	"time"
)

const sweepPage = 500

// sweep ends what no claim will: rows whose holder died while delivering, rows
// that used up their attempts by crashing, and rows past their expiry.
func (d *Dispatcher) sweep(ctx context.Context) {
	cursor := ""
	for ctx.Err() == nil {
		now := d.now()
		page, err := d.store.Sweep(ctx, SweepRequest{Now: now, Limit: sweepPage, Cursor: cursor})
		if err != nil {
			d.log.Error("cannot sweep; trying again later", "error", err)
			return
		}
		d.sweepPage(ctx, page, now)
		if cursor = page.Next; cursor == "" {
			return
		}
	}
}

func (d *Dispatcher) sweepPage(ctx context.Context, page Swept, now time.Time) {
	var list []settled
	handled := map[ID]bool{}
	add := func(rows []Row, decide func(*Row, time.Time) (Change, bool, error)) {
		for i := range rows {
			r := &rows[i]
			if handled[r.ID] {
				continue
			}
			from := r.State
			c, ok, err := decide(r, now)
			if err != nil {
				d.log.Error("defect: no such transition", "id", r.ID, "error", err)
			} else if ok {
				handled[r.ID] = true
				list = append(list, settled{change: c, row: r, from: from})
			}
		}
	}
	add(page.Dead, d.sweepDead)
	add(page.Expired, sweepExpired)
	if len(list) == 0 {
		return
	}
	changes := make([]Change, len(list))
	for i := range list {
		changes[i] = list[i].change
	}
	done, err := d.store.Apply(ctx, now, changes)
	if err != nil && !isPassing(err) {
		// One row's fault must not hold the others up.
		err = nil
		done = make([]bool, len(changes))
		for i := range changes {
			one, e := d.store.Apply(ctx, now, changes[i:i+1])
			if e != nil {
				d.log.Error("the store refuses what the sweep decided", "id", changes[i].ID, "error", e)
				continue
			}
			done[i] = one[0]
		}
	}
	if err != nil {
		d.log.Error("cannot write what the sweep found; trying again later", "rows", len(list), "error", err)
		return
	}
	for i := range list {
		if done[i] { // else the holder, or another sweep, was faster: fine
			d.observe(&list[i], true)
		}
	}
}

// sweepDead decides on a row whose lease has passed. Rows of topics that this
// dispatcher does not know are left to those that do, until they expire.
func (d *Dispatcher) sweepDead(r *Row, now time.Time) (Change, bool, error) {
	if d.holds(r.Token) {
		// Our own: its delivery has ended or will, and its write is waiting
		// for the store. State and token decide, not the lease.
		return Change{}, false, nil
	}
	t := d.topics[r.Key.Topic]
	switch {
	case r.State == StateSending && t != nil:
		c, err := r.Reap(now, t.policy.next(now, r.Attempt, 0, d.cfg.Rand()))
		return c, true, err
	case r.State == StateSending && !r.ExpiresAt.After(now):
		c, err := r.Reap(now, Next{Due: now, Last: true})
		return c, true, err
	case r.State == StatePending && t != nil && r.Attempt >= t.policy.MaxAttempts:
		c, err := r.SweepExhausted(now)
		return c, true, err
	}
	return Change{}, false, nil
}

func sweepExpired(r *Row, now time.Time) (Change, bool, error) {
	c, err := r.Withdraw(now, ReasonExpired, "sweep")
	return c, true, err
}

// holds reports whether rows of the claim are still being worked on here.
func (d *Dispatcher) holds(token Token) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held[token] > 0
}
