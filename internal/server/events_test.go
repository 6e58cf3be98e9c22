package server

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/access"
)

// sse reads a stream of events.
type sse struct {
	t    *testing.T
	body interface{ Close() error }
	r    *bufio.Scanner
	last string
}

func (v *visitor) events(after string) *sse {
	v.w.t.Helper()
	req, err := http.NewRequestWithContext(v.w.t.Context(), http.MethodGet, v.w.url+"/api/v1/events", nil)
	if err != nil {
		v.w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+v.bearer)
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	client := &http.Client{Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		v.w.t.Fatal(resp, err)
	}
	v.w.t.Cleanup(func() { _ = resp.Body.Close() })
	s := &sse{t: v.w.t, body: resp.Body, r: bufio.NewScanner(resp.Body)}
	if !s.r.Scan() { // the greeting: from here on, nothing is missed
		v.w.t.Fatal("no greeting")
	}
	return s
}

// next returns the next event: its kind and data.
func (s *sse) next() (kind, data string) {
	s.t.Helper()
	for s.r.Scan() {
		name, value, _ := strings.Cut(s.r.Text(), ": ")
		switch name {
		case "id":
			s.last = value
		case "event":
			kind = value
		case "data":
			data = value
		case "":
			if kind != "" {
				return kind, data
			}
		}
	}
	s.t.Fatalf("the stream ended: %v", s.r.Err())
	return "", ""
}

// A stream tells one's own, in order, goes on after what was read, and says when
// something is missing.
func TestEvents(t *testing.T) {
	s := newShop(t, eur("598.00"))
	w := newWeb(t, at(s))
	shop, rival := w.program("shop", access.AllScopes()...), w.program("rival", access.AllScopes()...)
	for _, v := range []*visitor{shop, rival} {
		name := map[*visitor]string{shop: "orders", rival: "others"}[v]
		v.must(http.StatusOK, http.MethodPut, "/api/v1/topics/"+name, declaredOrders, nil)
	}
	mine, theirs := shop.events(""), rival.events("")
	shop.must(http.StatusAccepted, http.MethodPost, "/api/v1/notifications", map[string]any{"topic": "orders", "subject": "lamp"}, nil)
	rival.must(http.StatusAccepted, http.MethodPost, "/api/v1/notifications", map[string]any{"topic": "others", "subject": "other"}, nil)
	if kind, data := mine.next(); kind != "notification" || !strings.Contains(data, `"event":"enqueued"`) || !strings.Contains(data, `"subject":"lamp"`) {
		t.Errorf("%s: %s", kind, data)
	}
	if kind, data := theirs.next(); kind != "notification" || !strings.Contains(data, `"subject":"other"`) {
		t.Errorf("%s: %s", kind, data)
	}
	seen := mine.last
	_ = mine.body.Close()
	shop.must(http.StatusCreated, http.MethodPost, "/api/v1/watches", map[string]any{"url": "http://" + shopHost + "/lamp", "below": "1 EUR"}, nil)
	again := shop.events(seen)
	if kind, data := again.next(); kind != "watch" || !strings.Contains(data, `"amount":"598"`) {
		t.Errorf("what came meanwhile: %s: %s", kind, data)
	}
	for _, id := range []string{"other-1", "nonsense"} {
		if kind, _ := shop.events(id).next(); kind != "reset" {
			t.Errorf("after %s: %s", id, kind)
		}
	}
	for range keptEvents + 1 {
		w.events.add(event{})
	}
	if kind, _ := shop.events(seen).next(); kind != "reset" {
		t.Errorf("after too much: %s", kind)
	}
	w.events.end()
	for theirs.r.Scan() { // no event, and then the end
		if text := theirs.r.Text(); strings.HasPrefix(text, "event") && text != "event: reset" {
			t.Errorf("after the end: %s", text)
		}
	}
}
