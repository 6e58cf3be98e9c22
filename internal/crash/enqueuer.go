package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
)

// enqueuer is the application: it moves the world, asks the level-triggered
// question of some subjects at a time, notices edges, and writes rows of its own
// together with what it enqueues.
type enqueuer struct {
	world   *world
	db      Database
	outbox  *lastlook.Outbox
	wake    func()
	topics  map[string]lastlook.Topic[Value]
	journal *journal
	life    *life
	rng     *rand.Rand
	now     func() time.Time
	next    int64
	plant   Plant
	// patient says that the database comes and goes: what fails was not
	// acknowledged.
	patient bool
}

// callsPerRun leaves numbers for the calls of one run.
const callsPerRun = 1_000_000

// txTrace begins the trace of items that were enqueued in a transaction of the
// application; the call's number follows.
const txTrace = "tx-"

// run enqueues until ctx ends.
func (e *enqueuer) run(ctx context.Context) error {
	for ctx.Err() == nil && !e.life.over() {
		step := e.world.now() + 1
		e.journal.add(Entry{Kind: KindStep, N: step})
		e.world.move(step)
		err := e.act(ctx, step)
		switch {
		case err == nil || errors.Is(err, lastlook.ErrBusy) || ctx.Err() != nil || e.life.over():
		case e.patient:
			pause(ctx, 20*time.Millisecond)
		default:
			return fmt.Errorf("enqueuer: %w", err)
		}
		pause(ctx, time.Duration(1+e.rng.IntN(6))*time.Millisecond)
	}
	return nil
}

// act makes one call.
func (e *enqueuer) act(ctx context.Context, step int64) error {
	n := e.next
	e.next++
	tx := e.rng.IntN(3) == 0
	trace := strconv.FormatInt(n, 10)
	if tx {
		trace = txTrace + trace
	}
	items, err := e.items(step, trace)
	if err != nil || len(items) == 0 {
		return err
	}
	intent := make([]EnqueuedOne, len(items))
	for i := range items {
		intent[i] = EnqueuedOne{Key: items[i].Key, Edge: items[i].Edge}
	}
	e.journal.add(Entry{Kind: KindIntent, N: n, Items: intent})
	commit := e.rng.IntN(4) > 0
	var res []lastlook.EnqueueResult
	if tx {
		res, err = e.enqueueTx(ctx, n, items, commit)
	} else {
		res, err = e.outbox.Enqueue(ctx, items...)
	}
	if err != nil {
		return err
	}
	if tx && !commit {
		e.journal.add(Entry{Kind: KindRolledBack, N: n})
		return nil
	}
	ack := slices.Clone(intent)
	for i := range ack {
		ack[i].Status, ack[i].ID = res[i].Status.String(), res[i].ID
	}
	e.journal.add(Entry{Kind: KindAck, N: n, Items: ack})
	return nil
}

func (e *enqueuer) enqueueTx(ctx context.Context, n int64, items []lastlook.Item, commit bool) ([]lastlook.EnqueueResult, error) {
	if e.plant == PlantTx {
		res, err := e.db.Store().Enqueue(ctx, e.now(), items)
		if err != nil {
			return nil, err
		}
		_, err = e.db.EnqueueTx(ctx, e.now(), n, nil, commit, e.life.pass)
		return res, err
	}
	res, err := e.db.EnqueueTx(ctx, e.now(), n, items, commit, e.life.pass)
	if err == nil && commit {
		e.wake()
	}
	return res, err
}

// items are what is to be said at a step: of one topic, some subjects, each to
// one or two recipients.
func (e *enqueuer) items(step int64, trace string) ([]lastlook.Item, error) {
	k := kinds[e.rng.IntN(len(kinds))]
	if k.poison {
		return nil, nil
	}
	first := int64(0)
	if k.fresh {
		first = step / 8
	}
	var items []lastlook.Item
	for range 1 + e.rng.IntN(6) {
		subject := fmt.Sprintf("%s-%d", k.name, first+int64(e.rng.IntN(12)))
		s := sightAt(e.world.seed, k, subject, step)
		if s.blocked || s.gone || s.value.Trouble != "" || !s.value.holds() {
			continue
		}
		for _, to := range e.recipients(k, subject) {
			it, err := e.topics[k.name].Item(to, s.value)
			if err != nil {
				return nil, err
			}
			it.Edge, it.Trace = k.edges, trace
			it.Lane = fmt.Sprintf("host-%d", e.rng.IntN(3))
			it.Priority = lastlook.Priority(e.rng.IntN(3) - 1)
			items = append(items, it)
		}
	}
	return items, nil
}

func (e *enqueuer) recipients(k *kind, subject string) []lastlook.Target {
	if k.fresh && strings.HasSuffix(subject, "7") && hash(e.world.seed, subject, 0)%8 == 0 {
		return []lastlook.Target{{Subject: subject, Recipient: goneMark + "-" + subject, Channel: channelNames[0]}}
	}
	out := []lastlook.Target{{Subject: subject, Recipient: "ann", Channel: channelNames[0]}}
	if e.rng.IntN(2) == 0 {
		out = append(out, lastlook.Target{Subject: subject, Recipient: "ben", Channel: channelNames[1]})
	}
	return out
}
