package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/csqlite"
)

// Apply implements [lastlook.Store]. It returns [lastlook.ErrWindowBackwards],
// and changes nothing, if a change would move a key's told window back.
func (s *Store) Apply(ctx context.Context, now time.Time, changes []lastlook.Change) ([]bool, error) {
	for i := range changes {
		if err := checkChange(&changes[i]); err != nil {
			return nil, fmt.Errorf("sqlite: apply: change %d: %w", i, err)
		}
	}
	applied := make([]bool, len(changes))
	if len(changes) == 0 {
		return applied, nil
	}
	err := s.write(ctx, "apply", func(ctx context.Context, q *writer) error {
		for _, round := range rounds(changes) {
			a := &applier{writer: q, now: now, changes: changes, applied: applied}
			if err := a.apply(ctx, round); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return applied, nil
}

// checkChange refuses what no rule of the state machine makes: the statements
// would write half of it.
func checkChange(c *lastlook.Change) error {
	switch {
	case !c.From.Live() || c.To == lastlook.StateNone || c.To > lastlook.StateFailed:
		return fmt.Errorf("%w: row %d from %q to %q", lastlook.ErrIllegal, c.ID, c.From, c.To)
	case c.Fence > lastlook.FenceTokenDead || c.Key > lastlook.KeyMaybe:
		return fmt.Errorf("%w: row %d: fence %d, key effect %d", lastlook.ErrIllegal, c.ID, c.Fence, c.Key)
	case c.Key != lastlook.KeyKeep && c.From != lastlook.StateSending,
		c.Key == lastlook.KeyDelivered && c.To != lastlook.StateSent,
		c.Key == lastlook.KeyMaybe && c.To == lastlook.StateSending:
		return fmt.Errorf("%w: row %d from %s to %s cannot have told anything", lastlook.ErrIllegal, c.ID, c.From, c.To)
	}
	return nil
}

// rounds returns the changes' positions in the order of ids, so cut that no
// round has an id twice: a later change of the same row must meet what the
// earlier one made of it.
func rounds(changes []lastlook.Change) [][]int {
	order := make([]int, len(changes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(changes[a].ID, changes[b].ID) })
	var out [][]int
	for len(order) > 0 {
		round, later := order[:0:0], []int(nil)
		for i, at := range order {
			if i > 0 && changes[order[i-1]].ID == changes[at].ID {
				later = append(later, at)
			} else {
				round = append(round, at)
			}
		}
		out, order = append(out, round), later
	}
	return out
}

// applier makes one round of changes.
type applier struct {
	*writer
	now     time.Time
	changes []lastlook.Change
	applied []bool
}

func (a *applier) apply(ctx context.Context, round []int) error {
	var sending, waiting, ending []int
	for _, i := range round {
		switch to := a.changes[i].To; {
		case to == lastlook.StateSending:
			sending = append(sending, i)
		case to.Live():
			waiting = append(waiting, i)
		default:
			ending = append(ending, i)
		}
	}
	if err := a.send(ctx, sending); err != nil {
		return err
	}
	if err := a.wait(ctx, waiting); err != nil {
		return err
	}
	if err := a.end(ctx, ending); err != nil {
		return err
	}
	return a.mute(ctx, round)
}

// swap runs a compare-and-swap statement for each change of list, and marks as
// applied what it changed.
func (a *applier) swap(ctx context.Context, name string, list []int, bind func(st *csqlite.Stmt, c *lastlook.Change)) error {
	return a.each(ctx, name, len(list), func(st *csqlite.Stmt, i int) {
		c := &a.changes[list[i]]
		bindFence(st, c)
		bind(st, c)
	}, func(i int, n int64) { a.applied[list[i]] = n > 0 })
}

// bindFence binds what the fragment fence compares.
func bindFence(st *csqlite.Stmt, c *lastlook.Change) {
	st.Int(1, int64(c.ID))
	st.Int(2, int64(c.From))
	after, until := int64(math.MinInt64), int64(math.MaxInt64)
	switch c.Fence {
	case lastlook.FenceNone:
		st.Null(3)
		st.Null(4)
		st.Null(5)
		return
	case lastlook.FenceTokenAlive:
		after = c.At.UnixMicro()
	case lastlook.FenceTokenDead:
		until = c.At.UnixMicro()
	case lastlook.FenceToken:
	}
	st.Blob(3, c.Token[:])
	st.Int(4, after)
	st.Int(5, until)
}

// send moves rows to sending.
func (a *applier) send(ctx context.Context, list []int) error {
	return a.swap(ctx, "apply_sending", list, func(st *csqlite.Stmt, c *lastlook.Change) {
		as := &c.Assertion
		st.Int(6, int64(c.Attempt))
		st.Int(7, c.Lease.UnixMicro())
		bindTime(st, 8, as.LookedAt)
		st.Text(9, as.Window.Policy)
		st.Int(10, as.Window.Start)
		st.Int(11, as.Seq)
		st.Int(12, int64(as.Guarantee))
		bindJSON(st, 13, as.Value)
		bindJSON(st, 14, c.Story)
	})
}

func bindTime(st *csqlite.Stmt, i int, t time.Time) {
	if t.IsZero() {
		st.Null(i)
		return
	}
	st.Int(i, t.UnixMicro())
}

// bindJSON binds JSON as text, NULL for none.
func bindJSON[T ~[]byte](st *csqlite.Stmt, i int, b T) {
	if len(b) == 0 {
		st.Null(i)
		return
	}
	st.TextBytes(i, b)
}

// wait moves rows to pending or retry.
func (a *applier) wait(ctx context.Context, list []int) error {
	maybe := a.having(list, func(c *lastlook.Change) bool { return c.Key == lastlook.KeyMaybe })
	told := int64(0)
	err := a.each(ctx, "apply_maybe", len(maybe), func(st *csqlite.Stmt, i int) {
		c := &a.changes[maybe[i]]
		as := &c.Assertion
		bindFence(st, c)
		st.Int(6, c.At.UnixMicro())
		st.Text(7, as.Window.Policy)
		st.Int(8, as.Window.Start)
		st.Int(9, as.Seq)
		bindJSON(st, 10, as.Value)
	}, func(_ int, n int64) { told += n })
	if err != nil {
		return err
	}
	err = a.swap(ctx, "apply_waiting", list, func(st *csqlite.Stmt, c *lastlook.Change) {
		st.Int(6, int64(c.To))
		st.Int(7, int64(c.Attempt))
		st.Int(8, c.Due.UnixMicro())
		bindJSON(st, 9, c.Story)
	})
	if err != nil {
		return err
	}
	return a.notBackwards(ctx, a.done(maybe), told)
}

// end ends rows: outcome, key row, marks, live row, and what the marks left
// behind bring back.
func (a *applier) end(ctx context.Context, list []int) error {
	err := a.swap(ctx, "apply_end", list, func(st *csqlite.Stmt, c *lastlook.Change) {
		st.Int(6, int64(c.To))
		st.Int(7, c.At.UnixMicro())
		st.Int(8, int64(c.Attempt))
		st.Text(9, string(c.Reason))
		if as := &c.Assertion; c.From == lastlook.StateSending {
			bindTime(st, 10, as.LookedAt)
			st.Text(11, as.Window.Policy)
			st.Int(12, as.Window.Start)
			st.Int(13, as.Seq)
			bindJSON(st, 14, as.Value)
		} else {
			for i := 10; i <= 14; i++ {
				st.Null(i)
			}
		}
		bindJSON(st, 15, c.Seen)
		bindJSON(st, 16, c.Story)
	})
	ended := a.done(list)
	if err != nil || len(ended) == 0 {
		return err
	}
	if err := a.endKeys(ctx, ended); err != nil {
		return err
	}
	marks, err := anyMarks(ctx, a)
	if err != nil {
		return err
	}
	if marks {
		gone := a.having(ended, func(c *lastlook.Change) bool { return c.DropMarks })
		if err := a.run(ctx, "apply_marks_read", ended); err != nil {
			return err
		}
		if err := a.run(ctx, "apply_marks_all", gone); err != nil {
			return err
		}
	}
	if err := a.each(ctx, "apply_remove", len(ended), func(st *csqlite.Stmt, i int) {
		st.Int(1, int64(a.changes[ended[i]].ID))
	}, func(int, int64) {}); err != nil {
		return err
	}
	if marks {
		return a.reviveEnded(ctx, ended)
	}
	return nil
}

// endKeys writes what the end of rows means for their keys.
func (a *applier) endKeys(ctx context.Context, ended []int) error {
	written := int64(0)
	err := a.each(ctx, "apply_end_key", len(ended), func(st *csqlite.Stmt, i int) {
		c := &a.changes[ended[i]]
		as := &c.Assertion
		st.Int(1, int64(c.ID))
		st.Int(2, int64(c.Key))
		st.Int(3, bit(c.AddFailure))
		st.Int(4, int64(c.To))
		st.Text(5, string(c.Reason))
		st.Int(6, c.At.UnixMicro())
		st.Text(7, as.Window.Policy)
		st.Int(8, as.Window.Start)
		st.Int(9, as.Seq)
		bindJSON(st, 10, as.Value)
	}, func(_ int, n int64) { written += n })
	if err != nil {
		return err
	}
	return a.notBackwards(ctx, ended, written)
}

// reviveEnded turns the marks that ended rows left behind into rows.
func (a *applier) reviveEnded(ctx context.Context, ended []int) error {
	var keys []int64
	left := batch{name: "revive_keys", n: len(ended), width: 1, add: a.ids(ended)}
	err := left.each(ctx, a, func(r *row) error {
		keys = append(keys, r.int(0))
		return nil
	})
	if err != nil {
		return err
	}
	_, err = revive(ctx, a, a.now, keys)
	return err
}

// mute mutes the recipients of applied changes that ask for it.
func (a *applier) mute(ctx context.Context, list []int) error {
	gone := a.having(a.done(list), func(c *lastlook.Change) bool { return c.Mute })
	b := batch{name: "apply_mute", n: len(gone), width: 2, add: func(args []any, i int) []any {
		c := &a.changes[gone[i]]
		return append(args, int64(c.ID), c.At.UnixMicro())
	}}
	_, err := b.exec(ctx, a)
	return err
}

// run runs a statement on the ids of a list.
func (a *applier) run(ctx context.Context, name string, list []int) error {
	_, err := batch{name: name, n: len(list), width: 1, add: a.ids(list)}.exec(ctx, a)
	return err
}

func (a *applier) ids(list []int) func([]any, int) []any {
	return func(args []any, i int) []any { return append(args, int64(a.changes[list[i]].ID)) }
}

// having returns those of list whose change is so.
func (a *applier) having(list []int, is func(*lastlook.Change) bool) []int {
	var out []int
	for _, i := range list {
		if is(&a.changes[i]) {
			out = append(out, i)
		}
	}
	return out
}

// done returns those of list that were applied; list itself if all were.
func (a *applier) done(list []int) []int {
	for n, i := range list {
		if a.applied[i] {
			continue
		}
		out := slices.Clone(list[:n])
		for _, i := range list[n:] {
			if a.applied[i] {
				out = append(out, i)
			}
		}
		return out
	}
	return list
}

// notBackwards makes an error if fewer key rows were written than rows of list
// were applied: the statements leave out keys that would move backwards.
func (a *applier) notBackwards(ctx context.Context, list []int, written int64) error {
	if written == int64(len(list)) {
		return nil
	}
	err := fmt.Errorf("%d of %d key rows were written", written, len(list))
	b := batch{name: "apply_backwards", n: len(list), width: 3, add: func(args []any, i int) []any {
		c := &a.changes[list[i]]
		return append(args, int64(c.ID), c.Assertion.Window.Policy, c.Assertion.Window.Start)
	}}
	if e := b.each(ctx, a, func(r *row) error {
		id := lastlook.ID(r.int(0))
		at, _ := slices.BinarySearchFunc(list, id, func(i int, id lastlook.ID) int { return cmp.Compare(a.changes[i].ID, id) })
		err = fmt.Errorf("%w: row %d would tell in %q, its key was told in %q already: take the later of the two, as Window.Later does",
			lastlook.ErrWindowBackwards, id, a.changes[list[at]].Assertion.Window, r.window(1, 2))
		return nil
	}); e != nil {
		return e
	}
	return err
}

// revive makes one new row for each of the keys that has marks but no live
// row, and deletes those marks.
func revive(ctx context.Context, q session, now time.Time, keys []int64) ([]lastlook.ID, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	type mark struct {
		key, lane, due, expires, episode int64
		trace, detection                 string
	}
	var marks []mark
	last := batch{name: "revive_marks", n: len(keys), width: 1, add: func(args []any, i int) []any { return append(args, keys[i]) }}
	err := last.each(ctx, q, func(r *row) error {
		key := readKey(r, 6)
		marks = append(marks, mark{key: key.ID, lane: r.int(0), due: lastlook.ReviveDue(now, r.time(1), r.time(2), key).UnixMicro(),
			expires: r.int(2), episode: r.int(3), trace: r.text(4), detection: r.text(5)})
		return nil
	})
	if err != nil || len(marks) == 0 {
		return nil, err
	}
	var next int64
	if err := selectRows(ctx, q, "enqueue_next_ids", nil, func(r *row) error {
		next = r.int(1)
		return nil
	}); err != nil {
		return nil, err
	}
	ids := make([]lastlook.ID, len(marks))
	for i := range ids {
		ids[i] = lastlook.ID(next + int64(i))
	}
	created := now.UnixMicro()
	for _, b := range [...]batch{
		{name: "insert_notifications", width: 10, add: func(args []any, i int) []any {
			m := &marks[i]
			return append(args, int64(ids[i]), m.key, m.lane, created, m.expires, m.episode, int64(0), false, m.trace, m.detection)
		}},
		{name: "insert_live", width: 5, add: func(args []any, i int) []any {
			m := &marks[i]
			return append(args, int64(ids[i]), m.key, m.lane, m.due, m.expires)
		}},
		{name: "revive_done", width: 1, add: func(args []any, i int) []any { return append(args, marks[i].key) }},
	} {
		b.n = len(marks)
		if _, err := b.exec(ctx, q); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
