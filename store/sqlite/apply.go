package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
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
	err := s.write(ctx, "apply", func(ctx context.Context, q session) error {
		for _, round := range rounds(changes) {
			a := &applier{session: q, now: now, changes: changes, applied: applied}
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
	session
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

// swap runs a compare-and-swap statement, which returns the ids that it
// changed, and marks their changes as applied.
func (a *applier) swap(ctx context.Context, list []int, b batch) error {
	b.n = len(list)
	return b.each(ctx, a, func(r *row) error {
		id := lastlook.ID(r.int(0))
		at, ok := slices.BinarySearchFunc(list, id, func(i int, id lastlook.ID) int { return cmp.Compare(a.changes[i].ID, id) })
		if !ok {
			return fmt.Errorf("%s changed row %d, which no change names", b.name, id)
		}
		a.applied[list[at]] = true
		return nil
	})
}

// fence appends what the fragment fence compares.
func fence(args []any, c *lastlook.Change) []any {
	after, until := int64(math.MinInt64), int64(math.MaxInt64)
	switch c.Fence {
	case lastlook.FenceNone:
		return append(args, int64(c.ID), int64(c.From), nil, nil, nil)
	case lastlook.FenceTokenAlive:
		after = c.At.UnixMicro()
	case lastlook.FenceTokenDead:
		until = c.At.UnixMicro()
	case lastlook.FenceToken:
	}
	return append(args, int64(c.ID), int64(c.From), c.Token[:], after, until)
}

// send moves rows to sending.
func (a *applier) send(ctx context.Context, list []int) error {
	return a.swap(ctx, list, batch{name: "apply_sending", width: 14, add: func(args []any, i int) []any {
		c := &a.changes[list[i]]
		as := &c.Assertion
		return append(fence(args, c), int64(c.Attempt), c.Lease.UnixMicro(), microsOrNull(as.LookedAt),
			as.Window.Policy, as.Window.Start, as.Seq, int64(as.Guarantee), orNull(as.Value), orNull(c.Story))
	}})
}

// wait moves rows to pending or retry.
func (a *applier) wait(ctx context.Context, list []int) error {
	maybe := a.having(list, func(c *lastlook.Change) bool { return c.Key == lastlook.KeyMaybe })
	told := batch{name: "apply_maybe", n: len(maybe), width: 10, add: func(args []any, i int) []any {
		c := &a.changes[maybe[i]]
		as := &c.Assertion
		return append(fence(args, c), c.At.UnixMicro(), as.Window.Policy, as.Window.Start, as.Seq, orNull(as.Value))
	}}
	n, err := told.exec(ctx, a)
	if err != nil {
		return err
	}
	err = a.swap(ctx, list, batch{name: "apply_waiting", width: 9, add: func(args []any, i int) []any {
		c := &a.changes[list[i]]
		return append(fence(args, c), int64(c.To), int64(c.Attempt), c.Due.UnixMicro(), orNull(c.Story))
	}})
	if err != nil {
		return err
	}
	return a.notBackwards(ctx, a.done(maybe), n)
}

// end ends rows: outcome, key row, marks, live row, and what the marks left
// behind bring back.
func (a *applier) end(ctx context.Context, list []int) error {
	err := a.swap(ctx, list, batch{name: "apply_end", width: 16, add: func(args []any, i int) []any {
		c := &a.changes[list[i]]
		args = append(fence(args, c), int64(c.To), c.At.UnixMicro(), int64(c.Attempt), string(c.Reason))
		if as := &c.Assertion; c.From == lastlook.StateSending {
			args = append(args, microsOrNull(as.LookedAt), as.Window.Policy, as.Window.Start, as.Seq, orNull(as.Value))
		} else {
			args = append(args, nil, nil, nil, nil, nil)
		}
		return append(args, orNull(c.Seen), orNull(c.Story))
	}})
	ended := a.done(list)
	if err != nil || len(ended) == 0 {
		return err
	}
	keys := batch{name: "apply_end_keys", n: len(ended), width: 3, add: func(args []any, i int) []any {
		c := &a.changes[ended[i]]
		return append(args, int64(c.ID), int64(c.Key), c.AddFailure)
	}}
	n, err := keys.exec(ctx, a)
	if err != nil {
		return err
	}
	if err := a.notBackwards(ctx, ended, n); err != nil {
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
	if err := a.run(ctx, "apply_remove", ended); err != nil {
		return err
	}
	if marks {
		return a.reviveEnded(ctx, ended)
	}
	return nil
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
