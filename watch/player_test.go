package watch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// behaviour is a case of the corpus' kind "behaviour". What the player does not
// know is an error: no case passes because half of it was not played.
type behaviour struct {
	ID, Kind, Source, Note string
	Input                  string
	Expect                 expectation
}

type script struct {
	Watch  scriptWatch
	Events []event
}

type scriptWatch struct {
	Currency     string
	Display      string // what is shown; no trigger may use it
	Variant      string
	FollowStock  *bool      `json:"follow_stock"`
	Cooldown     *string    // "0s": as often as it is news
	SnoozedUntil *time.Time `json:"snoozed_until"`
	Triggers     []scriptTrigger
}

type scriptTrigger struct {
	Type           string
	Target         string
	TargetCurrency string `json:"target_currency"`
}

type event struct {
	At                  time.Time
	Obs                 *sight
	ParallelObs         []sight `json:"parallel_obs"`
	FetchFailed         string  `json:"fetch_failed"`
	Dispatch            *dispatch
	WatchRemoved        bool   `json:"watch_removed"`
	ListingPaused       bool   `json:"listing_paused"`
	UserDisplayCurrency string `json:"user_display_currency"`
}

// sight is what a look sees.
type sight struct {
	Price    *string
	Avail    watch.Availability
	Currency string
	Fx       string // the rate of the currency shown
	Variants map[string]watch.Availability
}

type dispatch struct {
	Refetch        *sight
	Blocked        bool
	ChannelStatus  int  `json:"channel_status"`
	CrashAfterSend bool `json:"crash_after_send"`
	RefetchAgeS    int  `json:"refetch_age_s"`
}

type expectation struct {
	Strength     string
	Sent         []wantSent
	Dropped      []wantDropped
	SentCount    *int   `json:"sent_count"`
	SentCountMax *int   `json:"sent_count_max"`
	SentHas      []int  `json:"sent_has"`
	SentLacks    []int  `json:"sent_lacks"`
	DistinctKeys *int   `json:"distinct_keys"`
	Subscription string // "removed": the recipient is muted
	Attempts     *int   // calls of the channel
	Reasons      []watch.Kind
}

type wantSent struct {
	Event int
	Price string
}

type wantDropped struct {
	Event  int
	Reason lastlook.Reason
}

func strictly(data string, v any) error {
	d := json.NewDecoder(strings.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// readBehaviours decodes JSON lines.
func readBehaviours(t *testing.T, data []byte) (out []behaviour) {
	t.Helper()
	for line := range bytes.Lines(data) {
		var b behaviour
		if err := strictly(string(line), &b); err != nil {
			t.Fatalf("%.60s: %v", line, err)
		}
		out = append(out, b)
	}
	return out
}

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
	sent   []sentMessage
	raised map[lastlook.ID]int // by row: the event that raised it
}

// sentMessage is a message that the channel accepted.
type sentMessage struct {
	event    int
	delivery lastlook.Delivery
	price    *price.Money
	reasons  []watch.Kind
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

// play plays the case. It runs in a bubble of fake time.
func (b *behaviour) play(t *testing.T) *player {
	p := &player{engine: newEngine(t, nil), raised: map[lastlook.ID]int{}}
	if err := strictly(b.Input, &p.script); err != nil {
		t.Fatalf("the player does not know all of it: %v", err)
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
	return p
}

func (p *player) startDispatcher() {
	p.Helper()
	var err error
	p.d, err = lastlook.NewDispatcher(p.outbox, lastlook.Config{Topics: []lastlook.Registration{p.svc.Topic()},
		Channels: map[string]lastlook.Channel{"push": p.channel}, Rand: func() float64 { return 0 }})
	if err != nil {
		p.Fatal(err)
	}
}

func (p *player) addWatch() {
	p.Helper()
	s := p.script.Watch
	w := watchFor()
	w.IgnoreStock = s.FollowStock != nil && !*s.FollowStock
	if s.SnoozedUntil != nil {
		w.SnoozedUntil = *s.SnoozedUntil
	}
	for i, st := range s.Triggers {
		tr := watch.Trigger{ID: fmt.Sprint("t", i), Kind: watch.Kind(st.Type)}
		if s.Cooldown != nil && *s.Cooldown == "0s" {
			tr.PerDay = -1
		} else if s.Cooldown != nil {
			p.Fatalf("the player does not know a cooldown of %s", *s.Cooldown)
		}
		if st.Target != "" {
			tr.Target = p.money(st.Target, firstOf(st.TargetCurrency, s.Currency))
		}
		w.Triggers = append(w.Triggers, tr)
	}
	var err error
	p.entry, err = p.engine.store.Add(p.Context(), time.Now(), watch.Listing{Source: "page", URL: url(0), Interval: watch.MinInterval}, *w)
	if err != nil {
		p.Fatal(err)
	}
}

func firstOf(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}

func (p *player) money(amount, currency string) price.Money {
	p.Helper()
	m, err := price.New(amount, currency)
	if err != nil {
		p.Fatal(err)
	}
	return m
}

// observe turns a sight into what the source gives.
func (p *player) observe(s *sight, age time.Duration) func(context.Context) (watch.Observation, error) {
	p.Helper()
	o := watch.Observation{Availability: s.Avail, Title: "The item"}
	if v, ok := s.Variants[p.script.Watch.Variant]; ok {
		o.Availability = v
	}
	if s.Price != nil {
		o.Price = p.money(*s.Price, firstOf(s.Currency, p.script.Watch.Currency))
	}
	return func(context.Context) (watch.Observation, error) {
		if age > 0 {
			o.At = time.Now().Add(-age)
		}
		return o, nil
	}
}

// failures are the corpus' outcomes of a fetch that gave no observation.
var failures = map[string]error{
	"blocked": errBlocked, "error": errors.New("timeout"), "not_product": errors.New("no product on the page"), "needs_browser": errors.New("an empty page"),
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
			p.Fatalf("the player does not know a fetch that is %s", e.FetchFailed)
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
		p.Fatalf("the player does not know event %d", p.at)
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
	if res := p.sweep(); res.Looked+res.Failed != 1 {
		if e, err := p.engine.store.Get(p.Context(), p.entry.Watch.ID); err == nil && !e.Watch.Paused {
			p.Fatalf("event %d: the listing was not due: %+v", p.at, res)
		}
	}
}

// detectAtOnce has several workers look at the same moment.
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
	errs := make(chan error)
	for range sights {
		go func() {
			_, err := p.svc.Sweep(p.Context(), 10)
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
	p.calls++
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
	m := sentMessage{event: p.at, delivery: d}
	var data struct {
		Price   *price.Money
		Reasons []watch.Kind
	}
	if err := json.Unmarshal(d.Message.Data, &data); err != nil {
		p.Error(err)
	}
	m.price, m.reasons = data.Price, data.Reasons
	p.sent = append(p.sent, m)
	if p.crash {
		p.store.dead.Store(true)
	}
	return lastlook.Receipt{Answer: "201"}, nil
}

// noteRaised notes which rows the event just played has raised.
func (p *player) noteRaised() {
	p.Helper()
	for _, r := range p.rows() {
		if _, ok := p.raised[r.ID]; !ok {
			p.raised[r.ID] = p.at
		}
	}
}

// judge says what of the expectation was not met.
func (p *player) judge(want *expectation) (wrong []string) {
	p.Helper()
	differs := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	at := map[int]int{} // messages by event
	keys := map[string]bool{}
	for _, m := range p.sent {
		at[m.event]++
		keys[m.delivery.DeliveryKey] = true
	}
	if want.Sent != nil {
		events := map[int]int{}
		for _, s := range want.Sent {
			events[s.Event]++
			if s.Price != "" && !p.sentAt(s.Event, s.Price) {
				differs("no message of event %d says %s", s.Event, s.Price)
			}
		}
		if !maps.Equal(at, events) {
			differs("sent at events %v, want %v", at, events)
		}
	}
	if want.Dropped != nil {
		if got := p.dropped(); !slices.Equal(got, want.Dropped) {
			differs("dropped %v, want %v", got, want.Dropped)
		}
	}
	count := func(name string, want *int, got int) {
		if want != nil && *want != got {
			differs("%s %d, want %d", name, got, *want)
		}
	}
	count("sent", want.SentCount, len(p.sent))
	count("attempts", want.Attempts, p.calls)
	count("delivery keys", want.DistinctKeys, len(keys))
	if m := want.SentCountMax; m != nil && len(p.sent) > *m {
		differs("sent %d, want at most %d", len(p.sent), *m)
	}
	for _, i := range want.SentHas {
		if at[i] == 0 {
			differs("nothing sent at event %d", i)
		}
	}
	for _, i := range want.SentLacks {
		if at[i] > 0 {
			differs("sent at event %d", i)
		}
	}
	if want.Reasons != nil && (len(p.sent) != 1 || !slices.Equal(p.sent[0].reasons, want.Reasons)) {
		differs("messages %+v, want one for %v", p.sent, want.Reasons)
	}
	if want.Subscription == "removed" {
		if st, err := p.outbox.Stats(p.Context(), time.Now()); err != nil || st.Muted != 1 {
			differs("the recipient is not muted: %+v, %v", st, err)
		}
	}
	return wrong
}

// sentAt reports whether a message of the event says the price.
func (p *player) sentAt(event int, amount string) bool {
	p.Helper()
	return slices.ContainsFunc(p.sent, func(m sentMessage) bool {
		if m.event != event || m.price == nil {
			return false
		}
		c, ok := m.price.Cmp(p.money(amount, m.price.Currency()))
		return ok && c == 0
	})
}

func (p *player) dropped() []wantDropped {
	p.Helper()
	out := []wantDropped{}
	for _, r := range p.rows() {
		if r.State == lastlook.StateDropped {
			out = append(out, wantDropped{p.raised[r.ID], r.Reason})
		}
	}
	return out
}
