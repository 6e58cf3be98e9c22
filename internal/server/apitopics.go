package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/door"
	"github.com/lastlook/lastlook/internal/httpapi"
	"github.com/lastlook/lastlook/internal/signing"
	"github.com/lastlook/lastlook/source/jsonapi"
	"github.com/lastlook/lastlook/topic/callback"
	"github.com/lastlook/lastlook/topic/declared"
	"github.com/lastlook/lastlook/watch"
)

// newTopic makes a topic as it is set up.
func (s *Server) newTopic(t config.Topic) (lastlook.Registration, error) {
	windows, err := lastlook.ParseWindows(cmp.Or(t.Window, "always"))
	if err != nil {
		return nil, err
	}
	ttl := time.Duration(t.TTLSeconds) * time.Second
	switch t.Kind {
	case config.TopicCallback:
		trust := door.Public
		if t.Private {
			trust = door.Operator
		}
		client, err := newClient(s.opt, trust)
		if err != nil {
			return nil, err
		}
		return callback.New(callback.Config{Name: t.Name, URL: t.URL, Secret: t.Secret, Client: client, Windows: windows, TTL: ttl, Batch: t.Batch, Clock: s.opt.Clock})
	case config.TopicDeclared:
		c := declared.Config{Name: t.Name, URL: t.URL, Kind: cmp.Or(t.Source, jsonapi.SourceName), Options: t.Options, Private: t.Private,
			When: t.When, Title: t.Title, Body: t.Body, Link: t.Link, Windows: windows, TTL: ttl}
		if _, ok := s.sources.by[c.Kind]; ok {
			c.Source = declaredSource{s}
		}
		return declared.New(c)
	}
	return nil, fmt.Errorf("%w: topic %q is of the kind %q: known are callback and declared", config.ErrInvalid, t.Name, t.Kind)
}

// declaredSource looks for declared topics, as politely as for watches.
type declaredSource struct{ s *Server }

// Look implements [watch.Source].
func (d declaredSource) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	if wait, err := d.s.polite.Admit(ctx, hostOf(l.URL), d.s.opt.Clock()); err != nil {
		return watch.Observation{}, err
	} else if wait > 0 {
		return watch.Observation{}, lastlook.RetryAfter(wait, errors.New("its site is looked at as often as may be just now"))
	}
	return d.s.service.Look(ctx, l)
}

// TopicsOf implements [httpapi.Backend].
func (s *Server) TopicsOf(_ context.Context, who httpapi.Who) ([]httpapi.Topic, error) {
	topics, err := s.opt.Dir.Topics() // not those that are in use: what was just changed is seen
	out := []httpapi.Topic{}
	for _, t := range topics.Live() {
		if who.Operator() || who.Owner() != "" && t.Owner == who.Owner() {
			out = append(out, topicView(t))
		}
	}
	return out, err
}

// topicView is a topic as it is shown: without its secret, and without what may
// be secret in its address.
func topicView(t config.Topic) httpapi.Topic {
	v := httpapi.Topic{Name: t.Name, TopicSettings: httpapi.TopicSettings{
		Kind: string(t.Kind), Owner: t.Owner, Channels: append([]string{}, t.Channels...), Window: t.Window, TTLSeconds: t.TTLSeconds, URL: t.URL,
		Batch: t.Batch, Source: t.Source, When: t.When, Title: t.Title, Body: t.Body, Link: t.Link,
	}}
	if t.Kind == config.TopicCallback {
		v.URL = config.RedactURL(t.URL)
	}
	v.Options = optionsView(t.Options)
	return v
}

// PutTopic implements [httpapi.Backend].
func (s *Server) PutTopic(ctx context.Context, who httpapi.Who, name string, in httpapi.TopicSettings) (httpapi.Topic, error) {
	t := config.Topic{
		Name: name, Kind: config.TopicKind(in.Kind), Owner: in.Owner, Private: who.Operator(), Channels: in.Channels, Window: strings.TrimSpace(in.Window),
		TTLSeconds: in.TTLSeconds, URL: in.URL, Secret: in.Secret, Batch: in.Batch, Source: in.Source, When: in.When, Title: in.Title, Body: in.Body, Link: in.Link,
	}
	var err error
	if t.Options, err = optionsOf(in.Options); err != nil {
		return httpapi.Topic{}, httpapi.Invalid("options", "there is one that is unknown, or not of its type")
	}
	if err := s.checkTopic(who, &t); err != nil {
		return httpapi.Topic{}, err
	}
	made := ""
	err = s.opt.Dir.UpdateTopics(ctx, func(all config.Topics) (config.Topics, error) {
		old, there := all.Get(name)
		if there && old.Owner != t.Owner {
			if who.Operator() {
				return nil, fmt.Errorf("%w: it is another owner's: name that one", httpapi.ErrConflict)
			}
			return nil, errNotYours // as if it were not there: nobody learns of others' names by reading
		}
		if t.Kind == config.TopicCallback && t.Secret == "" {
			if t.Secret = old.Secret; old.Secret == "" {
				t.Secret = signing.NewSecret()
				made = t.Secret
			}
		}
		if _, err := s.newTopic(t); err != nil {
			return nil, topicError(err)
		}
		return all.Put(t)
	})
	switch {
	case errors.Is(err, config.ErrInvalid):
		return httpapi.Topic{}, httpapi.Invalid("", strings.TrimPrefix(err.Error(), config.ErrInvalid.Error()+": "))
	case err != nil:
		return httpapi.Topic{}, err
	}
	s.takeUpTopics()
	v := topicView(t)
	v.Secret = made
	return v, nil
}

var errNotYours = fmt.Errorf("%w: there is no such topic of yours, and its name is not free", httpapi.ErrNotFound)

// checkTopic reports what a caller may not ask for.
func (s *Server) checkTopic(who httpapi.Who, t *config.Topic) error {
	switch {
	case !who.Operator() && t.Owner != "" && t.Owner != who.Owner():
		return httpapi.Invalid("owner", "a key's topics are its owner's: leave it out")
	case !who.Operator():
		t.Owner = who.Owner()
	case t.Owner != "" && access.CheckOwner(t.Owner) != nil:
		return httpapi.Invalid("owner", "use up to 63 small letters, digits, dots, dashes, underscores and @")
	}
	if slices.Contains(builtinTopics(), t.Name) {
		return fmt.Errorf("%w: there is no such topic of yours, and its name is not free", httpapi.ErrNotFound)
	}
	names := s.channels.Load().Names()
	for _, c := range t.Channels {
		switch {
		case !slices.Contains(names, c):
			return httpapi.Invalid("channels", "there is one that is unknown: GET /api/v1/channels lists them")
		case c == config.PushChannel && !who.Operator():
			return httpapi.Invalid("channels", "push reaches people's devices: only the operator can let a topic tell through it")
		}
	}
	if _, err := lastlook.ParseWindows(cmp.Or(t.Window, "always")); err != nil || t.Window == "episodes" {
		return httpapi.Invalid("window", "use always, once, \"day ZONE\" such as \"day Europe/Berlin\", or \"every DURATION\" such as \"every 1h\"")
	}
	if t.Kind == config.TopicDeclared && (t.Secret != "" || t.Batch != 0) {
		return httpapi.Invalid("secret", "secret and batch are for callback topics: leave them out")
	}
	if t.Kind == config.TopicCallback && (t.Source != "" || t.When != "" || t.Title != "" || t.Body != "" || t.Link != "" || t.Options != watch.Options{}) {
		return httpapi.Invalid("kind", "source, options, when, title, body and link are for declared topics: leave them out")
	}
	return nil
}

// topicError says what a topic's own package finds wrong.
func topicError(err error) error {
	if !errors.Is(err, lastlook.ErrInvalid) {
		return err
	}
	return httpapi.Invalid("", strings.TrimPrefix(err.Error(), lastlook.ErrInvalid.Error()+": "))
}

// RemoveTopic implements [httpapi.Backend].
func (s *Server) RemoveTopic(ctx context.Context, who httpapi.Who, name string) error {
	err := s.opt.Dir.UpdateTopics(ctx, func(all config.Topics) (config.Topics, error) {
		if t, ok := all.Get(name); !ok || t.Removed || !who.Operator() && t.Owner != who.Owner() {
			return nil, fmt.Errorf("%w: there is no such topic of yours", httpapi.ErrNotFound)
		}
		return all.Remove(name)
	})
	if err == nil {
		s.takeUpTopics()
	}
	return err
}

// takeUpTopics reads the topics anew, so that what was just changed counts for the
// next request. The dispatcher takes them up by itself, within seconds: the stamp
// stays that of what it runs with.
func (s *Server) takeUpTopics() {
	topics, err := s.opt.Dir.Topics()
	if err != nil {
		s.log.Error("cannot read the topics", "error", err)
		return
	}
	for {
		old := s.channels.Load()
		set := *old
		set.topics = topics
		if s.channels.CompareAndSwap(old, &set) {
			return
		}
	}
}
