// Package channeltest holds what each channel must pass before it may carry
// messages. A channel's test names how to make one, and what is secret about
// it:
//
//	func TestChannel(t *testing.T) {
//		channeltest.Run(t, channeltest.Harness{
//			New: func(tb channeltest.TB, s channeltest.Setup) lastlook.Channel {
//				c, err := ntfy.New(ntfy.Config{Server: s.URL, Topic: "hush-topic", Token: "tk_hush", Client: s.Client, Clock: s.Clock})
//				…
//			},
//			Secrets: []string{"hush-topic", "tk_hush"},
//		})
//	}
//
// [Run] is for channels that speak HTTP: real servers on loopback answer with
// every status, late, slowly, in halves, with endless bodies, with what they
// were sent, or not at all. [RunPlain] is for all others, and is part of Run.
// Each [Clause] names the promise that it checks. Nothing sleeps; all clauses
// together take a few seconds, most of it waiting in parallel.
//
// The table of statuses in this package was written separately from that of
// the channels. Where a channel differs on purpose, [Harness.Statuses] says so
// and why.
package channeltest

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/door"
)

// TB is what the suite needs of a test. [testing.T] is one; the suite also
// runs itself with others, to see whether it fails.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	FailNow()
	Failed() bool
	// Cleanup and Context are as in [testing.TB].
	Cleanup(f func())
	Context() context.Context
}

// Setup is what a channel under test is made of.
type Setup struct {
	// URL is the address of the service, without a path: http://127.0.0.1:….
	URL string
	// Client is the one to use. It may be one that follows redirects: the
	// channel must not let it.
	Client *http.Client
	// Clock stands still.
	Clock func() time.Time
}

// Want is what a status must lead to.
type Want struct {
	// Accepted: no error. Otherwise an error of Class.
	Accepted bool
	Class    lastlook.Class
	// Why explains a deviation.
	Why string
}

// Harness is how the suite gets at a channel.
type Harness struct {
	// New makes the channel. It is called often, and calls tb.Fatalf if it
	// cannot.
	New func(tb TB, s Setup) lastlook.Channel
	// Secrets are texts of the channel's configuration that nothing it
	// returns may hold: tokens, passwords, secret parts of its URL.
	Secrets []string
	// Statuses are the channel's deviations from the table of statuses.
	Statuses map[int]Want
	// Inspect, if not nil, looks at each request that the channel sends in
	// the clauses about messages. It is called concurrently.
	Inspect func(tb TB, r *http.Request, body []byte)
	// Open, if not nil, reads a body that is not text on the wire, such as an
	// encrypted one: what it returns must be the JSON that the receiver gets.
	Open func(body []byte) ([]byte, error)
}

// Clause is one promise of a channel, and the scenario that checks it.
type Clause struct {
	// Name is the subtest's, e.g. "network/hanging".
	Name string
	// Promise is what it belongs to: a guarantee of the design, or a rule of
	// the protocol.
	Promise string
	run     func(f *fixture)
}

// Check runs the clause on fresh channels and servers.
func (c Clause) Check(tb TB, h Harness) {
	tb.Helper()
	c.run(newFixture(tb, h))
}

// Clauses returns all clauses for channels that speak HTTP.
func Clauses() []Clause {
	return slices.Concat(plainClauses, requestClauses, statusClauses, networkClauses, answerClauses, secretClauses)
}

// Run checks a channel that speaks HTTP.
func Run(t *testing.T, h Harness) {
	for _, c := range Clauses() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Check(t, h)
		})
	}
}

// RunPlain checks what holds for every channel, whatever it speaks. make is
// called once per clause.
func RunPlain(t *testing.T, make func(tb TB) lastlook.Channel) {
	h := Harness{New: func(tb TB, _ Setup) lastlook.Channel { return make(tb) }}
	for _, c := range plainClauses {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Check(t, h)
		})
	}
}

// now is what the suite's clock shows.
var now = time.Date(2026, 3, 29, 0, 59, 30, 0, time.UTC)

// patience is how long a call may take before it counts as hanging.
const patience = 30 * time.Second

// fixture is what a clause works with.
type fixture struct {
	TB
	h       Harness
	client  *http.Client
	needles []needle
}

func newFixture(tb TB, h Harness) *fixture {
	client, err := door.New(door.Config{Trust: door.Operator, Allow: door.Loopback()})
	if err != nil {
		tb.Fatalf("client: %v", err)
	}
	tb.Cleanup(client.CloseIdleConnections)
	return &fixture{TB: tb, h: h, client: client, needles: needles(h.Secrets)}
}

// channel makes a channel that talks to the server at url.
func (f *fixture) channel(url string) lastlook.Channel {
	f.Helper()
	return f.channelWith(url, f.client)
}

func (f *fixture) channelWith(url string, c *http.Client) lastlook.Channel {
	f.Helper()
	ch := f.h.New(f, Setup{URL: url, Client: c, Clock: func() time.Time { return now }})
	if ch == nil {
		f.Fatalf("the harness made no channel")
	}
	return ch
}

// outcome is what a delivery came to.
type outcome struct {
	receipt lastlook.Receipt
	err     error
}

// deliver makes a delivery, sees to it that it returns, and inspects what it
// returns.
func (f *fixture) deliver(ctx context.Context, ch lastlook.Channel, d lastlook.Delivery) outcome {
	f.Helper()
	return f.await(f.start(ctx, ch, d))
}

func (f *fixture) start(ctx context.Context, ch lastlook.Channel, d lastlook.Delivery) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		r, err := ch.Deliver(ctx, d)
		done <- outcome{r, err}
	}()
	return done
}

func (f *fixture) await(done <-chan outcome) outcome {
	f.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case o := <-done:
		f.inspect(o)
		return o
	case <-timer.C:
		f.Fatalf("the channel has not returned after %s", patience)
	}
	return outcome{}
}

// wait waits for an event on the server's side.
func (f *fixture) wait(event <-chan struct{}, what string) {
	f.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-event:
	case <-timer.C:
		f.Fatalf("%s did not happen within %s", what, patience)
	}
}

// message returns a delivery like those of every day.
func message() lastlook.Delivery {
	k := lastlook.Key{Topic: "price", Subject: "shop.example/espresso", Recipient: "kim", Channel: "under test"}
	return lastlook.Delivery{
		ID:  42,
		Key: k,
		Message: lastlook.Message{
			Title: "Espresso machine: 470.00 EUR",
			Body:  "Below your 500.00 EUR. It was 520.00 EUR.",
			URL:   "https://shop.example/espresso?colour=red&size=2",
			Data:  []byte(`{"trigger":"below"}`),
		},
		Value:       []byte(`{"price":"470.00","currency":"EUR"}`),
		DeliveryKey: lastlook.DeliveryKey(k, 7),
		ReplaceKey:  lastlook.ReplaceKey(k),
		Attempt:     1,
		LookedAt:    now.Add(-2 * time.Second),
		ExpiresAt:   now.Add(time.Hour),
		Trace:       "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
}
