package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/httpapi"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
	"github.com/lastlook/lastlook/webpush"
)

var _ httpapi.Backend = (*Server)(nil)

// Devices returns all devices, oldest first.
func (s *Server) Devices(ctx context.Context) ([]device.Device, error) { return s.devices.List(ctx) }

// DeviceRecipient returns the recipient that a device is.
func DeviceRecipient(id string) string { return device.Recipient(id) }

// PushKey implements [httpapi.Backend].
func (s *Server) PushKey() string {
	if k := s.channels.Load().vapid.Current(); k != nil {
		return k.Public()
	}
	return ""
}

// Subscribe implements [httpapi.Backend].
func (s *Server) Subscribe(ctx context.Context, id string, sub httpapi.Subscription, key string) (device.Device, error) {
	parsed, err := s.subscription(sub, key)
	if err != nil {
		return device.Device{}, err
	}
	d, err := s.devices.Subscribe(ctx, id, parsed, key)
	return s.subscribed(d, err)
}

// Resubscribe implements [httpapi.Backend].
func (s *Server) Resubscribe(ctx context.Context, id, oldEndpoint string, sub httpapi.Subscription, key string) (device.Device, error) {
	parsed, err := s.subscription(sub, key)
	if err != nil {
		return device.Device{}, err
	}
	d, err := s.devices.Resubscribe(ctx, id, oldEndpoint, parsed, key)
	return s.subscribed(d, err)
}

// Unsubscribe implements [httpapi.Backend].
func (s *Server) Unsubscribe(ctx context.Context, id string) (device.Device, error) {
	d, err := s.devices.Unsubscribe(ctx, id)
	return s.subscribed(d, err)
}

func (s *Server) subscribed(d device.Device, err error) (device.Device, error) {
	if err == nil {
		s.lanes.note(d)
		if running := s.dispatcher.Load(); running != nil {
			running.Wake()
		}
	}
	return d, err
}

// subscription reads a subscription, and the key that it was made with: one of
// ours, or nothing could ever be sent to it.
func (s *Server) subscription(sub httpapi.Subscription, key string) (webpush.Subscription, error) {
	b, err := json.Marshal(sub)
	if err != nil {
		return webpush.Subscription{}, err
	}
	var parsed webpush.Subscription
	if err := json.Unmarshal(b, &parsed); err != nil {
		return parsed, fmt.Errorf("%w: %s", httpapi.ErrInvalid, strings.TrimPrefix(err.Error(), webpush.ErrInvalid.Error()+" "))
	}
	key = strings.TrimRight(key, "=")
	for _, k := range s.channels.Load().vapid {
		if k.Public() == key {
			return parsed, nil
		}
	}
	return parsed, fmt.Errorf("%w: the subscription was made with a key that is none of this server's: subscribe anew with the one that /api/v1/push gives", httpapi.ErrInvalid)
}

// RemoveDevice implements [httpapi.Backend]. The watches go first: whoever is
// interrupted can try again, which a device without a token could not.
func (s *Server) RemoveDevice(ctx context.Context, id string) error {
	own, err := s.ownWatches(ctx, device.Recipient(id))
	if err != nil {
		return err
	}
	for i := range own {
		if _, err := s.RemoveWatch(ctx, own[i].Watch.ID); err != nil && !errors.Is(err, ErrUnknownWatch) {
			return err
		}
	}
	if err := s.devices.Remove(ctx, id); err != nil {
		return err
	}
	_, err = s.outbox.DropSubject(ctx, testTopicName, id, lastlook.ReasonWatchRemoved)
	// Nobody will ever be told by that name again.
	return errors.Join(err, s.unmutePush(ctx, device.Recipient(id)))
}

// entriesOf returns what a caller watches; for the operator, all that is watched.
func (s *Server) entriesOf(ctx context.Context, who httpapi.Who) ([]Entry, error) {
	switch {
	case who.Operator():
		return s.watches.List(ctx)
	case who.Recipient() == "":
		return nil, nil
	}
	return s.ownWatches(ctx, who.Recipient())
}

// ownWatches returns what a recipient watches.
func (s *Server) ownWatches(ctx context.Context, recipient string) ([]Entry, error) {
	return s.watches.ListFor(ctx, recipient)
}

// ownWatch returns one of a caller's own; another's does not exist for it.
func (s *Server) ownWatch(ctx context.Context, who httpapi.Who, id string) (Entry, error) {
	e, err := s.watches.Get(ctx, id)
	if errors.Is(err, ErrUnknownWatch) || err == nil && !who.Has(e.Watch.Recipient) {
		return Entry{}, fmt.Errorf("%w: there is no such watch of yours", httpapi.ErrNotFound)
	}
	return e, err
}

// WatchesOf implements [httpapi.Backend].
func (s *Server) WatchesOf(ctx context.Context, who httpapi.Who) ([]httpapi.Watch, error) {
	own, err := s.entriesOf(ctx, who)
	if err != nil {
		return nil, err
	}
	out := make([]httpapi.Watch, len(own))
	for i := range own {
		out[i] = watchView(&own[i])
	}
	return out, nil
}

// SnoozeFor implements [httpapi.Backend].
func (s *Server) SnoozeFor(ctx context.Context, who httpapi.Who, id string, until time.Time) (httpapi.Watch, error) {
	if _, err := s.ownWatch(ctx, who, id); err != nil {
		return httpapi.Watch{}, err
	}
	e, err := s.watches.Update(ctx, s.opt.Clock(), id, func(w *watch.Watch) error {
		w.SnoozedUntil = until
		return nil
	})
	return watchView(&e), err
}

// RemoveFor implements [httpapi.Backend].
func (s *Server) RemoveFor(ctx context.Context, who httpapi.Who, id string) error {
	if _, err := s.ownWatch(ctx, who, id); err != nil {
		return err
	}
	_, err := s.RemoveWatch(ctx, id)
	return err
}

// watchView is a watch as its device sees it.
func watchView(e *Entry) httpapi.Watch {
	v := httpapi.Watch{ID: e.Watch.ID, Name: titleOf(e), URL: e.Listing.URL, Triggers: []string{}, CreatedAt: e.Watch.CreatedAt,
		SnoozedUntil: e.Watch.SnoozedUntil, Paused: e.Watch.Paused, Problem: e.Listing.LastError}
	for i := range e.Watch.Triggers {
		v.Triggers = append(v.Triggers, e.Watch.Triggers[i].String())
	}
	if o := e.Last; o != nil {
		v.Price, v.Availability, v.Seen, v.SeenAt = moneyView(o.Price), string(o.Availability), DescribeObservation(*o), o.At
	}
	return v
}

// moneyView is an amount as devices get it, in the form in which messages carry
// it; nil for none.
func moneyView(m price.Money) *httpapi.Money {
	if m.IsZero() {
		return nil
	}
	return &httpapi.Money{Amount: m.Amount().Trim(0).String(), Currency: m.Currency()}
}

// tidyDevices keeps devices in order: mutes of subscriptions that are no more
// are lifted, devices that nobody uses go, and so do watches of devices that are
// gone, and keys that no subscription needs any more.
func (s *Server) tidyDevices(ctx context.Context) error {
	now := s.opt.Clock()
	// The first time, all: a process before this one may have ended between a
	// mute and its healing, and nobody knows how long ago.
	since := now.Add(-2 * tidyEvery)
	if !s.healed.Load() {
		since = time.Time{}
	}
	err := s.devices.Heal(ctx, since)
	s.healed.Store(err == nil)
	errs := []error{err}
	idle, err := s.devices.Idle(ctx, tidyPage)
	errs = append(errs, err)
	for i := range idle {
		errs = append(errs, s.RemoveDevice(ctx, idle[i].ID))
	}
	errs = append(errs, s.tidyOrphans(ctx), s.forgetKeys(ctx))
	return errors.Join(errs...)
}

// unusedAfter is how long a device is kept that has never been pushed to and
// watches nothing: nothing is lost with it, and strangers can make many.
const unusedAfter = 24 * time.Hour

// tidyOrphans removes watches whose device is gone, and devices that were never
// used.
func (s *Server) tidyOrphans(ctx context.Context) error {
	all, err := s.watches.List(ctx)
	if err != nil {
		return err
	}
	// After the watches: a device that is not there now was there before any of
	// its watches was.
	devices, err := s.devices.List(ctx)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(devices))
	for i := range devices {
		known[devices[i].ID] = true
	}
	used := map[string]bool{}
	for i := range all {
		id, ok := device.IDOf(all[i].Watch.Recipient)
		used[id] = true
		if !ok || known[id] {
			continue
		}
		if _, err := s.RemoveWatch(ctx, all[i].Watch.ID); err != nil && !errors.Is(err, ErrUnknownWatch) {
			return err
		}
	}
	for i := range devices {
		if used[devices[i].ID] {
			continue
		}
		if err := s.removeUnused(ctx, devices[i]); err != nil {
			return err
		}
	}
	return nil
}

// removeUnused removes a device that watches nothing, if it was never pushed to
// and has not been seen for long.
func (s *Server) removeUnused(ctx context.Context, d device.Device) error {
	unused := func() bool {
		return d.Push == device.Push{} && s.opt.Clock().Sub(d.SeenAt) > unusedAfter
	}
	if !unused() {
		return nil
	}
	// It may have come back since it was listed.
	d, err := s.devices.Get(ctx, d.ID)
	switch {
	case errors.Is(err, device.ErrNotFound):
		return nil
	case err != nil || !unused():
		return err
	}
	return s.RemoveDevice(ctx, d.ID)
}

// forgetKeys drops old VAPID keys that no subscription needs any more.
func (s *Server) forgetKeys(ctx context.Context) error {
	if len(s.channels.Load().vapid) < 2 {
		return nil
	}
	inUse, err := s.devices.Keys(ctx)
	if err != nil {
		return err
	}
	_, err = s.opt.Dir.ForgetVAPID(ctx, inUse)
	return err
}
