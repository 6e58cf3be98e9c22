package storetest

import (
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/internal/model"
)

func memHarness() Harness {
	return Harness{
		Open:   func(TB) lastlook.Store { return model.New() },
		Reopen: func(_ TB, s lastlook.Store) lastlook.Store { return s },
		Orphan: func(tb TB, s lastlook.Store, now time.Time, it lastlook.Item) {
			if err := model.AddMark(s.(*model.Store), now, it); err != nil {
				tb.Fatalf("mark: %v", err)
			}
		},
		planted: true,
	}
}

// TestModel: the model passes, or the mutants would prove nothing.
func TestModel(t *testing.T) { Run(t, memHarness()) }

// TestPlay makes many randomized runs on the model, half of them without the
// oracle, and asks whether everything that can happen does.
func TestPlay(t *testing.T) {
	events := map[string]int{}
	for seed := range uint64(100) {
		for name, n := range play(t, memHarness(), seed, 250, seed%2 == 0) {
			events[name] += n
		}
	}
	for _, name := range []string{
		"item inserted", "item duplicate", "item marked", "item already_told", "item muted", "told cleared", "delayed", "forgotten",
		"claimed", "sending ", "postponed ", "look_unknown ", "look_unknown look_unavailable",
		"dropped condition_lost", "dropped gone", "dropped already_told", "dropped muted", "dropped expired",
		"accepted ", "transient ", "transient attempts_exhausted", "not_called ", "misconfigured ",
		"outcome_unknown ", "outcome_unknown unknown_outcome", "gave_up_unknown unknown_outcome", "reaped",
		"recipient_gone recipient_gone", "rejected rejected", "swept attempts_exhausted",
		"withdrawn cancelled", "withdrawn expired", "withdrawn listing_paused", "withdrawn watch_removed",
		"revived", "ended with marks", "same assertion again", "arrived", "arrived again",
	} {
		if events[name] == 0 {
			t.Errorf("never happened in any run: %q", name)
		}
	}
	t.Log(events)
}
