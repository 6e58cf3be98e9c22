// Package pushservice is a push service for browsers under test: what
// browser makers run on the internet, on loopback and under the test's control.
//
// It has one endpoint for application servers (RFC 8030), which is strict about
// all that RFC 8030, 8188, 8291 and 8292 ask of a sender, and two sides for
// browsers: [Service.Autopush] speaks with Firefox, [Service.Google] with
// Chromium. Messages for a browser that is away are kept until their TTL has
// passed, and replaced by one of the same Topic.
package pushservice

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// The hosts under which browsers give out their endpoints.
const (
	MozillaHost = "updates.push.services.mozilla.com"
	GoogleHost  = "jmt17.google.com"
)

// Request is what an application server sent, and what it was answered.
type Request struct {
	Token  string
	Status int
	// Refused says why, if it was.
	Refused        string
	Topic, Urgency string
	TTL            time.Duration
	Size           int
}

// Message is a push message that was accepted.
type Message struct {
	ID, Token, Topic string
	TTL              time.Duration
	Accepted         time.Time
	Body             []byte
}

func (m *Message) expired(now time.Time) bool { return !now.Before(m.Accepted.Add(m.TTL)) }

// Subscription is what one page may send to.
type Subscription struct {
	Token, Endpoint string
	// Key is the application server's public key, uncompressed; empty if the
	// page did not bind the subscription to one.
	Key  []byte
	Gone bool

	agent   string
	channel string // the browser's name for it
	host    string
	sender  []byte // the key that the browser gave
}

// Service is safe for concurrent use.
type Service struct {
	endpoint *endpoint

	mu       sync.Mutex
	clock    func() time.Time
	agents   map[string]*agent
	subs     map[string]*Subscription
	order    []string // of the subscriptions' tokens
	requests []Request
	reports  []Report
	override http.Handler
	held     bool
	closers  []func() error
}

// agent is a browser, as long as the service remembers it.
type agent struct {
	link    link // nil while it is away
	stored  []*Message
	through bool // its messages are done once sent; else when it says so
}

// link is a connection to a browser.
type link interface {
	send(*Message, Subscription) error
	drop()
}

// Report is what a browser said of a message.
type Report struct {
	Token string
	// Code is autopush's: 100 means that the page's worker was given it, 101
	// that it cannot be decrypted, 102 that it was not delivered.
	Code int
}

// Start starts the service's endpoint. Close must be called.
func Start() (*Service, error) {
	s := &Service{clock: time.Now, agents: map[string]*agent{}, subs: map[string]*Subscription{}}
	var err error
	if s.endpoint, err = startEndpoint(s); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.endpoint.close)
	return s, nil
}

// Close stops everything that was started, and waits for it.
func (s *Service) Close() error {
	s.Drop()
	s.mu.Lock()
	closers := s.closers
	s.closers = nil
	s.mu.Unlock()
	var errs []error
	for _, c := range slices.Backward(closers) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// Override has h answer application servers in the endpoint's place, whose
// request is neither checked nor kept; nil ends that.
func (s *Service) Override(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.override = h
}

// Hold has messages wait although their browser is connected, until Release.
func (s *Service) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// Release sends what was held.
func (s *Service) Release() {
	s.mu.Lock()
	s.held = false
	var waiting []func()
	for _, a := range s.agents {
		if to := a.link; to != nil {
			for _, i := range s.waiting(a) {
				waiting = append(waiting, func() { s.pass(a, to, i.m, i.sub) })
			}
		}
	}
	s.mu.Unlock()
	for _, send := range waiting {
		send()
	}
}

// SetClock gives the service another clock: by it VAPID tokens and messages
// expire.
func (s *Service) SetClock(clock func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = clock
}

func (s *Service) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock()
}

// Drop ends the connections to browsers, as a failing network does.
func (s *Service) Drop() {
	s.mu.Lock()
	var links []link
	for _, a := range s.agents {
		if a.link != nil {
			links = append(links, a.link)
			a.link = nil
		}
	}
	s.mu.Unlock()
	for _, l := range links {
		l.drop()
	}
}

// Forget loses all subscriptions and all that is stored, as after a crash of
// the service. A Firefox that is connected finds out at once.
func (s *Service) Forget() {
	s.mu.Lock()
	for _, sub := range s.subs {
		sub.Gone = true
	}
	var links []link
	for id, a := range s.agents {
		a.stored = nil
		if a.through {
			continue // Google knows its devices still; only their tokens are gone
		}
		delete(s.agents, id)
		if a.link != nil {
			links = append(links, a.link)
		}
	}
	s.mu.Unlock()
	for _, l := range links {
		l.drop()
	}
}

// Bind has a subscription want another application server's key, so that its
// own one is wrong.
func (s *Service) Bind(token string, key []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, ok := s.subs[token]
	if !ok {
		return fmt.Errorf("pushservice: no subscription %q", token)
	}
	sub.Key = key
	return nil
}

// Connected reports how many browsers are connected.
func (s *Service) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.agents {
		if a.link != nil {
			n++
		}
	}
	return n
}

// Subscriptions returns all subscriptions, also those that are gone, the oldest
// first.
func (s *Service) Subscriptions() []Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Subscription
	for _, token := range s.order {
		out = append(out, *s.subs[token])
	}
	return out
}

// Live returns the subscriptions that are not gone.
func (s *Service) Live() []Subscription {
	return slices.DeleteFunc(s.Subscriptions(), func(s Subscription) bool { return s.Gone })
}

// Stored returns the messages that wait for their browser.
func (s *Service) Stored() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, a := range s.agents {
		for _, m := range a.stored {
			if !m.expired(s.clock()) {
				out = append(out, *m)
			}
		}
	}
	return out
}

// Requests returns what application servers have sent so far, also what was
// refused.
func (s *Service) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Reports returns what browsers have said of messages so far.
func (s *Service) Reports() []Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reports)
}

func (s *Service) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// subscribe gives out an endpoint.
func (s *Service) subscribe(agentID, channel, host, path string, key []byte) Subscription {
	token := rand.Text()
	sub := &Subscription{
		Token: token, Endpoint: "https://" + host + path + token, Key: key,
		agent: agentID, channel: channel, host: host, sender: key,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs[token] = sub
	s.order = append(s.order, token)
	return *sub
}

// unsubscribe ends the subscriptions of a browser's channel.
func (s *Service) unsubscribe(agentID, channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		if sub.agent == agentID && sub.channel == channel {
			sub.Gone = true
		}
	}
}

// find returns a subscription by its token.
func (s *Service) find(token string) (Subscription, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, ok := s.subs[token]
	if !ok {
		return Subscription{}, false
	}
	return *sub, true
}

// accept keeps a message, and sends it if its browser is connected.
func (s *Service) accept(m *Message) {
	s.mu.Lock()
	sub := *s.subs[m.Token]
	a := s.agents[sub.agent]
	if a == nil {
		s.mu.Unlock()
		return
	}
	if m.Topic != "" {
		a.stored = slices.DeleteFunc(a.stored, func(o *Message) bool { return o.Token == m.Token && o.Topic == m.Topic })
	}
	to := a.link
	if to != nil || m.TTL > 0 { // a message that lives for no time is for now or never
		a.stored = append(a.stored, m)
	}
	held := s.held
	s.mu.Unlock()
	if to != nil && !held {
		s.pass(a, to, m, sub)
	}
}

// delivery is a message with where it goes.
type delivery struct {
	m   *Message
	sub Subscription
}

// waiting returns what is stored for a browser. The caller holds the lock.
func (s *Service) waiting(a *agent) (out []delivery) {
	a.stored = slices.DeleteFunc(a.stored, func(m *Message) bool { return m.expired(s.clock()) })
	for _, m := range a.stored {
		if sub := s.subs[m.Token]; !sub.Gone {
			out = append(out, delivery{m, *sub})
		}
	}
	return out
}

// pass sends a message to a browser. If that fails, it stays stored.
func (s *Service) pass(a *agent, to link, m *Message, sub Subscription) {
	if err := to.send(m, sub); err == nil && a.through {
		s.done(a, m.ID)
	}
}

// done forgets a message that has arrived.
func (s *Service) done(a *agent, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.stored = slices.DeleteFunc(a.stored, func(m *Message) bool { return m.ID == id })
}

// join connects a browser, and sends what has waited for it. A connection that
// it had before is dropped.
func (s *Service) join(a *agent, l link) {
	s.mu.Lock()
	before := a.link
	a.link = l
	var waiting []delivery
	if !s.held {
		waiting = s.waiting(a)
	}
	s.mu.Unlock()
	if before != nil {
		before.drop()
	}
	for _, i := range waiting {
		s.pass(a, l, i.m, i.sub)
	}
}

// leave says that a connection has ended.
func (s *Service) leave(a *agent, l link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.link == l {
		a.link = nil
	}
}
