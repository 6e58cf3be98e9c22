package crash

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/memstore"
)

// memory is a backend in memory, for runs in fake time whose kills leave the
// process alive: from then on, nothing has an effect any more.
type memory struct {
	store *memstore.Store

	mu    sync.Mutex
	notes []Note
}

func (m *memory) Points() []string                                                  { return nil }
func (m *memory) Open(context.Context, string, Failpoint, func()) (Database, error) { return m, nil }
func (m *memory) Store() lastlook.Store                                             { return m.store }
func (m *memory) Check(context.Context) error                                       { return nil }
func (m *memory) Close() error                                                      { return nil }

func (m *memory) Notes(context.Context) ([]Note, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.notes, nil
}

func (m *memory) EnqueueTx(ctx context.Context, now time.Time, n int64, items []lastlook.Item, commit bool, pass func(string) error) ([]lastlook.EnqueueResult, error) {
	for _, p := range []string{"tx:begun", "tx:written", "tx:enqueued"} {
		if err := pass(p); err != nil {
			return nil, err
		}
	}
	if !commit {
		return nil, nil
	}
	res, err := m.store.Enqueue(ctx, now, items)
	if err != nil {
		return nil, err
	}
	note := Note{N: n}
	for _, r := range res {
		if r.ID != 0 {
			note.IDs = append(note.IDs, r.ID)
		}
	}
	m.mu.Lock()
	m.notes = append(m.notes, note)
	m.mu.Unlock()
	return res, pass("tx:committed")
}

// runInMemory lets runs of a span die at the given points, one each, and at no
// point for "", then drains.
func runInMemory(t *testing.T, plant Plant, points []string, span time.Duration) Ruling {
	t.Helper()
	m := &memory{store: memstore.New()}
	dir := t.TempDir()
	w := &watcher{}
	var ruling Ruling
	synctest.Test(t, func(t *testing.T) {
		for i, p := range points {
			live(t, m, Child{Dir: dir, Seed: 1, Run: i + 1, Dispatchers: 1 + i%2, TTL: 10 * time.Second, Plant: plant, Fail: Failpoint{Point: p, N: int64(1 + i%3)}}, span)
			records, err := list(t.Context(), m.store)
			if err != nil {
				t.Fatal(err)
			}
			w.look(records)
		}
		live(t, m, Child{Dir: dir, Seed: 1, Run: len(points) + 1, TTL: 10 * time.Second, Plant: plant, Drain: true}, time.Minute)
	})
	ev, err := gather(t.Context(), m, dir, 1, w)
	if err != nil {
		t.Fatal(err)
	}
	ruling = Judge(ev)
	return ruling
}

// live is one run, killed after a time unless it dies before.
func live(t *testing.T, m *memory, c Child, limit time.Duration) {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	var dead *life
	stop := time.AfterFunc(limit, func() {
		if dead != nil {
			dead.dead.Store(true)
		}
		kill()
	})
	defer stop.Stop()
	err := Live(ctx, c, Process{Backend: m, Kill: kill, Ready: func() {}, born: func(l *life) { dead = l }, patience: 50 * time.Millisecond})
	if err != nil && ctx.Err() == nil && !errors.Is(err, errKilled) && !errors.Is(err, ErrNotDrained) {
		t.Errorf("run %d: %v", c.Run, err)
	}
}

func TestHonestOutboxHasNoFindings(t *testing.T) {
	got := runInMemory(t, PlantNone, append(Points(), Points()...), 600*time.Millisecond)
	for _, f := range got.Findings {
		t.Errorf("%s: row %d, %s: %s", f.Fault, f.ID, f.Key, f.Text)
	}
	if got.Accepted < 300 || got.Repeats == 0 || got.Ended["sent"]*3 < got.Rows || got.Enqueued["marked"] == 0 {
		t.Errorf("that proves little: %d rows, %d accepted, %d repeats, %v, %v", got.Rows, got.Accepted, got.Repeats, got.Enqueued, got.Ended)
	}
}

func TestPlantedMistakesAreFound(t *testing.T) {
	span := 600 * time.Millisecond
	if underRace { // each row costs ten times as much
		span /= 3
	}
	for plant, want := range map[Plant]Fault{
		PlantNoFence:  FaultLate,
		PlantForget:   FaultLost,
		PlantBaseline: FaultRepeat,
		PlantReaper:   FaultOneKey,
		PlantNoReap:   FaultLost,
		PlantMarks:    FaultLost,
		PlantTx:       FaultTorn,
		PlantMint:     FaultTwoKeys,
		PlantStale:    FaultStale,
	} {
		t.Run(string(plant), func(t *testing.T) {
			got := runInMemory(t, plant, []string{"", "channel:accepted", "", "sent:before", "", "channel:answered", "", ""}, span)
			if got.Count(want) == 0 {
				t.Errorf("no %s among the %d findings: %v", want, len(got.Findings), got.Findings)
			}
			if plant == PlantNoFence && got.Count(FaultRepeat) == 0 {
				t.Error("late writes without a fence made nobody be told twice")
			}
		})
	}
}
