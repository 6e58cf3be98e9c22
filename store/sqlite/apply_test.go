package sqlite_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// Several changes of one row in a call meet what the earlier ones made of it.
func TestApplyOneRowTwice(t *testing.T) {
	k := newKit(t)
	k.enqueue(items(3)...)
	rows := k.claim(3)
	a := &rows[0]
	sending := k.must(a.Sending(k.now, k.assertion(a, `1`), k.now.Add(lease)))
	accepted := k.must(a.Accepted(k.now, lastlook.Outcome{}))
	b := rows[1]
	drop := k.must(b.Drop(k.now, lastlook.ReasonConditionLost, lastlook.Outcome{}))
	again := k.must(b.Withdraw(k.now, lastlook.ReasonCancelled, "x")) // as if it were still pending
	other := k.must(rows[2].Postpone(k.now, k.now.Add(time.Hour), lastlook.Outcome{}))
	if done := k.try(sending, drop, accepted, other, again, accepted); !slices.Equal(done, []bool{true, true, true, true, false, false}) {
		t.Fatalf("applied %v", done)
	}
	if rec := k.get(a.ID); rec.State != lastlook.StateSent {
		t.Errorf("row %+v", rec)
	}
	if rec := k.get(b.ID); rec.Reason != lastlook.ReasonConditionLost {
		t.Errorf("row %+v", rec)
	}
}

// A thousand changes in one call, in any order, of all kinds; some have lost.
func TestApplyMany(t *testing.T) {
	k := newKit(t)
	const n = 1100
	k.enqueue(items(n)...)
	rows := k.claim(n)
	if len(rows) != n || !slices.IsSortedFunc(rows, func(a, b lastlook.Row) int { return int(a.ID - b.ID) }) {
		t.Fatalf("%d rows claimed", len(rows))
	}
	var changes []lastlook.Change
	var want []bool
	for i := range rows {
		r := rows[n-1-i]
		var c lastlook.Change
		switch i % 4 {
		case 0:
			c = k.must(r.Sending(k.now, k.assertion(&r, `1`), k.now.Add(lease)))
		case 1:
			c = k.must(r.Drop(k.now, lastlook.ReasonGone, lastlook.Outcome{Value: []byte(`2`)}))
		case 2:
			c = k.must(r.LookUnknown(k.now, lastlook.Next{Due: k.now.Add(time.Minute)}, "", lastlook.Outcome{Err: "x"}))
		case 3:
			c = k.must(r.Drop(k.now, lastlook.ReasonGone, lastlook.Outcome{}))
			c.Token = lastlook.NewToken()
		}
		changes, want = append(changes, c), append(want, i%4 != 3)
	}
	if done := k.try(changes...); !slices.Equal(done, want) {
		t.Fatal("other changes were applied")
	}
	for i, c := range changes {
		rec, state := k.get(c.ID), c.To
		if !want[i] {
			state = lastlook.StatePending
		}
		if rec.State != state {
			t.Fatalf("row %d is %s, want %s", c.ID, rec.State, state)
		}
	}
}

// Told never moves back: a change that would is a defect of the core, and the
// whole call fails.
func TestApplyBackwards(t *testing.T) {
	for name, move := range map[string]func(k *kit, r *lastlook.Row) lastlook.Change{
		"sent": func(k *kit, r *lastlook.Row) lastlook.Change { return k.must(r.Accepted(k.now, lastlook.Outcome{})) },
		"retry": func(k *kit, r *lastlook.Row) lastlook.Change {
			return k.must(r.OutcomeUnknown(k.now, lastlook.Next{Due: k.now}, lastlook.Outcome{}))
		},
		"failed": func(k *kit, r *lastlook.Row) lastlook.Change {
			return k.must(r.OutcomeUnknown(k.now, lastlook.Next{Last: true}, lastlook.Outcome{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.deliver(item(key(1)), `1`)
			k.now = k.now.Add(24 * time.Hour)
			id := k.inserted(item(key(1)))
			other := k.inserted(item(key(2)))
			rows := k.claim(5)
			r, o := &rows[0], &rows[1]
			a := k.assertion(r, `2`)
			a.Window = lastlook.Day(time.UTC).At(k.now.Add(-48*time.Hour), 0)
			k.apply(k.must(r.Sending(k.now, a, k.now.Add(lease))))
			_, err := k.s.Apply(t.Context(), k.now, []lastlook.Change{
				k.must(o.Drop(k.now, lastlook.ReasonConditionLost, lastlook.Outcome{})), move(k, r)})
			wantErr(t, err, lastlook.ErrWindowBackwards, "row 2", "2026-11-30", "2026-12-01", "Window.Later")
			if k.get(id).State != lastlook.StateSending || k.get(other).State != lastlook.StatePending {
				t.Error("something of the call was written")
			}
			if told := k.get(id).KeyRow.Told; told != lastlook.Day(time.UTC).At(start, 0) {
				t.Errorf("told %v", told)
			}
			// Windows on another scale have no order: the policy in force wins.
			r.Assertion.Window = lastlook.Episodes().At(k.now, 1)
			k.apply(move(k, r))
		})
	}
}

// What no rule makes is refused before anything is written.
func TestApplyIllegal(t *testing.T) {
	k := newKit(t)
	k.inserted(item(key(1)))
	good := k.must(k.claimOne().Drop(k.now, lastlook.ReasonGone, lastlook.Outcome{}))
	for name, spoil := range map[string]func(c *lastlook.Change){
		"from an end":        func(c *lastlook.Change) { c.From = lastlook.StateSent },
		"from nothing":       func(c *lastlook.Change) { c.From = lastlook.StateNone },
		"to nothing":         func(c *lastlook.Change) { c.To = lastlook.StateNone },
		"to nowhere":         func(c *lastlook.Change) { c.To = 9 },
		"fence":              func(c *lastlook.Change) { c.Fence = 9 },
		"effect":             func(c *lastlook.Change) { c.Key = 9 },
		"told while pending": func(c *lastlook.Change) { c.Key = lastlook.KeyMaybe },
		"delivered, dropped": func(c *lastlook.Change) { c.From, c.Key = lastlook.StateSending, lastlook.KeyDelivered },
	} {
		bad := good
		spoil(&bad)
		if _, err := k.s.Apply(t.Context(), k.now, []lastlook.Change{good, bad}); !errors.Is(err, lastlook.ErrIllegal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if done := k.try(); len(done) != 0 {
		t.Errorf("no changes: %v", done)
	}
	k.apply(good)
}

func TestClaimWithoutToken(t *testing.T) {
	k := newKit(t)
	_, err := k.s.Claim(t.Context(), lastlook.ClaimRequest{Now: k.now})
	wantErr(t, err, lastlook.ErrInvalid, "NewToken")
}

// A mistake that breaks an invariant is stopped by the database itself.
func TestChecksRepeatInvariants(t *testing.T) {
	k := newKit(t)
	k.enqueue(items(2)...)
	k.sending(&k.claim(1)[0], `1`)
	db := otherHandle(t, k.path, "")
	for _, q := range []string{
		"UPDATE lastlook_live SET key_id = 1", // one live row per key
		"INSERT INTO lastlook_keys (topic, subject, recipient, channel) SELECT topic, subject, recipient, channel FROM lastlook_keys",
		"INSERT INTO lastlook_keys (topic, subject, recipient, channel) VALUES ('', 'a', 'b', 'c')",
		"UPDATE lastlook_live SET state = 4",
		"UPDATE lastlook_live SET attempt = -1",
		"UPDATE lastlook_live SET due = 'tomorrow'",
		"UPDATE lastlook_live SET due = x'00'",
		"UPDATE lastlook_live SET due = -1",
		"UPDATE lastlook_live SET lease = NULL WHERE state = 2",
		"UPDATE lastlook_live SET token = x'0011' WHERE state = 2",
		"UPDATE lastlook_live SET asserted = NULL WHERE state = 2",
		"UPDATE lastlook_live SET asserted = '1' WHERE state = 1",
		"UPDATE lastlook_live SET state = 3, asserted = NULL WHERE state = 2",
		"UPDATE lastlook_keys SET failures = -1",
		"UPDATE lastlook_keys SET seq = 'one'",
		"UPDATE lastlook_keys SET baseline = '1'",
		"UPDATE lastlook_keys SET told_start = 7",
		"INSERT INTO lastlook_outcomes (id, key_id, lane_id, state, ended_at, attempt, reason) VALUES (1, 1, 1, 4, 1, 1, '')",
		"INSERT INTO lastlook_outcomes (id, key_id, lane_id, state, ended_at, attempt, reason) VALUES (1, 1, 1, 5, 1, 1, '')",
		"INSERT INTO lastlook_lanes (topic, channel, lane, priority) VALUES ('a', 'b', 'c', 2)",
	} {
		if _, err := db.Exec(q); err == nil {
			t.Errorf("accepted: %s", q)
		}
	}
}

// The hook through which other tests plant mistakes, and one such mistake.
func TestRewrite(t *testing.T) {
	seen := map[string]bool{}
	s, err := sqlite.OpenRewritten(t.Context(), t.TempDir()+"/x.db", func(name, text string) string {
		seen[name] = true
		if name == "stats_others" {
			return "SELECT 7, 8"
		}
		return text
	})
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Stats(t.Context(), start, start)
	if err != nil || st.Marks != 7 || st.Muted != 8 {
		t.Errorf("stats %+v, %v", st, err)
	}
	if names, _ := s.Statements(1); len(seen) != len(names) || !seen["claim_lane"] {
		t.Errorf("seen %v", seen)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_, err = sqlite.OpenRewritten(t.Context(), t.TempDir()+"/x.db", func(string, string) string { return "VALUES (?)..., (?)..." })
	wantErr(t, err, nil, "query apply_backwards", "2 repeated tuples")
}

// A call that would run for ever ends with the time allowed, a writer's as
// well as a reader's, and the store works on.
func TestStalled(t *testing.T) {
	const forever = "WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c) SELECT max(i), 1 FROM c"
	s, err := sqlite.OpenRewritten(t.Context(), t.TempDir()+"/x.db", func(name, text string) string {
		if name == "stats_others" || name == "enqueue_next_ids" {
			return forever
		}
		return text
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.SetTimeout(50 * time.Millisecond)
		_, err = s.Stats(t.Context(), start, start)
		wantErr(t, err, lastlook.ErrBusy, "stats", "WithTimeout")
		_, err = s.Enqueue(t.Context(), start, items(1))
		wantErr(t, err, lastlook.ErrBusy, "enqueue", "WithTimeout")
		s.SetTimeout(time.Minute)
		if err := s.Mute(t.Context(), start, []lastlook.MuteChange{{Recipient: "a", Channel: "b"}}); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A panic in a call, such as the core's, leaves neither the transaction nor the
// lock behind.
func TestPanic(t *testing.T) {
	k := newKit(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not come through")
			}
		}()
		k.s.PanicInRow(t.Context())
	}()
	k.enqueue(items(3)...)
	if rows := k.claim(5); len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
}
