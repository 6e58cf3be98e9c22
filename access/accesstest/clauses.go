package accesstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
)

// kit is a service on an empty store, with a clock.
type kit struct {
	*access.Service
	o     *Opened
	store access.Store
	now   time.Time
}

func newKit(t *testing.T, h Harness) *kit {
	t.Helper()
	k := &kit{o: h.Open(t), now: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)}
	k.store = k.o.Store
	var err error
	if k.Service, err = access.New(access.Config{Store: k.store, Clock: func() time.Time { return k.now }}); err != nil {
		t.Fatal(err)
	}
	return k
}

// The operator's token is made once, changed by rotation, and then the old one
// opens nothing.
func testOperator(t *testing.T, h Harness) {
	k := newKit(t, h)
	first, made, err := k.EnsureOperator(t.Context())
	if err != nil || !made {
		t.Fatal(made, err)
	}
	if again, made, err := k.EnsureOperator(t.Context()); err != nil || made || again.Reveal() != "" {
		t.Fatalf("made again: %v, %v", made, err)
	}
	op, err := k.Authenticate(t.Context(), first)
	if err != nil || !op.Operator() || !op.May(access.ScopeOperate) || !op.May(access.ScopeEnqueue) {
		t.Fatalf("%+v, %v", op, err)
	}
	next, err := k.RotateOperator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Authenticate(t.Context(), first); !errors.Is(err, access.ErrUnauthorized) {
		t.Errorf("the old token: %v", err)
	}
	if _, err := k.Authenticate(t.Context(), next); err != nil {
		t.Errorf("the new token: %v", err)
	}
	if _, err := k.Revoke(t.Context(), access.OperatorID); !errors.Is(err, access.ErrInvalid) {
		t.Errorf("revoked: %v", err)
	}
	if list, err := k.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the operator stands among the keys: %v, %v", list, err)
	}
	for _, row := range k.o.Rows() {
		if strings.Contains(row, next.Reveal()) {
			t.Error("the token itself is in the tables")
		}
	}
}

func testKeys(t *testing.T, h Harness) {
	k := newKit(t, h)
	key, token, err := k.Add(t.Context(), access.NewKey{Name: "shop backend", Owner: "shop", Scopes: []access.Scope{access.ScopeEnqueue, access.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	k.now = k.now.Add(time.Minute)
	got, err := k.Authenticate(t.Context(), token)
	if err != nil || got.ID != key.ID || got.Owner != "shop" || got.Operator() || !got.May(access.ScopeRead) || got.May(access.ScopeOperate) || got.PerMinute != access.DefaultPerMinute {
		t.Fatalf("%+v, %v", got, err)
	}
	if list, err := k.List(t.Context()); err != nil || len(list) != 1 || !list[0].UsedAt.Equal(k.now) {
		t.Errorf("its use: %+v, %v", list, err)
	}
	parsed, err := access.ParseToken(token.Reveal())
	if err != nil || parsed != token {
		t.Error(err)
	}
	if got, err := k.Revoke(t.Context(), key.ID); err != nil || got.RevokedAt.IsZero() {
		t.Fatal(got, err)
	}
	if _, err := k.Authenticate(t.Context(), token); !errors.Is(err, access.ErrUnauthorized) {
		t.Errorf("a revoked key: %v", err)
	}
	if _, err := k.Revoke(t.Context(), "k_none"); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("an unknown key: %v", err)
	}
	for name, n := range map[string]access.NewKey{
		"no name": {Owner: "shop", Scopes: access.AllScopes()}, "no owner": {Name: "x", Scopes: access.AllScopes()},
		"an owner like a path": {Name: "x", Owner: "a/b", Scopes: access.AllScopes()}, "no scope": {Name: "x", Owner: "shop"},
		"a scope unknown": {Name: "x", Owner: "shop", Scopes: []access.Scope{"all"}}, "too fast": {Name: "x", Owner: "shop", Scopes: access.AllScopes(), PerMinute: 1 << 30},
	} {
		if _, _, err := k.Add(t.Context(), n); !errors.Is(err, access.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func testTokensAreHidden(t *testing.T, h Harness) {
	k := newKit(t, h)
	token, _, err := k.EnsureOperator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{"token": token})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(token), fmt.Sprintf("%+v %#v %q %x", token, token, token, token), string(b), token.LogValue().String()} {
		if strings.Contains(text, token.Reveal()) || !strings.Contains(text, "redacted") {
			t.Errorf("printed as %s", text)
		}
	}
	for _, bad := range []string{"", "llo_", "llo_x", token.Reveal() + "\n", token.Reveal() + "A", "llx_" + token.Reveal()[4:], token.Reveal()[4:]} {
		if _, err := access.ParseToken(bad); !errors.Is(err, access.ErrUnauthorized) || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func item(subject string) lastlook.Item {
	return lastlook.Item{Key: lastlook.Key{Topic: "order", Subject: subject, Recipient: "r", Channel: "log"}, Detection: json.RawMessage(`1`), Windows: lastlook.Always()}
}

func (k *kit) enqueue(t *testing.T, requests ...access.Request) []access.Reply {
	t.Helper()
	replies, err := k.store.Enqueue(t.Context(), k.now, requests)
	if err != nil || len(replies) != len(requests) {
		t.Fatal(replies, err)
	}
	return replies
}

// A request that comes again under its key is answered as the first time, also
// when it comes twice at once; under the same key, another one is refused.
func testEnqueueOnce(t *testing.T, h Harness) {
	k := newKit(t, h)
	one := access.Request{Items: []lastlook.Item{item("a"), item("b")}, Caller: "k_1", Key: "key", Fingerprint: [32]byte{1}}
	other := access.Request{Items: []lastlook.Item{item("c")}, Caller: "k_1", Key: "key", Fingerprint: [32]byte{2}}
	stranger := access.Request{Items: []lastlook.Item{item("d")}, Caller: "k_2", Key: "key", Fingerprint: [32]byte{2}}
	plain := access.Request{Items: []lastlook.Item{item("e")}}
	got := k.enqueue(t, one, one, other, stranger, plain)
	if got[0].Replayed || len(got[0].Results) != 2 || got[0].Results[1].Status != lastlook.Inserted {
		t.Fatalf("the first: %+v", got[0])
	}
	if !got[1].Replayed || got[1].Results[0] != got[0].Results[0] {
		t.Errorf("its twin: %+v", got[1])
	}
	if !errors.Is(got[2].Err, access.ErrKeyReused) || got[2].Results != nil {
		t.Errorf("another request: %+v", got[2])
	}
	if got[3].Replayed || got[3].Results[0].Status != lastlook.Inserted || got[4].Results[0].Status != lastlook.Inserted {
		t.Errorf("others: %+v, %+v", got[3], got[4])
	}
	// Also when the row has ended meanwhile.
	outbox := lastlook.NewOutbox(k.o.Outbox, lastlook.WithClock(func() time.Time { return k.now }))
	if err := outbox.Cancel(t.Context(), got[0].Results[0].ID, "test"); err != nil {
		t.Fatal(err)
	}
	if again := k.enqueue(t, one); !again[0].Replayed || again[0].Results[0] != got[0].Results[0] {
		t.Errorf("again: %+v", again[0])
	}
	recs, err := outbox.List(t.Context(), lastlook.Query{})
	if err != nil || len(recs) != 4 {
		t.Errorf("%d rows, %v", len(recs), err)
	}
	if n, err := k.store.Forget(t.Context(), k.now.Add(time.Second), 10); err != nil || n != 2 {
		t.Errorf("forgot %d, %v", n, err)
	}
	if again := k.enqueue(t, one); again[0].Replayed || again[0].Results[0].Status != lastlook.Inserted {
		t.Errorf("after it was forgotten: %+v", again[0])
	}
}

// What fails leaves nothing behind: no row, and no key that would answer.
func testEnqueueFailsWhole(t *testing.T, h Harness) {
	k := newKit(t, h)
	good := access.Request{Items: []lastlook.Item{item("a")}, Caller: "k_1", Key: "key"}
	bad := access.Request{Items: []lastlook.Item{{Key: item("b").Key}}}
	if _, err := k.store.Enqueue(t.Context(), k.now, []access.Request{good, bad}); !errors.Is(err, lastlook.ErrInvalid) {
		t.Fatal(err)
	}
	if got := k.enqueue(t, good); got[0].Replayed || got[0].Results[0].Status != lastlook.Inserted {
		t.Errorf("%+v", got[0])
	}
}

// The same request at the same time, in several processes, is carried out once.
func testEnqueueOnceAtOnce(t *testing.T, h Harness) {
	k := newKit(t, h)
	r := access.Request{Items: []lastlook.Item{item("a")}, Caller: "k_1", Key: "key", Fingerprint: [32]byte{1}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var fresh []lastlook.EnqueueResult
	for range 6 {
		wg.Go(func() {
			got, err := k.store.Enqueue(t.Context(), k.now, []access.Request{r, r})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			for _, reply := range got {
				if !reply.Replayed {
					fresh = append(fresh, reply.Results...)
				}
			}
		})
	}
	wg.Wait()
	if len(fresh) != 1 || fresh[0].Status != lastlook.Inserted {
		t.Errorf("carried out: %+v, want once", fresh)
	}
}
