package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// player plays one case through the engine.
type player struct {
	*engine
	script
	entry  watch.Entry
	store  *mortal
	at     int // the event being played
	status int
	crash  bool
	calls  int
	seen   *sight // by the look before
	sent   []sentMessage
	blind  int                 // how often it was told that it cannot be read
	flags  []watch.Flag        // that were shown, after any event
	raised map[lastlook.ID]int // by row: the event that raised it
}

// sentMessage is a message that the channel accepted.
type sentMessage struct {
	event    int
	delivery lastlook.Delivery
	told     toldFacts
}

// toldFacts are the data of a message.
type toldFacts struct {
	Price, Previous, Effective *price.Money
	Reasons                    []watch.Kind
}

// mortal is a store whose process can die: nothing is written after that.
type mortal struct {
	*sqlite.Store
	dead atomic.Bool
}

// Apply implements [lastlook.Store].
func (m *mortal) Apply(ctx context.Context, now time.Time, changes []lastlook.Change) ([]bool, error) {
	if m.dead.Load() {
		return nil, errors.New("the process is dead")
	}
	return m.Store.Apply(ctx, now, changes)
}

// play plays the case, and says what of its expectation was not met. It runs in
// a bubble of fake time.
func (b *behaviour) play(t *testing.T) (wrong []string) {
	p := &player{engine: newEngine(t, nil), raised: map[lastlook.ID]int{}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case cannot:
			wrong = append(wrong, "cannot be played: "+string(r))
		default:
			panic(r)
		}
	}()
	if err := strictly(b.Input, &p.script); err != nil {
		panic(cannot("the player does not know all of it: " + err.Error()))
	}
	p.store = &mortal{Store: p.db}
	p.outbox = lastlook.NewOutbox(p.store)
	p.startDispatcher()
	p.channel.Respond(p.deliver)
	dispatches := slices.ContainsFunc(p.Events, func(e event) bool { return e.Dispatch != nil })
	for i, e := range p.Events {
		p.at = i
		pass(time.Until(e.At))
		if i == 0 {
			p.addWatch()
		}
		p.event(&e)
		p.noteRaised()
		if !dispatches {
			p.tick()
		}
	}
	return p.judge(&b.Expect)
}

func (p *player) startDispatcher() {
	p.Helper()
	var err error
	p.d, err = lastlook.NewDispatcher(p.outbox, lastlook.Config{Topics: []lastlook.Registration{p.svc.Topic(), p.svc.Unreadable()},
		Channels: map[string]lastlook.Channel{"push": p.channel}, Rand: func() float64 { return 0 }})
	if err != nil {
		p.Fatal(err)
	}
}

func (p *player) addWatch() {
	l := watch.Listing{Source: "page", URL: url(0), Interval: watch.MinInterval}
	l.Options.Variant = p.script.Watch.Variant
	p.entry = must(p.engine.store.Add(p.Context(), time.Now(), l, p.script.Watch.build()))
}

// observe turns a sight into what the source gives.
func (p *player) observe(s *sight, age time.Duration) func(context.Context) (watch.Observation, error) {
	o := s.observation(&p.script.Watch, p.seen)
	p.seen = s
	return func(context.Context) (watch.Observation, error) {
		if age > 0 {
			o.At = time.Now().Add(-age)
		}
		return o, nil
	}
}

// failures are the corpus' outcomes of a fetch that gave no observation.
var failures = map[string]error{
	"blocked": errBlocked, "error": errors.New("timeout"), "timeout": errors.New("timeout"), "captcha": errBlocked, "not_product": errors.New("no product on the page"), "needs_browser": errors.New("an empty page"),
	"rate_limited": lastlook.RetryAfter(time.Minute, errors.New("429")), "gone": lastlook.Gone(errors.New("410")),
}

func (p *player) event(e *event) {
	p.Helper()
	switch {
	case e.Obs != nil:
		p.source.answer(url(0), p.observe(e.Obs, 0))
		p.detect()
	case e.ParallelObs != nil:
		p.detectAtOnce(e.ParallelObs)
	case e.FetchFailed != "":
		err, ok := failures[e.FetchFailed]
		if !ok {
			panic(cannot("the player does not know a fetch that is " + e.FetchFailed))
		}
		p.source.fail(url(0), err)
		p.detect()
	case e.Dispatch != nil:
		p.dispatch(e.Dispatch)
	case e.WatchRemoved:
		if err := p.engine.store.Remove(p.Context(), time.Now(), p.entry.Watch.ID); err != nil {
			p.Fatal(err)
		}
		p.drop(lastlook.ReasonWatchRemoved)
	case e.ListingPaused:
		p.update(p.entry.Watch.ID, func(w *watch.Watch) { w.Paused = true })
		p.drop(lastlook.ReasonListingPaused)
	case e.UserDisplayCurrency != "": // what is shown; nothing is told by it
	default:
		panic(cannot(fmt.Sprintf("the player does not know event %d", p.at)))
	}
}

func (p *player) drop(reason lastlook.Reason) {
	p.Helper()
	if _, err := p.outbox.DropSubject(p.Context(), watch.TopicName, p.entry.Watch.ID, reason); err != nil {
		p.Fatal(err)
	}
}

// detect is a detection run.
func (p *player) detect() {
	p.Helper()
	if res := p.sweep(); res.Looked+res.Failed == 1 {
		return
	}
	// Not due yet: the case looks more often than the schedule does.
	if e, err := p.engine.store.Get(p.Context(), p.entry.Watch.ID); err == nil && !e.Watch.Paused {
		must(p.svc.Check(p.Context(), e.Listing))
	}
}

// detectAtOnce has several look at the same moment. Sweeps share the work, so
// these are looks that somebody asks for.
func (p *player) detectAtOnce(sights []sight) {
	p.Helper()
	answers := make([]func(context.Context) (watch.Observation, error), len(sights))
	for i := range sights {
		answers[i] = p.observe(&sights[i], 0)
	}
	var arrived atomic.Int64
	all := make(chan struct{})
	p.source.answer(url(0), func(ctx context.Context) (watch.Observation, error) {
		n := arrived.Add(1)
		if n == int64(len(sights)) {
			close(all)
		}
		<-all
		return answers[n-1](ctx)
	})
	list, err := p.engine.store.List(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	errs := make(chan error)
	for range sights {
		go func() {
			_, err := p.svc.Check(p.Context(), list[0].Listing)
			errs <- err
		}()
	}
	for range sights {
		if err := <-errs; err != nil {
			p.Error(err)
		}
	}
	p.source.answer(url(0), answers[len(answers)-1])
}

// dispatch is a run of the sender.
func (p *player) dispatch(d *dispatch) {
	p.Helper()
	if d.Refetch != nil {
		d.Refetch.Qty = firstOf(d.Qty, d.Refetch.Qty)
		p.source.answer(url(0), p.observe(d.Refetch, time.Duration(d.RefetchAgeS)*time.Second))
	}
	if d.Blocked {
		p.source.fail(url(0), errBlocked)
	}
	p.status, p.crash = d.ChannelStatus, d.CrashAfterSend
	_, err := p.d.Tick(p.Context())
	p.status = 0
	if !d.CrashAfterSend {
		if err != nil {
			p.Fatal(err)
		}
		return
	}
	p.crash = false
	p.store.dead.Store(false)
	for range 3 { // the lease passes, the row is reaped, and tried again
		p.startDispatcher()
		pass(time.Minute)
		p.tick()
	}
}

// deliver is the channel.
func (p *player) deliver(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	if d.Key.Topic == watch.TopicName {
		p.calls++
	}
	refused := fmt.Errorf("HTTP %d", p.status)
	switch {
	case p.status == 0 || p.status/100 == 2:
	case p.status == http.StatusNotFound || p.status == http.StatusGone:
		return lastlook.Receipt{}, lastlook.Gone(refused)
	case p.status == http.StatusUnauthorized || p.status == http.StatusForbidden:
		return lastlook.Receipt{}, lastlook.Misconfigured(refused)
	case p.status >= 500 || p.status == http.StatusTooManyRequests || p.status == http.StatusRequestTimeout:
		return lastlook.Receipt{}, refused
	default:
		return lastlook.Receipt{}, lastlook.Permanent(refused)
	}
	if d.Key.Topic == watch.UnreadableTopic {
		p.blind++
		return lastlook.Receipt{Answer: "201"}, nil
	}
	m := sentMessage{event: p.at, delivery: d}
	if err := json.Unmarshal(d.Message.Data, &m.told); err != nil {
		p.Error(err)
	}
	p.sent = append(p.sent, m)
	if p.crash {
		p.store.dead.Store(true)
	}
	return lastlook.Receipt{Answer: "201"}, nil
}

// noteRaised notes which rows the event just played has raised, and what is shown
// of the listing after it.
func (p *player) noteRaised() {
	p.Helper()
	for _, r := range p.rows() {
		if _, ok := p.raised[r.ID]; !ok {
			p.raised[r.ID] = p.at
		}
	}
	if e, err := p.engine.store.Get(p.Context(), p.entry.Watch.ID); err == nil {
		p.flags = append(p.flags, e.Listing.Standing.Flags()...)
	}
}
