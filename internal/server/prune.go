package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/config"
)

// Retention says how long what is over is kept. Zero keeps it for ever.
type Retention struct {
	// Told is for notifications that were sent or failed, Withheld for those that
	// were dropped.
	Told, Withheld time.Duration
	// Keys is for what is remembered of a key that nothing was noticed of since: its
	// baseline and when it was told. It must lie beyond every window and cooldown,
	// or something could be told a second time.
	Keys time.Duration
	// Looks is for every look; of older days the lowest price and the last look
	// are kept.
	Looks time.Duration
}

const day = 24 * time.Hour

// minKeys is the least for which keys must be kept: a trigger looks back two years.
const minKeys = 730 * day

// DefaultRetention is what is kept if nothing is said.
func DefaultRetention() Retention {
	return Retention{Told: 90 * day, Withheld: 30 * day, Keys: minKeys, Looks: 30 * day}
}

// Check reports what cannot be.
func (r Retention) Check() error {
	for _, d := range []time.Duration{r.Told, r.Withheld, r.Looks} {
		if d != 0 && d < time.Hour {
			return fmt.Errorf("%w: what is over is kept for an hour at least, or, with 0, for ever: %s is too short", config.ErrInvalid, d)
		}
	}
	if r.Keys != 0 && r.Keys < minKeys {
		return fmt.Errorf("%w: what was told is remembered for %s at least, or, with 0, for ever: sooner, it could be told a second time", config.ErrInvalid, minKeys)
	}
	return nil
}

// Pruned counts what was deleted.
type Pruned struct {
	Told     int `json:"told"`
	Withheld int `json:"withheld"`
	Keys     int `json:"keys"`
	Looks    int `json:"looks"`
	// more says that a limit was reached.
	more bool
}

func (p Pruned) add(q Pruned) Pruned {
	return Pruned{p.Told + q.Told, p.Withheld + q.Withheld, p.Keys + q.Keys, p.Looks + q.Looks, q.more}
}

// withheld are the reasons for which notifications are dropped, told "" (sent) and
// those for which they fail.
func pruneReasons() (told, withheld []lastlook.Reason) {
	told = []lastlook.Reason{""}
	for _, info := range lastlook.Reasons() {
		if info.State == lastlook.StateDropped {
			withheld = append(withheld, info.Reason)
		} else {
			told = append(told, info.Reason)
		}
	}
	return told, withheld
}

const (
	// pruneEvery is how often a server prunes, pruneRows how much of each kind it
	// deletes then, in the stores' small transactions, and pruneListings of how
	// many listings it thins the looks.
	pruneEvery    = time.Minute
	pruneRows     = 2000
	pruneListings = 50
)

// pruneOnce deletes some of what is older than it is to be kept. No claim waits
// for it: what is ended is deleted in small transactions, and nothing else is.
func (s *Server) pruneOnce(ctx context.Context) (out Pruned, err error) {
	now, r := s.opt.Clock(), s.opt.Retention
	told, withheld := pruneReasons()
	for _, kind := range []struct {
		keep    time.Duration
		reasons []lastlook.Reason
		n       *int
	}{{r.Told, told, &out.Told}, {r.Withheld, withheld, &out.Withheld}} {
		if kind.keep == 0 {
			continue
		}
		got, err := s.store.Prune(ctx, lastlook.PruneRequest{EndedBefore: now.Add(-kind.keep), Reasons: kind.reasons, Limit: pruneRows})
		*kind.n = got.Notifications
		out.more = out.more || got.Notifications == pruneRows
		if err != nil {
			return out, err
		}
	}
	if r.Keys != 0 {
		// Of notifications that ended in the year 1 there are none: keys alone.
		got, err := s.store.Prune(ctx, lastlook.PruneRequest{EndedBefore: time.Unix(0, 0), KeysIdleBefore: now.Add(-r.Keys), Limit: pruneRows})
		out.Keys = got.Keys
		out.more = out.more || got.Keys == pruneRows
		if err != nil {
			return out, err
		}
	}
	if r.Looks != 0 {
		got, err := s.watches.Thin(ctx, now.Add(-r.Looks), pruneListings)
		out.Looks = got.Observations
		out.more = out.more || got.Listings == pruneListings
		if err != nil {
			return out, err
		}
	}
	if f, ok := s.watches.(interface {
		Forget(ctx context.Context, now time.Time, limit int) (int, error)
	}); ok {
		if _, err := f.Forget(ctx, now, pruneRows); err != nil {
			return out, err
		}
	}
	return out, nil
}

// Prune deletes all that is older than it is to be kept.
func (s *Server) Prune(ctx context.Context) (out Pruned, err error) {
	if err := s.opt.Retention.Check(); err != nil {
		return out, err
	}
	for {
		n, err := s.pruneOnce(ctx)
		out = out.add(n)
		if err != nil || !n.more {
			return out, errors.Join(err, ctx.Err())
		}
	}
}

// pruneLoop prunes a little now and then until ctx ends.
func (s *Server) pruneLoop(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := s.pruneOnce(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("cannot delete what is old; trying again later", "error", err)
		}
		if n.Told+n.Withheld+n.Keys+n.Looks > 0 {
			s.log.Debug("deleted what is old", "told", n.Told, "withheld", n.Withheld, "keys", n.Keys, "looks", n.Looks)
		}
		pause(ctx, pruneEvery)
	}
}
