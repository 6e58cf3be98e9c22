package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
)

// TB is what the suite needs of a test. [testing.T] is one; the suite also
// runs itself with others, to see whether it fails.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	FailNow()
	Failed() bool
	// Cleanup, TempDir and Context are as in [testing.TB].
	Cleanup(f func())
	TempDir() string
	Context() context.Context
}

// Harness is how the suite gets at a store.
type Harness struct {
	// Open returns a fresh, empty store. It registers what must be closed
	// with tb.Cleanup. It is called hundreds of times.
	Open func(tb TB) lastlook.Store
	// Reopen simulates the death of the process: it abandons or closes s and
	// opens the same data again. Nil if the store cannot: the clauses that
	// need it are skipped.
	Reopen func(tb TB, s lastlook.Store) lastlook.Store
	// Orphan leaves a mark on a key that has no live row, as an enqueue may
	// that commits while the row ends. The key has had a row. Nil if the
	// store's transactions exclude it.
	Orphan func(tb TB, s lastlook.Store, now time.Time, it lastlook.Item)
	// OpenSQL is Open with every SQL statement, when it is loaded, replaced
	// by what rewrite returns for it. It serves Mutants only.
	OpenSQL func(tb TB, rewrite func(name, text string) string) lastlook.Store
	// Mutants are mistakes that only this store can make, for [RunMutants].
	Mutants []Mutant

	// planted says that the stores are the model's, in which more mistakes can
	// be planted.
	planted bool
}

// Clause is one promise of a store, and the scenario that checks it.
type Clause struct {
	// Name is the subtest's, e.g. "fence/stale token".
	Name string
	// Promise is the guarantee of the design that it belongs to, e.g. "G2".
	Promise string
	needs   func(h Harness) bool
	run     func(f *fixture)
}

// Applies reports whether the harness can do what the clause needs.
func (c Clause) Applies(h Harness) bool { return c.needs == nil || c.needs(h) }

// Check runs the clause on a fresh store.
func (c Clause) Check(tb TB, h Harness) {
	tb.Helper()
	c.run(newFixture(tb, h))
}

func needsReopen(h Harness) bool { return h.Reopen != nil }
func needsOrphan(h Harness) bool { return h.Orphan != nil }

// Clauses returns all clauses, in the order in which [Run] runs them.
func Clauses() []Clause {
	return slices.Concat(
		enqueueClauses, liveClauses, keyPartClauses,
		claimClauses, laneClauses, fenceClauses, leaseClauses, ruleClauses,
		toldClauses, windowClauses, keyRowClauses, failureClauses,
		markClauses, markEndClauses, sweepClauses, expiryClauses, muteClauses,
		getClauses, storyClauses, listClauses, statsClauses, pruneClauses,
		limitClauses, contextClauses, lockClauses, crashClauses, concurrentClauses,
	)
}

// Run checks that a store keeps every promise of [lastlook.Store].
func Run(t *testing.T, h Harness) {
	for _, c := range Clauses() {
		if !c.Applies(h) {
			t.Logf("%s: left out, since the harness cannot do what it needs", c.Name)
			continue
		}
		t.Run(c.Name, func(t *testing.T) { c.Check(t, h) })
	}
	t.Run("random", func(t *testing.T) { RunRandom(t, h) })
}
