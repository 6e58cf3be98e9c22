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

const defaultSweepLimit = 500

// cursor is where a page of a sweep starts: each of its three walks has a
// position of its own. The text of a cursor is that of its numbers.
type cursor struct {
	// The dead leases: a claim, by lease and number, and the last of its rows
	// that was returned.
	lease, claim, row int64
	// The expired rows, by expiry and number.
	expiry, expired int64
	// The keys with marks.
	key int64
}

// end is the position behind everything.
const end = math.MaxInt64

func parseCursor(text string) (c cursor, err error) {
	if text == "" {
		return cursor{lease: math.MinInt64, expiry: math.MinInt64}, nil
	}
	if _, err := fmt.Sscanf(text, "%d.%d.%d,%d.%d,%d", &c.lease, &c.claim, &c.row, &c.expiry, &c.expired, &c.key); err != nil {
		return c, fmt.Errorf("%w: sweep cursor %q: use what the last page gave as Next", lastlook.ErrInvalid, text)
	}
	return c, nil
}

func (c cursor) String() string {
	if c.lease == end && c.expiry == end && c.key == end {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d,%d.%d,%d", c.lease, c.claim, c.row, c.expiry, c.expired, c.key)
}

// leases is what a page found out about claims whose lease has passed.
type leases struct {
	// forget are claims of which no live row holds the token.
	forget []int64
	// renew are claims whose rows all have a later lease: the earliest.
	renew, until []int64
}

// Sweep implements [lastlook.Store]. A page has at most Limit rows of each kind;
// 0 means 500. It reads first, and writes only if there is something to write.
func (s *Store) Sweep(ctx context.Context, r lastlook.SweepRequest) (lastlook.Swept, error) {
	c, err := parseCursor(r.Cursor)
	if err != nil {
		return lastlook.Swept{}, fmt.Errorf("postgres: sweep: %w", err)
	}
	if r.Limit <= 0 {
		r.Limit = defaultSweepLimit
	}
	var out lastlook.Swept
	var found leases
	var orphans []int64
	var next cursor
	err = s.transact(ctx, "sweep", reading, func(ctx context.Context, t *transaction) error {
		out, next, orphans = lastlook.Swept{}, c, nil
		var claims []deadClaim
		// All three walks start together.
		if err := t.run(ctx, claimsFrom(r, &next, &claims), expiredFrom(r, &next, &out.Expired), marksFrom(r, &next, &orphans)); err != nil {
			return err
		}
		pageExpired(r, &next, out.Expired)
		var err error
		out.Dead, found, err = sweepDead(ctx, t, r, &next, claims)
		return err
	})
	if err != nil {
		return lastlook.Swept{}, err
	}
	if len(found.forget)+len(found.renew)+len(orphans) > 0 {
		err = s.transact(ctx, "sweep", writing, func(ctx context.Context, t *transaction) error {
			var err error
			out.Revived, err = found.write(ctx, t, r.Now, orphans)
			return err
		})
		if err != nil {
			return lastlook.Swept{}, err
		}
	}
	out.Next = next.String()
	return out, nil
}

// write forgets and renews claims, and revives marks that have no live row. It
// commits.
func (l *leases) write(ctx context.Context, t *transaction, now time.Time, orphans []int64) ([]lastlook.ID, error) {
	var steps []step
	if len(l.forget) > 0 {
		slices.Sort(l.forget)
		steps = append(steps, step{name: "sweep_forget", args: []any{l.forget}})
	}
	if len(l.renew) > 0 {
		steps = append(steps, step{name: "sweep_renew", args: []any{l.renew, l.until}})
	}
	if len(orphans) == 0 {
		return nil, t.commit(ctx, steps...)
	}
	marks, err := lockMarks(ctx, t, orphans)
	if err != nil {
		return nil, err
	}
	byKey := map[int64][]int64{}
	for _, m := range marks {
		byKey[m.key] = append(byKey[m.key], m.id)
	}
	ids, more, err := revive(ctx, t, lastlook.Micro(now), byKey)
	if err != nil {
		return nil, err
	}
	return ids, t.commit(ctx, append(steps, more...)...)
}

// deadClaim is a claim whose lease has passed.
type deadClaim struct {
	id, lease int64
	token     pgtype.UUID
	rows      []int64
	// Of the rows that still hold the token: the dead ones, and the earliest
	// lease of the others.
	dead    []int64
	renewed int64
}

// deadRow is a row that died with its claim.
type deadRow struct {
	id    int64
	token pgtype.UUID
}

// claimsFrom reads claims from the cursor on.
func claimsFrom(r lastlook.SweepRequest, c *cursor, into *[]deadClaim) step {
	until := r.Now.UnixMicro()
	if c.lease == end {
		until = math.MinInt64 // nothing
	}
	return step{name: "sweep_claims", args: []any{until, c.lease, c.claim, int64(r.Limit)}, each: func(row scanner) error {
		cl := deadClaim{renewed: end}
		err := row.Scan(&cl.id, &cl.lease, &cl.token, &cl.rows)
		*into = append(*into, cl)
		return err
	}}
}

// sweepDead returns the rows that died with the claims of one page, and moves
// the cursor.
func sweepDead(ctx context.Context, t *transaction, r lastlook.SweepRequest, c *cursor, claims []deadClaim) ([]lastlook.Row, leases, error) {
	var found leases
	if len(claims) == 0 {
		c.lease, c.claim, c.row = end, 0, 0
		return nil, found, nil
	}
	more := len(claims) == r.Limit
	// About as many as have Limit rows together, but one at least.
	for i, total := 0, 0; i < len(claims); i++ {
		if total += len(claims[i].rows); i > 0 && total > r.Limit {
			claims, more = claims[:i], true
			break
		}
	}
	if err := askLeases(ctx, t, r.Now, claims); err != nil {
		return nil, found, err
	}
	for i := range claims {
		switch cl := &claims[i]; {
		case len(cl.dead) > 0: // the core decides on them first
		case cl.renewed != end:
			found.renew, found.until = append(found.renew, cl.id), append(found.until, cl.renewed)
		default:
			found.forget = append(found.forget, cl.id)
		}
	}
	rows := takeDead(claims, r.Limit, more, c)
	if len(rows) == 0 {
		return nil, found, nil
	}
	ids, tokens := make([]int64, len(rows)), make([]pgtype.UUID, len(rows))
	for i, row := range rows {
		ids[i], tokens[i] = row.id, row.token
	}
	var out []lastlook.Row
	err := t.run(ctx, step{name: "sweep_dead", args: []any{ids, tokens}, each: collect(&out)})
	slices.SortFunc(out, func(a, b lastlook.Row) int { return cmp.Compare(a.ID, b.ID) })
	return out, found, err
}

// collect reads live_columns and notification_columns.
func collect(into *[]lastlook.Row) func(scanner) error {
	var l liveScan
	to := l.all()
	return func(r scanner) error {
		if err := r.Scan(to...); err != nil {
			return err
		}
		*into = append(*into, l.row())
		return nil
	}
}

// takeDead returns the dead rows behind the cursor, limit at most, and moves
// the cursor: behind the last row if it had to cut, else behind the last claim.
func takeDead(claims []deadClaim, limit int, more bool, c *cursor) []deadRow {
	var out []deadRow
	for i := range claims {
		cl := &claims[i]
		slices.Sort(cl.dead)
		for _, id := range cl.dead {
			if cl.id == c.claim && id <= c.row {
				continue
			}
			if len(out) == limit {
				return out
			}
			out = append(out, deadRow{id, cl.token})
			c.lease, c.claim, c.row = cl.lease, cl.id, id
		}
	}
	if last := &claims[len(claims)-1]; more {
		c.lease, c.claim, c.row = last.lease, last.id+1, 0
	} else {
		c.lease, c.claim, c.row = end, 0, 0
	}
	return out
}

// askLeases finds out which rows of the claims still hold their tokens.
func askLeases(ctx context.Context, t *transaction, now time.Time, claims []deadClaim) error {
	var of, ids []int64
	var tokens []pgtype.UUID
	for i := range claims {
		for _, id := range claims[i].rows {
			of, ids, tokens = append(of, int64(i)), append(ids, id), append(tokens, claims[i].token)
		}
	}
	return t.run(ctx, step{name: "sweep_leases", args: []any{of, ids, tokens}, each: func(r scanner) error {
		var n, id, lease int64
		if err := r.Scan(&n, &id, &lease); err != nil {
			return err
		}
		cl := &claims[n]
		if lease > now.UnixMicro() {
			cl.renewed = min(cl.renewed, lease)
		} else {
			cl.dead = append(cl.dead, id)
		}
		return nil
	}})
}

// expiredFrom reads one page of expired rows.
func expiredFrom(r lastlook.SweepRequest, c *cursor, into *[]lastlook.Row) step {
	until := r.Now.UnixMicro()
	if c.expiry == end {
		until = math.MinInt64 // nothing
	}
	return step{name: "sweep_expired", args: []any{until, c.expiry, c.expired, int64(r.Limit)}, each: collect(into)}
}

func pageExpired(r lastlook.SweepRequest, c *cursor, rows []lastlook.Row) {
	c.expiry, c.expired = end, 0
	if len(rows) == r.Limit {
		last := &rows[len(rows)-1]
		c.expiry, c.expired = last.ExpiresAt.UnixMicro(), int64(last.ID)
	}
}

// marksFrom looks through one page of keys with marks for those without a live
// row, and moves the cursor.
func marksFrom(r lastlook.SweepRequest, c *cursor, into *[]int64) step {
	from := c.key
	c.key = end
	seen := 0
	return step{name: "sweep_marks", args: []any{from, int64(r.Limit)}, each: func(row scanner) error {
		var key int64
		var orphan bool
		if err := row.Scan(&key, &orphan); err != nil {
			return err
		}
		if seen++; seen == r.Limit {
			c.key = key
		}
		if orphan {
			*into = append(*into, key)
		}
		return nil
	}}
}
