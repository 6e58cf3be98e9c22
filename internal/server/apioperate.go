package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/httpapi"
)

// channelTestName is the topic of tests of channels; its subjects are channels.
const channelTestName = "channel_test"

// channelTestTopic is a topic like any other, so that a test of a channel goes
// the way that all notifications go.
func (s *Server) channelTestTopic() lastlook.Topic[testValue] {
	return lastlook.Topic[testValue]{
		Name: channelTestName,
		LookOne: func(_ context.Context, name string) (testValue, error) {
			if !slices.Contains(s.Channels(), name) {
				return testValue{}, lastlook.Gone(errors.New("the channel was removed"))
			}
			return testValue{Name: name, At: lastlook.Micro(s.opt.Clock())}, nil
		},
		Judge: func(lastlook.Case[testValue]) lastlook.Verdict { return lastlook.Send() },
		Word: func(c lastlook.Case[testValue]) lastlook.Message {
			return lastlook.Message{Title: "lastlook reaches you through " + c.Value.Name, Body: "This test went the way that all notifications go.", URL: s.opt.HTTP.home()}
		},
		Windows: lastlook.Always(),
		TTL:     testExpiry,
	}
}

// ChannelsOf implements [httpapi.Backend].
func (s *Server) ChannelsOf(context.Context, httpapi.Who) ([]httpapi.Channel, error) {
	set := s.channels.Load()
	kinds := map[string]string{config.LogChannel: string(config.KindLog), config.PushChannel: "push"}
	for _, c := range set.Channels {
		kinds[c.Name] = string(c.Kind)
	}
	out := []httpapi.Channel{}
	for _, name := range set.Names() {
		out = append(out, httpapi.Channel{Name: name, Kind: kinds[name]})
	}
	return out, nil
}

// TestChannel implements [httpapi.Backend].
func (s *Server) TestChannel(ctx context.Context, _ httpapi.Who, name string) (httpapi.Enqueued, error) {
	switch {
	case !slices.Contains(s.Channels(), name):
		return httpapi.Enqueued{}, fmt.Errorf("%w: there is no such channel", httpapi.ErrNotFound)
	case name == config.PushChannel:
		return httpapi.Enqueued{}, fmt.Errorf("%w: push tells devices: a device tests it with POST /api/v1/devices/self/test", httpapi.ErrInvalid)
	}
	to := lastlook.Target{Subject: name, Recipient: access.Recipient(access.OperatorID), Channel: name}
	it, err := s.channelTestTopic().Item(to, testValue{Name: name, At: lastlook.Micro(s.opt.Clock())})
	if err != nil {
		return httpapi.Enqueued{}, err
	}
	res, err := s.outbox.Enqueue(ctx, it)
	if err != nil {
		return httpapi.Enqueued{}, err
	}
	return enqueuedOf(res[0]), nil
}

// StatsOf implements [httpapi.Backend].
func (s *Server) StatsOf(ctx context.Context, who httpapi.Who, since time.Time) (httpapi.Stats, error) {
	if err := lastlook.CheckClock(since); err != nil {
		return httpapi.Stats{}, fmt.Errorf("%w: since is no time of this age", httpapi.ErrInvalid)
	}
	st, err := s.outbox.Stats(ctx, since)
	if err != nil {
		return httpapi.Stats{}, err
	}
	topics := s.channels.Load().topics
	own := func(topic string) bool {
		t, ok := topics.Get(topic)
		return who.Operator() || ok && who.Owner() != "" && t.Owner == who.Owner()
	}
	out := httpapi.Stats{Since: since, Live: []httpapi.LaneStats{}, Ended: []httpapi.EndStats{}}
	for i := range st.Live {
		l := &st.Live[i]
		if own(l.Topic) {
			out.Live = append(out.Live, httpapi.LaneStats{Topic: l.Topic, Channel: l.Channel, Lane: l.Name, State: l.State.String(), Count: l.Count, Leased: l.Leased, OldestDue: l.OldestDue})
		}
	}
	for i := range st.Ended {
		e := &st.Ended[i]
		if own(e.Topic) {
			out.Ended = append(out.Ended, httpapi.EndStats{Topic: e.Topic, State: e.State.String(), Reason: string(e.Reason), Count: e.Count})
		}
	}
	return out, nil
}

// Alerts implements [httpapi.Backend].
func (s *Server) Alerts(ctx context.Context) ([]httpapi.Alert, error) {
	out := s.parked.alerts()
	now := s.opt.Clock()
	st, err := s.outbox.Stats(ctx, now)
	if err != nil {
		return nil, err
	}
	topics, channels := s.Topics(), s.Channels()
	unserved := map[string]httpapi.Alert{}
	for i := range st.Live {
		l := &st.Live[i]
		what, text := "", ""
		switch {
		case !slices.Contains(topics, l.Topic):
			what, text = "topic "+l.Topic, "notifications wait for a topic that is not set up here: set it up, or cancel them"
		case !slices.Contains(channels, l.Channel):
			what, text = "channel "+l.Channel, "notifications wait for a channel that is not set up here: lastlook channel add"
		default:
			continue
		}
		a := unserved[what]
		if a.Since.IsZero() || l.OldestDue.Before(a.Since) {
			a.Since = l.OldestDue
		}
		unserved[what] = httpapi.Alert{Kind: "not_served", What: what, Text: text, Since: a.Since, Count: a.Count + l.Count}
	}
	for _, what := range slices.Sorted(maps.Keys(unserved)) {
		out = append(out, unserved[what])
	}
	all, err := s.watches.List(ctx)
	seen := map[string]bool{}
	for i := range all {
		if l := &all[i].Listing; l.LastError != "" && !seen[l.ID] && !all[i].Watch.Paused {
			seen[l.ID] = true
			out = append(out, httpapi.Alert{Kind: "listing_unreadable", What: l.URL, Text: l.LastError})
		}
	}
	return out, err
}

func (p *lanesParked) alerts() []httpapi.Alert {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []httpapi.Alert{}
	for _, name := range slices.Sorted(maps.Keys(p.now)) {
		l := p.now[name]
		out = append(out, httpapi.Alert{Kind: "lane_parked", What: name, Text: cmp.Or(l.why, "our settings are refused") + ": set the channel up anew, with lastlook channel remove and add", Since: l.since})
	}
	return out
}

// AllDevices implements [httpapi.Backend].
func (s *Server) AllDevices(ctx context.Context) ([]httpapi.Device, error) {
	all, err := s.devices.List(ctx)
	out := []httpapi.Device{}
	for i := range all {
		out = append(out, httpapi.DeviceView(all[i]))
	}
	return out, err
}
