package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/lastlook/lastlook"
)

// Apply implements [lastlook.Store]. It returns [lastlook.ErrWindowBackwards],
// and changes nothing, if a change would move a key's told window back.
func (s *Store) Apply(ctx context.Context, now time.Time, changes []lastlook.Change) ([]bool, error) {
	for i := range changes {
		if err := checkChange(&changes[i]); err != nil {
			return nil, fmt.Errorf("postgres: apply: change %d: %w", i, err)
		}
	}
	if len(changes) == 0 {
		return []bool{}, nil
	}
	var applied []bool
	order := rounds(changes)
	err := s.transact(ctx, "apply", writing, func(ctx context.Context, t *transaction) error {
		applied = make([]bool, len(changes))
		for i, round := range order {
			a := &applier{t: t, now: lastlook.Micro(now), changes: changes, applied: applied, last: i == len(order)-1}
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

// ended is a row that a round has ended.
type ended struct {
	change *lastlook.Change
	key    int64
	// token is what the row's last claim has written into the marks it read.
	token pgtype.UUID
}

// applier makes one round of changes.
type applier struct {
	t       *transaction
	now     time.Time
	changes []lastlook.Change
	applied []bool
	// last says that no round follows.
	last bool

	keyed map[lastlook.ID]bool // rows that go on and whose keys were written
	ended []ended
	// endedKeys is how many keys were written for those.
	endedKeys int
	marks     bool // there are some
}

func (a *applier) apply(ctx context.Context, round []int) error {
	var lock []int64
	var sending, waiting, ending []int
	for _, i := range round {
		c := &a.changes[i]
		switch {
		case c.To == lastlook.StateSending:
			sending = append(sending, i)
		case c.To.Live():
			waiting = append(waiting, i)
		default:
			ending = append(ending, i)
		}
		if c.Fence == lastlook.FenceNone {
			lock = append(lock, int64(c.ID))
		}
	}
	var steps []step
	if len(lock) > 0 {
		steps = append(steps, step{name: "apply_lock", args: []any{lock}})
	}
	a.keyed = map[lastlook.ID]bool{}
	if len(sending) > 0 {
		steps = append(steps, a.send(sending))
	}
	if len(waiting) > 0 {
		steps = append(steps, a.wait(waiting))
	}
	if len(ending) > 0 {
		steps = append(steps, a.end(ending), step{name: "marks_any", each: func(r scanner) error { return r.Scan(&a.marks) }})
	}
	told := slices.ContainsFunc(waiting, func(i int) bool { return a.changes[i].Key == lastlook.KeyMaybe })
	if len(ending) == 0 && !told && a.last {
		return a.t.commit(ctx, steps...) // nothing is left to be found out
	}
	if err := a.t.run(ctx, steps...); err != nil {
		return err
	}
	return a.finish(ctx, round)
}

// finish does what follows from which changes were made.
func (a *applier) finish(ctx context.Context, round []int) error {
	var back []*lastlook.Change
	var muted, since []int64
	for _, i := range round {
		c := &a.changes[i]
		if !a.applied[i] {
			continue
		}
		switch { // which of those that ended it was, the error's statement finds out
		case c.Ends():
			if a.endedKeys < len(a.ended) {
				back = append(back, c)
			}
		case c.Key == lastlook.KeyMaybe && !a.keyed[c.ID]:
			back = append(back, c)
		}
		if c.Mute {
			muted, since = append(muted, int64(c.ID)), append(since, c.At.UnixMicro())
		}
	}
	if len(back) > 0 {
		return a.backwards(ctx, back)
	}
	var steps []step
	if len(muted) > 0 {
		steps = append(steps, step{name: "apply_mute", args: []any{muted, since}})
	}
	if a.marks && len(a.ended) > 0 {
		more, err := a.endMarks(ctx)
		if err != nil {
			return err
		}
		steps = append(steps, more...)
	}
	if a.last {
		return a.t.commit(ctx, steps...)
	}
	return a.t.run(ctx, steps...)
}

// made notes that a change of list was made.
func (a *applier) made(list []int, id int64) (*lastlook.Change, error) {
	at, ok := slices.BinarySearchFunc(list, lastlook.ID(id), func(i int, id lastlook.ID) int { return cmp.Compare(a.changes[i].ID, id) })
	if !ok {
		return nil, fmt.Errorf("row %d was changed, which no change names", id)
	}
	a.applied[list[at]] = true
	return &a.changes[list[at]], nil
}

// fences are the first columns of each batch of changes: what the fragment
// fence compares.
type fences struct {
	ids, from, after, until []int64
	tokens                  []pgtype.UUID
}

func (a *applier) fences(list []int) []any {
	n := len(list)
	f := fences{ids: make([]int64, n), from: make([]int64, n), after: make([]int64, n), until: make([]int64, n), tokens: make([]pgtype.UUID, n)}
	for i, at := range list {
		c := &a.changes[at]
		f.ids[i], f.from[i], f.after[i], f.until[i] = int64(c.ID), int64(c.From), math.MinInt64, math.MaxInt64
		switch c.Fence {
		case lastlook.FenceNone:
			continue
		case lastlook.FenceTokenAlive:
			f.after[i] = c.At.UnixMicro()
		case lastlook.FenceTokenDead:
			f.until[i] = c.At.UnixMicro()
		case lastlook.FenceToken:
		}
		f.tokens[i] = uuidOf(c.Token)
	}
	return []any{f.ids, f.from, f.tokens, f.after, f.until}
}

// column makes an array of one value per change.
func column[T any](a *applier, list []int, value func(c *lastlook.Change) T) []T {
	out := make([]T, len(list))
	for i, at := range list {
		out[i] = value(&a.changes[at])
	}
	return out
}

func attemptOf(c *lastlook.Change) int64        { return int64(c.Attempt) }
func lookedAtOf(c *lastlook.Change) pgtype.Int8 { return micros(c.Assertion.LookedAt) }
func windowPolicyOf(c *lastlook.Change) string  { return c.Assertion.Window.Policy }
func windowStartOf(c *lastlook.Change) int64    { return c.Assertion.Window.Start }
func seqOf(c *lastlook.Change) int64            { return c.Assertion.Seq }
func assertedOf(c *lastlook.Change) string      { return textOf(c.Assertion.Value) }
func storyOf(c *lastlook.Change) string         { return textOf(c.Story) }
func effectOf(c *lastlook.Change) int64         { return int64(c.Key) }
func atOf(c *lastlook.Change) int64             { return c.At.UnixMicro() }
func toOf(c *lastlook.Change) int64             { return int64(c.To) }

// send moves rows to sending.
func (a *applier) send(list []int) step {
	args := append(a.fences(list), column(a, list, attemptOf),
		column(a, list, func(c *lastlook.Change) int64 { return c.Lease.UnixMicro() }),
		column(a, list, lookedAtOf), column(a, list, windowPolicyOf), column(a, list, windowStartOf), column(a, list, seqOf),
		column(a, list, func(c *lastlook.Change) int64 { return int64(c.Assertion.Guarantee) }),
		column(a, list, assertedOf), column(a, list, storyOf))
	return step{name: "apply_sending", args: args, each: func(r scanner) error {
		var id int64
		if err := r.Scan(&id); err != nil {
			return err
		}
		_, err := a.made(list, id)
		return err
	}}
}

// wait moves rows to pending or retry.
func (a *applier) wait(list []int) step {
	args := append(a.fences(list), column(a, list, toOf), column(a, list, attemptOf),
		column(a, list, func(c *lastlook.Change) int64 { return c.Due.UnixMicro() }), column(a, list, storyOf),
		column(a, list, effectOf), column(a, list, atOf),
		column(a, list, windowPolicyOf), column(a, list, windowStartOf), column(a, list, seqOf), column(a, list, assertedOf))
	return step{name: "apply_waiting", args: args, each: func(r scanner) error {
		var kind, id int64
		if err := r.Scan(&kind, &id); err != nil {
			return err
		}
		if kind == 2 {
			a.keyed[lastlook.ID(id)] = true
			return nil
		}
		_, err := a.made(list, id)
		return err
	}}
}

// end ends rows: live row, outcome and key row.
func (a *applier) end(list []int) step {
	// The assertion is what was being delivered, if anything was.
	told := func(c *lastlook.Change) lastlook.Assertion {
		if c.From == lastlook.StateSending {
			return c.Assertion
		}
		return lastlook.Assertion{}
	}
	args := append(a.fences(list), column(a, list, toOf), column(a, list, atOf), column(a, list, attemptOf),
		column(a, list, func(c *lastlook.Change) string { return string(c.Reason) }),
		column(a, list, lookedAtOf), column(a, list, windowPolicyOf), column(a, list, windowStartOf), column(a, list, seqOf),
		column(a, list, func(c *lastlook.Change) string { return textOf(told(c).Value) }),
		column(a, list, func(c *lastlook.Change) string { return textOf(c.Seen) }), column(a, list, storyOf), column(a, list, effectOf),
		column(a, list, func(c *lastlook.Change) int64 {
			if c.AddFailure {
				return 1
			}
			return 0
		}))
	return step{name: "apply_end", args: args, each: func(r scanner) error {
		var kind, id, key int64
		var token pgtype.UUID
		if err := r.Scan(&kind, &id, &key, &token); err != nil {
			return err
		}
		if kind == 2 {
			a.endedKeys = int(id)
			return nil
		}
		c, err := a.made(list, id)
		a.ended = append(a.ended, ended{c, key, token})
		return err
	}}
}

// backwards makes the error of changes whose key rows were not written: the
// statements leave out keys that would move backwards.
func (a *applier) backwards(ctx context.Context, list []*lastlook.Change) error {
	ids, policies, starts := make([]int64, len(list)), make([]string, len(list)), make([]int64, len(list))
	windows := map[int64]lastlook.Window{}
	for i, c := range list {
		ids[i], policies[i], starts[i] = int64(c.ID), windowPolicyOf(c), windowStartOf(c)
		windows[ids[i]] = c.Assertion.Window
	}
	// If it is not that, the key row changed under our hands: look again.
	result := fmt.Errorf("%w: %d key rows were not written", errRaced, len(list))
	err := a.t.run(ctx, step{name: "apply_backwards", args: []any{ids, policies, starts}, each: func(r scanner) error {
		var id int64
		var told lastlook.Window
		err := r.Scan(&id, &told.Policy, &told.Start)
		result = fmt.Errorf("%w: row %d would tell in %q, its key was told in %q already: take the later of the two, as Window.Later does",
			lastlook.ErrWindowBackwards, id, windows[id], told)
		return err
	}})
	if err != nil {
		return err
	}
	return result
}
