package pushservice

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// Autopush starts the side for Firefox, and returns its address: ws://….
func (s *Service) Autopush() string {
	ctx, cancel := context.WithCancel(context.Background())
	var talks sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"push-notification"}})
		if err != nil {
			return // Accept has answered
		}
		talks.Add(1)
		defer talks.Done()
		t := &autopushTalk{service: s, conn: conn, ctx: ctx}
		_ = t.serve() // it ends by an error, whoever hangs up
		conn.CloseNow()
	}))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closers = append(s.closers, func() error {
		cancel()
		server.Close()
		talks.Wait()
		return nil
	})
	return "ws" + strings.TrimPrefix(server.URL, "http") + "/"
}

// autopushTalk is a connection that speaks autopush's protocol.
type autopushTalk struct {
	service *Service
	conn    *websocket.Conn
	ctx     context.Context // of the server
	id      string
	agent   *agent
}

// autopushMessage has the fields of all messages of the protocol.
type autopushMessage struct {
	Type       string            `json:"messageType,omitempty"`
	UAID       string            `json:"uaid,omitempty"`
	Status     int               `json:"status,omitempty"`
	UseWebPush bool              `json:"use_webpush,omitempty"`
	Broadcasts map[string]string `json:"broadcasts,omitzero"`
	Channel    string            `json:"channelID,omitempty"`
	Key        string            `json:"key,omitempty"`
	Endpoint   string            `json:"pushEndpoint,omitempty"`
	Version    string            `json:"version,omitempty"`
	TTL        int               `json:"ttl,omitempty"`
	Data       string            `json:"data,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Code       int               `json:"code,omitempty"`
	Updates    []autopushMessage `json:"updates,omitempty"`
}

func (t *autopushTalk) serve() error {
	for {
		var m autopushMessage
		if err := wsjson.Read(t.ctx, t.conn, &m); err != nil {
			if t.agent != nil {
				t.service.leave(t.agent, t)
			}
			return err
		}
		if err := t.answer(m); err != nil {
			return err
		}
	}
}

func (t *autopushTalk) answer(m autopushMessage) error {
	if t.agent == nil && m.Type != "hello" {
		return fmt.Errorf("%q before hello", m.Type)
	}
	switch m.Type {
	case "hello":
		return t.hello(m)
	case "register":
		return t.register(m)
	case "unregister":
		t.service.unsubscribe(t.id, m.Channel)
		return t.write(autopushMessage{Type: "unregister", Channel: m.Channel, Status: http.StatusOK})
	case "ack", "nack":
		if len(m.Updates) == 0 {
			m.Updates = []autopushMessage{m} // of nack
		}
		for _, u := range m.Updates {
			t.service.report(t.agent, u.Version, u.Code)
		}
		return nil
	case "", "ping":
		return t.write(autopushMessage{})
	default: // broadcast_subscribe and what may come: of no matter to pushes
		return nil
	}
}

// hello recognizes a browser, or gives it a new name, by which it knows that
// the service has lost all it had.
func (t *autopushTalk) hello(m autopushMessage) error {
	s := t.service
	s.mu.Lock()
	t.id = m.UAID
	t.agent = s.agents[m.UAID]
	if t.agent == nil {
		t.id, t.agent = strings.ToLower(rand.Text()), &agent{}
		s.agents[t.id] = t.agent
	}
	s.mu.Unlock()
	err := t.write(autopushMessage{Type: "hello", UAID: t.id, Status: http.StatusOK, UseWebPush: true, Broadcasts: map[string]string{}})
	if err == nil {
		s.join(t.agent, t)
	}
	return err
}

func (t *autopushTalk) register(m autopushMessage) error {
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(m.Key, "="))
	if err != nil {
		return t.write(autopushMessage{Type: "register", Channel: m.Channel, Status: http.StatusBadRequest})
	}
	sub := t.service.subscribe(t.id, m.Channel, MozillaHost, "/wpush/v2/", key)
	return t.write(autopushMessage{Type: "register", Channel: m.Channel, Status: http.StatusOK, Endpoint: sub.Endpoint})
}

func (t *autopushTalk) send(m *Message, sub Subscription) error {
	out := autopushMessage{Type: "notification", Channel: sub.channel, Version: m.ID, TTL: int(m.TTL.Seconds())}
	if len(m.Body) > 0 {
		out.Data = base64.RawURLEncoding.EncodeToString(m.Body)
		out.Headers = map[string]string{"encoding": "aes128gcm"}
	}
	return t.write(out)
}

func (t *autopushTalk) write(m autopushMessage) error {
	ctx, cancel := context.WithTimeout(t.ctx, 10*time.Second)
	defer cancel()
	return wsjson.Write(ctx, t.conn, m)
}

func (t *autopushTalk) drop() { t.conn.CloseNow() }

// report keeps what a browser says of a message, which it has herewith.
func (s *Service) report(a *agent, id string, code int) {
	s.mu.Lock()
	for _, m := range a.stored {
		if m.ID == id {
			s.reports = append(s.reports, Report{m.Token, code})
		}
	}
	s.mu.Unlock()
	s.done(a, id)
}
