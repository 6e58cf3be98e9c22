package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Event is something that happened, as the stream of events tells it.
type Event struct {
	// ID is where the stream goes on after it.
	ID string
	// Kind is "notification" or "watch"; "reset" says that events are missing.
	Kind string
	Data any
}

// NotificationEvent is a notification that changed.
type NotificationEvent struct {
	At        time.Time `json:"at"`
	ID        int64     `json:"id"`
	Topic     string    `json:"topic"`
	Subject   string    `json:"subject"`
	Recipient string    `json:"recipient"`
	Channel   string    `json:"channel"`
	Event     string    `json:"event"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	Attempt   int       `json:"attempt,omitzero"`
}

// WatchEvent is a watch of which something was seen.
type WatchEvent struct {
	At           time.Time `json:"at"`
	Watch        string    `json:"watch"`
	Price        *Money    `json:"price,omitempty"`
	Availability string    `json:"availability,omitempty"`
	Problem      string    `json:"problem,omitempty"`
}

// Events is where events come from.
type Events interface {
	// Events returns a caller's own events after the one with an id, "" for
	// those from now on; wait is closed when there may be more, and is nil when
	// the server ends. If events after that one are missing, the first is a
	// "reset". next is the id to go on after.
	Events(who Who, after string) (list []Event, next string, wait <-chan struct{})
}

const (
	// eventPing is how often a stream without events shows that it lives.
	eventPing = 15 * time.Second
	// eventPatience is how long a reader may take for what is written.
	eventPatience = 10 * time.Second
	// maxStreams bounds the streams of one caller.
	maxStreams = 10
)

type eventsInput struct {
	LastEventID string `header:"Last-Event-ID" maxLength:"64" doc:"The id of the last event that was read: the stream goes on after it"`
}

func (a *API) registerEvents(api huma.API) {
	op := a.allow(api, operation("stream-events", http.MethodGet, "/api/v1/events", "A stream of one's own events (server-sent events): notification, watch; reset says that some are missing, so list anew"), reading)
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Server-sent events. The data of notification and watch is JSON: what happened to which.",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: "string"}}},
	}}
	huma.Register(api, op, func(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
		who := whoOf(ctx)
		if !a.streams.enter(who.ID(), maxStreams) {
			return nil, huma.ErrorWithHeaders(huma.NewError(http.StatusTooManyRequests, fmt.Sprintf("there are %d streams of yours: end one", maxStreams)), http.Header{"Retry-After": {"5"}})
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			defer a.streams.leave(who.ID())
			r, w := humago.Unwrap(hc)
			a.stream(r, w, who, in.LastEventID)
		}}, nil
	})
}

// stream writes events until the reader leaves or the server ends.
func (a *API) stream(r *http.Request, w http.ResponseWriter, who Who, after string) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{}) // where that cannot be set, there is none
	ping := time.NewTicker(eventPing)
	defer ping.Stop()
	send := func(text string) bool {
		_ = rc.SetWriteDeadline(time.Now().Add(eventPatience))
		_, err := w.Write([]byte(text))
		return err == nil && rc.Flush() == nil
	}
	if !send(": lastlook\n\n") {
		return
	}
	for {
		list, next, wait := a.cfg.Backend.Events(who, after)
		for _, e := range list {
			b, err := json.Marshal(e.Data)
			if err != nil || !send("id: "+e.ID+"\nevent: "+e.Kind+"\ndata: "+string(b)+"\n\n") {
				return
			}
		}
		after = next
		if wait == nil {
			return
		}
		select {
		case <-wait:
		case <-ping.C:
			// A token that ended meanwhile opens nothing any more.
			if _, _, _, err := a.identify(r); err != nil || !send("id: "+after+"\n: still here\n\n") {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
