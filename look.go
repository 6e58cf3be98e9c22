package lastlook

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// callGrace is how long a look or a delivery may take to return after its
// deadline before it is counted as unanswered. Its goroutine is still waited
// for when the dispatcher stops.
const callGrace = 2 * time.Second

// flushAfter is how long finished looks wait for others of their batch, so
// that a slow source does not make its neighbours' values old.
const flushAfter = 100 * time.Millisecond

var errLookAbandoned = errors.New("the look did not answer in time")

func isBadPayload(err error) bool { return errors.Is(err, errBadPayload) }

// seenSubject is a subject's position in the batch and what was seen of it.
type seenSubject struct {
	index int
	seen  looked
}

// look looks at every subject and calls emit with groups of results, each
// subject once, in the goroutine of the caller. Subjects that were not looked
// at because ctx ended come with an error that wraps ctx's.
func (d *Dispatcher) look(ctx context.Context, t *topic, subjects []string, emit func([]seenSubject)) {
	switch {
	case ctx.Err() != nil:
		none := make([]seenSubject, len(subjects))
		for i := range none {
			none[i] = seenSubject{i, looked{at: d.now(), err: ErrNotLooked}}
		}
		emit(none)
	case t.look != nil:
		d.lookBatch(ctx, t, subjects, emit)
	default:
		d.lookEach(ctx, t, subjects, emit)
	}
}

// lookBatch asks the topic's Look once. If it panics, each subject is asked
// alone, a few at a time, so that the one which causes it does not take the
// others along.
func (d *Dispatcher) lookBatch(ctx context.Context, t *topic, subjects []string, emit func([]seenSubject)) {
	res, err := d.lookOnce(ctx, t, subjects)
	if errors.Is(err, errTopicPanicked) && len(subjects) > 1 {
		alone := *t
		alone.lookOne = func(ctx context.Context, subject string) looked {
			if res := t.look(ctx, []string{subject}); len(res) == 1 {
				return res[0]
			}
			return looked{err: fmt.Errorf("topic %q: the look gave no single result for one subject", t.name)}
		}
		d.lookEach(ctx, &alone, subjects, emit)
		return
	}
	out := make([]seenSubject, len(subjects))
	for i := range subjects {
		out[i] = seenSubject{i, looked{err: err, at: d.now()}}
		if err == nil {
			out[i].seen = res[i]
		}
	}
	emit(out)
}

var errTopicPanicked = errors.New("topic panicked")

// lookOnce calls Look under the look timeout.
func (d *Dispatcher) lookOnce(ctx context.Context, t *topic, subjects []string) ([]looked, error) {
	start := d.now()
	res, err := guarded(ctx, d, t.policy.LookTimeout, func(ctx context.Context) ([]looked, error) {
		res := t.look(ctx, subjects)
		if len(res) != len(subjects) {
			return nil, fmt.Errorf("topic %q: the look gave %d results for %d subjects", t.name, len(res), len(subjects))
		}
		return res, nil
	})
	for i := range res {
		res[i].at = lookedFrom(res[i].at, start)
	}
	return res, err
}

// lookEach runs LookOne for each subject, a few at a time, and emits results
// in the groups in which they come.
func (d *Dispatcher) lookEach(ctx context.Context, t *topic, subjects []string, emit func([]seenSubject)) {
	// New looks are begun only in the first half of the oldest age allowed:
	// what cannot be begun by then waits for another claim, unlooked at.
	begin, cancel := context.WithTimeout(ctx, min(t.policy.MaxAge/2, t.policy.LookTimeout))
	defer cancel()
	results := make(chan seenSubject, len(subjects))
	work := make(chan int, len(subjects))
	for i := range subjects {
		work <- i
	}
	close(work)
	for range min(t.lookConcurrency, len(subjects)) {
		d.calls.Load().Go(func() {
			for i := range work {
				if begin.Err() != nil {
					results <- seenSubject{i, looked{at: d.now(), err: ErrNotLooked}}
					continue
				}
				results <- seenSubject{i, d.lookSubject(ctx, t, subjects[i])}
			}
		})
	}
	d.emitGroups(results, len(subjects), emit)
}

// ErrNotLooked is what a [Topic.Look] returns, wrapped or not, for a subject
// that it did not begin to look at for want of time. Nothing is known to be
// wrong, so the row is given back for a second without costing an attempt.
var ErrNotLooked = errors.New("lastlook: not looked at")

func (d *Dispatcher) emitGroups(results <-chan seenSubject, n int, emit func([]seenSubject)) {
	var group []seenSubject
	timer := time.NewTimer(flushAfter)
	defer timer.Stop()
	for n > 0 {
		select {
		case s := <-results:
			group = append(group, s)
			n--
		case <-timer.C:
			if len(group) > 0 {
				emit(group)
				group = nil
			}
			timer.Reset(flushAfter)
		}
	}
	if len(group) > 0 {
		emit(group)
	}
}

func (d *Dispatcher) lookSubject(ctx context.Context, t *topic, subject string) looked {
	start := d.now()
	res, err := guarded(ctx, d, t.policy.LookTimeout, func(ctx context.Context) (looked, error) {
		return t.lookOne(ctx, subject), nil
	})
	if err != nil {
		res.err = err
	}
	res.at = lookedFrom(res.at, start)
	return res
}

// lookedFrom returns when a value was looked at: a copy may be older than the
// look, but nothing can be from the future.
func lookedFrom(at, start time.Time) time.Time {
	if at.IsZero() || at.After(start) {
		return start
	}
	return at
}

// guarded runs a topic's function under a timeout, containing its panic, and
// gives up on it callGrace after the deadline. The dispatcher waits for the
// goroutine when it stops.
func guarded[T any](ctx context.Context, d *Dispatcher, timeout time.Duration, f func(context.Context) (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	done := make(chan result, 1)
	d.calls.Load().Go(func() {
		defer cancel()
		var r result
		returned := false
		defer func() {
			if p := recover(); p != nil {
				d.panicked("topic", p)
				r.err = fmt.Errorf("%w: %v", errTopicPanicked, p)
			} else if !returned {
				r.err = fmt.Errorf("%w: it ended its goroutine", errTopicPanicked)
			}
			done <- r
		}()
		r.v, r.err = f(ctx)
		returned = true
	})
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
	}
	// A function that honours ctx answers now, with more than we know.
	timer := time.NewTimer(callGrace)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.v, r.err
	case <-timer.C:
		var zero T
		return zero, errLookAbandoned
	}
}

// panicked tells the operator where user code panicked. It is called while the
// panic is being recovered, so the stack is still that of the fault.
func (d *Dispatcher) panicked(what string, p any) {
	d.log.Error(what+" panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}
