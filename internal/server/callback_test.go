package server

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/internal/httpapi"
	"github.com/lastlook/lastlook/internal/signing"
)

// judge is a program that is asked whether things are still true.
type judge struct {
	t      *testing.T
	secret string

	mu       sync.Mutex
	answers  map[string]map[string]any // by subject
	asked    [][]string
	status   int
	unsigned int
}

func (j *judge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		j.t.Error(err)
	}
	key, err := signing.ParseSecret(j.secret)
	if err != nil || key.Sign(r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp"), body) != r.Header.Get("Webhook-Signature") {
		j.unsigned++
	}
	var q struct {
		Type string
		Data struct {
			Topic    string
			Subjects []string
		}
	}
	if err := json.Unmarshal(body, &q); err != nil || q.Type != "lastlook.question" || q.Data.Topic != "orders" {
		j.t.Errorf("asked %s: %v", body, err)
	}
	j.asked = append(j.asked, q.Data.Subjects)
	if j.status != 0 {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(j.status)
		return
	}
	out := []map[string]any{}
	for _, s := range q.Data.Subjects {
		if a := j.answers[s]; a != nil {
			a["subject"] = s
			out = append(out, a)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"answers": out})
}

// A callback topic from the PUT to the channel: one question about all, and each
// answer does what it says.
func TestCallbackTopic(t *testing.T) {
	j := &judge{t: t, answers: map[string]map[string]any{
		"late": {"verdict": "send", "value": map[string]any{"minutes": 40}, "message": map[string]any{"title": "40 minutes late", "url": "https://shop.example/o/late"}},
		"here": {"verdict": "drop"}, "sold": {"verdict": "drop", "reason": "out_of_stock"}, "soon": {"verdict": "defer", "after_seconds": 120},
		"odd": {"verdict": "perhaps"}, "bare": {"verdict": "send", "value": 1}, "why": {"verdict": "drop", "reason": "expired"}, "typed": {"verdict": "send", "message": 3},
	}}
	srv := httptest.NewServer(j)
	defer srv.Close()
	w := newWeb(t)
	op, key := w.theOperator(), w.program("shop", access.AllScopes()...)
	var topic httpapi.Topic
	op.must(http.StatusOK, http.MethodPut, "/api/v1/topics/orders", map[string]any{"kind": "callback", "owner": "shop", "channels": []string{"log"}, "url": srv.URL + "/secret-path"}, &topic)
	j.secret = topic.Secret
	if !strings.HasPrefix(topic.Secret, "whsec_") {
		t.Fatalf("%+v", topic)
	}
	var again json.RawMessage
	key.must(http.StatusOK, http.MethodGet, "/api/v1/topics/orders", nil, &again)
	if strings.Contains(string(again), "whsec_") || strings.Contains(string(again), "secret-path") {
		t.Errorf("it is shown again: %s", again)
	}
	subjects := []string{"bare", "here", "late", "none", "odd", "sold", "soon", "typed", "why"}
	var items []any
	for _, s := range subjects {
		items = append(items, map[string]any{"topic": "orders", "subject": s, "detection": map[string]any{"minutes": 30}})
	}
	var res struct{ Results []httpapi.Enqueued }
	key.must(http.StatusAccepted, http.MethodPost, "/api/v1/notifications/batch", map[string]any{"notifications": items}, &res)
	w.tick(t)
	if len(j.asked) != 1 || !slices.Equal(slices.Sorted(slices.Values(j.asked[0])), subjects) || j.unsigned != 0 {
		t.Errorf("asked %v, %d unsigned", j.asked, j.unsigned)
	}
	want := map[string]string{"late": "sent", "here": "dropped condition_lost", "sold": "dropped out_of_stock", "soon": "pending", "none": "retry", "odd": "retry", "bare": "retry", "why": "retry", "typed": "retry"}
	for i, s := range subjects {
		var story httpapi.Story
		key.must(http.StatusOK, http.MethodGet, "/api/v1/notifications/"+itoa(res.Results[i].ID)+"/story", nil, &story)
		if got := strings.TrimSpace(story.Notification.State + " " + story.Notification.Reason); got != want[s] {
			t.Errorf("%s: %s, want %s: %+v", s, got, want[s], story.Steps)
		}
		if s == "late" && (string(story.Baseline) != `{"minutes":40}` || string(story.Notification.Detection) != `{"minutes":30}`) {
			t.Errorf("it asserts %s, of %s", story.Baseline, story.Notification.Detection)
		}
	}
	if told := w.told.String(); strings.Count(told, "\n") != 1 || !strings.Contains(told, "40 minutes late") {
		t.Errorf("told %q", told)
	}
	// What is answered with another status says nothing of anything.
	j.status = http.StatusServiceUnavailable
	var one httpapi.Enqueued
	key.must(http.StatusAccepted, http.MethodPost, "/api/v1/notifications", map[string]any{"topic": "orders", "subject": "late-2"}, &one)
	w.tick(t)
	var story httpapi.Story
	key.must(http.StatusOK, http.MethodGet, "/api/v1/notifications/"+itoa(one.ID)+"/story", nil, &story)
	if last := story.Steps[len(story.Steps)-1]; story.Notification.State != "retry" || !strings.Contains(last.Error, "HTTP 503") || strings.Contains(last.Error, "secret-path") {
		t.Errorf("%+v", story)
	}
	if strings.Contains(w.log.String(), topic.Secret) || strings.Contains(w.log.String(), "secret-path") {
		t.Error("a secret is in the log")
	}
}

// A key's own callback never leads into a private network; an operator's may.
func TestCallbacksOfKeysArePublic(t *testing.T) {
	j := &judge{t: t}
	srv := httptest.NewServer(j)
	defer srv.Close()
	w := newWeb(t)
	key := w.program("shop", access.AllScopes()...)
	key.must(http.StatusOK, http.MethodPut, "/api/v1/topics/orders", map[string]any{"kind": "callback", "channels": []string{"log"}, "url": srv.URL}, nil)
	var one httpapi.Enqueued
	key.must(http.StatusAccepted, http.MethodPost, "/api/v1/notifications", map[string]any{"topic": "orders", "subject": "x"}, &one)
	w.tick(t)
	var n httpapi.Notification
	key.must(http.StatusOK, http.MethodGet, "/api/v1/notifications/"+itoa(one.ID), nil, &n)
	if n.State != "retry" || len(j.asked) != 0 {
		t.Errorf("%s, asked %v", n.State, j.asked)
	}
}

// A declared topic: what the address shows is judged by a condition and worded
// by a template.
func TestDeclaredTopic(t *testing.T) {
	var mu sync.Mutex
	values := map[string]string{"a/b": `{"status":"late","minutes":40}`, "c": `{"status":"here","minutes":1}`, "d": `{"status":"late"}`}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, values[strings.TrimPrefix(r.URL.Path, "/orders/")])
	}))
	defer srv.Close()
	w := newWeb(t)
	op := w.theOperator()
	op.must(http.StatusOK, http.MethodPut, "/api/v1/topics/late", map[string]any{
		"kind": "declared", "channels": []string{"log"}, "url": srv.URL + "/orders/{subject}", "options": map[string]any{"value_path": ".minutes"},
		"when": "now > 30 && (last == null || now > last)", "title": "Order {subject} is {now} minutes late (before: {last})", "link": "https://shop.example/?o={subject}",
	}, nil)
	states := func(subjects ...string) (out []string) {
		t.Helper()
		ids := map[string]int64{}
		for _, s := range subjects {
			var one httpapi.Enqueued
			op.must(http.StatusAccepted, http.MethodPost, "/api/v1/notifications", map[string]any{"topic": "late", "subject": s}, &one)
			ids[s] = one.ID
		}
		w.tick(t)
		for _, s := range subjects {
			var n httpapi.Notification
			op.must(http.StatusOK, http.MethodGet, "/api/v1/notifications/"+itoa(ids[s]), nil, &n)
			out = append(out, strings.TrimSpace(n.State+" "+n.Reason))
		}
		return out
	}
	if got := states("a/b", "c", "d", ".."); !slices.Equal(got, []string{"sent", "dropped condition_lost", "retry", "retry"}) {
		t.Errorf("%q", got)
	}
	mu.Lock()
	values["a/b"] = `{"minutes":50}`
	mu.Unlock()
	if got := states("a/b"); got[0] != "sent" {
		t.Errorf("later: %q", got)
	}
	if got := states("a/b"); got[0] != "dropped condition_lost" {
		t.Errorf("the same again: %q", got)
	}
	if told := w.told.String(); !strings.Contains(told, "Order a/b is 40 minutes late (before: )") || !strings.Contains(told, "Order a/b is 50 minutes late (before: 40)") || !strings.Contains(told, "https://shop.example/?o=a%2Fb") {
		t.Errorf("told %s", told)
	}
	for name, change := range map[string]map[string]any{
		"condition": {"when": "now >"}, "template": {"title": "{nobody}"}, "place": {"url": "https://{subject}.example/"}, "scheme": {"url": "file:///etc"}, "option": {"options": map[string]any{"x": 1}},
		"window": {"window": "now and then"}, "channel": {"channels": []string{"fax"}}, "source": {"source": "ftp"}, "secret": {"secret": "whsec_x"}, "title": {"title": ""},
	} {
		body := map[string]any{"kind": "declared", "channels": []string{"log"}, "url": "https://shop.example/{subject}", "title": "x"}
		maps.Copy(body, change)
		if got := op.do(http.MethodPut, "/api/v1/topics/other", body, nil); got != http.StatusUnprocessableEntity {
			t.Errorf("a wrong %s: HTTP %d", name, got)
		}
	}
}

func (w *web) tick(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := w.Tick(ctx); err != nil {
		t.Fatal(err)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
