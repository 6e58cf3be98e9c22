// Package server puts the parts together: the store, the sources, the
// channels, detection and dispatch. It alone names concrete ones (parts.go);
// the command line, and later the HTTP API and the pages, stand on it.
//
//	s, err := server.Open(ctx, server.Options{Dir: dir, Logger: log})
//	defer s.Close()
//	err = s.Serve(ctx)
//
// # Lanes
//
// Each channel that an operator sets up has exactly one destination, so the
// default lane, the channel itself, separates destinations already. Push
// reaches many hosts: its lane is the device's push service, filled in at
// detection.
//
// # Concurrency
//
// A Server is safe for concurrent use. Any number of processes may use one
// data directory; one of them at a time may dispatch (Serve or Tick). On a
// PostgreSQL database any number dispatch, on any number of machines, each with a
// data directory of the same channels and keys.
package server

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/watch"
)

// What the front ends show and match, so that they need not know the packages
// it comes from.
type (
	// Entry is a watch with its listing and what was last seen.
	Entry = watch.Entry
	// Observation is what a look saw.
	Observation = watch.Observation
)

// WatchTopic is the topic of what watches tell; its subjects are their ids.
const WatchTopic = watch.TopicName

// builtinTopics returns the topics that every server looks at and judges.
func builtinTopics() []string {
	return append(slices.Clone(watchTopics), testTopicName, channelTestName)
}

// watchTopics are all topics whose subjects are watches.
var watchTopics = []string{watch.TopicName, watch.UnreadableTopic}

// How often a host is asked: a shop with many watched pages is not to notice.
const (
	looksPerSecond = 2
	looksAtOnce    = 20
)

// Errors that a front end can act on.
var (
	// ErrInvalid says that a watch, a URL or an amount cannot be as given.
	ErrInvalid = watch.ErrInvalid
	// ErrUnknownWatch says that there is no such watch.
	ErrUnknownWatch = watch.ErrNotFound
)

// Options say what a server is made of. Dir is required.
type Options struct {
	Dir config.Dir
	// Database says where all but the configuration is kept; the zero value is a
	// file in Dir.
	Database Database
	// Logger gets what an operator must know; the default discards it.
	Logger *slog.Logger
	// Messages gets what is told through the log channel, a line each, as
	// JSON if MessagesJSON; the default discards it.
	Messages     io.Writer
	MessagesJSON bool
	// Version goes into the user agent.
	Version string
	// AllowPrivate lists what the operator's addresses may lead to besides
	// public ones: addresses, prefixes, names. The data directory may list more.
	AllowPrivate []string
	// HTTP says where the page and the API are served, Push how devices are
	// pushed to.
	HTTP HTTPOptions
	Push PushOptions
	// Browser says whether pages can be looked at with a browser.
	Browser BrowserOptions
	// Retention says how long what is over is kept; the zero value keeps it for
	// ever.
	Retention Retention
	// RootCAs and Via put a test's servers in the place of public ones; see
	// internal/door.
	RootCAs *x509.CertPool
	Via     map[string]string
	// Clock is the source of now (default [time.Now], or the clock of a database
	// that several machines use), Rand gives numbers in [0, 1) for jitter (default
	// [rand.Float64]).
	Clock func() time.Time
	Rand  func() float64
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Messages == nil {
		o.Messages = io.Discard
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o
}

// Server is a data directory in use. Close it when it is not needed any more.
type Server struct {
	opt      Options
	log      *slog.Logger
	store    outboxStore
	clock    databaseClock
	watches  watch.Store
	service  *watch.Service
	sources  *sourceSet
	outbox   *lastlook.Outbox
	devices  *device.Service
	keys     *access.Service
	kept     access.Store
	lanes    *pushLanes
	looks    *nowLooks
	proofs   *proofs
	adding   *quota
	asked    watch.Politeness
	polite   watch.Politeness
	events   *events
	parked   lanesParked
	backlog  backlog
	group    *grouper
	channels atomic.Pointer[channelSet]
	// healed says that mutes from before the start have been looked after.
	healed atomic.Bool

	// wake has the sweep loop look at once, reread the files of channels and keys
	// be looked at; dispatcher is the one that runs now, for waking it.
	wake       chan struct{}
	reread     chan struct{}
	dispatcher atomic.Pointer[lastlook.Dispatcher]
}

// outboxStore is what the server needs of a store.
type outboxStore interface {
	lastlook.Store
	Close() error
}

// Open opens the database, and makes its tables if they are missing.
func Open(ctx context.Context, opt Options) (*Server, error) {
	channels, err := readChannels(opt.Dir)
	if err != nil {
		return nil, err
	}
	st, err := openStores(ctx, opt)
	if err != nil {
		return nil, err
	}
	if opt.Clock == nil && st.clock != nil {
		opt.Clock = st.clock.Now
	}
	opt = opt.withDefaults()
	sources, err := newSources(opt)
	if err != nil {
		return nil, errors.Join(err, st.outbox.Close())
	}
	s, err := assemble(opt, st, sources)
	if err != nil {
		return nil, errors.Join(err, sources.close(), st.outbox.Close())
	}
	s.channels.Store(channels)
	return s, nil
}

// assemble makes a server of its parts.
func assemble(opt Options, st stores, sources *sourceSet) (*Server, error) {
	polite, err := st.politeness("sweep", looksPerSecond, looksAtOnce)
	if err != nil {
		return nil, err
	}
	asked, err := st.politeness("asked", looksPerSecond, looksAtOnce)
	if err != nil {
		return nil, err
	}
	events := newEvents()
	s := &Server{
		opt: opt, log: opt.Logger, store: st.outbox, clock: st.clock, watches: announcing{st.watches, events}, events: events, polite: polite, kept: st.keys, lanes: newPushLanes(st.devices), looks: newNowLooks(), proofs: newProofs(), adding: newQuota(), asked: asked, sources: sources, wake: make(chan struct{}, 1), reread: make(chan struct{}, 1),
		outbox: lastlook.NewOutbox(st.outbox, lastlook.WithClock(opt.Clock)),
	}
	s.group = s.newGrouper(st.keys)
	s.service, err = watch.New(watch.Config{Store: s.watches, Sources: sources.by, Logger: opt.Logger, Clock: opt.Clock, Rand: opt.Rand, Lane: s.lanes.of, Politeness: polite})
	if err == nil {
		s.devices, err = device.New(device.Config{Store: st.devices, Clock: opt.Clock, Unmute: s.unmutePush})
	}
	if err == nil {
		s.keys, err = access.New(access.Config{Store: st.keys, Clock: opt.Clock})
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the browser, if there is one, and closes the database. Serve must
// have returned.
func (s *Server) Close() error { return errors.Join(s.sources.close(), s.store.Close()) }

// Outbox returns the outbox.
func (s *Server) Outbox() *lastlook.Outbox { return s.outbox }

// Topics returns the topics that this server looks at and judges.
func (s *Server) Topics() []string {
	names := builtinTopics()
	for _, t := range s.channels.Load().topics.Live() {
		names = append(names, t.Name)
	}
	return names
}

// Channels returns the names of the channels that can be told through.
func (s *Server) Channels() []string { return s.channels.Load().Names() }
