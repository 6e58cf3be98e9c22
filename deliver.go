package lastlook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// callResult is what a call of a channel came to.
type callResult struct {
	called    bool
	receipt   Receipt
	err       error
	at, until time.Time // the call's begin and end
}

// parcel is a row in state sending, and its message.
type parcel struct {
	row     *Row
	change  Change // to sending
	message Message
	// lookedAt is Assertion.LookedAt with the clock's monotonic part.
	lookedAt time.Time
	// state is waiting, calling or settled: whoever moves it to settled
	// decides the outcome, the call or its deadline.
	state atomic.Uint32
	began atomic.Int64 // Unix microseconds, set with calling
}

const (
	parcelWaiting uint32 = iota
	parcelCalling
	parcelSettled
)

// shipment is the rows of one batch on their way: one topic, one deadline.
type shipment struct {
	topic   *topic
	parcels []*parcel
	ctx     context.Context // carries the deadline, not the dispatcher's end
	left    atomic.Int64    // parcels not settled
	done    chan struct{}   // closed when left is 0
}

// deliver calls the channels, concurrently per lane, and settles every parcel
// by callGrace after the deadline. It returns when all are settled.
func (d *Dispatcher) deliver(ctx context.Context, s *shipment) {
	s.left.Store(int64(len(s.parcels)))
	d.ends.underway.Add(int64(len(s.parcels)))
	byLane := map[laneKey][]*parcel{}
	for _, p := range s.parcels {
		k := p.row.Lane.key()
		byLane[k] = append(byLane[k], p)
	}
	for k, ps := range byLane {
		next := new(atomic.Int64)
		for range min(len(ps), d.cfg.LaneConcurrency) {
			d.calls.Load().Go(func() { d.work(ctx, s, k, ps, next) })
		}
	}
	deadline, _ := s.ctx.Deadline()
	timer := time.NewTimer(time.Until(deadline) + callGrace)
	defer timer.Stop()
	select {
	case <-s.done:
		return
	case <-timer.C:
	}
	// Calls that ignore their context: nobody knows what becomes of them.
	now := d.now()
	for _, p := range s.parcels {
		switch {
		case p.state.CompareAndSwap(parcelWaiting, parcelSettled):
			d.settle(s, p, callResult{err: errNoTurn})
		case p.state.CompareAndSwap(parcelCalling, parcelSettled):
			d.lanes.answered(p.row.Lane.key(), now.Sub(time.UnixMicro(p.began.Load())), false)
			d.settle(s, p, callResult{called: true, err: Unknown(errNoAnswer), at: time.UnixMicro(p.began.Load()), until: now})
		}
	}
}

var (
	errNoTurn   = errors.New("the deadline passed before its turn came")
	errNoAnswer = errors.New("the channel did not return by its deadline")
	errTooOld   = errors.New("the look became too old before its turn came")
	errExpired  = errors.New("the row expired before its turn came")
	errStopping = errors.New("the dispatcher is stopping")
)

// work delivers parcels of one lane until none is left.
func (d *Dispatcher) work(ctx context.Context, s *shipment, k laneKey, ps []*parcel, next *atomic.Int64) {
	slots := d.lanes.slots(k)
	for {
		i := next.Add(1) - 1
		if i >= int64(len(ps)) {
			return
		}
		select {
		case slots <- struct{}{}:
			func() {
				defer func() { <-slots }() // also if the channel ends its goroutine
				d.deliverOne(ctx, s, k, ps[i])
			}()
		case <-s.ctx.Done():
			if p := ps[i]; p.state.CompareAndSwap(parcelWaiting, parcelSettled) {
				d.settle(s, p, callResult{err: errNoTurn})
			}
		}
	}
}

// deliverOne makes the last checks and calls the channel.
func (d *Dispatcher) deliverOne(ctx context.Context, s *shipment, k laneKey, p *parcel) {
	begin := d.now()
	var not error
	switch {
	case ctx.Err() != nil:
		not = errStopping
	case s.ctx.Err() != nil:
		not = errNoTurn
	case begin.Sub(p.lookedAt) > s.topic.policy.MaxAge:
		not = errTooOld
	case !p.row.ExpiresAt.After(begin):
		not = errExpired
	}
	if not != nil {
		if p.state.CompareAndSwap(parcelWaiting, parcelSettled) {
			d.settle(s, p, callResult{err: not})
		}
		return
	}
	p.began.Store(begin.UnixMicro())
	if !p.state.CompareAndSwap(parcelWaiting, parcelCalling) {
		return
	}
	r := p.row
	receipt, err := d.callSafely(s.ctx, d.cfg.Channels[r.Key.Channel], Delivery{
		ID: r.ID, Key: r.Key, Message: p.message, Value: slices.Clone(r.Assertion.Value),
		DeliveryKey: DeliveryKey(r.Key, r.Assertion.Seq), ReplaceKey: ReplaceKey(r.Key),
		Priority: r.Lane.Priority, Attempt: r.Attempt, LookedAt: r.Assertion.LookedAt, ExpiresAt: r.ExpiresAt, Trace: r.Trace,
	})
	end := d.now()
	d.lanes.answered(k, end.Sub(begin), err == nil)
	if !p.state.CompareAndSwap(parcelCalling, parcelSettled) {
		// Settled at its deadline already. The answer is not lost on people.
		d.log.Warn("channel answered after its deadline", "id", r.ID, "channel", r.Key.Channel, "lane", k.name, "took", end.Sub(begin), "error", err)
		return
	}
	d.settle(s, p, callResult{called: true, receipt: receipt, err: err, at: begin, until: end})
}

func (d *Dispatcher) callSafely(ctx context.Context, ch Channel, dl Delivery) (r Receipt, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.panicked("channel "+dl.Key.Channel, p)
			err = Unknown(fmt.Errorf("channel %q panicked: %v", dl.Key.Channel, p))
		}
	}()
	return ch.Deliver(ctx, dl)
}

// classifyCall is [Classify] for a channel's error: one that only says that
// time ran out, or that the call was cancelled, cannot say that nothing was
// delivered.
func classifyCall(err error) (Class, time.Duration) {
	class, hint := Classify(err)
	if _, classified := errors.AsType[*Error](err); !classified &&
		(errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return ClassUnknown, hint
	}
	return class, hint
}

// settle turns the result into a change and hands it to the writer.
func (d *Dispatcher) settle(s *shipment, p *parcel, res callResult) {
	now := d.now()
	var parked time.Time
	if class, _ := classifyCall(res.err); res.called && res.err != nil && class == ClassMisconfigured {
		var first bool
		parked, first = d.lanes.park(p.row.Lane.key(), now, s.topic.policy)
		if first {
			d.log.Error("lane parked: the channel refuses our settings or credentials; correct them, rows wait",
				"channel", p.row.Key.Channel, "lane", p.row.Lane.Name, "until", parked, "error", res.err)
		}
	}
	from := p.row.State
	c, err := settle(p.row, s.topic, res, now, d.cfg.Rand(), parked)
	if err != nil {
		d.ends.underway.Add(-1)
		d.defect(p.row, err)
	} else {
		d.ends.arrive(&settled{change: c, row: p.row, from: from, result: res})
	}
	if s.left.Add(-1) == 0 {
		close(s.done)
	}
}
