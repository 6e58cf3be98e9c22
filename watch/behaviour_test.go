package watch_test

import (
	"os"
	"testing"
	"testing/synctest"
)

// The cases of the corpus that need no other triggers than there are
// (testdata/behaviour.jsonl, from public bug reports), and our own.
func TestBehaviour(t *testing.T) {
	for _, file := range []string{"/tmp/c.jsonl", "testdata/behaviour_own.jsonl"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range readBehaviours(t, data) {
			t.Run(b.ID, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					for _, wrong := range b.play(t) {
						t.Errorf("%s (%s): %s", b.Note, b.Expect.Strength, wrong)
					}
				})
			})
		}
	}
}
