package watch_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

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
				differs("no message of event %d says %s, but %v", s.Event, s.Price, p.sent)
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
	count("told that it cannot be read", want.Unreadable, p.blind)
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
	wrong = append(wrong, p.judgeLast(want)...)
	if want.Subscription == "removed" {
		if st, err := p.outbox.Stats(p.Context(), time.Now()); err != nil || st.Muted != 1 {
			differs("the recipient is not muted: %+v, %v", st, err)
		}
	}
	return wrong
}

// judgeLast judges what is expected of the last message.
func (p *player) judgeLast(want *expectation) (wrong []string) {
	differs := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if want.Flag != "" {
		if !slices.Contains(p.flags, want.Flag) {
			differs("flags shown %v, want %s", p.flags, want.Flag)
		}
	}
	if want.Effective != "" && len(p.sent) == 0 { // shown, though nothing is told of it
		e := p.engine.entry(p.entry.Watch.ID)
		for _, f := range e.Evaluate(e.Last, watch.Telling{}, time.Now()).Findings {
			if f.Trigger.Kind == watch.EffectiveBelow && !says(&f.Figure, want.Effective) {
				differs("effective price %s, want %s", f.Figure, want.Effective)
			}
		}
		want.Effective = ""
	}
	if want.Reasons == nil && want.SentLast == nil && want.Effective == "" && want.Body == "" {
		return wrong
	}
	if len(p.sent) == 0 {
		differs("nothing was sent")
		return wrong
	}
	last := &p.sent[len(p.sent)-1]
	if want.Reasons != nil {
		var kinds []watch.Kind
		for _, name := range want.Reasons {
			kinds = append(kinds, kindOf(name))
		}
		slices.Sort(kinds)
		if got := slices.Sorted(slices.Values(last.told.Reasons)); !slices.Equal(got, kinds) {
			differs("the message names %v, want %v", got, kinds)
		}
	}
	if want.Effective != "" && !says(last.told.Effective, want.Effective) {
		differs("effective price %v, want %s", last.told.Effective, want.Effective)
	}
	if want.Body != "" && last.delivery.Message.Body != want.Body {
		differs("the message says %q, want %q", last.delivery.Message.Body, want.Body)
	}
	if w := want.SentLast; w != nil {
		if last.event != w.Event || w.Price != "" && !says(last.told.Price, w.Price) || w.Previous != "" && !says(last.told.Previous, w.Previous) {
			differs("last sent at event %d: %v, before %v; want event %d: %s, before %s", last.event, last.told.Price, last.told.Previous, w.Event, w.Price, w.Previous)
		}
	}
	return wrong
}

// says reports whether an amount is the one that is wanted, in any currency.
func says(m *price.Money, amount number) bool {
	return m != nil && m.Amount().Cmp(amount.decimal()) == 0
}

// sentAt reports whether a message of the event says the price.
func (p *player) sentAt(event int, amount number) bool {
	return slices.ContainsFunc(p.sent, func(m sentMessage) bool { return m.event == event && says(m.told.Price, amount) })
}

func (p *player) dropped() []wantDropped {
	p.Helper()
	out := []wantDropped{}
	for _, r := range p.rows() {
		if r.State == lastlook.StateDropped && r.Key.Topic == watch.TopicName {
			out = append(out, wantDropped{p.raised[r.ID], r.Reason})
		}
	}
	return out
}
