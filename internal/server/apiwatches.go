package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/httpapi"
)

// Quotas: how much one device, and one owner of keys, may watch.
const (
	maxDeviceWatches = 100
	maxOwnerWatches  = 10_000
)

// defaultRecipient is who is told of what the operator watches.
const defaultRecipient = "me"

// WatchFor implements [httpapi.Backend].
func (s *Server) WatchFor(ctx context.Context, who httpapi.Who, n httpapi.NewWatch) (httpapi.Added, error) {
	wanted := NewWatch{
		Name: strings.TrimSpace(n.Name), Recipient: who.Recipient(), Zone: n.Zone, Below: strings.TrimSpace(n.Below), BackInStock: n.BackInStock,
		IgnoreStock: n.IgnoreStock, Channels: []string{config.PushChannel}, Foreign: !who.Operator(), More: wishesOf(n.Wishes),
	}
	isDevice := who.Device().ID != ""
	if !isDevice {
		wanted.Source, wanted.Every = n.Source, time.Duration(n.Every)*time.Second
		if wanted.Channels = n.Channels; len(n.Channels) == 0 {
			wanted.Channels = []string{config.LogChannel}
		}
		var err error
		if wanted.Options, err = optionsOf(n.Options); err != nil {
			return httpapi.Added{}, err
		}
	}
	if who.Operator() {
		if wanted.Recipient = n.Recipient; n.Recipient == "" {
			wanted.Recipient = defaultRecipient
		}
	} else {
		done, err := s.withinQuota(ctx, who)
		if err != nil {
			return httpapi.Added{}, err
		}
		defer done()
	}
	var err error
	if wanted.URL, err = parseURL(n.URL); err != nil {
		return httpapi.Added{}, err
	}
	wanted.NoLook = !who.Operator() && !s.mayLook(ctx, wanted.URL)
	added, err := s.AddWatch(ctx, wanted)
	if err != nil && added.Entry.Watch.ID == "" {
		return httpapi.Added{}, err
	}
	out := httpapi.Added{Watch: watchView(&added.Entry), Warnings: append([]string{}, added.Warnings...), Holding: append([]string{}, added.Holding...)}
	if added.Look == nil {
		out.Warnings = append(out.Warnings, "the page was not looked at yet: "+errAskedMuch.Error())
	}
	if added.Look != nil && added.Look.Observation == nil {
		out.Problem = added.Look.Error
		out.Warnings = append(out.Warnings, "the page could not be read: the watch stays, and will look again")
	}
	return out, err
}

// withinQuota reports, wrapping [httpapi.ErrTooMany], that a caller watches as
// much as it may; done must be called when the watch is added, or not.
func (s *Server) withinQuota(ctx context.Context, who httpapi.Who) (done func(), err error) {
	recipient, limit := who.Recipient(), maxOwnerWatches
	if who.Device().ID != "" {
		limit = maxDeviceWatches
	}
	others := s.adding.begin(recipient) // before those that are there are counted
	done = func() { s.adding.end(recipient) }
	own, err := s.ownWatches(ctx, recipient)
	if n := len(own) + others; err == nil && n >= limit {
		err = fmt.Errorf("%w: %d watches: remove one that you do not need any more", httpapi.ErrTooMany, n)
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

func wishesOf(w httpapi.Wishes) Wishes {
	return Wishes{
		Drop: w.Drop, Rise: w.Rise, Since: w.Since, LowestInDays: w.LowestInDays, Equal: w.OrEqual, UnitBelow: w.UnitBelow,
		EffectiveBelow: w.EffectiveBelow, Points: slices.Clone(w.Points), AnyChange: w.AnyChange, When: w.When, Again: w.Again, Margin: w.Margin,
		Cooldown: time.Duration(w.Cooldown) * time.Second,
	}
}
