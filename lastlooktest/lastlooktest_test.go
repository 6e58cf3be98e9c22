package lastlooktest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/lastlooktest"
	"github.com/lastlook/lastlook/store/memstore"
)

// A day passes between two ticks, in no time.
func Example() {
	ctx := context.Background()
	clock := lastlooktest.NewClock(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
	world := lastlooktest.NewWorld[int]()
	channel := lastlooktest.NewChannel()
	topic := lastlooktest.Topic("price", world, func(v int) bool { return v < 500 }, func(v int) string { return fmt.Sprint("now ", v) })
	outbox := lastlook.NewOutbox(memstore.New(), lastlook.WithClock(clock.Now))
	dispatcher, err := lastlook.NewDispatcher(outbox, lastlook.Config{Clock: clock.Now,
		Topics: []lastlook.Registration{topic}, Channels: map[string]lastlook.Channel{"push": channel}})
	if err != nil {
		panic(err)
	}
	item, err := topic.Item(lastlook.Target{Subject: "lamp", Recipient: "ann", Channel: "push"}, 498)
	if err != nil {
		panic(err)
	}
	item.Due = clock.Now().Add(20 * time.Hour)
	if _, err := outbox.Enqueue(ctx, item); err != nil {
		panic(err)
	}

	world.Set("lamp", 470)
	for range 2 {
		res, err := dispatcher.Tick(ctx)
		fmt.Println(res.Sent, err)
		clock.Advance(20 * time.Hour)
	}
	fmt.Println(channel.Deliveries()[0].Message.Title)
	// Output:
	// 0 <nil>
	// 1 <nil>
	// now 470
}

// stub is a testing.TB that records a fatal failure instead of stopping.
type stub struct {
	testing.TB
	failed string
}

func (s *stub) Helper()                      {}
func (s *stub) Context() context.Context     { return context.Background() }
func (s *stub) Fatalf(f string, args ...any) { s.failed = fmt.Sprintf(f, args...); panic(s) }
func failure(f func(tb testing.TB)) (msg string) {
	s := &stub{}
	defer func() {
		if recover() != nil {
			msg = s.failed
		}
	}()
	f(s)
	return ""
}

type brokenLister struct{}

func (brokenLister) List(context.Context, lastlook.Query) ([]lastlook.Record, error) {
	return nil, errors.New("away")
}

func TestAssertionsFail(t *testing.T) {
	outbox := lastlook.NewOutbox(memstore.New())
	q := lastlook.Query{Topic: "price"}
	if msg := failure(func(tb testing.TB) { lastlooktest.RequireEnqueued(tb, outbox, q) }); !strings.Contains(msg, "0 notifications match") {
		t.Errorf("nothing enqueued: %q", msg)
	}
	for _, subject := range []string{"a", "b"} {
		it, err := lastlook.Handle[int]{Name: "price"}.Item(lastlook.Target{Subject: subject, Recipient: "r", Channel: "c"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := outbox.Enqueue(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	if msg := failure(func(tb testing.TB) { lastlooktest.RequireEnqueued(tb, outbox, q) }); !strings.Contains(msg, "2 notifications match") {
		t.Errorf("two enqueued: %q", msg)
	}
	if msg := failure(func(tb testing.TB) { lastlooktest.RequireNotEnqueued(tb, outbox, q) }); !strings.Contains(msg, "price/") {
		t.Errorf("something enqueued: %q", msg)
	}
	if msg := failure(func(tb testing.TB) { lastlooktest.RequireNotEnqueued(tb, brokenLister{}, q) }); !strings.Contains(msg, "away") {
		t.Errorf("a store that fails: %q", msg)
	}
	q.Subject = "a"
	if rec := lastlooktest.RequireEnqueued(t, outbox, q); rec.Key.Subject != "a" {
		t.Errorf("got %+v", rec)
	}
}

func TestWorld(t *testing.T) {
	w := lastlooktest.NewWorld[int]()
	w.Set("a", 7)
	w.Fail("b", lastlook.Gone(errors.New("410")))
	got := w.Look(t.Context(), []string{"a", "b", "c"})
	if got[0].Value != 7 || got[0].Err != nil {
		t.Errorf("a: %+v", got[0])
	}
	if class, _ := lastlook.Classify(got[1].Err); class != lastlook.ClassGone {
		t.Errorf("b: %v", got[1].Err)
	}
	if !errors.Is(got[2].Err, lastlooktest.ErrNoSubject) {
		t.Errorf("c: %v", got[2].Err)
	}
	if calls, subjects := w.Looks(); calls != 1 || subjects != 3 {
		t.Errorf("%d looks at %d subjects", calls, subjects)
	}
}
