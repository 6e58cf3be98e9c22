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
	renew []claimLease
}

type claimLease struct{ claim, lease int64 }

// Sweep implements [lastlook.Store]. A page has at most Limit rows of each
// kind; 0 means 500. It reads on a reader, and writes only if there is
// something to write.
func (s *Store) Sweep(ctx context.Context, r lastlook.SweepRequest) (lastlook.Swept, error) {
	c, err := parseCursor(r.Cursor)
	if err != nil {
		return lastlook.Swept{}, fmt.Errorf("sqlite: sweep: %w", err)
	}
	if r.Limit <= 0 {
		r.Limit = defaultSweepLimit
	}
	var out lastlook.Swept
	var found leases
	var orphans []int64
	next := c
	err = s.read(ctx, "sweep", func(ctx context.Context, q session) error {
		var err error
		if out.Dead, found, err = sweepDead(ctx, q, r, &next); err != nil {
			return err
		}
		if out.Expired, err = sweepExpired(ctx, q, r, &next); err != nil {
			return err
		}
		orphans, err = sweepMarks(ctx, q, r, &next)
		return err
	})
	if err != nil {
		return lastlook.Swept{}, err
	}
	if len(found.forget)+len(found.renew)+len(orphans) > 0 {
		err = s.write(ctx, "sweep", func(ctx context.Context, q *writer) error {
			if err := found.write(ctx, q); err != nil {
				return err
			}
			// Another process may have revived them meanwhile; revive looks again.
			out.Revived, err = revive(ctx, q, r.Now, orphans)
			return err
		})
		if err != nil {
			return lastlook.Swept{}, err
		}
	}
	out.Next = next.String()
	return out, nil
}

// deadClaim is a claim whose lease has passed.
type deadClaim struct {
	id, lease int64
	token     []byte
	rows      []lastlook.ID
	// Of the rows that still hold the token: the dead ones, and the earliest
	// lease of the others.
	dead    []lastlook.ID
	renewed int64
}

// deadRow is a row that died with its claim.
type deadRow struct {
	id    lastlook.ID
	token []byte
}

// sweepDead reads one page of claims whose lease has passed, and returns the
// rows that died with them.
func sweepDead(ctx context.Context, q session, r lastlook.SweepRequest, c *cursor) ([]lastlook.Row, leases, error) {
	var found leases
	claims, more, err := deadClaims(ctx, q, r, c)
	if err != nil || len(claims) == 0 {
		return nil, found, err
	}
	if err := askLeases(ctx, q, r.Now, claims); err != nil {
		return nil, found, err
	}
	for i := range claims {
		switch cl := &claims[i]; {
		case len(cl.dead) > 0: // the core decides on them first
		case cl.renewed != end:
			found.renew = append(found.renew, claimLease{cl.id, cl.renewed})
		default:
			found.forget = append(found.forget, cl.id)
		}
	}
	rows := takeDead(claims, r.Limit, more, c)
	out := make([]lastlook.Row, 0, len(rows))
	b := batch{name: "sweep_dead", n: len(rows), width: 2, add: func(args []any, i int) []any {
		return append(args, int64(rows[i].id), rows[i].token)
	}}
	err = b.each(ctx, q, func(rec *row) error {
		out = append(out, readSwept(rec))
		return nil
	})
	slices.SortFunc(out, func(a, b lastlook.Row) int { return cmp.Compare(a.ID, b.ID) })
	return out, found, err
}

// deadClaims reads claims from the cursor on, about as many as have limit rows
// together, but one at least. more says that others follow.
func deadClaims(ctx context.Context, q session, r lastlook.SweepRequest, c *cursor) (claims []deadClaim, more bool, err error) {
	if c.lease == end {
		return nil, false, nil
	}
	err = selectRows(ctx, q, "sweep_claims", []any{r.Now.UnixMicro(), c.lease, c.claim, int64(r.Limit)}, func(rec *row) error {
		ids, err := unpackIDs(rec.bytes(3))
		if err != nil {
			return fmt.Errorf("claim %d: %w", rec.int(0), err)
		}
		claims = append(claims, deadClaim{id: rec.int(0), lease: rec.int(1), token: rec.bytes(2), rows: ids, renewed: end})
		return nil
	})
	if len(claims) == 0 {
		c.lease, c.claim, c.row = end, 0, 0
		return nil, false, err
	}
	more = len(claims) == r.Limit
	total := 0
	for i := range claims {
		if total += len(claims[i].rows); i > 0 && total > r.Limit {
			return claims[:i], true, err
		}
	}
	return claims, more, err
}

// takeDead returns the dead rows behind the cursor, limit at most, and moves
// the cursor: behind the last row if it had to cut, else behind the last claim.
func takeDead(claims []deadClaim, limit int, more bool, c *cursor) []deadRow {
	var out []deadRow
	for i := range claims {
		cl := &claims[i]
		slices.Sort(cl.dead)
		for _, id := range cl.dead {
			if cl.id == c.claim && int64(id) <= c.row {
				continue
			}
			if len(out) == limit {
				return out
			}
			out = append(out, deadRow{id, cl.token})
			c.lease, c.claim, c.row = cl.lease, cl.id, int64(id)
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
func askLeases(ctx context.Context, q session, now time.Time, claims []deadClaim) error {
	type held struct {
		claim int
		id    lastlook.ID
	}
	var rows []held
	for i := range claims {
		for _, id := range claims[i].rows {
			rows = append(rows, held{i, id})
		}
	}
	b := batch{name: "sweep_leases", n: len(rows), width: 3, add: func(args []any, i int) []any {
		return append(args, int64(rows[i].claim), int64(rows[i].id), claims[rows[i].claim].token)
	}}
	return b.each(ctx, q, func(r *row) error {
		cl := &claims[r.int(0)]
		if lease := r.int(2); lease > now.UnixMicro() {
			cl.renewed = min(cl.renewed, lease)
		} else {
			cl.dead = append(cl.dead, lastlook.ID(r.int(1)))
		}
		return nil
	})
}

// write forgets and renews claims.
func (l *leases) write(ctx context.Context, q session) error {
	forget := batch{name: "sweep_forget", n: len(l.forget), width: 1, add: func(args []any, i int) []any {
		return append(args, l.forget[i])
	}}
	if _, err := forget.exec(ctx, q); err != nil {
		return err
	}
	renew := batch{name: "sweep_renew", n: len(l.renew), width: 2, add: func(args []any, i int) []any {
		return append(args, l.renew[i].claim, l.renew[i].lease)
	}}
	_, err := renew.exec(ctx, q)
	return err
}

// sweepExpired reads one page of expired rows.
func sweepExpired(ctx context.Context, q session, r lastlook.SweepRequest, c *cursor) ([]lastlook.Row, error) {
	if c.expiry == end {
		return nil, nil
	}
	var out []lastlook.Row
	err := selectRows(ctx, q, "sweep_expired", []any{r.Now.UnixMicro(), c.expiry, c.expired, r.Limit}, func(rec *row) error {
		out = append(out, readSwept(rec))
		return nil
	})
	c.expiry, c.expired = end, 0
	if len(out) == r.Limit {
		last := &out[len(out)-1]
		c.expiry, c.expired = last.ExpiresAt.UnixMicro(), int64(last.ID)
	}
	return out, err
}

// sweepMarks looks through one page of keys with marks for those without a
// live row.
func sweepMarks(ctx context.Context, q session, r lastlook.SweepRequest, c *cursor) ([]int64, error) {
	if c.key == end {
		return nil, nil
	}
	var orphans []int64
	seen, last := 0, int64(end)
	err := selectRows(ctx, q, "sweep_marks", []any{c.key, r.Limit}, func(rec *row) error {
		if seen++; seen == 1 || rec.int(0) > last {
			last = rec.int(0)
		}
		if rec.bool(1) {
			orphans = append(orphans, rec.int(0))
		}
		return nil
	})
	if c.key = end; seen == r.Limit {
		c.key = last
	}
	return orphans, err
}
