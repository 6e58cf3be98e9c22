package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// Lanes implements [lastlook.Store]. While a backlog is drained fast, its answer
// may be a quarter of a second old.
func (s *Store) Lanes(ctx context.Context, q lastlook.LaneQuery) ([]lastlook.LaneState, error) {
	list := s.rush.known(time.Now())
	if list == nil || ctx.Err() != nil || s.isClosed() {
		var err error
		if list, err = s.listLanes(ctx, q.Now); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(l lastlook.LaneState) bool {
		return l.Due.IsZero() || !slices.Contains(q.Topics, l.Topic) || !slices.Contains(q.Channels, l.Channel)
	}), nil
}

// listLanes lists all lanes that have live rows.
func (s *Store) listLanes(ctx context.Context, now time.Time) ([]lastlook.LaneState, error) {
	var out []lastlook.LaneState
	known := map[laneKey]int64{}
	err := s.transact(ctx, "lanes", reading, func(ctx context.Context, t *transaction) error {
		out = nil
		return t.commit(ctx, step{name: "lanes", args: []any{now.UnixMicro()}, each: func(r scanner) error {
			var l lastlook.LaneState
			var due, priority int64
			if err := r.Scan(&l.ID, &l.Topic, &l.Channel, &l.Name, &priority, &due); err != nil {
				return err
			}
			l.Due, l.Priority = timeOf(due), lastlook.Priority(priority)
			known[laneKey{l.Topic, l.Channel, l.Name, l.Priority}] = l.ID
			out = append(out, l)
			return nil
		}})
	})
	if err != nil {
		return nil, err
	}
	s.lanes.add(known)
	s.rush.know(time.Now(), slices.Clone(out))
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
		c := &claimer{t: t, r: &r, rush: &s.rush, lanes: lanes}
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
	rush  *rush
	lanes []lastlook.LaneClaim
	rows  []lastlook.Row // claimed, in the order of ids; not all is known of them yet
	keys  []int64        // their keys
	known []lastlook.Row // rows, whole
}

// taken is a row just claimed, and its key.
type taken struct {
	row lastlook.Row
	key int64
}

// take claims the rows. Where claims did not start at the head of their lanes,
// and got less than they asked for, they look there as well.
func (c *claimer) take(ctx context.Context) error {
	starts, hinted := c.rush.starts(time.Now(), c.lanes)
	got, err := c.takeFrom(ctx, c.lanes, starts)
	if err != nil {
		return err
	}
	if left := c.left(got, starts); hinted && len(left) > 0 {
		c.rush.doubt()
		more, err := c.takeFrom(ctx, left, make([]place, len(left)))
		if err != nil {
			return err
		}
		got = append(got, more...)
		for i, l := range c.lanes {
			if slices.ContainsFunc(left, func(o lastlook.LaneClaim) bool { return o.Lane.ID == l.Lane.ID }) {
				starts[i] = place{}
			}
		}
	}
	slices.SortFunc(got, func(a, b taken) int { return cmp.Compare(a.row.ID, b.row.ID) })
	c.rows, c.keys = make([]lastlook.Row, len(got)), make([]int64, len(got))
	for i := range got {
		c.rows[i], c.keys[i] = got[i].row, got[i].key
	}
	c.rush.claimed(time.Now(), c.lanes, starts, c.rows)
	return nil
}

// left are the lanes that did not give all that was asked for, and from whose
// head nobody has looked.
func (c *claimer) left(got []taken, starts []place) (out []lastlook.LaneClaim) {
	count := map[int64]int{}
	for i := range got {
		count[got[i].row.Lane.ID]++
	}
	for i, l := range c.lanes {
		if l.N -= count[l.Lane.ID]; l.N > 0 && starts[i] != (place{}) {
			out = append(out, l)
		}
	}
	return out
}

func (c *claimer) takeFrom(ctx context.Context, list []lastlook.LaneClaim, starts []place) ([]taken, error) {
	n := len(list)
	ids, room, caps, leases, dues, startIDs := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	lanes := make(map[int64]lastlook.Lane, n)
	for i, l := range list {
		ids[i], room[i], caps[i] = l.Lane.ID, int64(l.N), min(int64(l.MaxAttempts), math.MaxInt32)
		leases[i] = lastlook.Micro(c.r.Now.Add(l.Lease)).UnixMicro()
		dues[i], startIDs[i] = starts[i].due, starts[i].id
		lanes[l.Lane.ID] = l.Lane
	}
	var got []taken
	var id, key, lane, due, attempt, lease int64
	var story []byte
	to := []any{&id, &key, &lane, &due, &attempt, &lease, &story}
	args := []any{c.r.Now.UnixMicro(), uuidOf(c.r.Token), ids, room, caps, leases, dues, startIDs}
	err := c.t.run(ctx, step{name: "claim_rows", args: args, each: func(r scanner) error {
		if err := r.Scan(to...); err != nil {
			return err
		}
		row := lastlook.Row{ID: lastlook.ID(id), Lane: lanes[lane], State: lastlook.StatePending, Due: timeOf(due),
			Attempt: int(attempt), Token: c.r.Token, Lease: timeOf(lease)}
		row.Story = lastlook.StoryOf(story, row.State, row.Attempt, row.Assertion)
		got = append(got, taken{row, key})
		return nil
	}})
	return got, err
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
