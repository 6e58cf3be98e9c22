package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/watch"
)

// channelSet is the channels, and the keys to push with, as they stood in one
// version of their files.
type channelSet struct {
	config.Channels
	vapid  config.VAPID
	people config.People
	topics config.Topics
	stamp  string
}

func readChannels(dir config.Dir) (*channelSet, error) {
	stamp := stampOf(dir) // first, so that a change in between is seen later
	channels, err := dir.Channels()
	vapid, verr := dir.VAPID()
	people, perr := dir.People()
	topics, terr := dir.Topics()
	return &channelSet{channels, vapid, people, topics, stamp}, errors.Join(err, verr, perr, terr)
}

// Names returns the names of all channels that can be told through.
func (c *channelSet) Names() []string {
	names := c.Channels.Names()
	if len(c.vapid) > 0 {
		names = append(names, config.PushChannel)
		slices.Sort(names)
	}
	return names
}

// check reports the first of a watch's channels that cannot tell its recipient.
func (c *channelSet) check(w *watch.Watch) error {
	for _, name := range w.Channels {
		if name != config.PushChannel {
			if err := c.Check(name); err != nil {
				return err
			}
			continue
		}
		if _, ok := device.IDOf(w.Recipient); !ok {
			return fmt.Errorf("%w: the channel %q pushes to devices, and %q is none: open the page that lastlook serve shows, and watch from there", ErrInvalid, name, w.Recipient)
		}
		if len(c.vapid) == 0 {
			return fmt.Errorf("%w: there are no keys to push with yet: lastlook serve makes them", ErrInvalid)
		}
	}
	return nil
}

// stampOf tells one version of these files from another.
func stampOf(dir config.Dir) string {
	var stamp strings.Builder
	for _, path := range []string{dir.ChannelsFile(), dir.VAPIDFile(), dir.PeopleFile(), dir.ResumeFile(), dir.TopicsFile()} {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			stamp.WriteString("none;")
		case err != nil:
			stamp.WriteString(err.Error() + ";")
		default:
			stamp.WriteString(fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size(), ";"))
		}
	}
	return stamp.String()
}

// newDispatcher makes a dispatcher of the channels given.
func (s *Server) newDispatcher(channels *channelSet) (*lastlook.Dispatcher, error) {
	built, err := newChannels(s.opt, channels.Channels)
	if err != nil {
		return nil, err
	}
	if len(channels.vapid) > 0 {
		if built[config.PushChannel], err = s.newPush(channels.vapid); err != nil {
			return nil, err
		}
	}
	gate, err := s.newGate(channels.people)
	if err != nil {
		return nil, err
	}
	topics := []lastlook.Registration{s.service.Topic(), s.service.Unreadable(), s.testTopic(), s.channelTestTopic()}
	for _, t := range channels.topics.Live() {
		made, err := s.newTopic(t)
		if err != nil {
			return nil, err
		}
		topics = append(topics, made)
	}
	d, err := lastlook.NewDispatcher(s.outbox, lastlook.Config{
		Topics:   topics,
		Channels: built,
		Gate:     gate,
		Observer: s,
		Logger:   s.log,
		Clock:    s.opt.Clock,
		Rand:     s.opt.Rand,
	})
	if err != nil {
		return nil, fmt.Errorf("make the dispatcher: %w", err)
	}
	return d, nil
}

// nobodyDispatches finds out early, before anything is looked at, whether
// another process dispatches, if only one may. Run and Tick take the lock for good.
func (s *Server) nobodyDispatches(ctx context.Context) error {
	locker, ok := s.store.(lastlook.DispatchLocker)
	if !ok {
		return nil
	}
	return s.unlessProbed(ctx, func() error {
		release, err := locker.LockDispatch(ctx)
		if err != nil {
			return err
		}
		return release()
	})
}

// Dispatching says whether a process, this one or another, dispatches in the
// data directory now. Of a database that several may use it says yes: they come and
// go on other machines.
func (s *Server) Dispatching(ctx context.Context) (bool, error) {
	locker, ok := s.store.(lastlook.DispatchLocker)
	if !ok {
		return true, nil
	}
	release, err := locker.LockDispatch(ctx)
	if errors.Is(err, lastlook.ErrDispatcherRunning) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, release()
}

// probes is how often, and probePause how long apart, the lock is tried before
// it counts as taken: [Server.Dispatching] holds it for a moment.
const (
	probes     = 4
	probePause = 20 * time.Millisecond
)

// unlessProbed calls f, which takes the dispatch lock, and again if somebody
// else had it.
func (s *Server) unlessProbed(ctx context.Context, f func() error) error {
	for n := 1; ; n++ {
		err := f()
		if n == probes || !errors.Is(err, lastlook.ErrDispatcherRunning) || ctx.Err() != nil {
			return err
		}
		pause(ctx, probePause)
	}
}

// dispatchLoop runs the dispatcher, and a new one whenever the channels have
// changed, until ctx ends.
func (s *Server) dispatchLoop(ctx context.Context, d *lastlook.Dispatcher) error {
	for {
		next, err := s.dispatchUntilChanged(ctx, d)
		if err != nil || next == nil {
			return err
		}
		d = next
	}
}

// dispatchUntilChanged runs the dispatcher until ctx ends, or until the
// channels have changed; then it returns the dispatcher to go on with.
func (s *Server) dispatchUntilChanged(ctx context.Context, d *lastlook.Dispatcher) (next *lastlook.Dispatcher, err error) {
	running, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	changed := make(chan *lastlook.Dispatcher, 1)
	watching.Go(func() {
		if d := s.awaitChannels(running); d != nil {
			changed <- d
			stop()
		}
	})
	s.dispatcher.Store(d)
	defer s.dispatcher.Store(nil)
	if err := s.unlessProbed(running, func() error { return d.Run(running) }); err != nil || ctx.Err() != nil {
		return nil, err
	}
	select {
	case next := <-changed:
		return next, nil
	default:
		return nil, errors.New("the dispatcher stopped by itself")
	}
}

// awaitChannels returns a dispatcher of the changed channels once their file
// has changed; nil when ctx ends. A file that cannot be used is reported, and
// what runs goes on with what it has.
func (s *Server) awaitChannels(ctx context.Context) *lastlook.Dispatcher {
	ticker := time.NewTicker(sweepPause)
	defer ticker.Stop()
	known := s.channels.Load().stamp
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-s.reread:
		}
		if stampOf(s.opt.Dir) == known {
			continue
		}
		set, err := readChannels(s.opt.Dir)
		known = set.stamp
		if err == nil {
			var d *lastlook.Dispatcher
			if d, err = s.newDispatcher(set); err == nil {
				s.channels.Store(set)
				s.log.Info("the channels have changed", "channels", set.Names())
				return d
			}
		}
		s.log.Error("the channels have changed and cannot be used: going on with what was there before", "error", err)
	}
}
