package watch_test

import (
	"os"
	"testing"
	"testing/synctest"
)

// Our own cases, in the corpus' words and some more. All are read, and every
// Nth is played: all of them without the race detector.
func TestBehaviour(t *testing.T) {
	data, err := os.ReadFile("testdata/behaviour_own.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, b := range readBehaviours(t, data) {
		if seen[b.ID] {
			t.Errorf("there are two cases %s", b.ID)
		}
		seen[b.ID] = true
		if i%everyNth > 0 {
			continue
		}
		t.Run(b.ID, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, wrong := range b.play(t) {
					t.Errorf("%s (%s): %s", b.Note, b.Expect.Strength, wrong)
				}
			})
		})
	}
}
