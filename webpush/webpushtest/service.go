// Package webpushtest is a push service, and the browsers behind it, for tests
// of what sends Web Push. [Service] is an [http.Handler] that refuses what any
// real push service would refuse: it verifies the VAPID token (signature, aud,
// exp, sub, and that it is of the key which the subscription was made with),
// headers and sizes. It keeps what it takes, lets a newer message replace one
// of the same topic, and decrypts as the browser would:
//
//	service := webpushtest.NewService(webpushtest.Config{})
//	server := httptest.NewServer(service)
//	sub, err := service.Subscribe(server.URL, keys.Public())
//	… send to sub …
//	pushes := service.Pushes(sub) // decrypted, in order
//
// The pieces can be used by themselves, by a service that speaks something
// else to a real browser: [VerifyVAPID], [CheckRequest], [Browser]. None of
// them uses the code that they test.
package webpushtest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook/webpush"
)

// Config is how a service behaves.
type Config struct {
	// Clock is for tokens and for when messages came; nil means time.Now.
	Clock func() time.Time
	// MaxBody, if not 0, is how long a message may be (4096).
	MaxBody int
	// Answer, if not nil, may answer a request in the service's place, and
	// says whether it did. The request is then not looked at.
	Answer func(w http.ResponseWriter, r *http.Request) bool
}

// Push is a message that a service has taken.
type Push struct {
	Options
	At     time.Time
	Claims Claims
	// Body is the message as it came.
	Body []byte
	// Payload is Body as the browser decrypts it, unless Err says why it
	// cannot.
	Payload []byte
	// Padding is how many bytes of padding it had.
	Padding int
	Err     error
	// Replaced says that a newer message of the same topic came.
	Replaced bool
}

// Service is a strict push service. It is safe for concurrent use.
type Service struct {
	cfg Config

	mu   sync.Mutex
	subs map[string]*registration // by the endpoint's path
	// refused are the requests that were.
	refused []Refusal
}

type registration struct {
	origin  string
	key     string // the applicationServerKey, or "" for any
	browser *Browser
	pushes  []Push
	ended   int // the status that it ended with, or 0
}

// NewService makes a service without subscriptions.
func NewService(cfg Config) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 4096
	}
	return &Service{cfg: cfg, subs: map[string]*registration{}}
}

// Subscribe makes a browser that has subscribed at the service, which is
// served at the given origin (https://host:port). applicationServerKey is the
// public VAPID key that the subscription is bound to; if it is empty, any key
// may send.
func (s *Service) Subscribe(origin, applicationServerKey string) (webpush.Subscription, error) {
	b, err := NewBrowser()
	if err != nil {
		return webpush.Subscription{}, err
	}
	path := "/wpush/v2/" + rand.Text() + rand.Text()
	sub, err := b.Subscription(strings.TrimSuffix(origin, "/") + path)
	if err != nil {
		return webpush.Subscription{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs[path] = &registration{origin: sub.Origin(), key: applicationServerKey, browser: b}
	return sub, nil
}

// End ends a subscription: from now on it is answered with the status, 410 if
// the browser has unsubscribed or 404 if the service has forgotten it.
func (s *Service) End(sub webpush.Subscription, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.subs[path(sub)]; r != nil {
		r.ended = status
	}
}

// Pushes returns what came for a subscription, decrypted, in the order in
// which it came; messages that were replaced are among them.
func (s *Service) Pushes(sub webpush.Subscription) []Push {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.subs[path(sub)]
	if r == nil {
		return nil
	}
	out := make([]Push, len(r.pushes))
	for i, p := range r.pushes {
		p.Payload, p.Padding, p.Err = r.browser.open(p.Body)
		out[i] = p
	}
	return out
}

// Count returns how many messages were taken, for all subscriptions together.
func (s *Service) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.subs {
		n += len(r.pushes)
	}
	return n
}

// Refused returns the refusals, in order.
func (s *Service) Refused() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Refusal(nil), s.refused...)
}

func path(sub webpush.Subscription) string {
	return strings.TrimPrefix(sub.Endpoint(), schemeAndHost(sub.Endpoint()))
}

func schemeAndHost(endpoint string) string {
	scheme, rest, _ := strings.Cut(endpoint, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

// ServeHTTP implements [http.Handler].
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Answer != nil && s.cfg.Answer(w, r) {
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err == nil {
		err = s.take(r, body)
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		s.mu.Lock()
		s.refused = append(s.refused, *refusal)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(refusal.Status)
		_, _ = fmt.Fprintf(w, `{"code":%d,"message":%s}`, refusal.Status, strconv.Quote(refusal.Why))
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the other side went away
	}
	w.Header().Set("Location", "/m/"+rand.Text())
	w.Header().Set("TTL", r.Header.Get("TTL"))
	w.WriteHeader(http.StatusCreated)
}

func (s *Service) take(r *http.Request, body []byte) error {
	now := s.cfg.Clock().UTC()
	s.mu.Lock()
	reg := s.subs[r.URL.Path]
	var ended int
	if reg != nil {
		ended = reg.ended
	}
	s.mu.Unlock()
	if reg == nil {
		return refuse(http.StatusNotFound, "no such subscription")
	}
	claims, err := VerifyVAPID(r.Header.Get("Authorization"), reg.origin, now)
	if err != nil {
		return err
	}
	if reg.key != "" && reg.key != claims.Key {
		return refuse(http.StatusForbidden, "the VAPID key is not the one that the subscription was made with")
	}
	if len(body) > s.cfg.MaxBody {
		return refuse(http.StatusRequestEntityTooLarge, "the body has %d bytes, more than %d", len(body), s.cfg.MaxBody)
	}
	o, err := CheckRequest(r, body)
	if err != nil {
		return err
	}
	if ended != 0 {
		return refuse(ended, "the subscription has ended")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range reg.pushes {
		if p := &reg.pushes[i]; o.Topic != "" && p.Topic == o.Topic {
			p.Replaced = true
		}
	}
	reg.pushes = append(reg.pushes, Push{Options: o, At: now, Claims: claims, Body: bytes.Clone(body)})
	return nil
}
