package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/httpapi"
)

// testTopicName is the topic of test notifications; its subjects are devices.
const testTopicName = "device_test"

// testExpiry is how long a test notification may take: later than that, nobody
// waits for it.
const testExpiry = 10 * time.Minute

// testValue is what a test notification is about: the device, as it is now.
type testValue struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

// testTopic is a topic like any other, so that a test goes the way that all
// notifications go: through the outbox, after a last look, at the device.
func (s *Server) testTopic() lastlook.Topic[testValue] {
	return lastlook.Topic[testValue]{
		Name: testTopicName,
		LookOne: func(ctx context.Context, id string) (testValue, error) {
			d, err := s.devices.Get(ctx, id)
			switch {
			case errors.Is(err, device.ErrNotFound):
				return testValue{}, lastlook.Gone(errors.New("the device was removed"))
			case err != nil:
				return testValue{}, err
			case d.Push.Subscription.IsZero():
				return testValue{}, lastlook.Gone(errors.New("the device is not subscribed"))
			}
			return testValue{Name: d.Name, At: lastlook.Micro(s.opt.Clock())}, nil
		},
		Judge: func(lastlook.Case[testValue]) lastlook.Verdict { return lastlook.Send() },
		Word: func(c lastlook.Case[testValue]) lastlook.Message {
			return lastlook.Message{Title: "lastlook reaches " + c.Value.Name, Body: "This test went the way that all notifications go.", URL: s.opt.HTTP.home()}
		},
		Windows: lastlook.Always(),
		TTL:     testExpiry,
	}
}

// Test implements [httpapi.Backend].
func (s *Server) Test(ctx context.Context, d device.Device) (httpapi.Test, error) {
	if !d.Push.Active() {
		return httpapi.Test{}, fmt.Errorf("%w: this device is not subscribed to push: allow push first", httpapi.ErrInvalid)
	}
	recipient := device.Recipient(d.ID)
	it, err := s.testTopic().Item(lastlook.Target{Subject: d.ID, Recipient: recipient, Channel: config.PushChannel}, testValue{Name: d.Name, At: lastlook.Micro(s.opt.Clock())})
	if err != nil {
		return httpapi.Test{}, err
	}
	it.Lane = s.lanes.of(recipient, config.PushChannel)
	for range 2 {
		res, err := s.outbox.Enqueue(ctx, it)
		if err != nil {
			return httpapi.Test{}, err
		}
		if res[0].Status != lastlook.Muted {
			break
		}
		// It is subscribed, so the mute is of a subscription that was before.
		if err := s.unmutePush(ctx, recipient); err != nil {
			return httpapi.Test{}, err
		}
	}
	t, err := s.LastTest(ctx, d.ID)
	if err == nil && t == nil {
		err = errors.New("the test notification is not in the outbox")
	}
	if err != nil {
		return httpapi.Test{}, err
	}
	return *t, nil
}

// LastTest implements [httpapi.Backend].
func (s *Server) LastTest(ctx context.Context, id string) (*httpapi.Test, error) {
	recs, err := s.outbox.List(ctx, lastlook.Query{Topic: testTopicName, Subject: id, Limit: 1, Full: true})
	if err != nil || len(recs) == 0 {
		return nil, err
	}
	r := &recs[0]
	t := &httpapi.Test{ID: int64(r.ID), State: r.State.String(), Reason: string(r.Reason), At: r.CreatedAt}
	if !r.EndedAt.IsZero() {
		t.At = r.EndedAt
	}
	if r.State != lastlook.StateSent {
		for i := range r.Story {
			if text := r.Story[i].Error; text != "" {
				t.Error = text
			}
		}
	}
	return t, nil
}

// unmutePush lifts the mute of a device.
func (s *Server) unmutePush(ctx context.Context, recipient string) error {
	return s.outbox.Unmute(ctx, recipient, config.PushChannel)
}
