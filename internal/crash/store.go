package crash

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
)

// Plant names a mistake that is built into the child, to see that the judge
// finds it.
type Plant string

// The mistakes.
const (
	PlantNone Plant = ""
	// PlantNoFence: what a late writer writes of a row that is being delivered is
	// compared with the state alone.
	PlantNoFence Plant = "no_fence"
	// PlantForget: now and then an enqueue is acknowledged, and not made.
	PlantForget Plant = "forget"
	// PlantBaseline: the key row is written apart from the end, and now and then
	// the crash comes between.
	PlantBaseline Plant = "baseline_apart"
	// PlantReaper: what a dead claim was delivering counts as not told.
	PlantReaper Plant = "reaper_forgets"
	// PlantNoReap: nobody looks after the rows of dead claims.
	PlantNoReap Plant = "no_reaper"
	// PlantMarks: whoever ends a row deletes the marks that it did not see, too.
	PlantMarks Plant = "marks"
	// PlantTx: the caller's transaction is not the enqueue's.
	PlantTx Plant = "tx"
	// PlantMint: each attempt has a delivery key of its own.
	PlantMint Plant = "mint"
	// PlantStale: the look gives an old value.
	PlantStale Plant = "stale"
	// PlantZombie: a write whose lease has passed is compared with the state
	// alone.
	PlantZombie Plant = "zombie"
)

// store passes the failpoints around each write, and is the late writer: it
// writes old changes of a row again when their row has moved on, as a holder
// would that was paused for longer than its lease.
type store struct {
	lastlook.Store

	life    *life
	journal *journal
	plant   Plant

	now func() time.Time

	mu sync.Mutex
	// claims are those of this process, by when they were made; nil if nobody
	// wants to know which of them outlived their lease.
	claims   map[lastlook.Token]time.Time
	old      map[lastlook.ID][]lastlook.Change
	enqueued int
	accepted int
}

func newStore(inner lastlook.Store, l *life, j *journal, p Plant) *store {
	return &store{Store: inner, life: l, journal: j, plant: p, old: map[lastlook.ID][]lastlook.Change{}}
}

// exclusive is the store of a dispatcher that takes the lock, if there is one.
type exclusive struct{ *store }

func (s exclusive) LockDispatch(ctx context.Context) (func() error, error) {
	if l, ok := s.Store.(lastlook.DispatchLocker); ok {
		return l.LockDispatch(ctx)
	}
	return func() error { return nil }, nil
}

func (s *store) Enqueue(ctx context.Context, now time.Time, items []lastlook.Item) ([]lastlook.EnqueueResult, error) {
	if err := s.life.pass("enqueue:before"); err != nil {
		return nil, err
	}
	res, err := s.enqueue(ctx, now, items)
	if dead := s.life.pass("enqueue:after"); dead != nil {
		return nil, dead
	}
	return res, err
}

func (s *store) enqueue(ctx context.Context, now time.Time, items []lastlook.Item) ([]lastlook.EnqueueResult, error) {
	res, err := s.Store.Enqueue(ctx, now, items)
	if s.plant != PlantForget || err != nil {
		return res, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range res {
		if s.enqueued++; res[i].Status == lastlook.Inserted && s.enqueued%50 == 0 {
			res[i].ID += 1 << 40
		}
	}
	return res, nil
}

func (s *store) Lanes(ctx context.Context, q lastlook.LaneQuery) ([]lastlook.LaneState, error) {
	if s.life.over() {
		return nil, errKilled
	}
	return s.Store.Lanes(ctx, q)
}

func (s *store) Claim(ctx context.Context, r lastlook.ClaimRequest) ([]lastlook.Row, error) {
	if err := s.life.pass("claim:before"); err != nil {
		return nil, err
	}
	rows, err := s.Store.Claim(ctx, r)
	if dead := s.life.pass("claim:after"); dead != nil {
		return nil, dead
	}
	s.noteClaim(r.Token, len(rows))
	var claimed []lastlook.ID
	for i := range rows {
		claimed = append(claimed, rows[i].ID)
	}
	s.writeLate(ctx, r.Now, lastlook.StatePending, claimed)
	return rows, err
}

func (s *store) Sweep(ctx context.Context, r lastlook.SweepRequest) (lastlook.Swept, error) {
	if err := s.life.pass("sweep:before"); err != nil {
		return lastlook.Swept{}, err
	}
	page, err := s.Store.Sweep(ctx, r)
	if dead := s.life.pass("sweep:after"); dead != nil {
		return lastlook.Swept{}, dead
	}
	if s.plant == PlantNoReap {
		page.Dead = nil
	}
	return page, err
}

func (s *store) Apply(ctx context.Context, now time.Time, changes []lastlook.Change) ([]bool, error) {
	names := pointsOf(changes)
	for _, p := range names {
		if err := s.life.pass(p + ":before"); err != nil {
			return nil, err
		}
	}
	began := s.now()
	done, err := s.Store.Apply(ctx, now, s.planted(changes))
	if err == nil {
		s.noteOld(began, changes, done)
	}
	for _, p := range names {
		if dead := s.life.pass(p + ":after"); dead != nil {
			return nil, dead
		}
	}
	if err != nil {
		return done, err
	}
	var sending []lastlook.ID
	for i := range changes {
		if done[i] && changes[i].To == lastlook.StateSending {
			sending = append(sending, changes[i].ID)
		}
	}
	s.writeLate(ctx, now, lastlook.StateSending, sending)
	s.remember(changes)
	return done, nil
}

// pointsOf names the points that a write passes.
func pointsOf(changes []lastlook.Change) []string {
	var out []string
	for i := range changes {
		p := "waiting"
		switch c := &changes[i]; {
		case c.Fence == lastlook.FenceTokenDead:
			p = "reaped"
		case c.To == lastlook.StateSending:
			p = "sending"
		case c.To == lastlook.StateSent:
			p = "sent"
		case c.Ends():
			p = "dropped"
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// planted makes the planted mistake, if it is one of changes.
func (s *store) planted(changes []lastlook.Change) []lastlook.Change {
	switch s.plant {
	case PlantBaseline, PlantReaper, PlantMarks, PlantZombie:
	default:
		return changes
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changes = slices.Clone(changes)
	for i := range changes {
		switch c := &changes[i]; {
		case s.plant == PlantBaseline && c.Event == lastlook.EventAccepted:
			if s.accepted++; s.accepted%20 == 0 {
				c.Key = lastlook.KeyKeep
			}
		case s.plant == PlantReaper && c.Fence == lastlook.FenceTokenDead:
			c.Key = lastlook.KeyKeep
		case s.plant == PlantZombie && c.Fence != lastlook.FenceTokenDead:
			if at, ours := s.claims[c.Token]; ours && s.now().Sub(at) > lease {
				c.Fence = lastlook.FenceNone
			}
		case s.plant == PlantMarks && c.Ends():
			c.DropMarks = true
		}
	}
	return changes
}

// remember keeps the changes of rows that live on.
func (s *store) remember(changes []lastlook.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range changes {
		if c := changes[i]; c.Ends() {
			delete(s.old, c.ID)
		} else {
			s.old[c.ID] = append(s.old[c.ID], c)
		}
	}
}

// claimMemory is how long a claim is remembered: longer than any pause.
const claimMemory = time.Minute

func (s *store) noteClaim(t lastlook.Token, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims == nil || rows == 0 {
		return
	}
	now := s.now()
	for t, at := range s.claims {
		if now.Sub(at) > claimMemory {
			delete(s.claims, t)
		}
	}
	s.claims[t] = now
}

// noteOld records what came of writes that began when their claim's first lease
// had passed: for the judge, who knows which process was stopped when.
func (s *store) noteOld(began time.Time, changes []lastlook.Change, done []bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range changes {
		c := &changes[i]
		at, ours := s.claims[c.Token]
		if !ours || c.Fence == lastlook.FenceTokenDead || began.Sub(at) <= lease {
			continue
		}
		e := Entry{Kind: KindRefused, At: began.UnixMicro(), ID: c.ID, Text: string(c.Event), LookedAt: at.UnixMicro()}
		if done[i] {
			e.Kind = KindWrote
		}
		s.journal.add(e)
	}
}

// lateAtOnce bounds the rows for which one call writes late.
const lateAtOnce = 8

// writeLate writes old changes of rows that are in the state those started from.
// Nothing may come of it.
func (s *store) writeLate(ctx context.Context, now time.Time, from lastlook.State, ids []lastlook.ID) {
	var changes []lastlook.Change
	s.mu.Lock()
	for _, id := range ids[:min(len(ids), lateAtOnce)] {
		for _, c := range s.old[id] {
			if c.From != from {
				continue
			}
			if s.plant == PlantNoFence && from == lastlook.StateSending {
				c.Fence = lastlook.FenceNone
			}
			changes = append(changes, c)
		}
	}
	s.mu.Unlock()
	if len(changes) == 0 || s.life.over() {
		return
	}
	done, err := s.Store.Apply(ctx, now, changes)
	if err != nil {
		return // the database is busy, or ctx has ended: nothing was written
	}
	for i, ok := range done {
		if ok {
			s.journal.add(Entry{Kind: KindLate, ID: changes[i].ID, Text: string(changes[i].Event)})
		}
	}
}
