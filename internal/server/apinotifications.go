package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/httpapi"
)

// onceLife is for how long a request is recognized by its idempotency key.
const onceLife = 24 * time.Hour

// Enqueue implements [httpapi.Backend].
func (s *Server) Enqueue(ctx context.Context, who httpapi.Who, key string, fingerprint [32]byte, list []httpapi.NewNotification) ([]httpapi.Enqueued, bool, error) {
	set := s.channels.Load()
	now := s.opt.Clock()
	items := make([]lastlook.Item, len(list))
	for i := range list {
		it, err := s.itemOf(set, who, i, &list[i])
		if err != nil {
			return nil, false, err
		}
		// Here, and not only when all that come together are written: one that
		// cannot be is no reason to write the others one by one.
		if _, err := lastlook.Prepare(now, []lastlook.Item{it}); err != nil {
			return nil, false, httpapi.InvalidItem(i, "", strings.TrimPrefix(strings.TrimPrefix(err.Error(), "item 0: "), "lastlook: "))
		}
		items[i] = it
	}
	if err := s.backlog.admit(ctx, s, who, len(items)); err != nil {
		return nil, false, err
	}
	reply, err := s.group.do(ctx, access.Request{Items: items, Caller: who.ID(), Key: key, Fingerprint: fingerprint})
	if errors.Is(err, lastlook.ErrWindowBackwards) {
		return nil, false, httpapi.Invalid("", "an episode that is over was given")
	}
	if err != nil {
		return nil, false, err
	}
	out, woken := make([]httpapi.Enqueued, len(items)), false
	for i, r := range reply.Results {
		out[i] = enqueuedOf(r)
		if r.Status == lastlook.Inserted && !reply.Replayed {
			woken = true
			s.events.add(insertedEvent(&items[i], r, now))
		}
	}
	if d := s.dispatcher.Load(); woken && d != nil {
		d.Wake()
	}
	return out, reply.Replayed, nil
}

func insertedEvent(it *lastlook.Item, r lastlook.EnqueueResult, now time.Time) event {
	return event{recipient: it.Recipient, topic: it.Topic, notification: httpapi.NotificationEvent{
		At: lastlook.Micro(now), ID: int64(r.ID), Topic: it.Topic, Subject: it.Subject, Recipient: it.Recipient, Channel: it.Channel,
		Event: string(lastlook.EventEnqueued), State: r.State.String(),
	}}
}

// itemOf makes the item that a caller asks for; i is its number.
func (s *Server) itemOf(set *channelSet, who httpapi.Who, i int, n *httpapi.NewNotification) (lastlook.Item, error) {
	t, ok := set.topics.Get(n.Topic)
	if !ok || t.Removed || !who.Operator() && t.Owner != who.Owner() {
		return lastlook.Item{}, httpapi.InvalidItem(i, "topic", "there is no such topic of yours: make it with PUT /api/v1/topics/{topic}")
	}
	channel := n.Channel
	if channel == "" {
		channel = t.Channels[0]
	}
	if !slices.Contains(t.Channels, channel) {
		return lastlook.Item{}, httpapi.InvalidItem(i, "channel", "the topic may not be told through it: add it to the topic's channels")
	}
	recipient := n.Recipient
	if recipient == "" {
		recipient = access.Recipient(cmp.Or(t.Owner, access.OperatorID))
	}
	_, isDevice := device.IDOf(recipient)
	if owner, isOwner := access.OwnerOf(recipient); isOwner && owner != cmp.Or(t.Owner, access.OperatorID) || isDevice != (channel == config.PushChannel) {
		return lastlook.Item{}, httpapi.InvalidItem(i, "recipient", "the channel push tells recipients device:ID, and no other channel does; owner:… is the topic's owner alone")
	}
	windows, err := lastlook.ParseWindows(cmp.Or(t.Window, "always"))
	if err != nil {
		return lastlook.Item{}, err
	}
	it := lastlook.Item{
		Key:       lastlook.Key{Topic: n.Topic, Subject: n.Subject, Recipient: recipient, Channel: channel},
		Detection: n.Detection, Lane: s.lanes.of(recipient, channel), Due: n.Due, ExpiresAt: n.ExpiresAt, TTL: time.Duration(t.TTLSeconds) * time.Second,
		Edge: n.Edge, Trace: n.Trace, Windows: windows,
	}
	if len(it.Detection) == 0 {
		it.Detection = json.RawMessage("null")
	}
	switch n.Priority {
	case "low":
		it.Priority = lastlook.PriorityLow
	case "high":
		it.Priority = lastlook.PriorityHigh
	}
	return it, nil
}

func enqueuedOf(r lastlook.EnqueueResult) httpapi.Enqueued {
	e := httpapi.Enqueued{Status: r.Status.String(), ID: int64(r.ID)}
	if r.State != lastlook.StateNone {
		e.State = r.State.String()
	}
	return e
}

// may reports whether a notification is a caller's own.
func (s *Server) may(who httpapi.Who, key lastlook.Key) bool {
	if who.Has(key.Recipient) {
		return true
	}
	t, ok := s.channels.Load().topics.Get(key.Topic)
	return ok && who.Owner() != "" && t.Owner == who.Owner()
}

// ownRecord returns one of a caller's own; another's does not exist for it.
func (s *Server) ownRecord(ctx context.Context, who httpapi.Who, id int64) (lastlook.Record, error) {
	rec, err := s.outbox.Get(ctx, lastlook.ID(id))
	if errors.Is(err, lastlook.ErrNotFound) || err == nil && !s.may(who, rec.Key) {
		return lastlook.Record{}, fmt.Errorf("%w: there is no such notification of yours", httpapi.ErrNotFound)
	}
	return rec, err
}

// Notifications implements [httpapi.Backend].
func (s *Server) Notifications(ctx context.Context, who httpapi.Who, q httpapi.NotificationQuery) (out []httpapi.Notification, next string, err error) {
	query := lastlook.Query{Topic: q.Topic, Subject: q.Subject, Recipient: q.Recipient, Channel: q.Channel, Reason: lastlook.Reason(q.Reason), Before: lastlook.ID(q.Before()), Limit: q.Limit + 1}
	for _, text := range q.State {
		var st lastlook.State
		if err := st.UnmarshalText([]byte(text)); err != nil {
			return nil, "", err
		}
		query.States = append(query.States, st)
	}
	var recs []lastlook.Record
	for _, part := range s.ownParts(who, query) {
		list, err := s.outbox.List(ctx, part)
		if err != nil {
			return nil, "", err
		}
		recs = append(recs, list...)
	}
	slices.SortFunc(recs, func(a, b lastlook.Record) int { return cmp.Compare(b.ID, a.ID) })
	recs = slices.CompactFunc(recs, func(a, b lastlook.Record) bool { return a.ID == b.ID })
	out = []httpapi.Notification{}
	for i := range recs {
		if i == q.Limit {
			return out, strconv.FormatInt(out[i-1].ID, 10), nil
		}
		out = append(out, notificationOf(&recs[i]))
	}
	return out, "", nil
}

// ownParts returns queries that together select what of a query is a caller's
// own: what its recipient is told, and what is of its topics.
func (s *Server) ownParts(who httpapi.Who, q lastlook.Query) (out []lastlook.Query) {
	if who.Operator() {
		return []lastlook.Query{q}
	}
	if mine := who.Recipient(); mine != "" && (q.Recipient == "" || q.Recipient == mine) {
		part := q
		part.Recipient = mine
		out = append(out, part)
	}
	if who.Owner() == "" {
		return out
	}
	for _, t := range s.channels.Load().topics {
		if t.Owner == who.Owner() && (q.Topic == "" || q.Topic == t.Name) {
			part := q
			part.Topic = t.Name
			out = append(out, part)
		}
	}
	return out
}

func notificationOf(r *lastlook.Record) httpapi.Notification {
	n := httpapi.Notification{
		ID: int64(r.ID), Topic: r.Key.Topic, Subject: r.Key.Subject, Recipient: r.Key.Recipient, Channel: r.Key.Channel, State: r.State.String(),
		Reason: string(r.Reason), Priority: "normal", Detection: r.Detection, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, Due: r.Due,
		Attempt: r.Attempt, Asserted: r.Asserted, Seen: r.Seen, LookedAt: r.LookedAt, EndedAt: r.EndedAt, RetryOf: int64(r.RetryOf), Trace: r.Trace,
	}
	switch r.Priority {
	case lastlook.PriorityLow:
		n.Priority = "low"
	case lastlook.PriorityHigh:
		n.Priority = "high"
	case lastlook.PriorityNormal:
	}
	return n
}

// NotificationStory implements [httpapi.Backend].
func (s *Server) NotificationStory(ctx context.Context, who httpapi.Who, id int64) (httpapi.Story, error) {
	rec, err := s.ownRecord(ctx, who, id)
	if err != nil {
		return httpapi.Story{}, err
	}
	out := httpapi.Story{Notification: notificationOf(&rec), Steps: []httpapi.StoryStep{}}
	for i := range rec.Story {
		st := &rec.Story[i]
		out.Steps = append(out.Steps, httpapi.StoryStep{At: st.At, Event: string(st.Event), State: st.State.String(), Attempt: st.Attempt,
			Reason: string(st.Reason), LookedAt: st.LookedAt, Value: st.Value, Error: st.Error, Answer: st.Answer, By: st.By, Skipped: st.Skipped})
	}
	if k := rec.KeyRow; k != nil {
		out.Baseline, out.BaselineAt, out.Maybe = k.Baseline, k.BaselineAt, k.Maybe
	}
	return out, nil
}

// CancelNotification implements [httpapi.Backend].
func (s *Server) CancelNotification(ctx context.Context, who httpapi.Who, id int64) (httpapi.Notification, error) {
	if _, err := s.ownRecord(ctx, who, id); err != nil {
		return httpapi.Notification{}, err
	}
	if err := s.outbox.Cancel(ctx, lastlook.ID(id), who.By()); err != nil {
		return httpapi.Notification{}, err
	}
	rec, err := s.outbox.Get(ctx, lastlook.ID(id))
	if err == nil {
		s.events.add(event{recipient: rec.Key.Recipient, topic: rec.Key.Topic, notification: httpapi.NotificationEvent{
			At: rec.EndedAt, ID: id, Topic: rec.Key.Topic, Subject: rec.Key.Subject, Recipient: rec.Key.Recipient, Channel: rec.Key.Channel,
			Event: string(lastlook.EventWithdrawn), State: rec.State.String(), Reason: string(rec.Reason), Attempt: rec.Attempt,
		}})
	}
	return notificationOf(&rec), err
}

// RetryNotification implements [httpapi.Backend].
func (s *Server) RetryNotification(ctx context.Context, who httpapi.Who, id int64, mayRepeat bool) (httpapi.Enqueued, error) {
	rec, err := s.ownRecord(ctx, who, id)
	if err != nil {
		return httpapi.Enqueued{}, err
	}
	r, err := s.outbox.Retry(ctx, rec.ID, lastlook.RetryOptions{MayRepeat: mayRepeat})
	if err != nil {
		return httpapi.Enqueued{}, err
	}
	if r.Status == lastlook.Inserted {
		it := lastlook.Item{Key: rec.Key}
		s.events.add(insertedEvent(&it, r, s.opt.Clock()))
	}
	return enqueuedOf(r), nil
}
