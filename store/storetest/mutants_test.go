//go:build !race

// `make mutants` runs these, without the race detector: they test the suite,
// mostly in one goroutine.

package storetest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// unseen are the mistakes that the journal does not see by itself: they break
// no promise to the world, only one to those who wait or read.
var unseen = []string{
	"ends ask for the lease", "reaper without lease check", "lease not renewed", // what a late holder may do
	"head of line", "one lane at a time", "dead claims are not swept", // others come later
	"expiry spares claimed rows", "a sweep's pages overlap nothing", "postponing costs an attempt", "the last step is not told",
}

// TestMutants plants every mistake in the model and shows who notices: the
// clause that is expected to (with LASTLOOK_MUTANTS=all, every clause is asked),
// from which randomized run on when compared with the oracle, and from which by
// the journal alone.
func TestMutants(t *testing.T) {
	names := map[string]bool{}
	for _, m := range Mutants() {
		if names[m.Name] {
			t.Errorf("two mutants are called %q", m.Name)
		}
		names[m.Name] = true
		t.Run(m.Name, func(t *testing.T) {
			h, ok := m.harness(memHarness())
			if !ok {
				t.Fatal("cannot be planted in the model")
			}
			var by []string
			for _, c := range Clauses() {
				if c.Name != m.Clause && os.Getenv("LASTLOOK_MUTANTS") != "all" {
					continue
				}
				if failures := m.tryClause(t.Context(), h, c); len(failures) > 0 {
					by = append(by, c.Name)
				}
			}
			if !slices.Contains(by, m.Clause) {
				t.Errorf("not noticed by %q", m.Clause)
			}
			run := func(oracle bool) string {
				seed, failures := m.tryRuns(t.Context(), h, 40, oracle)
				if len(failures) == 0 {
					return ""
				}
				return fmt.Sprintf("run %d: %s", seed, firstLine(failures[0]))
			}
			compared, alone := run(true), ""
			if !slices.Contains(unseen, m.Name) {
				if alone = run(false); alone == "" {
					t.Error("not noticed by the journal alone")
				}
			}
			t.Logf("%s\nclauses: %s\ncompared: %s\njournal:  %s", m.Mistake, strings.Join(by, ", "), compared, alone)
		})
	}
}

// TestRunMutants: as a store's own test does it.
func TestRunMutants(t *testing.T) { RunMutants(t, memHarness()) }

// TestHonest: a store without a mistake is not accused.
func TestHonest(t *testing.T) {
	if by, failure := (Mutant{}).caught(t.Context(), memHarness()); by != "" {
		t.Errorf("the model is accused by %s: %s", by, failure)
	}
}
