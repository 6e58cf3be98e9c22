package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
)

// mutated wraps a store and rewrites what goes in and what comes out. Fields
// that are nil leave it alone.
type mutated struct {
	lastlook.Store
	mu sync.Mutex
	// rows are the last claims' rows, as they were returned.
	rows map[lastlook.ID]lastlook.Row
	// topics and channels are all that have been enqueued.
	topics, channels map[string]bool

	items  func(items []lastlook.Item)
	lanes  func(q *lastlook.LaneQuery)
	claim  func(r *lastlook.ClaimRequest)
	change func(c *lastlook.Change)
	swept  func(r lastlook.SweepRequest, s *lastlook.Swept)
	done   func(done []bool)
}

// mutant makes a wrapping mutant. set is called for each store that is
// wrapped.
func mutant(name, clause, mistake string, set func(m *mutated)) Mutant {
	return Mutant{Name: name, Clause: clause, Mistake: mistake, Wrap: func(s lastlook.Store) lastlook.Store {
		m := &mutated{Store: s, rows: map[lastlook.ID]lastlook.Row{}, topics: map[string]bool{}, channels: map[string]bool{}}
		set(m)
		return m
	}}
}

// changing makes a mutant that rewrites changes.
func changing(name, clause, mistake string, change func(m *mutated, c *lastlook.Change)) Mutant {
	return mutant(name, clause, mistake, func(m *mutated) {
		m.change = func(c *lastlook.Change) { change(m, c) }
	})
}

// row is a row as its last claim returned it.
func (m *mutated) row(id lastlook.ID) lastlook.Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows[id]
}

// state is the row's present one.
func (m *mutated) state(id lastlook.ID) lastlook.State {
	rec, err := m.Get(context.Background(), id)
	if err != nil {
		return lastlook.StateNone
	}
	return rec.State
}

func (m *mutated) Enqueue(ctx context.Context, now time.Time, items []lastlook.Item) ([]lastlook.EnqueueResult, error) {
	items = append([]lastlook.Item{}, items...)
	m.mu.Lock()
	for _, it := range items {
		m.topics[it.Topic], m.channels[it.Channel] = true, true
	}
	m.mu.Unlock()
	if m.items != nil {
		m.items(items)
	}
	return m.Store.Enqueue(ctx, now, items)
}

func (m *mutated) Lanes(ctx context.Context, q lastlook.LaneQuery) ([]lastlook.LaneState, error) {
	if m.lanes != nil {
		m.lanes(&q)
	}
	return m.Store.Lanes(ctx, q)
}

func (m *mutated) Claim(ctx context.Context, r lastlook.ClaimRequest) ([]lastlook.Row, error) {
	if m.claim != nil {
		r.Lanes = append([]lastlook.LaneClaim{}, r.Lanes...)
		m.claim(&r)
	}
	rows, err := m.Store.Claim(ctx, r)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, row := range rows {
		m.rows[row.ID] = row
	}
	return rows, err
}

func (m *mutated) Apply(ctx context.Context, now time.Time, changes []lastlook.Change) ([]bool, error) {
	if m.change != nil {
		changes = append([]lastlook.Change{}, changes...)
		for i := range changes {
			m.change(&changes[i])
		}
	}
	done, err := m.Store.Apply(ctx, now, changes)
	if m.done != nil {
		m.done(done)
	}
	return done, err
}

func (m *mutated) Sweep(ctx context.Context, r lastlook.SweepRequest) (lastlook.Swept, error) {
	s, err := m.Store.Sweep(ctx, r)
	if m.swept != nil {
		m.swept(r, &s)
	}
	return s, err
}

// piecemeal enqueues item by item, each in a transaction of its own.
type piecemeal struct{ lastlook.Store }

func (p *piecemeal) Enqueue(ctx context.Context, now time.Time, items []lastlook.Item) ([]lastlook.EnqueueResult, error) {
	var all []lastlook.EnqueueResult
	for i := range items {
		res, err := p.Store.Enqueue(ctx, now, items[i:i+1])
		if err != nil {
			return nil, err
		}
		all = append(all, res...)
	}
	return all, nil
}
