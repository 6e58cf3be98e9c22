package storetest

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/internal/model"
)

// planting makes a mutant of the model.
func planting(name, clause, mistake string, f model.Faults) Mutant {
	return Mutant{Name: name, Clause: clause, Mistake: mistake, plant: &f}
}

func fenceMutants() []Mutant {
	return []Mutant{
		changing("no fence on an end", "fence/stale token while pending", "whoever ends a row need not hold it",
			func(m *mutated, c *lastlook.Change) {
				if c.Ends() {
					c.Fence, c.From = lastlook.FenceNone, m.state(c.ID)
				}
			}),
		changing("no fence on a step", "fence/stale token while sending", "a row is given back by one who does not hold it",
			func(_ *mutated, c *lastlook.Change) {
				if !c.Ends() {
					c.Fence = lastlook.FenceNone
				}
			}),
		changing("no state in the fence", "fence/the state is compared", "the token alone is compared",
			func(m *mutated, c *lastlook.Change) {
				if s := m.state(c.ID); s.Live() && c.Fence != lastlook.FenceNone {
					c.From = s
				}
			}),
		changing("sending under a dead lease", "lease/sending needs a living one", "the move to sending does not ask for the lease",
			func(_ *mutated, c *lastlook.Change) {
				if c.Fence == lastlook.FenceTokenAlive {
					c.Fence = lastlook.FenceToken
				}
			}),
		changing("ends ask for the lease", "lease/ends do not ask", "a delivery that was accepted is not recorded if the lease has passed",
			func(_ *mutated, c *lastlook.Change) {
				if c.Fence == lastlook.FenceToken {
					c.Fence = lastlook.FenceTokenAlive
				}
			}),
		changing("reaper without lease check", "lease/the reaper waits for it", "a living claim's row is reaped",
			func(_ *mutated, c *lastlook.Change) {
				if c.Fence == lastlook.FenceTokenDead {
					c.Fence = lastlook.FenceToken
				}
			}),
		changing("lease not renewed", "lease/sending renews it", "a row in sending keeps the lease of its claim",
			func(m *mutated, c *lastlook.Change) {
				if c.To == lastlook.StateSending {
					c.Lease = m.row(c.ID).Lease
				}
			}),
		mutant("lost changes reported as made", "fence/stale token while pending", "nobody counts the rows that a write changed",
			func(m *mutated) {
				m.done = func(done []bool) {
					for i := range done {
						done[i] = true
					}
				}
			}),
		planting("token kept", "fence/a given-back row's token is dead", "a row that was given back still takes its old holder's word", model.Faults{TokenKept: true}),
	}
}

func keyMutants() []Mutant {
	return []Mutant{
		planting("baseline in a second transaction", "keyrow/read by the next claim", "the key row is written after the row", model.Faults{BaselineLater: true}),
		planting("one baseline for all channels", "keyrow/one per key", "the baseline is kept per subject and recipient", model.Faults{SharedBaseline: true}),
		planting("maybe kept", "keyrow/a delivery clears maybe", "a delivery leaves the key's maybe", model.Faults{MaybeKept: true}),
		planting("failures not reset", "failures/a delivery resets them", "a delivery leaves the key's failure count", model.Faults{FailuresKept: true}),
		planting("busy keys pruned", "prune/keys in use", "retention forgets the baseline of keys with live rows", model.Faults{PruneBusyKeys: true}),
		changing("a dropped row blocks its window", "live/ended rows do not block", "the end of a dropped row counts as a telling",
			func(m *mutated, c *lastlook.Change) {
				if r := m.row(c.ID); c.To == lastlook.StateDropped && c.Event == lastlook.EventDropped {
					w, ok := topicWindows()[r.Key.Topic]
					if !ok { // a clause's topic
						w = lastlook.Day(time.UTC)
					}
					c.Key, c.Assertion = lastlook.KeyMaybe, lastlook.Assertion{Value: r.KeyRow.Maybe, Seq: r.KeyRow.Seq, Window: w.At(c.At, r.Episode)}
				}
			}),
		changing("a maybe-delivered row does not block", "told/an unknown outcome counts", "an unknown outcome does not count as a telling",
			func(_ *mutated, c *lastlook.Change) {
				if c.Key == lastlook.KeyMaybe {
					c.Assertion.Window = lastlook.Window{}
				}
			}),
		changing("an unknown outcome leaves no maybe", "told/at most once", "an unknown outcome changes nothing in the key row",
			func(_ *mutated, c *lastlook.Change) {
				if c.Key == lastlook.KeyMaybe {
					c.Key = lastlook.KeyKeep
				}
			}),
		changing("an unknown outcome moves the baseline", "keyrow/nothing else does", "a delivery that nobody confirmed counts as one",
			func(_ *mutated, c *lastlook.Change) {
				if c.Key == lastlook.KeyMaybe {
					c.Key = lastlook.KeyDelivered
				}
			}),
		changing("window formed at detection", "told/the day of sending", "a row kept over midnight counts for the day before",
			func(m *mutated, c *lastlook.Change) {
				r := m.row(c.ID)
				if w, err := lastlook.ParseWindows(c.Assertion.Window.Policy); err == nil && !w.IsZero() {
					c.Assertion.Window = w.At(r.CreatedAt, r.Episode)
				}
			}),
		changing("told moves back", "told/never moves back", "the window told is that of now, even if a later one was told",
			func(m *mutated, c *lastlook.Change) {
				if w, err := lastlook.ParseWindows(c.Assertion.Window.Policy); err == nil && !w.IsZero() {
					c.Assertion.Window = w.At(c.Assertion.LookedAt, m.row(c.ID).Episode)
				}
			}),
		changing("sequence of the row", "keyrow/sequence of assertions", "the delivery key is made from the row's number",
			func(_ *mutated, c *lastlook.Change) {
				if c.Assertion.Seq > 0 {
					c.Assertion.Seq = int64(c.ID)
				}
			}),
		changing("verdicts count as failures", "failures/which ends count", "a condition that was lost delays the next row",
			func(_ *mutated, c *lastlook.Change) { c.AddFailure = c.AddFailure || c.To == lastlook.StateDropped }),
		changing("gone recipients are not muted", "mute/by a recipient that is gone", "a recipient that is gone is told again",
			func(_ *mutated, c *lastlook.Change) { c.Mute = false }),
	}
}

// topicWindows are the policies of the randomized run's topics.
func topicWindows() map[string]lastlook.Windows {
	m := map[string]lastlook.Windows{}
	for _, t := range runTopics() {
		m[t.name] = t.windows
	}
	return m
}

func markMutants() []Mutant {
	return []Mutant{
		changing("an end deletes marks it never saw", "marks/unread becomes a row", "all marks of the key go with the row",
			func(_ *mutated, c *lastlook.Change) { c.DropMarks = c.Ends() }),
		changing("a removed subject keeps its marks", "marks/a removed subject takes all", "marks of a removed subject become rows",
			func(_ *mutated, c *lastlook.Change) { c.DropMarks = false }),
		mutant("edges leave no mark", "marks/left by an edge that meets a live row", "an edge that meets a live row is forgotten", func(m *mutated) {
			m.items = func(items []lastlook.Item) {
				for i := range items {
					items[i].Edge = false
				}
			}
		}),
		planting("only unread marks are read", "marks/of a dead claim are read again", "a claim leaves marks that a dead claim had read", model.Faults{UnreadOnly: true}),
		planting("no token equals no token", "marks/an operator takes only what the claim has read", "the end of an unclaimed row takes unread marks", model.Faults{NullEqual: true}),
		planting("marks left lie", "marks/unread becomes a row", "no row is made of the marks that are left", model.Faults{NoRevive: true}),
		planting("marks read in memory", "marks/what a claim read survives a crash", "which marks a claim has read dies with the process", model.Faults{MarksInMemory: true}),
	}
}

func rowMutants() []Mutant {
	return []Mutant{
		planting("no live-row uniqueness", "live/one row per key", "a key has several live rows", model.Faults{NoUnique: true}),
		planting("attempts counted late", "claim/attempts are counted at the claim", "a crash costs no attempt", model.Faults{AttemptLate: true}),
		planting("numbers used again", "prune/numbers are not used again", "a pruned row's number names another", model.Faults{ReuseIDs: true}),
		planting("head of line", "claim/retries at the head hide nothing", "rows that are not due count among the N", model.Faults{HeadOfLine: true}),
		mutant("cap checked on failure only", "claim/attempt cap", "neither the claim nor the sweep knows the cap", func(m *mutated) {
			m.claim = func(r *lastlook.ClaimRequest) {
				for i := range r.Lanes {
					r.Lanes[i].MaxAttempts = math.MaxInt32
				}
			}
			m.swept = func(_ lastlook.SweepRequest, s *lastlook.Swept) {
				s.Dead = slices.DeleteFunc(s.Dead, func(r lastlook.Row) bool { return r.State == lastlook.StatePending })
			}
		}),
		mutant("dead claims are not swept", "sweep/finds dead claims", "a row at its cap stays for ever", func(m *mutated) {
			m.swept = func(_ lastlook.SweepRequest, s *lastlook.Swept) {
				s.Dead = slices.DeleteFunc(s.Dead, func(r lastlook.Row) bool { return r.State == lastlook.StatePending })
			}
		}),
		mutant("claims unregistered topics", "lanes/only registered topics and channels", "whoever asks gets every lane", func(m *mutated) {
			m.lanes = func(q *lastlook.LaneQuery) {
				m.mu.Lock()
				defer m.mu.Unlock()
				q.Topics, q.Channels = slices.Collect(maps.Keys(m.topics)), slices.Collect(maps.Keys(m.channels))
			}
		}),
		mutant("one lane at a time", "claim/lanes do not hide each other", "a backlog in one lane holds the others up", func(m *mutated) {
			m.claim = func(r *lastlook.ClaimRequest) { r.Lanes = r.Lanes[:min(1, len(r.Lanes))] }
		}),
		mutant("expiry spares claimed rows", "expiry/claimed or not", "a row that is claimed again and again never expires", func(m *mutated) {
			m.swept = func(_ lastlook.SweepRequest, s *lastlook.Swept) {
				s.Expired = slices.DeleteFunc(s.Expired, func(r lastlook.Row) bool { return !r.Token.IsZero() })
			}
		}),
		mutant("strangers do not expire", "lanes/strangers wait, are shown, and expire", "the sweep asks for topics", func(m *mutated) {
			asked := map[string]bool{}
			m.lanes = func(q *lastlook.LaneQuery) {
				for _, t := range q.Topics {
					asked[t] = true
				}
			}
			m.swept = func(_ lastlook.SweepRequest, s *lastlook.Swept) {
				s.Expired = slices.DeleteFunc(s.Expired, func(r lastlook.Row) bool { return !asked[r.Key.Topic] })
			}
		}),
		mutant("a sweep's pages overlap nothing", "sweep/pages", "the row at which a page ends is passed over", func(m *mutated) {
			m.swept = func(_ lastlook.SweepRequest, s *lastlook.Swept) {
				if s.Next != "" {
					s.Dead, s.Expired = s.Dead[:max(len(s.Dead)-1, 0)], s.Expired[:max(len(s.Expired)-1, 0)]
				}
			}
		}),
		changing("attempt given back on an unknown look", "claim/attempts are counted at the claim", "a world that cannot be looked at costs no attempt",
			func(_ *mutated, c *lastlook.Change) {
				if c.Event == lastlook.EventLookUnknown {
					c.Attempt--
				}
			}),
		changing("postponing costs an attempt", "lease/given back at once", "a row that was given back is an attempt older",
			func(_ *mutated, c *lastlook.Change) {
				if c.Event == lastlook.EventPostponed {
					c.Attempt++
				}
			}),
		changing("the last step is not told", "story/each step", "the end of a row does not write its story",
			func(_ *mutated, c *lastlook.Change) {
				if c.Ends() {
					c.Story = nil
				}
			}),
		{Name: "enqueue is not atomic", Clause: "enqueue/window backwards", Mistake: "items before a bad one are kept",
			Wrap: func(s lastlook.Store) lastlook.Store { return &piecemeal{s} }},
	}
}
