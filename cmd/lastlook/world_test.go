package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// patience bounds every wait of the tests.
const patience = 60 * time.Second

// shop is a page whose price, stock and status move.
type shop struct {
	*httptest.Server
	mu sync.Mutex
	// prices are what the next looks see; the last one stays.
	prices                             []string
	currency, availability, title, raw string
	status                             int
	looks                              int
	changed                            chan struct{} // closed at each look, and replaced
}

func newShop() *shop {
	s := &shop{prices: []string{"598.00"}, currency: "EUR", availability: "InStock", title: "Camera X100", status: http.StatusOK, changed: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path != "/camera" {
		http.NotFound(w, r)
		return
	}
	s.looks++
	close(s.changed)
	s.changed = make(chan struct{})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header()["Date"] = nil // some tests have another time than this server
	w.WriteHeader(s.status)
	if s.raw != "" {
		_, _ = io.WriteString(w, s.raw)
		return
	}
	price := s.prices[0]
	if len(s.prices) > 1 {
		s.prices = s.prices[1:]
	}
	offer := map[string]string{"@type": "Offer", "price": price, "priceCurrency": s.currency}
	if s.availability != "" {
		offer["availability"] = "https://schema.org/" + s.availability
	}
	product, err := json.Marshal(map[string]any{"@context": "https://schema.org", "@type": "Product", "name": s.title, "sku": "X100", "offers": offer})
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(w, "<!doctype html><title>%s</title><script type=\"application/ld+json\">%s</script><h1>%[1]s</h1>", html.EscapeString(s.title), product)
}

// set changes what the next looks see.
func (s *shop) set(change func(*shop)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *shop) url() string { return s.URL + "/camera" }

// await waits until the page has been looked at n times in all.
func (s *shop) await(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		looks, changed := s.looks, s.changed
		s.mu.Unlock()
		if looks >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the shop was looked at %d times, not %d", looks, n)
		}
	}
}

// receiver takes webhooks, and verifies them with the official module.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	status int
	hold   chan struct{} // while it is open, nothing is answered
	bad    []error
	events chan event
}

// event is one webhook that was verified.
type event struct {
	ID   string // webhook-id
	Body []byte
	Type string
	Data struct {
		Title, Body, Recipient, Channel string
		Attempt                         int
	}
}

func newReceiver() *receiver {
	r := &receiver{status: http.StatusNoContent, events: make(chan event, 100)}
	r.Server = httptest.NewServer(r)
	return r
}

func (r *receiver) set(change func(*receiver)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	secret, status, hold := r.secret, r.status, r.hold
	r.mu.Unlock()
	e := event{ID: req.Header.Get("Webhook-Id"), Body: body}
	if err == nil {
		err = verify(secret, body, req.Header)
	}
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if err != nil {
		r.set(func(r *receiver) { r.bad = append(r.bad, err) })
		http.Error(w, "not verified", http.StatusBadRequest)
		return
	}
	r.events <- e
	if hold != nil {
		select {
		case <-hold:
		case <-req.Context().Done():
		}
	}
	w.WriteHeader(status)
}

func verify(secret string, body []byte, h http.Header) error {
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	return wh.Verify(body, h)
}

// next waits for the next webhook that was verified.
func (r *receiver) next(ctx context.Context) (event, error) {
	select {
	case e := <-r.events:
		return e, nil
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		return event{}, fmt.Errorf("no webhook came; not verified: %v", r.bad)
	}
}
