package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/access/accesssqlite"
	"github.com/lastlook/lastlook/channel/log"
	"github.com/lastlook/lastlook/channel/ntfy"
	"github.com/lastlook/lastlook/channel/webhook"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/device/devicesqlite"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/door"
	"github.com/lastlook/lastlook/source/browser"
	"github.com/lastlook/lastlook/source/feed"
	"github.com/lastlook/lastlook/source/jsonapi"
	"github.com/lastlook/lastlook/source/page"
	"github.com/lastlook/lastlook/source/rakuten"
	"github.com/lastlook/lastlook/source/shopify"
	"github.com/lastlook/lastlook/source/yahoo"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/watchsqlite"
)

// pageSource is the source of listings that are web pages.
const pageSource = page.SourceName

// stores are the outbox, the watches, the devices and the keys in one database.
type stores struct {
	outbox  outboxStore
	watches watch.Store
	devices device.Store
	keys    access.Store
	// clock is the database's own; nil if it has none but the machine's.
	clock databaseClock
	// politeness makes a limit for hosts, which all who use the database and say
	// the same scope share.
	politeness func(scope string, perSecond float64, burst int) (watch.Politeness, error)
}

// databaseClock shows the time of a database that several machines use.
type databaseClock interface {
	Now() time.Time
	Run(ctx context.Context)
}

// openStores opens them where the options say.
func openStores(ctx context.Context, opt Options) (stores, error) {
	if err := opt.Database.Check(); err != nil {
		return stores{}, err
	}
	if opt.Database.Shared() {
		return openPostgres(ctx, opt.Database)
	}
	return openSQLite(ctx, opt.Dir.Database())
}

// openSQLite opens them in one SQLite file.
func openSQLite(ctx context.Context, path string) (stores, error) {
	if err := ownFile(path); err != nil {
		return stores{}, err
	}
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return stores{}, err
	}
	watches, err := watchsqlite.Open(ctx, store)
	if err != nil {
		return stores{}, errors.Join(err, store.Close())
	}
	devices, err := devicesqlite.Open(ctx, store)
	if err != nil {
		return stores{}, errors.Join(err, store.Close())
	}
	keys, err := accesssqlite.Open(ctx, store)
	if err != nil {
		return stores{}, errors.Join(err, store.Close())
	}
	return stores{outbox: store, watches: watches, devices: devices, keys: keys,
		politeness: func(_ string, perSecond float64, burst int) (watch.Politeness, error) {
			return watch.NewPoliteness(perSecond, burst) // one process looks
		}}, nil
}

// ownFile makes the database's file, if it is missing, for its owner alone:
// subscriptions are secrets, and stand in it as they are. SQLite's other files
// take after it.
func ownFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return f.Close()
}

// OpenStores opens the stores of a directory alone, as the demo needs them.
func OpenStores(ctx context.Context, dir string) (lastlook.Store, watch.Store, func() error, error) {
	d, err := config.Open(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	s, err := openSQLite(ctx, d.Database())
	if err != nil {
		return nil, nil, nil, err
	}
	return s.outbox, s.watches, s.outbox.Close, nil
}

// sourceSet are the sources that listings can be looked at with.
type sourceSet struct {
	by      map[string]watch.Source
	browser *browser.Source // nil if it is off
}

// newSources makes them. Close what it returns.
func newSources(opt Options) (*sourceSet, error) {
	public, err := newClient(opt, door.Public)
	if err != nil {
		return nil, err
	}
	private, err := newClient(opt, door.Operator)
	if err != nil {
		return nil, err
	}
	out := &sourceSet{by: map[string]watch.Source{browser.SourceName: off{errBrowserOff}}}
	for name, construct := range map[string]func() (watch.Source, error){
		pageSource: func() (watch.Source, error) {
			return page.New(page.Config{Client: public, Private: private, Clock: opt.Clock})
		},
		jsonapi.SourceName: func() (watch.Source, error) {
			return jsonapi.New(jsonapi.Config{Client: public, Private: private, Clock: opt.Clock})
		},
		shopify.SourceName: func() (watch.Source, error) {
			return shopify.New(shopify.Config{Client: public, Private: private, Clock: opt.Clock})
		},
		feed.SourceName: func() (watch.Source, error) {
			return feed.New(feed.Config{Client: public, Private: private, Clock: opt.Clock})
		},
	} {
		if out.by[name], err = construct(); err != nil {
			return nil, fmt.Errorf("source %q: %w", name, err)
		}
	}
	for _, name := range config.KeyedSources() {
		out.by[name] = &keyed{name: name, dir: opt.Dir, make: func(k config.SourceKey) (watch.Source, error) { return newKeyed(public, opt.Clock, k) }}
	}
	if opt.Browser.On { // last, for it has something to close
		if out.browser, err = newBrowser(opt); err != nil {
			return nil, fmt.Errorf("source %q: %w", browser.SourceName, err)
		}
		out.by[browser.SourceName] = out.browser
	}
	return out, nil
}

// newKeyed makes a source with its key.
func newKeyed(client *http.Client, clock func() time.Time, k config.SourceKey) (watch.Source, error) {
	switch k.Source {
	case rakuten.SourceName:
		return rakuten.New(rakuten.Config{Client: client, Clock: clock, ApplicationID: string(k.ID), AccessKey: string(k.Key), Site: k.Site})
	case yahoo.SourceName:
		return yahoo.New(yahoo.Config{Client: client, Clock: clock, AppID: string(k.ID)})
	}
	return nil, fmt.Errorf("the source %q takes no key", k.Source)
}

// ready reports why a source cannot look yet, if so.
func (s *sourceSet) ready(name string) error {
	if r, ok := s.by[name].(interface{ ready() error }); ok {
		return r.ready()
	}
	return nil
}

func (s *sourceSet) close() error {
	if s.browser == nil {
		return nil
	}
	return s.browser.Close()
}

// outcomeOf returns what a look came to, from its error.
func outcomeOf(err error) Outcome {
	if e, ok := errors.AsType[*jsonapi.Error](err); ok { // of every source but that of pages
		return Outcome(e.Outcome)
	}
	switch page.OutcomeOf(err) {
	case page.OK:
		return OutcomeOK
	case page.Blocked:
		return OutcomeBlocked
	case page.RateLimited:
		return OutcomeRateLimited
	case page.Gone:
		return OutcomeGone
	case page.NotProduct:
		return OutcomeNotProduct
	case page.NeedsBrowser:
		return OutcomeNeedsBrowser
	case page.Failed:
	}
	return OutcomeError
}

// newChannels makes the channels that are set up, and the log.
func newChannels(opt Options, channels config.Channels) (map[string]lastlook.Channel, error) {
	lines, err := log.New(log.Config{Writer: opt.Messages, JSON: opt.MessagesJSON, Clock: opt.Clock})
	if err != nil {
		return nil, fmt.Errorf("channel %q: %w", config.LogChannel, err)
	}
	client, err := newClient(opt, door.Operator)
	if err != nil {
		return nil, err
	}
	out := map[string]lastlook.Channel{config.LogChannel: lines}
	for _, c := range channels {
		if out[c.Name], err = newChannel(opt, client, c); err != nil {
			return nil, fmt.Errorf("%w: channel %q: %w", config.ErrInvalid, c.Name, err)
		}
	}
	return out, nil
}

func newChannel(opt Options, client *http.Client, c config.Channel) (lastlook.Channel, error) {
	switch c.Kind {
	case config.KindWebhook:
		return webhook.New(webhook.Config{URL: c.URL, Secret: string(c.Secret), Client: client, Clock: opt.Clock})
	case config.KindNtfy:
		server, topic, err := splitNtfy(c.URL)
		if err != nil {
			return nil, err
		}
		return ntfy.New(ntfy.Config{Server: server, Topic: topic, Token: string(c.Token), Client: client, Clock: opt.Clock})
	case config.KindService:
		return newService(opt, client, c.Address)
	case config.KindLog:
	}
	return nil, fmt.Errorf("there is no channel of the kind %q", c.Kind)
}

// splitNtfy takes the address of a topic apart: the server, and the topic as
// the last part of the path.
func splitNtfy(address string) (server, topic string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", errors.New("the address cannot be read") // its text would show it
	}
	path := strings.TrimRight(u.Path, "/")
	i := strings.LastIndex(path, "/")
	if i < 0 || path[i+1:] == "" || u.RawQuery != "" {
		return "", "", errors.New("write the server and the topic, such as https://ntfy.sh/your-secret-topic")
	}
	u.Path, u.RawPath = path[:i], ""
	return u.String(), path[i+1:], nil
}

// newClient makes a client. It follows no redirects: channels never do, and the
// source decides about each step itself.
func newClient(opt Options, trust door.Trust) (*http.Client, error) {
	cfg := opt.door(trust)
	if trust == door.Operator {
		allow, err := opt.allowed()
		if err != nil {
			return nil, err
		}
		cfg.Allow = allow
	}
	return door.New(cfg)
}

// door returns what every way out has in common.
func (o Options) door(trust door.Trust) door.Config {
	return door.Config{Trust: trust, UserAgent: door.UserAgent(o.Version, ""), RootCAs: o.RootCAs, Via: o.Via}
}

// allowed returns what operators' addresses may lead to besides public ones: by
// the options, and by the file in the data directory, if there is one.
func (o Options) allowed() (door.Allow, error) {
	entries := o.AllowPrivate
	if o.Dir.Path() != "" {
		more, err := o.Dir.AllowPrivate()
		if err != nil {
			return door.Allow{}, err
		}
		entries = slices.Concat(entries, more)
	}
	allow, err := door.ParseAllow(entries...)
	if err != nil {
		return allow, fmt.Errorf("%w: --allow-private: %w", config.ErrInvalid, err)
	}
	return allow, nil
}

// CheckChannel reports, wrapping [config.ErrInvalid], what the channel's own
// kind finds wrong with how it is set up. It calls nobody.
func CheckChannel(opt Options, c config.Channel) error {
	_, err := newChannels(opt.withDefaults(), config.Channels{c})
	return err
}

// CheckSourceKey reports what is wrong with a key that is to be set.
func CheckSourceKey(opt Options, k config.SourceKey) error {
	opt = opt.withDefaults()
	client, err := newClient(opt, door.Public)
	if err != nil {
		return err
	}
	if _, err := newKeyed(client, opt.Clock, k); err != nil {
		return fmt.Errorf("%w: source %q: %w", config.ErrInvalid, k.Source, err)
	}
	return nil
}
