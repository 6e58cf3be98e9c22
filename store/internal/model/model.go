// Package model is a store that is written to be obviously right rather than
// fast: maps under one mutex, every method a single critical section, no index.
// It is what storetest compares other stores with, and what memstore gives to
// tests. It is internal so that nobody opens one with a planted mistake.
package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
)

var _ lastlook.Store = (*Store)(nil)

// Store is an outbox in memory. It is safe for concurrent use, and every
// method is atomic. Make one with [New].
type Store struct {
	mu    sync.Mutex
	plant Faults

	keys  map[lastlook.Key]*keyRow
	live  map[lastlook.ID]*row
	ended map[lastlook.ID]*row
	marks []*mark // in the order in which they were left
	muted map[address]bool
	lanes map[lastlook.Lane]int64 // by lane without its ID

	lastID   lastlook.ID
	lastKey  int64
	deferred []func() // planted: key rows written too late
}

// New returns an empty store.
func New() *Store {
	return &Store{
		keys:  map[lastlook.Key]*keyRow{},
		live:  map[lastlook.ID]*row{},
		ended: map[lastlook.ID]*row{},
		muted: map[address]bool{},
		lanes: map[lastlook.Lane]int64{},
	}
}

// NewPlanted returns a store that makes the given mistakes, and what to call
// where its process would die. It is for storetest alone.
func NewPlanted(f Faults) (s *Store, crash func()) {
	s = New()
	s.plant = f
	return s, s.crash
}

// keyRow is the key row and the key it belongs to.
type keyRow struct {
	lastlook.KeyRow
	key lastlook.Key
}

// row is a notification, live or ended.
type row struct {
	id      lastlook.ID
	key     *keyRow
	item    lastlook.Item // filled in; it never changes
	lane    lastlook.Lane
	created time.Time

	state     lastlook.State
	due       time.Time
	attempt   int
	token     lastlook.Token
	lease     time.Time
	assertion lastlook.Assertion
	story     []byte

	// Set when it ends.
	reason  lastlook.Reason
	seen    json.RawMessage
	endedAt time.Time
}

// leased reports whether a living claim holds the row.
func (r *row) leased(now time.Time) bool { return r.lease.After(now) }

// mark is an edge that met a live row.
type mark struct {
	key  *keyRow
	item lastlook.Item
	// token is that of the claim which read it last.
	token lastlook.Token
}

// address is what can be muted.
type address struct{ recipient, channel string }

// begin starts a method: it locks, unless ctx is done.
func (s *Store) begin(ctx context.Context) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memstore: %w", err)
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// Enqueue implements [lastlook.Store].
func (s *Store) Enqueue(ctx context.Context, now time.Time, items []lastlook.Item) ([]lastlook.EnqueueResult, error) {
	prepared, err := lastlook.Prepare(now, items)
	if err != nil {
		return nil, err
	}
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	s.settle()

	var undo []func()
	results := make([]lastlook.EnqueueResult, len(items))
	for i := range prepared {
		p := &prepared[i]
		p.Detection = bytes.Clone(p.Detection)
		adm, err := lastlook.Admit(now, &p.Item, s.standing(p.Key))
		if err != nil {
			for _, u := range slices.Backward(undo) {
				u()
			}
			return nil, err
		}
		undo = append(undo, s.admit(now, p.Item, &adm))
		results[p.Index] = adm.EnqueueResult
	}
	return results, nil
}

// standing is what is known of a key.
func (s *Store) standing(k lastlook.Key) lastlook.Standing {
	st := lastlook.Standing{Muted: s.muted[address{k.Recipient, k.Channel}]}
	if kr := s.keys[k]; kr != nil {
		st.Key = kr.KeyRow
		if r := s.liveRow(kr); r != nil && !s.plant.NoUnique {
			st.LiveID, st.LiveState = r.id, r.state
		}
	}
	return st
}

// admit writes what adm says and returns how to undo it.
func (s *Store) admit(now time.Time, it lastlook.Item, adm *lastlook.Admission) (undo func()) {
	switch adm.Status {
	case lastlook.Inserted:
		k, undoKey := s.keyOf(it.Key)
		if adm.ClearTold {
			k.Told, k.ToldBy, k.ToldAt = lastlook.Window{}, 0, time.Time{}
		}
		r := s.insert(now, k, it, adm.Due)
		adm.ID = r.id
		return func() { delete(s.live, r.id); undoKey() }
	case lastlook.Marked:
		k, undoKey := s.keyOf(it.Key)
		s.marks = append(s.marks, &mark{key: k, item: it})
		return func() { s.marks = s.marks[:len(s.marks)-1]; undoKey() }
	default:
		return func() {}
	}
}

// keyOf returns the key's row, made if need be.
func (s *Store) keyOf(key lastlook.Key) (k *keyRow, undo func()) {
	k = s.keys[key]
	if k == nil {
		s.lastKey++
		k = &keyRow{key: key, KeyRow: lastlook.KeyRow{ID: s.lastKey}}
		s.keys[key] = k
		undo = func() { delete(s.keys, key) }
	} else {
		old := *k
		undo = func() { *k = old }
	}
	return k, undo
}

// insert makes a pending row of a filled-in item.
func (s *Store) insert(now time.Time, k *keyRow, it lastlook.Item, due time.Time) *row {
	s.lastID++
	if s.plant.ReuseIDs {
		s.lastID = 1
		for id := range s.live {
			s.lastID = max(s.lastID, id+1)
		}
		for id := range s.ended {
			s.lastID = max(s.lastID, id+1)
		}
	}
	r := &row{id: s.lastID, key: k, item: it, lane: s.laneOf(it), created: lastlook.Micro(now),
		state: lastlook.StatePending, due: lastlook.Micro(due)}
	s.live[r.id] = r
	return r
}

func (s *Store) laneOf(it lastlook.Item) lastlook.Lane {
	l := lastlook.Lane{Topic: it.Topic, Channel: it.Channel, Name: it.Lane, Priority: it.Priority}
	id, ok := s.lanes[l]
	if !ok {
		id = int64(len(s.lanes) + 1)
		s.lanes[l] = id
	}
	l.ID = id
	return l
}

// liveRow returns the key's live row, if any.
func (s *Store) liveRow(k *keyRow) *row {
	for _, r := range s.live {
		if r.key == k {
			return r
		}
	}
	return nil
}

// byID returns rows in the order of ids.
func byID(rows map[lastlook.ID]*row) []*row {
	return slices.SortedFunc(maps.Values(rows), func(a, b *row) int { return cmp.Compare(a.id, b.id) })
}

// settle writes the key rows that a planted fault has put off.
func (s *Store) settle() {
	for _, f := range s.deferred {
		f()
	}
	s.deferred = nil
}

// AddMark leaves a mark on a key that has had a row. The model's own
// transactions leave none without a live row; those of other stores may, and
// the sweep makes a row of it.
func AddMark(s *Store, now time.Time, it lastlook.Item) error {
	p, err := lastlook.Prepare(now, []lastlook.Item{it})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, _ := s.keyOf(it.Key)
	s.marks = append(s.marks, &mark{key: k, item: p[0].Item})
	return nil
}

// crash drops what a planted fault keeps in the process's memory only. An
// honest store has nothing to lose.
func (s *Store) crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deferred = nil
	if s.plant.MarksInMemory {
		for _, m := range s.marks {
			m.token = lastlook.Token{}
		}
	}
}

// Mute implements [lastlook.Store].
func (s *Store) Mute(ctx context.Context, _ time.Time, changes []lastlook.MuteChange) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for _, c := range changes {
		if c.Lift {
			delete(s.muted, address{c.Recipient, c.Channel})
		} else {
			s.muted[address{c.Recipient, c.Channel}] = true
		}
	}
	return nil
}
