package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/lastlook/lastlook"
)

// Lanes implements [lastlook.Store].
func (s *Store) Lanes(ctx context.Context, q lastlook.LaneQuery) ([]lastlook.LaneState, error) {
	var out []lastlook.LaneState
	known := map[laneKey]int64{}
	err := s.transact(ctx, "lanes", reading, func(ctx context.Context, t *transaction) error {
		out = nil
		return t.commit(ctx, step{name: "lanes", args: []any{q.Now.UnixMicro()}, each: func(r scanner) error {
			var l lastlook.LaneState
			var due, priority int64
			if err := r.Scan(&l.ID, &l.Topic, &l.Channel, &l.Name, &priority, &due); err != nil {
				return err
			}
			l.Due, l.Priority = timeOf(due), lastlook.Priority(priority)
			known[laneKey{l.Topic, l.Channel, l.Name, l.Priority}] = l.ID
			if due >= 0 && slices.Contains(q.Topics, l.Topic) && slices.Contains(q.Channels, l.Channel) {
				out = append(out, l)
			}
			return nil
		}})
	})
	if err != nil {
		return nil, err
	}
	s.lanes.add(known)
	return out, nil
}

// Claim implements [lastlook.Store]. Lanes are as [Store.Lanes] gave them. Its
// commit is written behind: a server that dies right after may have forgotten
// the claim, whose holder then finds that its token is not there.
func (s *Store) Claim(ctx context.Context, r lastlook.ClaimRequest) ([]lastlook.Row, error) {
	if r.Token.IsZero() {
		return nil, fmt.Errorf("postgres: claim: %w: no token: use lastlook.NewToken, once per claim", lastlook.ErrInvalid)
	}
	lanes := mergeLanes(r.Lanes)
	if len(lanes) == 0 {
		return nil, ctx.Err()
	}
	var out []lastlook.Row
	err := s.transact(ctx, "claim", claiming, func(ctx context.Context, t *transaction) error {
		c := &claimer{t: t, r: &r, lanes: lanes}
		if err := c.take(ctx); err != nil {
			return err
		}
		if len(c.rows) == 0 {
			out = nil
			return t.commit(ctx)
		}
		err := c.read(ctx)
		out = c.known
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// mergeLanes leaves out claims for nothing, and makes one of several claims of
// one lane.
func mergeLanes(list []lastlook.LaneClaim) []lastlook.LaneClaim {
	var out []lastlook.LaneClaim
	at := map[int64]int{}
	for _, l := range list {
		if l.N <= 0 {
			continue
		}
		if i, ok := at[l.Lane.ID]; ok {
			out[i].N += l.N
			continue
		}
		at[l.Lane.ID] = len(out)
		out = append(out, l)
	}
	return out
}

// claimer makes one claim.
type claimer struct {
	t     *transaction
	r     *lastlook.ClaimRequest
	lanes []lastlook.LaneClaim
	rows  []lastlook.Row // claimed, in the order of ids; not all is known of them yet
	keys  []int64        // their keys
	known []lastlook.Row // rows, whole
}

// take claims the rows.
func (c *claimer) take(ctx context.Context) error {
	n := len(c.lanes)
	ids, room, caps, leases, starts := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	lanes := make(map[int64]lastlook.Lane, n)
	for i, l := range c.lanes {
		ids[i], room[i], caps[i] = l.Lane.ID, int64(l.N), min(int64(l.MaxAttempts), math.MaxInt32)
		leases[i] = lastlook.Micro(c.r.Now.Add(l.Lease)).UnixMicro()
		lanes[l.Lane.ID] = l.Lane
	}
	type taken struct {
		row lastlook.Row
		key int64
	}
	var got []taken
	var id, key, lane, due, attempt, lease int64
	var story []byte
	to := []any{&id, &key, &lane, &due, &attempt, &lease, &story}
	err := c.t.run(ctx, step{name: "claim_rows", args: []any{c.r.Now.UnixMicro(), uuidOf(c.r.Token), ids, room, caps, leases, starts}, each: func(r scanner) error {
		if err := r.Scan(to...); err != nil {
			return err
		}
		row := lastlook.Row{ID: lastlook.ID(id), Lane: lanes[lane], State: lastlook.StatePending, Due: timeOf(due),
			Attempt: int(attempt), Token: c.r.Token, Lease: timeOf(lease)}
		row.Story = lastlook.StoryOf(story, row.State, row.Attempt, row.Assertion)
		got = append(got, taken{row, key})
		return nil
	}})
	if err != nil {
		return err
	}
	slices.SortFunc(got, func(a, b taken) int { return cmp.Compare(a.row.ID, b.row.ID) })
	c.rows, c.keys = make([]lastlook.Row, len(got)), make([]int64, len(got))
	for i := range got {
		c.rows[i], c.keys[i] = got[i].row, got[i].key
	}
	return nil
}

// read completes the rows, records the claim and the marks that it has read, and
// commits.
func (c *claimer) read(ctx context.Context) error {
	ids := make([]int64, len(c.rows))
	first := c.rows[0].Lease
	for i := range c.rows {
		ids[i] = int64(c.rows[i].ID)
		if c.rows[i].Lease.Before(first) {
			first = c.rows[i].Lease
		}
	}
	var n int64
	var found notificationScan
	to := append([]any{&n}, found.all()...)
	c.known = make([]lastlook.Row, 0, len(c.rows))
	token := uuidOf(c.r.Token)
	err := c.t.commit(ctx,
		step{name: "claim_marks", args: []any{token, c.keys}},
		step{name: "claim_read", args: []any{ids, c.keys}, each: func(r scanner) error {
			if err := r.Scan(to...); err != nil {
				return err
			}
			row := c.rows[n-1]
			found.fill(&row)
			c.known = append(c.known, row)
			return nil
		}},
		step{name: "claim_record", args: []any{first.UnixMicro(), token, ids}})
	slices.SortFunc(c.known, func(a, b lastlook.Row) int { return cmp.Compare(a.ID, b.ID) })
	return err
}
