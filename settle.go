package lastlook

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// settled is a decided end of an attempt, on its way to the store.
type settled struct {
	change Change
	row    *Row
	from   State
	result callResult
	err    error // the look's, for the observer
}

// ends collects what is to be written, so that one write takes all that has
// come while the last one was under way.
type ends struct {
	mu    sync.Mutex
	queue []*settled
	ready chan struct{} // holds a token while the queue is not empty
	// underway counts shipped parcels whose end is not in the queue yet.
	underway atomic.Int64
}

func newEnds() *ends { return &ends{ready: make(chan struct{}, 1)} }

func (e *ends) add(s *settled) {
	e.mu.Lock()
	e.queue = append(e.queue, s)
	e.mu.Unlock()
	signal(e.ready)
}

// arrive adds the end of a shipped parcel.
func (e *ends) arrive(s *settled) {
	e.mu.Lock()
	e.queue = append(e.queue, s)
	e.mu.Unlock()
	e.underway.Add(-1)
	signal(e.ready)
}

func (e *ends) take(limit int) []*settled {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(limit, len(e.queue))
	out := e.queue[:n:n]
	e.queue = e.queue[n:]
	if len(e.queue) == 0 {
		e.queue = nil
	}
	return out
}

// writeLimit bounds the changes of one write.
const writeLimit = 1000

// linger is how long a write waits for other calls that are under way: most
// ends of a batch come together, and a transaction costs a sync.
const linger = 3 * time.Millisecond

// gather waits, not for long, for the ends that are about to come.
func (e *ends) gather() {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for e.underway.Load() > 0 {
		select {
		case <-e.ready:
		case <-timer.C:
			return
		}
	}
}

// writeEnds writes what deliveries came to until stop is closed and nothing is
// left. An end is never given up while the process lives and its owner waits:
// the state and the token decide, not the lease.
func (d *Dispatcher) writeEnds(ctx context.Context, stop <-chan struct{}) {
	for {
		batch := d.ends.take(writeLimit)
		if len(batch) > 0 {
			d.write(ctx, batch)
			continue
		}
		select {
		case <-d.ends.ready:
			d.ends.gather()
		case <-stop:
			if batch = d.ends.take(writeLimit); len(batch) == 0 {
				return
			}
			d.write(ctx, batch)
		}
	}
}

// write applies decided changes, trying again for as long as the store cannot
// take them and ctx lives.
func (d *Dispatcher) write(ctx context.Context, batch []*settled) {
	changes := make([]Change, len(batch))
	rows := make([]*Row, len(batch))
	for i := range batch {
		changes[i], rows[i] = batch[i].change, batch[i].row
	}
	wait := 50 * time.Millisecond
	for tries := 1; ; tries++ {
		done, err := d.store.Apply(ctx, d.now(), changes)
		if err == nil {
			for i := range batch {
				d.observe(batch[i], done[i])
			}
			d.release(rows)
			return
		}
		d.log.Error("cannot write what was decided; trying again", "rows", len(batch), "error", err)
		if refused := !isPassing(err) && ctx.Err() == nil; refused && len(batch) > 1 {
			// One row's fault must not hold the others up.
			for i := range batch {
				d.write(ctx, batch[i:i+1])
			}
			return
		} else if refused && tries >= refusedTries {
			d.log.Error("the store refuses a change; its lease ends the attempt", "id", batch[0].row.ID, "event", string(batch[0].change.Event), "error", err)
			d.release(rows)
			return
		}
		if !sleep(ctx, wait) {
			d.log.Error("stopped before what was decided could be written; leases will pass, and the reaper will count deliveries as maybe made", "rows", len(batch))
			d.release(rows)
			return
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// refusedTries is how often a change is offered to a store that refuses it for
// no passing reason.
const refusedTries = 5

// isPassing reports whether an error of the store may pass by itself, or when
// somebody makes room.
func isPassing(err error) bool {
	return errors.Is(err, ErrBusy) || errors.Is(err, ErrFull) || errors.Is(err, ErrReadOnly) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func sleep(ctx context.Context, dur time.Duration) bool {
	timer := time.NewTimer(dur)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// release counts rows off and lets the loop plan again.
func (d *Dispatcher) release(rows []*Row) {
	counts := map[laneKey]int{}
	for i := range rows {
		counts[rows[i].Lane.key()]++
	}
	d.lanes.done(counts)
	d.countLanes(rows, Counter.Released)
	d.mu.Lock()
	for i := range rows {
		if n := d.held[rows[i].Token]; n > 1 {
			d.held[rows[i].Token] = n - 1
		} else {
			delete(d.held, rows[i].Token)
		}
	}
	d.mu.Unlock()
	signal(d.freed)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (d *Dispatcher) observe(s *settled, applied bool) {
	c := &s.change
	d.count(c, applied)
	if !applied {
		d.log.Warn("lost a claim: somebody else has moved the row on", "id", c.ID, "event", string(c.Event))
	}
	if len(d.observers) == 0 {
		return
	}
	t := Transition{At: c.At, ID: c.ID, Key: s.row.Key, Lane: s.row.Lane, Trace: s.row.Trace, Event: c.Event,
		From: s.from, To: c.To, Reason: c.Reason, Attempt: s.row.Attempt, Lost: !applied,
		LookedAt: s.row.Assertion.LookedAt, Err: s.err}
	if s.result.called {
		t.Called, t.Answered, t.Err = s.result.at, s.result.until, s.result.err
	}
	for _, o := range d.observers {
		d.tell(o, t)
	}
}

// tell keeps an observer's panic from ending the writer.
func (d *Dispatcher) tell(o Observer, t Transition) {
	defer func() {
		if p := recover(); p != nil {
			d.panicked("observer", p)
		}
	}()
	o.Observe(t)
}
