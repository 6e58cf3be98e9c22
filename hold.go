package lastlook

import (
	"context"
	"fmt"
)

// holdRows asks the gate which rows wait, before anybody looks: what may wait
// long must not wait with a value in its hand.
func (d *Dispatcher) holdRows(ctx context.Context, t *topic, rows []*Row, ended []settled) ([]*Row, []settled) {
	if d.holder == nil || len(rows) == 0 {
		return rows, ended
	}
	held := make([]Held, len(rows))
	for i, r := range rows {
		held[i] = Held{ID: r.ID, Key: r.Key, Lane: r.Lane, Attempt: r.Attempt, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt}
	}
	waits, err := guarded(ctx, d, t.policy.LookTimeout, func(ctx context.Context) ([]Wait, error) {
		waits, err := d.holder.Hold(ctx, held, d.now())
		if err == nil && len(waits) != len(held) {
			err = fmt.Errorf("the gate gave %d answers for %d rows", len(waits), len(held))
		}
		return waits, err
	})
	if ctx.Err() != nil {
		return rows, ended // we are stopping: they are given back as they were
	}
	now := d.now()
	if err != nil {
		d.log.Error("cannot ask the gate which rows wait; all of them do, for a moment", "rows", len(rows), "error", err)
		waits = make([]Wait, len(rows))
		for i := range waits {
			waits[i] = Wait{Until: now.Add(lookPause), Why: "the gate could not be asked: " + errText(err)}
		}
	}
	var ready []*Row
	for i, r := range rows {
		switch w := waits[i]; {
		case !w.Until.After(now):
			ready = append(ready, r)
		case CheckClock(w.Until) != nil: // a gate's mistake must not make a row wait for ever
			ended = d.appendEnd(ended, r, nil)(r.Postpone(now, now.Add(lookPause), Outcome{Err: "the gate gave an impossible time"}))
		default:
			ended = d.appendEnd(ended, r, nil)(r.Postpone(now, w.Until, Outcome{Err: w.Why}))
		}
	}
	return ready, ended
}

// countLanes tells a gate that counts.
func (d *Dispatcher) countLanes(rows []*Row, tell func(Counter, Lane, int)) {
	if d.counter == nil {
		return
	}
	counts := map[Lane]int{}
	for _, r := range rows {
		counts[r.Lane]++
	}
	for lane, n := range counts {
		tell(d.counter, lane, n)
	}
}

func rowPointers(rows []Row) []*Row {
	out := make([]*Row, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out
}
