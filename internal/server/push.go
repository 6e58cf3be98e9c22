package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/push"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/door"
	"github.com/lastlook/lastlook/internal/lanes"
	"github.com/lastlook/lastlook/webpush"
)

// PushOptions say how devices are pushed to.
type PushOptions struct {
	// Contact is where a push service can reach the operator: mailto:… or
	// https://…; "" means the base URL if it is public, else the project's page.
	Contact string
	// Allow lists private addresses at which a push service may be, for whoever
	// runs one; by default only public ones are called, for it is devices that
	// name them.
	Allow []string
}

// projectPage is whom a push service can reach if the operator gives nobody.
const projectPage = "https://github.com/lastlook/lastlook"

// contact returns the VAPID subject.
func (o Options) contact() string {
	if o.Push.Contact != "" {
		return o.Push.Contact
	}
	if base := o.HTTP.BaseURL; base != "" && webpush.CheckSubject(base) == nil {
		return base
	}
	return projectPage
}

// pushClient makes the client that calls push services.
func pushClient(opt Options) (*http.Client, error) {
	cfg := door.Config{UserAgent: door.UserAgent(opt.Version, ""), RootCAs: opt.RootCAs, Via: opt.Via}
	if len(opt.Push.Allow) > 0 {
		allow, err := door.ParseAllow(opt.Push.Allow...)
		if err != nil {
			return nil, fmt.Errorf("%w: where push services may be: %w", config.ErrInvalid, err)
		}
		cfg.Trust, cfg.Allow = door.Operator, allow
	}
	return door.New(cfg)
}

// pushes is the channel to devices. A push service takes messages for a
// subscription only from the holder of the key that it was made with: so there
// is a channel for each key, until no device needs the old ones any more.
type pushes struct {
	devices *device.Service
	byKey   map[string]*push.Channel
	proofs  *proofs
	lanes   *pushLanes
	clock   func() time.Time
}

func (s *Server) newPush(vapid config.VAPID) (lastlook.Channel, error) {
	client, err := pushClient(s.opt)
	if err != nil {
		return nil, err
	}
	p := &pushes{devices: s.devices, byKey: map[string]*push.Channel{}, proofs: s.proofs, lanes: s.lanes, clock: s.opt.Clock}
	for _, keys := range vapid {
		p.byKey[keys.Public()], err = push.New(push.Config{
			Keys: keys, Subject: s.opt.contact(), Subscriptions: subscriptions{s.devices, keys.Public()}, Client: client, Clock: s.opt.Clock,
		})
		if err != nil {
			return nil, fmt.Errorf("%w: channel %q: %w", config.ErrInvalid, config.PushChannel, err)
		}
	}
	return p, nil
}

// Deliver implements [lastlook.Channel].
func (p *pushes) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	id, ok := device.IDOf(d.Key.Recipient)
	if !ok {
		return lastlook.Receipt{}, lastlook.Permanent(fmt.Errorf("push: %q is no device", d.Key.Recipient))
	}
	dev, err := p.devices.Get(ctx, id)
	switch {
	case errors.Is(err, device.ErrNotFound):
		return lastlook.Receipt{}, lastlook.Gone(errors.New("push: the device was removed"))
	case err != nil:
		return lastlook.Receipt{}, lastlook.RetryAfter(0, fmt.Errorf("push: not called: %w", err))
	case !dev.Push.Active():
		return lastlook.Receipt{}, lastlook.Gone(errors.New("push: the device has no subscription: it must allow push again"))
	}
	ch := p.byKey[dev.Push.Key]
	if ch == nil {
		return lastlook.Receipt{}, lanes.OfRecipient(lastlook.RetryAfter(0, errors.New("push: not called: the device subscribed with a key that is not here any more: it subscribes anew when its page is opened")))
	}
	receipt, err := ch.Deliver(ctx, d)
	if err == nil {
		p.proofs.took(dev, p.clock())
		return receipt, nil
	}
	switch class, _ := lastlook.Classify(err); class {
	case lastlook.ClassGone:
		err = p.gone(ctx, id, dev.Push.Subscription, err)
	case lastlook.ClassMisconfigured:
		if door.Refused(err) {
			// The device named that place: it is no setting of ours.
			return receipt, lanes.OfRecipient(lastlook.RetryAfter(0, err))
		}
		if why := p.proofs.blame(dev, p.lanes, p.clock()); why != "" {
			err = lanes.OfRecipient(lastlook.RetryAfter(0, fmt.Errorf("%w (%s)", err, why)))
		}
	case lastlook.ClassTransient, lastlook.ClassPermanent, lastlook.ClassUnknown:
	}
	return receipt, err
}

// gone notes that a subscription has ended, before the outbox mutes the device
// for it; unless the device has another one by now.
func (p *pushes) gone(ctx context.Context, id string, sub webpush.Subscription, cause error) error {
	switch err := p.devices.Gone(ctx, id, sub); {
	case errors.Is(err, device.ErrSuperseded):
		return lanes.OfRecipient(lastlook.RetryAfter(0, fmt.Errorf("%w (but the device has subscribed anew)", cause)))
	case err != nil:
		return lastlook.RetryAfter(0, fmt.Errorf("%w (which could not be noted: %w)", cause, err))
	}
	return cause
}

// subscriptions are those that were made with one key.
type subscriptions struct {
	devices *device.Service
	key     string
}

// Subscription implements [push.Subscriptions].
func (s subscriptions) Subscription(ctx context.Context, recipient string) (webpush.Subscription, error) {
	id, _ := device.IDOf(recipient)
	d, err := s.devices.Get(ctx, id)
	switch {
	case errors.Is(err, device.ErrNotFound) || err == nil && !d.Push.Active():
		return webpush.Subscription{}, push.ErrNoSubscription
	case err != nil:
		return webpush.Subscription{}, err
	case d.Push.Key != s.key:
		return webpush.Subscription{}, errors.New("the device has subscribed anew, with another key")
	}
	return d.Push.Subscription, nil
}
