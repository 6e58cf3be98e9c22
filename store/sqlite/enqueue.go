package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
	codes "modernc.org/sqlite/lib"
)

// Enqueuer enqueues in the transactions of an application that keeps the outbox
// in its own SQLite file, whatever the driver it opened that with: any of
// database/sql on SQLite 3.35 or later. It needs no connection of its own. Call
// [Migrate] once, to make the tables.
//
// A dispatcher for the same file opens it with [Open]. If the application's
// driver is not modernc.org/sqlite, that must be another process: two SQLite
// libraries in one process do not see each other's locks, and corrupt the file.
// An Enqueuer is safe for concurrent use.
type Enqueuer struct {
	queries queries
	timeout time.Duration
}

// NewEnqueuer returns an Enqueuer. Of the options, only [WithTimeout] matters
// to it.
func NewEnqueuer(opts ...Option) (*Enqueuer, error) {
	c := config{timeout: defaultTimeout}
	for _, o := range opts {
		o(&c)
	}
	if c.timeout <= 0 {
		return nil, fmt.Errorf("sqlite: %w: a timeout of %s: it must be positive", lastlook.ErrInvalid, c.timeout)
	}
	return newEnqueuer(c.timeout, c.rewrite)
}

func newEnqueuer(timeout time.Duration, rewrite rewriter) (*Enqueuer, error) {
	q, err := loadQueries(rewrite)
	if err != nil {
		return nil, err
	}
	return &Enqueuer{queries: q, timeout: timeout}, nil
}

// EnqueueTx enqueues items in the caller's transaction: they are there if it
// commits, and nothing of them if it rolls back. Results are in the order of
// items. After the commit, wake the dispatcher if it runs in this process.
//
// Begin the transaction with BEGIN IMMEDIATE (_txlock=immediate in the data
// source name of modernc.org/sqlite and mattn/go-sqlite3). A transaction that
// began deferred and has already read cannot wait for the write lock: if
// somebody else has written meanwhile, it fails with [lastlook.ErrBusy], and
// must be made again from its start.
//
// SQLite has one writer at a time, so that from here to the end of the
// transaction all others who enqueue, claim or settle wait: keep it short.
func (e *Enqueuer) EnqueueTx(ctx context.Context, tx *sql.Tx, now time.Time, items ...lastlook.Item) ([]lastlook.EnqueueResult, error) {
	prepared, err := lastlook.Prepare(now, items)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.timeout, errTimeout)
	defer cancel()
	s := txSession{tx: tx, queries: e.queries}
	if _, err := run(ctx, s, "enqueue_lock"); code(err) == codes.SQLITE_ERROR {
		return nil, fmt.Errorf("sqlite: enqueue: run Migrate on this database first: %w", err)
	} else if err != nil {
		return nil, explain(ctx, "enqueue", err)
	}
	// The caller may commit even after an error of this call: nothing of it
	// must be there then.
	if _, err := tx.ExecContext(ctx, "SAVEPOINT lastlook_enqueue"); err != nil {
		return nil, explain(ctx, "enqueue", err)
	}
	res, err := enqueue(ctx, s, now, prepared)
	end := "RELEASE lastlook_enqueue"
	if err != nil {
		end = "ROLLBACK TO lastlook_enqueue; " + end
	}
	// Also when ctx has ended meanwhile: the transaction is the caller's.
	if _, e := tx.ExecContext(context.WithoutCancel(ctx), end); e != nil && err == nil {
		err = e
	}
	if err != nil {
		return nil, explain(ctx, "enqueue", err)
	}
	return res, nil
}

// EnqueueTx is [Enqueuer.EnqueueTx]. tx is a transaction on the store's file:
// that of [Store.WithTx], or one of the *sql.DB that the application has opened
// for itself.
func (s *Store) EnqueueTx(ctx context.Context, tx *sql.Tx, now time.Time, items ...lastlook.Item) ([]lastlook.EnqueueResult, error) {
	return s.enqueuer.EnqueueTx(ctx, tx, now, items...)
}

// Enqueue implements [lastlook.Store].
func (s *Store) Enqueue(ctx context.Context, now time.Time, items []lastlook.Item) ([]lastlook.EnqueueResult, error) {
	prepared, err := lastlook.Prepare(now, items)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	var res []lastlook.EnqueueResult
	err = s.write(ctx, "enqueue", func(ctx context.Context, q *writer) error {
		var err error
		res, err = enqueue(ctx, q, now, prepared)
		return err
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

// standing is one key of a call, and what is to be written for it.
type standing struct {
	lastlook.Standing
	key       lastlook.Key
	newKey    bool
	clearTold bool
}

// admitted is an item that is to become a row or, if id is 0, a mark.
type admitted struct {
	item  *lastlook.Prepared
	stand *standing
	id    lastlook.ID
	due   time.Time
}

// intake is the work of one call.
type intake struct {
	session
	now      time.Time
	items    []lastlook.Prepared
	stands   []standing // one per key, in the order of keys
	of       []int      // the stand of each item
	rows     []admitted
	marks    []admitted
	lanes    map[laneKey]int64
	nextKey  int64
	nextID   lastlook.ID
	haveNext bool
}

// enqueue admits prepared items and writes what comes of it, with a number of
// statements that does not depend on theirs.
func enqueue(ctx context.Context, s session, now time.Time, items []lastlook.Prepared) ([]lastlook.EnqueueResult, error) {
	in := &intake{session: s, now: lastlook.Micro(now), items: items, of: make([]int, len(items))}
	for i := range items {
		// Items are sorted by key, so equal ones are neighbours.
		if n := len(in.stands); n == 0 || in.stands[n-1].key != items[i].Key {
			in.stands = append(in.stands, standing{key: items[i].Key})
		}
		in.of[i] = len(in.stands) - 1
	}
	if err := in.read(ctx); err != nil {
		return nil, err
	}
	res, err := in.admit(ctx)
	if err != nil || len(in.rows)+len(in.marks) == 0 {
		return res, err
	}
	if err := in.findLanes(ctx); err != nil {
		return nil, err
	}
	return res, in.write(ctx)
}

// read asks for each key's standing.
func (in *intake) read(ctx context.Context) error {
	b := batch{name: "enqueue_standing", n: len(in.stands), width: 5, add: func(args []any, i int) []any {
		k := &in.stands[i].key
		return append(args, int64(i), k.Topic, k.Subject, k.Recipient, k.Channel)
	}}
	return b.each(ctx, in, func(r *row) error {
		st := &in.stands[r.int(0)]
		st.LiveID, st.LiveState, st.Muted = lastlook.ID(r.int(1)), lastlook.State(r.int(2)), r.bool(3)
		st.Standing.Key = readKey(r, 4)
		return nil
	})
}

// admit asks the core about each item. Several items of one key see each other:
// the first is inserted, the next meet it alive.
func (in *intake) admit(ctx context.Context) ([]lastlook.EnqueueResult, error) {
	res := make([]lastlook.EnqueueResult, len(in.items))
	for i := range in.items {
		it := &in.items[i]
		st := &in.stands[in.of[i]]
		adm, err := lastlook.Admit(in.now, &it.Item, st.Standing)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", it.Index, err)
		}
		switch adm.Status {
		case lastlook.Inserted:
			if err := in.number(ctx, st); err != nil {
				return nil, err
			}
			adm.ID = in.nextID
			in.nextID++
			st.LiveID, st.LiveState = adm.ID, lastlook.StatePending
			if adm.ClearTold {
				st.clearTold = !st.newKey
				st.Standing.Key.Told, st.Standing.Key.ToldBy, st.Standing.Key.ToldAt = lastlook.Window{}, 0, time.Time{}
			}
			in.rows = append(in.rows, admitted{item: it, stand: st, id: adm.ID, due: adm.Due})
		case lastlook.Marked:
			in.marks = append(in.marks, admitted{item: it, stand: st})
		case lastlook.Duplicate, lastlook.AlreadyTold, lastlook.Muted:
		}
		res[it.Index] = adm.EnqueueResult
	}
	return res, nil
}

// number makes sure that new rows can be numbered, and numbers a new key.
func (in *intake) number(ctx context.Context, st *standing) error {
	if !in.haveNext {
		err := selectRows(ctx, in, "enqueue_next_ids", nil, func(r *row) error {
			in.nextKey, in.nextID = r.int(0), lastlook.ID(r.int(1))
			return nil
		})
		if err != nil {
			return err
		}
		in.haveNext = true
	}
	if st.Standing.Key.ID == 0 {
		st.Standing.Key.ID, st.newKey = in.nextKey, true
		in.nextKey++
	}
	return nil
}

// findLanes numbers the lanes of all rows and marks, adding those that are new.
func (in *intake) findLanes(ctx context.Context) error {
	in.lanes = map[laneKey]int64{}
	for _, list := range [...][]admitted{in.rows, in.marks} {
		for _, a := range list {
			in.lanes[laneOf(a.item)] = 0
		}
	}
	var missing []laneKey
	for k := range in.lanes {
		missing = append(missing, k)
	}
	for range 2 {
		if err := in.lookUp(ctx, missing); err != nil {
			return err
		}
		if missing = slices.DeleteFunc(missing, func(k laneKey) bool { return in.lanes[k] != 0 }); len(missing) == 0 {
			return nil
		}
		add := batch{name: "enqueue_add_lanes", n: len(missing), width: 4, add: func(args []any, i int) []any {
			k := &missing[i]
			return append(args, k.topic, k.channel, k.lane, int64(k.priority))
		}}
		if _, err := add.exec(ctx, in); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d lanes were added and are not there", len(missing))
}

func (in *intake) lookUp(ctx context.Context, keys []laneKey) error {
	b := batch{name: "enqueue_lanes", n: len(keys), width: 5, add: func(args []any, i int) []any {
		k := &keys[i]
		return append(args, int64(i), k.topic, k.channel, k.lane, int64(k.priority))
	}}
	return b.each(ctx, in, func(r *row) error {
		in.lanes[keys[r.int(0)]] = r.int(1)
		return nil
	})
}

func laneOf(p *lastlook.Prepared) laneKey {
	return laneKey{p.Topic, p.Channel, p.Lane, p.Priority}
}

// write writes new keys, rows and marks.
func (in *intake) write(ctx context.Context) error {
	var fresh, cleared []*standing
	for i := range in.stands {
		if st := &in.stands[i]; st.newKey {
			fresh = append(fresh, st)
		} else if st.clearTold {
			cleared = append(cleared, st)
		}
	}
	created := in.now.UnixMicro()
	detection := func(a *admitted) string { return string(a.item.Detection) }
	for _, b := range [...]batch{
		{name: "enqueue_keys", n: len(fresh), width: 5, add: func(args []any, i int) []any {
			k := &fresh[i].key
			return append(args, fresh[i].Standing.Key.ID, k.Topic, k.Subject, k.Recipient, k.Channel)
		}},
		{name: "enqueue_clear_told", n: len(cleared), width: 1, add: func(args []any, i int) []any {
			return append(args, cleared[i].Standing.Key.ID)
		}},
		{name: "insert_notifications", n: len(in.rows), width: 10, add: func(args []any, i int) []any {
			a := &in.rows[i]
			return append(args, int64(a.id), a.stand.Standing.Key.ID, in.lanes[laneOf(a.item)], created, a.item.ExpiresAt.UnixMicro(),
				a.item.Episode, int64(a.item.RetryOf), a.item.MayRepeat, a.item.Trace, detection(a))
		}},
		{name: "insert_live", n: len(in.rows), width: 5, add: func(args []any, i int) []any {
			a := &in.rows[i]
			return append(args, int64(a.id), a.stand.Standing.Key.ID, in.lanes[laneOf(a.item)], a.due.UnixMicro(), a.item.ExpiresAt.UnixMicro())
		}},
		{name: "enqueue_marks", n: len(in.marks), width: 8, add: func(args []any, i int) []any {
			a := &in.marks[i]
			return append(args, a.stand.Standing.Key.ID, in.lanes[laneOf(a.item)], created, a.item.Due.UnixMicro(), a.item.ExpiresAt.UnixMicro(),
				a.item.Episode, a.item.Trace, detection(a))
		}},
	} {
		if _, err := b.exec(ctx, in); err != nil {
			return err
		}
	}
	return nil
}
