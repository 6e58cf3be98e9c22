package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook"
)

// Enqueuer enqueues in the transactions of an application that keeps the outbox
// in its own database. It needs no connection of its own, and is safe for
// concurrent use. The tables must be there (see [Store.Migrate], [MigrationSQL]).
type Enqueuer struct {
	queries queries
	schema  string
	timeout time.Duration
	channel string // what NOTIFY names; "" if it is not to
	lanes   laneCache
}

// NewEnqueuer returns an Enqueuer.
func NewEnqueuer(c Config) (*Enqueuer, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	q, err := loadQueries(c.Schema, c.rewrite)
	if err != nil {
		return nil, err
	}
	e := &Enqueuer{queries: q, schema: c.Schema, timeout: c.Timeout}
	if c.Notify {
		e.channel = notifyChannel(c.Schema)
	}
	return e, nil
}

// EnqueueTx enqueues items in the caller's transaction: they are there if it
// commits, and nothing of them if it rolls back. Results are in the order of
// items. After an error nothing of this call is in the transaction, which can go
// on, unless its connection is lost. After the commit, wake the dispatcher if it
// runs in this process.
//
// From here to the end of the transaction, others who enqueue the same keys wait:
// make this call late, and once, in a transaction. It may fail with
// [lastlook.ErrBusy] for a serialization failure or a deadlock (40001, 40P01):
// make the whole transaction again.
func (e *Enqueuer) EnqueueTx(ctx context.Context, tx pgx.Tx, now time.Time, items ...lastlook.Item) ([]lastlook.EnqueueResult, error) {
	return e.enqueueIn(ctx, pgxSession{to: tx, queries: e.queries}, now, items)
}

// EnqueueSQLTx is [Enqueuer.EnqueueTx] for a transaction of database/sql, of
// any driver that writes parameters as $1. It waits for the network once per
// statement.
func (e *Enqueuer) EnqueueSQLTx(ctx context.Context, tx *sql.Tx, now time.Time, items ...lastlook.Item) ([]lastlook.EnqueueResult, error) {
	return e.enqueueIn(ctx, sqlSession{tx: tx, queries: e.queries}, now, items)
}

// txTries bounds how often a call in a caller's transaction looks again.
const txTries = 4

func (e *Enqueuer) enqueueIn(ctx context.Context, s session, now time.Time, items []lastlook.Item) ([]lastlook.EnqueueResult, error) {
	prepared, err := lastlook.Prepare(now, items)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	ctx, cancel := e.limit(ctx)
	defer cancel()
	if err := s.run(ctx, step{name: "savepoint"}); err != nil {
		return nil, explain(ctx, "enqueue", err)
	}
	for try := 1; ; try++ {
		res, err := e.enqueueKeeping(ctx, s, now, prepared)
		if err == nil {
			return res, nil
		}
		// Also when ctx has ended meanwhile: the transaction is the caller's.
		back := s.run(context.WithoutCancel(ctx), step{name: "savepoint_rollback"})
		if back == nil && errors.Is(err, errRaced) && try < txTries {
			continue
		}
		if back == nil {
			back = s.run(context.WithoutCancel(ctx), step{name: "savepoint_release"})
		}
		if back != nil {
			err = errors.Join(err, fmt.Errorf("the transaction is lost: %w", back))
		}
		return nil, explain(ctx, "enqueue", err)
	}
}

// enqueueKeeping enqueues under the planner's settings that the statements want,
// and sets the caller's back.
func (e *Enqueuer) enqueueKeeping(ctx context.Context, s session, now time.Time, items []lastlook.Prepared) ([]lastlook.EnqueueResult, error) {
	var was [4]string
	in := e.newIntake(s, now, items)
	err := s.run(ctx, append([]step{
		{name: "planner_ask", each: func(r scanner) error { return r.Scan(&was[0], &was[1], &was[2], &was[3]) }},
		{name: "planner_set", args: []any{"off", "off", "off", "off"}, each: discard},
	}, in.look()...)...)
	if err != nil {
		return nil, err
	}
	res, steps, err := in.admit(ctx)
	if err != nil {
		return nil, err
	}
	return res, s.run(ctx, append(steps,
		step{name: "planner_set", args: []any{was[0], was[1], was[2], was[3]}, each: discard},
		step{name: "savepoint_release"})...)
}

// discard reads rows that nobody wants: some drivers want them read.
func discard(scanner) error { return nil }

// Enqueue implements [lastlook.Store].
func (s *Store) Enqueue(ctx context.Context, now time.Time, items []lastlook.Item) ([]lastlook.EnqueueResult, error) {
	prepared, err := lastlook.Prepare(now, items)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	if err := s.knowLanes(ctx, prepared); err != nil {
		return nil, err
	}
	j, ok := s.groups.join(ctx, now, prepared, func(group []*joined) { s.enqueueGroup(ctx, group) })
	if ok {
		return j.res, j.err
	}
	return s.enqueueAt(ctx, now, prepared, writing)
}

// enqueueAt enqueues items in one transaction.
func (s *Store) enqueueAt(ctx context.Context, now time.Time, prepared []lastlook.Prepared, m mode) ([]lastlook.EnqueueResult, error) {
	var res []lastlook.EnqueueResult
	err := s.transact(ctx, "enqueue", m, func(ctx context.Context, t *transaction) error {
		in := s.newIntake(t, now, prepared)
		if err := t.run(ctx, in.look()...); err != nil {
			return err
		}
		var steps []step
		var err error
		if res, steps, err = in.admit(ctx); err != nil {
			return err
		}
		return t.commit(ctx, steps...)
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// laneKey is what a lane is found by.
type laneKey struct {
	topic, channel, lane string
	priority             lastlook.Priority
}

func laneOf(p *lastlook.Prepared) laneKey {
	return laneKey{p.Topic, p.Channel, p.Lane, p.Priority}
}

// laneCache remembers the numbers of lanes that were read from committed
// transactions: a lane is never deleted.
type laneCache struct {
	mu  sync.Mutex
	ids map[laneKey]int64
}

// maxLanes bounds the cache.
const maxLanes = 100_000

// find fills in the numbers that it knows, and returns the lanes that are left.
func (c *laneCache) find(lanes map[laneKey]int64) (missing []laneKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range lanes {
		if id, ok := c.ids[k]; ok {
			lanes[k] = id
		} else {
			missing = append(missing, k)
		}
	}
	return missing
}

func (c *laneCache) add(lanes map[laneKey]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil || len(c.ids)+len(lanes) > maxLanes {
		c.ids = map[laneKey]int64{}
	}
	maps.Copy(c.ids, lanes)
}

func lanesOf(items []lastlook.Prepared) map[laneKey]int64 {
	lanes := map[laneKey]int64{}
	for i := range items {
		lanes[laneOf(&items[i])] = 0
	}
	return lanes
}

// knowLanes makes sure that the items' lanes are in the cache. New lanes are
// added in a transaction of their own, so that nobody waits for another's.
func (s *Store) knowLanes(ctx context.Context, items []lastlook.Prepared) error {
	lanes := lanesOf(items)
	missing := s.lanes.find(lanes)
	if len(missing) == 0 {
		return nil
	}
	err := s.transact(ctx, "enqueue", writing, func(ctx context.Context, t *transaction) error {
		left, err := findLanes(ctx, t, missing, lanes)
		if err != nil || len(left) == 0 {
			return err
		}
		_, err = findLanes(ctx, t, left, lanes, step{name: "enqueue_add_lanes", args: laneArgs(left)})
		return err
	})
	if err == nil {
		s.lanes.add(lanes)
	}
	return err
}

// findLanes reads the numbers of lanes, after the steps given, and returns the
// lanes that are not there.
func findLanes(ctx context.Context, s session, keys []laneKey, into map[laneKey]int64, before ...step) ([]laneKey, error) {
	err := s.run(ctx, append(before, step{name: "enqueue_lanes", args: laneArgs(keys), each: func(r scanner) error {
		var n, id int64
		err := r.Scan(&n, &id)
		if err == nil {
			into[keys[n-1]] = id
		}
		return err
	}})...)
	return slices.DeleteFunc(slices.Clone(keys), func(k laneKey) bool { return into[k] != 0 }), err
}

func laneArgs(keys []laneKey) []any {
	slices.SortFunc(keys, compareLanes) // who adds the same ones waits in the same order
	n := len(keys)
	topics, channels, names, priorities := make([]string, n), make([]string, n), make([]string, n), make([]int64, n)
	for i, k := range keys {
		topics[i], channels[i], names[i], priorities[i] = k.topic, k.channel, k.lane, int64(k.priority)
	}
	return []any{topics, channels, names, priorities}
}
