package devicetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

// kit is a service on an empty store, with a clock and what was unmuted.
type kit struct {
	*device.Service
	t      *testing.T
	o      *Opened
	now    time.Time
	mu     sync.Mutex
	lifted []string
}

func newKit(t *testing.T, h Harness, limit int) *kit {
	t.Helper()
	k := &kit{t: t, o: h.Open(t), now: time.Date(2026, 12, 1, 10, 0, 0, 123456789, time.UTC)}
	var err error
	k.Service, err = device.New(device.Config{Store: k.o.Store, Limit: limit, Clock: func() time.Time { return k.now }, Unmute: func(_ context.Context, r string) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.lifted = append(k.lifted, r)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kit) create(name string) (device.Device, device.Token) {
	k.t.Helper()
	d, token, err := k.Create(k.t.Context(), name)
	if err != nil {
		k.t.Fatal(err)
	}
	return d, token
}

func subscription(t *testing.T, endpoint string) webpush.Subscription {
	t.Helper()
	b, err := webpushtest.NewBrowser()
	if err != nil {
		t.Fatal(err)
	}
	sub, err := b.Subscription(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func (k *kit) subscribe(id string, sub webpush.Subscription) device.Device {
	k.t.Helper()
	d, err := k.Subscribe(k.t.Context(), id, sub, "key")
	if err != nil {
		k.t.Fatal(err)
	}
	return d
}

func testATokenIsItsDevice(t *testing.T, h Harness) {
	k := newKit(t, h, 0)
	a, tokenA := k.create("phone")
	b, tokenB := k.create("laptop")
	if a.ID == b.ID || !a.CreatedAt.Equal(lastlook.Micro(k.now)) {
		t.Errorf("made %+v and %+v", a, b)
	}
	for token, want := range map[device.Token]device.Device{tokenA: a, tokenB: b} {
		got, err := k.Authenticate(t.Context(), token)
		if err != nil || got.ID != want.ID || got.Name != want.Name || !got.SeenAt.Equal(want.SeenAt) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if _, err := k.Authenticate(t.Context(), device.NewToken()); !errors.Is(err, device.ErrUnauthorized) {
		t.Errorf("a stranger's token: %v", err)
	}
	if _, err := k.Authenticate(t.Context(), device.Token{}); !errors.Is(err, device.ErrUnauthorized) {
		t.Errorf("no token: %v", err)
	}
	if err := k.Remove(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Authenticate(t.Context(), tokenA); !errors.Is(err, device.ErrUnauthorized) {
		t.Errorf("a removed device's token: %v", err)
	}
	if err := k.Remove(t.Context(), a.ID); !errors.Is(err, device.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	all, err := k.List(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != b.ID {
		t.Errorf("left are %+v, %v", all, err)
	}
}

func testSeenIsWrittenNowAndThen(t *testing.T, h Harness) {
	k := newKit(t, h, 0)
	d, token := k.create("phone")
	start := k.now
	for _, c := range []struct {
		later time.Duration
		moved bool
	}{{30 * time.Minute, false}, {time.Hour, true}, {time.Hour + time.Minute, false}, {-time.Hour, true}} {
		k.now = start.Add(c.later)
		got, err := k.Authenticate(t.Context(), token)
		if err != nil || got.SeenAt.Equal(lastlook.Micro(k.now)) != c.moved {
			t.Errorf("after %s: seen at %s, %v", c.later, got.SeenAt, err)
		}
		stored, err := k.Get(t.Context(), d.ID)
		if err != nil || !stored.SeenAt.Equal(got.SeenAt) {
			t.Errorf("stored %s, %v", stored.SeenAt, err)
		}
	}
}

func testLimit(t *testing.T, h Harness) {
	k := newKit(t, h, 2)
	d, _ := k.create("a")
	k.create("b")
	if _, _, err := k.Create(t.Context(), "c"); !errors.Is(err, device.ErrFull) {
		t.Errorf("the third of two: %v", err)
	}
	if err := k.Remove(t.Context(), d.ID); err != nil {
		t.Fatal(err)
	}
	k.create("c")
	if _, _, err := k.Create(t.Context(), ""); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("no name: %v", err)
	}
}

func testRename(t *testing.T, h Harness) {
	k := newKit(t, h, 0)
	d, _ := k.create("phone")
	if got, err := k.Rename(t.Context(), d.ID, "Kitchen"); err != nil || got.Name != "Kitchen" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := k.Rename(t.Context(), d.ID, "a\nb"); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("two lines: %v", err)
	}
	if _, err := k.Rename(t.Context(), "d_none", "x"); !errors.Is(err, device.ErrNotFound) {
		t.Errorf("no such device: %v", err)
	}
	if got, err := k.Get(t.Context(), d.ID); err != nil || got.Name != "Kitchen" {
		t.Errorf("%+v, %v", got, err)
	}
}

func testSubscriptionComesAndGoes(t *testing.T, h Harness) {
	k := newKit(t, h, 0)
	d, _ := k.create("phone")
	first, second := subscription(t, "https://push.example/1"), subscription(t, "https://push.example/2")
	got := k.subscribe(d.ID, first)
	if !got.Push.Active() || !got.Push.Subscription.Equal(first) || got.Push.Key != "key" || !slices.Equal(k.lifted, []string{"device:" + d.ID}) {
		t.Errorf("subscribed as %+v, unmuted %v", got.Push, k.lifted)
	}
	since := got.Push.Since
	k.now = k.now.Add(time.Hour)
	if again := k.subscribe(d.ID, first); !again.Push.Since.Equal(since) || !again.Push.BackAt.IsZero() {
		t.Errorf("given once more, it is %+v", again.Push)
	}
	// The push service says that it is gone.
	if err := k.Gone(t.Context(), d.ID, first); err != nil {
		t.Fatal(err)
	}
	lost := lastlook.Micro(k.now)
	got, err := k.Get(t.Context(), d.ID)
	if err != nil || got.Push.Active() || !got.Push.GoneAt.Equal(lost) {
		t.Errorf("gone, and %+v, %v", got.Push, err)
	}
	// The same one is as dead as before; a new one brings push back.
	if _, err := k.Subscribe(t.Context(), d.ID, first, "key"); !errors.Is(err, device.ErrGone) {
		t.Errorf("the one that is gone: %v", err)
	}
	if _, err := k.Subscribe(t.Context(), d.ID, first, "another key"); !errors.Is(err, device.ErrGone) {
		t.Errorf("the one that is gone, under another key: %v", err)
	}
	if len(k.lifted) != 2 {
		t.Errorf("unmuted %v for what is gone", k.lifted)
	}
	k.now = k.now.Add(time.Hour)
	got = k.subscribe(d.ID, second)
	if !got.Push.Active() || !got.Push.LostAt.Equal(lost) || !got.Push.BackAt.Equal(lastlook.Micro(k.now)) || len(k.lifted) != 3 {
		t.Errorf("back as %+v, unmuted %v", got.Push, k.lifted)
	}
	// The news that the first one is gone comes late.
	if err := k.Gone(t.Context(), d.ID, first); !errors.Is(err, device.ErrSuperseded) {
		t.Errorf("gone long ago: %v", err)
	}
	stored, err := k.Get(t.Context(), d.ID)
	if err != nil || !stored.Push.Active() || !stored.Push.BackAt.Equal(got.Push.BackAt) || !stored.Push.LostAt.Equal(lost) || !stored.Push.Subscription.Equal(second) {
		t.Errorf("stored %+v, %v", stored.Push, err)
	}
	if got, err = k.Unsubscribe(t.Context(), d.ID); err != nil || !got.Push.Subscription.IsZero() || got.Push.Active() {
		t.Errorf("unsubscribed: %+v, %v", got.Push, err)
	}
	if err := k.Gone(t.Context(), d.ID, second); err != nil {
		t.Errorf("gone after it was dropped: %v", err)
	}
	if err := k.Gone(t.Context(), "d_none", second); err != nil {
		t.Errorf("gone with its device: %v", err)
	}
}

func testResubscribe(t *testing.T, h Harness) {
	k := newKit(t, h, 0)
	d, _ := k.create("phone")
	one, two, three := subscription(t, "https://push.example/1"), subscription(t, "https://push.example/2"), subscription(t, "https://push.example/3")
	change := func(old string, sub webpush.Subscription) error {
		_, err := k.Resubscribe(t.Context(), d.ID, old, sub, "key")
		return err
	}
	for i, c := range []struct {
		old  string
		sub  webpush.Subscription
		want error
		now  webpush.Subscription
	}{
		{one.Endpoint(), two, nil, two},                    // there is none to replace
		{two.Endpoint(), three, nil, three},                // the one that it has
		{two.Endpoint(), three, nil, three},                // the same change again
		{one.Endpoint(), two, device.ErrSuperseded, three}, // late
		{"", one, nil, one},                                // the browser does not know the old one
	} {
		if err := change(c.old, c.sub); !errors.Is(err, c.want) {
			t.Errorf("%d: %v", i, err)
		}
		if got, err := k.Get(t.Context(), d.ID); err != nil || !got.Push.Subscription.Equal(c.now) {
			t.Errorf("%d: it has %s, %v", i, got.Push.Subscription.Endpoint(), err)
		}
	}
	if _, err := k.Resubscribe(t.Context(), d.ID, "", webpush.Subscription{}, "key"); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("no subscription: %v", err)
	}
	if _, err := k.Subscribe(t.Context(), d.ID, one, ""); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("no key: %v", err)
	}
}

// A browser that lost its token comes as a new device, with the subscription
// that it still has: it must not be pushed to as two.
func testASubscriptionBelongsToOneDevice(t *testing.T, h Harness) {
	k := newKit(t, h, 0)
	old, _ := k.create("phone")
	other, _ := k.create("laptop")
	sub := subscription(t, "https://push.example/1")
	k.subscribe(old.ID, sub)
	k.subscribe(other.ID, subscription(t, "https://push.example/2"))
	fresh, _ := k.create("phone again")
	k.subscribe(fresh.ID, sub)
	for id, want := range map[string]bool{old.ID: false, other.ID: true, fresh.ID: true} {
		if d, err := k.Get(t.Context(), id); err != nil || d.Push.Active() != want {
			t.Errorf("%s: %+v, %v", d.Name, d.Push, err)
		}
	}
}

func testKeysChangedIdle(t *testing.T, h Harness) {
	k := newKit(t, h, 0)
	start := k.now
	var ids []string
	for i, key := range []string{"k1", "k2", "k2", "k3"} {
		d, _ := k.create("d")
		sub := subscription(t, "https://push.example/"+key+d.ID)
		if _, err := k.Subscribe(t.Context(), d.ID, sub, key); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			if err := k.Gone(t.Context(), d.ID, sub); err != nil {
				t.Fatal(err)
			}
		}
		ids = append(ids, d.ID)
		k.now = k.now.Add(time.Hour)
	}
	none, _ := k.create("never allowed push")
	if keys, err := k.Keys(t.Context()); err != nil || !slices.Equal(keys, []string{"k1", "k2"}) {
		t.Errorf("needed are %v, %v", keys, err)
	}
	k.lifted = nil
	if err := k.Heal(t.Context(), start.Add(time.Hour)); err != nil || !slices.Equal(k.lifted, []string{"device:" + ids[1], "device:" + ids[2]}) {
		t.Errorf("healed %v, %v", k.lifted, err)
	}
	if idle, err := k.Idle(t.Context(), 10); err != nil || len(idle) != 0 {
		t.Errorf("idle at once: %v, %v", idle, err)
	}
	k.now = k.now.Add(device.IdleAfter + time.Second)
	idle, err := k.Idle(t.Context(), 10)
	if err != nil || len(idle) != 2 || idle[0].ID != ids[3] || idle[1].ID != none.ID {
		t.Errorf("idle are %+v, %v", idle, err)
	}
	if idle, err = k.Idle(t.Context(), 1); err != nil || len(idle) != 1 {
		t.Errorf("idle, at most one: %v, %v", idle, err)
	}
}

// A refused change writes nothing.
func testRefusedChangesAreNotWritten(t *testing.T, h Harness) {
	k := newKit(t, h, 0)
	d, _ := k.create("phone")
	no := errors.New("no")
	if _, err := k.o.Store.Update(t.Context(), d.ID, func(d *device.Device) error {
		d.Name = "changed"
		return no
	}); !errors.Is(err, no) {
		t.Errorf("error %v", err)
	}
	if got, err := k.Get(t.Context(), d.ID); err != nil || got.Name != "phone" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A subscription that another version took, and this one cannot read, is as good
// as none: the device subscribes anew, and the others are not kept from anything.
func testUnreadableSubscription(t *testing.T, h Harness) {
	k := newKit(t, h, 0)
	d, _ := k.create("phone")
	k.subscribe(d.ID, subscription(t, "https://push.example/1"))
	k.o.Exec(`UPDATE lastlook_device_devices SET subscription = '{"endpoint":"gopher://x"}'`)
	if all, err := k.List(t.Context()); err != nil || len(all) != 1 || all[0].Push.Active() {
		t.Errorf("%+v, %v", all, err)
	}
	if got := k.subscribe(d.ID, subscription(t, "https://push.example/2")); !got.Push.Active() {
		t.Errorf("subscribed anew: %+v", got.Push)
	}
}

// Many at once.
func testConcurrent(t *testing.T, h Harness) {
	k := newKit(t, h, 20)
	var wg sync.WaitGroup
	var mu sync.Mutex
	made, full := 0, 0
	sub := subscription(t, "https://push.example/same")
	for range 30 {
		wg.Go(func() {
			d, token, err := k.Create(t.Context(), "d")
			mu.Lock()
			switch {
			case err == nil:
				made++
			case errors.Is(err, device.ErrFull):
				full++
			default:
				t.Error(err)
			}
			mu.Unlock()
			if err != nil {
				return
			}
			if _, err := k.Subscribe(t.Context(), d.ID, sub, "key"); err != nil {
				t.Error(err)
			}
			if got, err := k.Authenticate(t.Context(), token); err != nil || got.ID != d.ID {
				t.Error(got, err)
			}
		})
	}
	wg.Wait()
	all, err := k.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	active := 0
	for i := range all {
		if all[i].Push.Active() {
			active++
		}
	}
	if made != 20 || full != 10 || len(all) != 20 || active != 1 {
		t.Errorf("%d made, %d refused, %d there, %d of them have the one subscription", made, full, len(all), active)
	}
}
