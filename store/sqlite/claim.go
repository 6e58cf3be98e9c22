package sqlite

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/csqlite"
)

// Lanes implements [lastlook.Store].
func (s *Store) Lanes(ctx context.Context, q lastlook.LaneQuery) ([]lastlook.LaneState, error) {
	var out []lastlook.LaneState
	err := s.read(ctx, "lanes", func(ctx context.Context, t session) error {
		return selectRows(ctx, t, "lanes", []any{q.Now.UnixMicro()}, func(r *row) error {
			l := lastlook.LaneState{Due: r.time(5),
				Lane: lastlook.Lane{ID: r.int(0), Topic: r.text(1), Channel: r.text(2), Name: r.text(3), Priority: lastlook.Priority(r.int(4))}}
			if !r.null(5) && slices.Contains(q.Topics, l.Topic) && slices.Contains(q.Channels, l.Channel) {
				out = append(out, l)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Claim implements [lastlook.Store]. Lanes are as [Store.Lanes] gave them.
func (s *Store) Claim(ctx context.Context, r lastlook.ClaimRequest) ([]lastlook.Row, error) {
	if r.Token.IsZero() {
		return nil, fmt.Errorf("sqlite: claim: %w: no token: use lastlook.NewToken, once per claim", lastlook.ErrInvalid)
	}
	var out []lastlook.Row
	err := s.write(ctx, "claim", func(ctx context.Context, q *writer) error {
		for _, l := range r.Lanes {
			var err error
			if out, err = claimLane(ctx, q, &r, l, out); err != nil {
				return err
			}
		}
		if len(out) == 0 {
			return nil
		}
		slices.SortFunc(out, func(a, b lastlook.Row) int { return cmp.Compare(a.ID, b.ID) })
		return writeClaim(ctx, q, r.Token, out)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// claimLane reads the rows of one lane that can be claimed, as they will be.
func claimLane(ctx context.Context, q session, r *lastlook.ClaimRequest, l lastlook.LaneClaim, out []lastlook.Row) ([]lastlook.Row, error) {
	if l.N <= 0 {
		return out, nil
	}
	now, lease := r.Now.UnixMicro(), lastlook.Micro(r.Now.Add(l.Lease))
	out = slices.Grow(out, min(l.N, 1024))
	err := selectRows(ctx, q, "claim_lane", []any{l.Lane.ID, now, now, l.MaxAttempts, l.N}, func(rec *row) error {
		row := readRow(rec, l.Lane)
		row.State, row.Token, row.Lease = lastlook.StatePending, r.Token, lease
		row.Attempt++
		row.Story = lastlook.StoryOf(rec.bytes(3), row.State, row.Attempt, row.Assertion)
		out = append(out, row)
		return nil
	})
	return out, err
}

// writeClaim writes a claim of rows, which are in the order of ids.
func writeClaim(ctx context.Context, q *writer, token lastlook.Token, rows []lastlook.Row) error {
	claimed := int64(0)
	err := q.each(ctx, "claim_row", len(rows), func(st *csqlite.Stmt, i int) {
		st.Int(1, int64(rows[i].ID))
		st.Blob(2, token[:])
		st.Int(3, rows[i].Lease.UnixMicro())
	}, func(_ int, n int64) { claimed += n })
	if err != nil {
		return err
	}
	if claimed != int64(len(rows)) {
		return fmt.Errorf("%d of %d rows could be claimed: the write lock did not hold", claimed, len(rows))
	}
	marks, err := anyMarks(ctx, q)
	if err != nil {
		return err
	}
	if marks {
		read := batch{name: "claim_marks", n: len(rows), width: 1, head: []any{token[:]}, add: func(args []any, i int) []any {
			return append(args, rows[i].KeyRow.ID)
		}}
		if _, err := read.exec(ctx, q); err != nil {
			return err
		}
	}
	first := rows[0].Lease
	ids := make([]lastlook.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
		if rows[i].Lease.Before(first) {
			first = rows[i].Lease
		}
	}
	_, err = run(ctx, q, "claim_record", first.UnixMicro(), token[:], packIDs(ids))
	return err
}

func anyMarks(ctx context.Context, q session) (any bool, err error) {
	err = selectRows(ctx, q, "marks_any", nil, func(r *row) error {
		any = r.bool(0)
		return nil
	})
	return any, err
}

// packIDs writes ascending ids as varints, each the distance to the one before.
func packIDs(ids []lastlook.ID) []byte {
	out := make([]byte, 0, 2*len(ids)+8)
	var last lastlook.ID
	for _, id := range ids {
		out = binary.AppendUvarint(out, uint64(id-last))
		last = id
	}
	return out
}

// unpackIDs is the inverse of packIDs.
func unpackIDs(b []byte) ([]lastlook.ID, error) {
	var out []lastlook.ID
	var last lastlook.ID
	for len(b) > 0 {
		d, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("a claim's list of rows is damaged after %d of them", len(out))
		}
		last += lastlook.ID(d)
		out, b = append(out, last), b[n:]
	}
	return out, nil
}
