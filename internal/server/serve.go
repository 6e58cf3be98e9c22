package server

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// Limits of the sweep loop.
const (
	// sweepLimit bounds the listings of one sweep.
	sweepLimit = 500
	// sweepPause is how long the loop sleeps at most, so that a watch which
	// another process has added is soon looked at.
	sweepPause = 2 * time.Second
	// sweepRest is how long it sleeps at least.
	sweepRest = 50 * time.Millisecond
	// tidyEvery is how often the rows of subjects that are gone or paused are
	// looked for.
	tidyEvery = 5 * time.Minute
)

// TickResult counts what a tick did.
type TickResult struct {
	Sweep    watch.SweepResult   `json:"sweep"`
	Dispatch lastlook.TickResult `json:"dispatch"`
}

// Tick sweeps once and dispatches once.
func (s *Server) Tick(ctx context.Context) (TickResult, error) {
	var res TickResult
	if err := s.nobodyDispatches(ctx); err != nil {
		return res, err
	}
	d, err := s.newDispatcher(s.channels.Load())
	if err != nil {
		return res, err
	}
	var sweepErr error
	refreshErr := errors.Join(s.lanes.refresh(ctx, s.opt.Clock()), s.remember(ctx))
	res.Sweep, sweepErr = s.service.Sweep(ctx, sweepLimit)
	sweepErr = errors.Join(refreshErr, sweepErr, s.tidy(ctx))
	err = s.unlessProbed(ctx, func() (err error) {
		res.Dispatch, err = d.Tick(ctx)
		return err
	})
	return res, errors.Join(sweepErr, err)
}

// Serve sweeps and dispatches until ctx ends, and then stops cleanly. It takes
// up changes of the channels while it runs. It returns an error at once if
// another process dispatches in the same data directory
// ([lastlook.ErrDispatcherRunning]).
func (s *Server) Serve(ctx context.Context) error {
	err := s.serve(ctx)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // stopped before it had begun
	}
	return err
}

func (s *Server) serve(ctx context.Context) error {
	if _, err := s.checkHTTP(ctx); err != nil {
		return err
	}
	if err := s.nobodyDispatches(ctx); err != nil {
		return err
	}
	if err := s.ensureKeys(ctx); err != nil {
		return err
	}
	if err := s.ensureOperator(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.lanes.refresh(ctx, s.opt.Clock()), s.remember(ctx)); err != nil {
		return err
	}
	d, err := s.newDispatcher(s.channels.Load())
	if err != nil {
		return err
	}
	web, err := s.listen(ctx)
	if err != nil {
		return err
	}
	s.log.Info("serving", "version", s.opt.Version, "data", s.opt.Dir.Path(), "database", s.place(), "channels", s.Channels(), "process", os.Getpid())
	var sweeps sync.WaitGroup
	defer sweeps.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sweeps.Go(func() { s.sweepLoop(ctx) })
	sweeps.Go(func() { s.pruneLoop(ctx) })
	if s.clock != nil {
		sweeps.Go(func() { s.clock.Run(ctx) })
	}
	sweeps.Go(func() {
		<-ctx.Done()
		s.log.Info("stopping: what is being delivered is finished")
	})
	err = errors.Join(s.dispatchLoop(ctx, d), web.stop())
	if err == nil {
		s.log.Info("stopped")
	}
	return err
}

// place names the database for people.
func (s *Server) place() string { return cmp.Or(s.opt.Database.Place(), s.opt.Dir.Database()) }

// ensureKeys makes the keys to push with, at the first start of a server that
// devices can reach.
func (s *Server) ensureKeys(ctx context.Context) error {
	if s.opt.HTTP.Listen == "" || len(s.channels.Load().vapid) > 0 {
		return nil
	}
	if _, err := s.opt.Dir.EnsureVAPID(ctx); err != nil {
		return err
	}
	set, err := readChannels(s.opt.Dir)
	if err != nil {
		return err
	}
	s.channels.Store(set)
	return nil
}

// sweepLoop looks at listings as they become due, until ctx ends.
func (s *Server) sweepLoop(ctx context.Context) {
	var tidied time.Time
	for ctx.Err() == nil {
		if now := s.opt.Clock(); now.Sub(tidied) >= tidyEvery || now.Before(tidied) {
			tidied = now
			if err := s.tidy(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("cannot tidy; trying again later", "error", err)
			}
		}
		s.rest(ctx, s.sweepOnce(ctx))
	}
}

// rest waits for d, or until [Server.Wake] or the end of ctx.
func (s *Server) rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.wake:
	case <-ctx.Done():
	}
}

// Wake makes a running [Server.Serve] look at once for listings and rows that
// are due, and for changed channels and keys, which it otherwise does every two
// seconds. It never blocks.
func (s *Server) Wake() {
	for _, c := range []chan struct{}{s.wake, s.reread} {
		select {
		case c <- struct{}{}:
		default: // it has been woken, and has not looked since
		}
	}
	if d := s.dispatcher.Load(); d != nil {
		d.Wake()
	}
}

// sweepOnce sweeps and says how long to wait.
func (s *Server) sweepOnce(ctx context.Context) time.Duration {
	if err := s.lanes.refresh(ctx, s.opt.Clock()); err != nil && ctx.Err() == nil {
		s.log.Warn("cannot read which push service each device has", "error", err)
	}
	res, err := s.service.Sweep(ctx, sweepLimit)
	if err != nil && ctx.Err() == nil {
		s.log.Error("the sweep met trouble; trying again", "error", err)
		return sweepPause
	}
	if res.Enqueued > 0 {
		s.log.Debug("noticed", "looked", res.Looked, "failed", res.Failed, "enqueued", res.Enqueued)
		if d := s.dispatcher.Load(); d != nil {
			d.Wake()
		}
	} else if res.Looked+res.Failed > 0 {
		s.log.Debug("looked", "looked", res.Looked, "failed", res.Failed)
	}
	next, err := s.watches.NextDue(ctx, s.opt.Clock())
	if err != nil || next.IsZero() {
		return sweepPause
	}
	return min(max(next.Sub(s.opt.Clock()), sweepRest), sweepPause)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tidyPage is how many rows tidy reads at once.
const tidyPage = 500

// tidyOnce is how many idempotency keys are forgotten at once: more than come in
// between.
const tidyOnce = 100_000

// tidy drops the waiting rows of watches that are gone or paused. Whoever
// removes or pauses one does so at once; this heals what a crash in between
// has left.
func (s *Server) tidy(ctx context.Context) error {
	_, err := s.kept.Forget(ctx, s.opt.Clock().Add(-onceLife), tidyOnce)
	return errors.Join(s.tidyRows(ctx), s.tidyDevices(ctx), err)
}

func (s *Server) tidyRows(ctx context.Context) error {
	for _, topic := range watchTopics {
		if err := s.tidyTopic(ctx, topic); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) tidyTopic(ctx context.Context, topic string) error {
	q := lastlook.Query{Topic: topic, States: []lastlook.State{lastlook.StatePending, lastlook.StateRetry}, Limit: tidyPage}
	for {
		recs, err := s.outbox.List(ctx, q)
		if err != nil {
			return err
		}
		ids := make([]string, len(recs))
		for i := range recs {
			ids[i] = recs[i].Key.Subject
		}
		entries, err := s.watches.Current(ctx, ids)
		if err != nil {
			return err
		}
		for i, e := range entries {
			reason := lastlook.Reason("")
			switch {
			case e.Watch.ID == "":
				reason = lastlook.ReasonWatchRemoved
			case e.Watch.Paused:
				reason = lastlook.ReasonListingPaused
			default:
				continue
			}
			if _, err := s.outbox.DropSubject(ctx, topic, ids[i], reason); err != nil {
				return err
			}
		}
		if len(recs) < tidyPage {
			return nil
		}
		q.Before = recs[len(recs)-1].ID
	}
}
