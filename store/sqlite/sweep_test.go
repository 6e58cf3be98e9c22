package sqlite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

func TestPackIDs(t *testing.T) {
	for _, ids := range [][]lastlook.ID{nil, {1}, {1, 2, 3, 1000, 1 << 40, 1<<62 + 5}} {
		got, err := sqlite.UnpackIDs(sqlite.PackIDs(ids))
		if err != nil || !slices.Equal(got, ids) {
			t.Errorf("%v came back as %v, %v", ids, got, err)
		}
	}
	if _, err := sqlite.UnpackIDs([]byte{1, 0x80}); err == nil {
		t.Error("half a number was accepted")
	}
}

// claimsLeft returns the claims' leases, in seconds after the start.
func (k *kit) claimsLeft() []string {
	k.Helper()
	return column(k, otherHandle(k, k.path, ""), "SELECT (lease - ?) / 1000000 FROM lastlook_claims ORDER BY lease, id", start.UnixMicro())
}

// A claim's row stays as long as one of its rows may die, moves with renewed
// leases, and goes when no row holds the token any more.
func TestSweepKeepsBooksOfClaims(t *testing.T) {
	k := newKit(t)
	k.enqueue(items(4)...)
	rows := k.claim(4)
	want := func(what string, leases ...string) {
		t.Helper()
		if got := k.claimsLeft(); !slices.Equal(got, leases) {
			t.Fatalf("%s: claims until %v, want %v", what, got, leases)
		}
	}
	want("claimed", "60")
	if s := k.sweep(10); len(s.Dead) != 0 {
		t.Fatalf("dead %v", ids(s.Dead))
	}
	k.now = start.Add(50 * time.Second)
	k.sending(&rows[0], `1`) // until 110
	k.now = start.Add(55 * time.Second)
	k.sending(&rows[1], `1`) // until 115
	k.apply(k.must(rows[2].Postpone(k.now, k.now.Add(time.Hour), lastlook.Outcome{})))
	want("renewed", "60")

	k.now = start.Add(60 * time.Second)
	if dead := k.sweep(10).Dead; len(dead) != 1 || dead[0].ID != rows[3].ID || dead[0].State != lastlook.StatePending {
		t.Fatalf("dead %v", ids(dead))
	}
	want("one is dead and undecided", "60")
	k.apply(k.must(rows[3].Drop(k.now, lastlook.ReasonGone, lastlook.Outcome{})))
	k.sweep(10)
	want("the others have been renewed", "110")

	k.now = start.Add(110 * time.Second)
	dead := k.sweep(10).Dead
	if len(dead) != 1 || dead[0].State != lastlook.StateSending || string(dead[0].Assertion.Value) != `1` || len(dead[0].Story) != 1 {
		t.Fatalf("dead %+v", dead)
	}
	k.apply(k.must(dead[0].Reap(k.now, lastlook.Next{Due: k.now})))
	k.sweep(10)
	want("one left", "115")
	k.apply(k.must(rows[1].Accepted(k.now, lastlook.Outcome{})))
	want("ended, and not yet swept", "115")
	k.now = start.Add(115 * time.Second)
	k.sweep(10)
	want("none left")
}

// Pages of any size give each row once, also out of the middle of a claim, and
// leave no claim unlooked at.
func TestSweepPages(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 7, 100} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			k := newKit(t)
			var dead, ended []lastlook.ID
			for n := range 9 {
				for i := range n % 5 {
					k.enqueue(item(key(100*n + i)))
				}
				rows := k.claim(10)
				k.now = k.now.Add(time.Millisecond)
				for i := range rows {
					if (n+i)%3 == 0 {
						k.apply(k.must(rows[i].Drop(k.now, lastlook.ReasonGone, lastlook.Outcome{})))
						ended = append(ended, rows[i].ID)
					} else {
						dead = append(dead, rows[i].ID)
					}
				}
			}
			expiring := item(key(5000))
			for i := range 5 {
				expiring.Key = key(5000 + i)
				expiring.ExpiresAt = k.now.Add(time.Duration(1+i/2) * time.Second) // some at the same instant
				k.enqueue(expiring)
			}
			k.now = k.now.Add(time.Hour)
			s := k.sweep(limit)
			got := ids(s.Dead)
			slices.Sort(got)
			if !slices.Equal(got, dead) {
				t.Errorf("dead %v, want %v", got, dead)
			}
			if got := ids(s.Expired); len(got) != 5 || !slices.IsSorted(got) {
				t.Errorf("expired %v", got)
			}
			for i := range s.Dead {
				k.apply(k.must(s.Dead[i].SweepExhausted(k.now)))
			}
			k.sweep(limit)
			if left := k.claimsLeft(); len(left) > 0 {
				t.Errorf("%d claims left, after %d rows ended", len(left), len(ended))
			}
		})
	}
}

// Marks of many keys are looked through in pages; those whose row is alive are
// left alone.
func TestSweepMarksPages(t *testing.T) {
	k := newKit(t)
	const n = 7
	k.enqueue(items(n)...)
	db := otherHandle(t, k.path, "")
	for i := range n {
		edge := item(key(i))
		edge.Edge, edge.Trace = true, fmt.Sprint("old ", i)
		k.enqueue(edge)
		edge.Trace = fmt.Sprint("new ", i)
		k.enqueue(edge)
	}
	if revived := k.sweep(2).Revived; len(revived) != 0 {
		t.Fatalf("revived %v", revived)
	}
	// As if their rows had ended without a look at the marks.
	if _, err := db.Exec(`INSERT INTO lastlook_outcomes (id, key_id, lane_id, state, ended_at, attempt, reason)
		SELECT id, key_id, lane_id, 5, due, 1, 'cancelled' FROM lastlook_live WHERE id % 2 = 1; DELETE FROM lastlook_live WHERE id % 2 = 1`); err != nil {
		t.Fatal(err)
	}
	revived := k.sweep(2).Revived
	if len(revived) != (n+1)/2 {
		t.Fatalf("revived %v", revived)
	}
	for _, id := range revived {
		if rec := k.get(id); rec.Trace[:3] != "new" || rec.State != lastlook.StatePending || rec.Marks != 0 {
			t.Errorf("revived %+v", rec)
		}
	}
}

func TestSweepBadCursor(t *testing.T) {
	k := newKit(t)
	_, err := k.s.Sweep(t.Context(), lastlook.SweepRequest{Now: k.now, Cursor: "here"})
	wantErr(t, err, lastlook.ErrInvalid, "here", "Next")
}

// A damaged claim is an error, not a silent loss.
func TestSweepDamagedClaim(t *testing.T) {
	k := newKit(t)
	if _, err := otherHandle(t, k.path, "").Exec("INSERT INTO lastlook_claims (lease, token, ids) VALUES (1, zeroblob(16), x'80')"); err != nil {
		t.Fatal(err)
	}
	_, err := k.s.Sweep(t.Context(), lastlook.SweepRequest{Now: k.now})
	wantErr(t, err, nil, "claim 1", "damaged")
}

// Retention deletes in transactions of bounded size, as many as are asked for.
func TestPruneMany(t *testing.T) {
	k := newKit(t)
	const n = 1300
	k.enqueue(items(n)...)
	rows := k.claim(n)
	var changes []lastlook.Change
	for i := range rows {
		changes = append(changes, k.must(rows[i].Drop(k.now, []lastlook.Reason{lastlook.ReasonGone, lastlook.ReasonConditionLost}[i%2], lastlook.Outcome{})))
	}
	k.apply(changes...)
	k.now = k.now.Add(time.Hour)
	prune := func(r lastlook.PruneRequest, want lastlook.Pruned) {
		t.Helper()
		if got, err := k.s.Prune(t.Context(), r); err != nil || got != want {
			t.Fatalf("pruned %+v, %v, want %+v", got, err, want)
		}
	}
	gone := lastlook.PruneRequest{EndedBefore: k.now, Reasons: []lastlook.Reason{lastlook.ReasonGone, ""}, Limit: 600}
	prune(gone, lastlook.Pruned{Notifications: 600})
	prune(gone, lastlook.Pruned{Notifications: 50})
	prune(gone, lastlook.Pruned{})
	prune(lastlook.PruneRequest{EndedBefore: k.now, KeysIdleBefore: k.now, Limit: 500}, lastlook.Pruned{Notifications: 500, Keys: 500})
	prune(lastlook.PruneRequest{EndedBefore: k.now, KeysIdleBefore: k.now}, lastlook.Pruned{Notifications: 150, Keys: 800})
	if keys := column(t, otherHandle(t, k.path, ""), "SELECT id FROM lastlook_keys"); len(keys) != 0 {
		t.Errorf("%d keys left", len(keys))
	}
	_, err := k.s.Get(t.Context(), rows[0].ID)
	wantErr(t, err, lastlook.ErrNotFound, "retention")
	// Numbers are not given out again.
	if id := k.inserted(item(key(1))); id <= rows[n-1].ID {
		t.Errorf("id %d after %d", id, rows[n-1].ID)
	}
}

// The ways to list give the same answer to the same question.
func TestListWays(t *testing.T) {
	k := newKit(t)
	all := items(12)
	for i := range all {
		all[i].Recipient, all[i].Channel = []string{"ann", "bob", "cid"}[i%3], []string{"push", "mail"}[i%2]
	}
	k.enqueue(all...)
	rows := k.claim(12)
	for i := range rows[:6] {
		k.apply(k.must(rows[i].Drop(k.now, lastlook.ReasonGone, lastlook.Outcome{})))
	}
	live := []lastlook.State{lastlook.StatePending, lastlook.StateSending, lastlook.StateRetry}
	mixed := append([]lastlook.State{lastlook.StateDropped, lastlook.StateSent}, live...)
	for i, q := range []lastlook.Query{
		{}, {Topic: "watch"}, {Recipient: "bob"}, {Recipient: "bob", Channel: "mail"}, {Topic: "watch", Subject: "s0003"}, {Subject: "s0003"},
		{Reason: lastlook.ReasonGone}, {Before: 6}, {Channel: "mail", Before: 9}, {Topic: "watch", Subject: "s0008", Recipient: "cid"}, {Topic: "order"},
	} {
		var want []lastlook.ID
		for _, r := range list(k, lastlook.Query{Limit: 100}) {
			if (q.Topic == "" || q.Topic == r.Key.Topic) && (q.Subject == "" || q.Subject == r.Key.Subject) && (q.Recipient == "" || q.Recipient == r.Key.Recipient) &&
				(q.Channel == "" || q.Channel == r.Key.Channel) && (q.Reason == "" || q.Reason == r.Reason) && (q.Before == 0 || r.ID < q.Before) {
				want = append(want, r.ID)
			}
		}
		for name, states := range map[string][]lastlook.State{"": nil, "any": mixed, "live": live} {
			q := q
			q.States = states
			var got, wanted []lastlook.ID
			for _, r := range list(k, q) {
				got = append(got, r.ID)
			}
			for _, id := range want {
				if name != "live" || id > rows[5].ID {
					wanted = append(wanted, id)
				}
			}
			if !slices.Equal(got, wanted) {
				t.Errorf("query %d, states %s: %v, want %v", i, name, got, wanted)
			}
		}
	}
}

func TestMuteOrder(t *testing.T) {
	k := newKit(t)
	ann := lastlook.MuteChange{Recipient: "ann", Channel: "push"}
	lift := ann
	lift.Lift = true
	for _, c := range []struct {
		changes []lastlook.MuteChange
		muted   int
	}{
		{nil, 0}, {[]lastlook.MuteChange{ann, lift}, 0}, {[]lastlook.MuteChange{lift, ann, ann}, 1}, {[]lastlook.MuteChange{ann}, 1}, {[]lastlook.MuteChange{lift}, 0},
	} {
		if err := k.s.Mute(t.Context(), k.now, c.changes); err != nil {
			t.Fatal(err)
		}
		st, err := k.s.Stats(t.Context(), k.now, k.now)
		if err != nil || st.Muted != c.muted {
			t.Errorf("after %v: %d muted, %v", c.changes, st.Muted, err)
		}
	}
}

func TestDispatchLock(t *testing.T) {
	k := newKit(t)
	release, err := k.s.LockDispatch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other, err := sqlite.Open(t.Context(), k.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*sqlite.Store{k.s, other} {
		_, err := s.LockDispatch(t.Context())
		wantErr(t, err, lastlook.ErrDispatcherRunning, ".dispatch.lock", "by process")
	}
	for range 2 {
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
	if release, err = other.LockDispatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
}
