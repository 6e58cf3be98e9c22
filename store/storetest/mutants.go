package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/internal/model"
)

// Mutant is a mistake that is planted in a store, to show that the suite would
// notice it.
type Mutant struct {
	// Name is the subtest's, Mistake says what is wrong.
	Name, Mistake string
	// Clause is the one that is expected to notice; it is tried first.
	Clause string
	// Wrap plants the mistake around any store.
	Wrap func(s lastlook.Store) lastlook.Store
	// SQL plants it in a statement, see [Harness.OpenSQL].
	SQL func(name, text string) string

	// plant plants it in the model.
	plant *model.Faults
}

// Mutants returns the mistakes that can be planted in any store, and those
// that only the model can make.
func Mutants() []Mutant {
	return slices.Concat(fenceMutants(), keyMutants(), markMutants(), rowMutants())
}

// harness returns a harness that opens mutated stores; ok is false if this
// mistake cannot be planted in them.
func (m Mutant) harness(h Harness) (mutated Harness, ok bool) {
	switch {
	case m.Wrap != nil:
		return wrapped(h, m.Wrap), true
	case m.SQL != nil && h.OpenSQL != nil:
		h.Open = func(tb TB) lastlook.Store { return h.OpenSQL(tb, m.SQL) }
		h.Reopen = nil // would open an honest one
		return h, true
	case m.plant != nil && h.planted:
		return plantedHarness(*m.plant), true
	}
	return Harness{}, false
}

// wrapped opens stores that are wrapped, and lets nobody else see the inner
// ones.
func wrapped(h Harness, wrap func(lastlook.Store) lastlook.Store) Harness {
	var mu sync.Mutex
	inner := map[lastlook.Store]lastlook.Store{}
	cover := func(s lastlook.Store) lastlook.Store {
		mu.Lock()
		defer mu.Unlock()
		w := wrap(s)
		inner[w] = s
		return w
	}
	uncover := func(w lastlook.Store) lastlook.Store {
		mu.Lock()
		defer mu.Unlock()
		return inner[w]
	}
	out := Harness{Open: func(tb TB) lastlook.Store { return cover(h.Open(tb)) }}
	if h.Reopen != nil {
		out.Reopen = func(tb TB, w lastlook.Store) lastlook.Store { return cover(h.Reopen(tb, uncover(w))) }
	}
	if h.Orphan != nil {
		out.Orphan = func(tb TB, w lastlook.Store, now time.Time, it lastlook.Item) { h.Orphan(tb, uncover(w), now, it) }
	}
	return out
}

func plantedHarness(f model.Faults) Harness {
	var mu sync.Mutex
	crash := map[lastlook.Store]func(){}
	return Harness{
		Open: func(TB) lastlook.Store {
			mu.Lock()
			defer mu.Unlock()
			s, c := model.NewPlanted(f)
			crash[s] = c
			return s
		},
		Reopen: func(_ TB, s lastlook.Store) lastlook.Store {
			mu.Lock()
			defer mu.Unlock()
			crash[s]()
			return s
		},
	}
}

// RunMutants plants each mistake in the harness's stores, one at a time, and
// demands that a clause or the randomized run notices. It says which did.
func RunMutants(t *testing.T, h Harness) {
	for _, m := range slices.Concat(Mutants(), h.Mutants) {
		mh, ok := m.harness(h)
		if !ok {
			t.Logf("%s: cannot be planted in this store", m.Name)
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			by, failure := m.caught(t.Context(), mh)
			if by == "" {
				t.Fatalf("not noticed: %s", m.Mistake)
			}
			t.Logf("%s: noticed by %s: %s", m.Mistake, by, firstLine(failure))
		})
	}
}

// caught returns who notices first: the clause that is expected to, any other,
// or a randomized run.
func (m Mutant) caught(ctx context.Context, h Harness) (by, failure string) {
	clauses := Clauses()
	slices.SortStableFunc(clauses, func(a, b Clause) int { return b2i(b.Name == m.Clause) - b2i(a.Name == m.Clause) })
	for _, c := range clauses {
		if failures := m.tryClause(ctx, h, c); len(failures) > 0 {
			return c.Name, failures[0]
		}
	}
	seed, failures := m.tryRuns(ctx, h, 20, true)
	if len(failures) > 0 {
		return fmt.Sprintf("randomized run %d", seed), failures[0]
	}
	return "", ""
}

func (m Mutant) tryClause(ctx context.Context, h Harness, c Clause) []string {
	if !c.Applies(h) {
		return nil
	}
	return attempt(ctx, m.Name, func(tb TB) { c.Check(tb, h) })
}

// tryRuns makes randomized runs until one fails, compared with the oracle or
// by the journal alone.
func (m Mutant) tryRuns(ctx context.Context, h Harness, runs uint64, oracle bool) (seed uint64, failures []string) {
	for seed := range runs {
		if failures := attempt(ctx, m.Name, func(tb TB) { play(tb, h, seed, 200, oracle) }); len(failures) > 0 {
			return seed, failures
		}
	}
	return runs, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	if len(line) > 160 {
		line = line[:160] + "…"
	}
	return line
}
