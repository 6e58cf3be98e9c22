package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lastlook/lastlook/access"
)

// NewNotification is what a program noticed: tell it, if it is still true.
type NewNotification struct {
	Topic     string          `json:"topic" minLength:"1" maxLength:"63" doc:"One of the caller's topics"`
	Subject   string          `json:"subject" minLength:"1" maxLength:"512" doc:"What it is about, such as an order's number"`
	Recipient string          `json:"recipient,omitempty" maxLength:"512" doc:"Who is told; the owner if it is empty. device:ID for the channel push"`
	Channel   string          `json:"channel,omitempty" maxLength:"63" doc:"What it is told through: one of the topic's channels; the first of them if it is empty"`
	Detection json.RawMessage `json:"detection,omitempty" required:"false" doc:"What was seen, as any JSON; kept for the story, and never told"`
	Due       time.Time       `json:"due,omitzero" required:"false" doc:"When to look at it first; at once if it is left out"`
	ExpiresAt time.Time       `json:"expires_at,omitzero" required:"false" doc:"When telling no longer makes sense; the topic's time if it is left out"`
	Priority  string          `json:"priority,omitempty" enum:"low,normal,high" doc:"normal if it is empty"`
	Edge      bool            `json:"edge,omitempty" doc:"This will not be noticed again by itself: if one is on its way already, look once more after it"`
	Trace     string          `json:"trace,omitempty" maxLength:"512" doc:"A trace context (W3C traceparent) to carry along"`
}

// Enqueued is what became of a [NewNotification].
type Enqueued struct {
	Status string `json:"status" enum:"inserted,duplicate,marked,already_told,muted" doc:"inserted: it will be looked at; duplicate: one on its way says the same; marked: so, and it will be looked at once more; already_told: told in this window; muted: the recipient is not told through this channel"`
	ID     int64  `json:"id,omitzero" required:"false" doc:"The notification that was made, that is on its way, or that told"`
	State  string `json:"state,omitempty" doc:"The state of that one"`
}

// Notification is one notification as the API shows it.
type Notification struct {
	ID        int64           `json:"id"`
	Topic     string          `json:"topic"`
	Subject   string          `json:"subject"`
	Recipient string          `json:"recipient"`
	Channel   string          `json:"channel"`
	State     string          `json:"state" enum:"pending,sending,retry,sent,dropped,failed"`
	Reason    string          `json:"reason,omitempty" doc:"Why it was dropped or failed"`
	Priority  string          `json:"priority"`
	Detection json.RawMessage `json:"detection" doc:"What was seen when it was noticed"`
	CreatedAt time.Time       `json:"created_at"`
	ExpiresAt time.Time       `json:"expires_at"`
	Due       time.Time       `json:"due,omitzero" required:"false" doc:"When it is looked at next"`
	Attempt   int             `json:"attempt" doc:"How often it was tried"`
	Asserted  json.RawMessage `json:"asserted,omitempty" required:"false" doc:"The value that was told"`
	Seen      json.RawMessage `json:"seen,omitempty" required:"false" doc:"The value on which it was dropped"`
	LookedAt  time.Time       `json:"looked_at,omitzero" required:"false"`
	EndedAt   time.Time       `json:"ended_at,omitzero" required:"false"`
	RetryOf   int64           `json:"retry_of,omitzero" required:"false" doc:"The failed notification that this one tries again"`
	Trace     string          `json:"trace,omitempty"`
}

// StoryStep is one step of a notification's story.
type StoryStep struct {
	At       time.Time       `json:"at"`
	Event    string          `json:"event"`
	State    string          `json:"state"`
	Attempt  int             `json:"attempt,omitzero" required:"false"`
	Reason   string          `json:"reason,omitempty"`
	LookedAt time.Time       `json:"looked_at,omitzero" required:"false"`
	Value    json.RawMessage `json:"value,omitempty" required:"false" doc:"What the look saw"`
	Error    string          `json:"error,omitempty"`
	Answer   string          `json:"answer,omitempty" doc:"What the channel answered"`
	By       string          `json:"by,omitempty"`
	Skipped  int             `json:"skipped,omitzero" required:"false" doc:"How many steps are left out before this one"`
}

// Story is a notification with all that happened to it, and what is known of its
// key: of all notifications on the same topic, subject, recipient and channel.
type Story struct {
	Notification Notification    `json:"notification"`
	Steps        []StoryStep     `json:"steps"`
	Baseline     json.RawMessage `json:"baseline,omitempty" required:"false" doc:"The value last told"`
	BaselineAt   time.Time       `json:"baseline_at,omitzero" required:"false"`
	Maybe        json.RawMessage `json:"maybe,omitempty" required:"false" doc:"A value of which nobody knows whether it was told"`
}

// NotificationQuery selects notifications.
type NotificationQuery struct {
	Topic     string   `query:"topic" maxLength:"512"`
	Subject   string   `query:"subject" maxLength:"512"`
	Recipient string   `query:"recipient" maxLength:"512"`
	Channel   string   `query:"channel" maxLength:"512"`
	State     []string `query:"state" enum:"pending,sending,retry,sent,dropped,failed" maxItems:"6" doc:"In any of these states"`
	Reason    string   `query:"reason" maxLength:"64"`
	Limit     int      `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor    string   `query:"cursor" maxLength:"20" pattern:"^[1-9][0-9]*$" doc:"The next_cursor of the page before"`
}

// Before returns the id before which the page is; 0 for the first page.
func (q *NotificationQuery) Before() int64 {
	n, _ := strconv.ParseInt(q.Cursor, 10, 64) // checked by the pattern; what is too large is the largest
	return n
}

// NotificationPath names a notification.
type NotificationPath struct {
	Notification int64 `path:"notification" minimum:"1" doc:"The notification's id"`
}

// Once is the header by which a request is recognized that comes again.
type Once struct {
	Key string `header:"Idempotency-Key" maxLength:"128" doc:"Any text of the caller's own, new for each request: the same request under the same key is carried out once, and answered as the first time, for a day"`
}

// MaxBatch bounds the notifications of one request.
const MaxBatch = 1000

type (
	enqueueInput struct {
		Once
		Body NewNotification
	}
	batchInput struct {
		Once
		Body struct {
			Notifications []NewNotification `json:"notifications" minItems:"1" maxItems:"1000"`
		}
	}
	enqueueOutput struct {
		Replayed string `header:"Idempotency-Replayed"`
		Body     Enqueued
	}
	batchOutput struct {
		Replayed string `header:"Idempotency-Replayed"`
		Body     struct {
			Results []Enqueued `json:"results" doc:"In the order of the request"`
		}
	}
	notificationOutput  struct{ Body Notification }
	storyOutput         struct{ Body Story }
	notificationsOutput struct {
		Body struct {
			Notifications []Notification `json:"notifications" doc:"Newest first"`
			NextCursor    string         `json:"next_cursor,omitempty" doc:"Where the next page starts; left out on the last"`
		}
	}
	retryInput struct {
		NotificationPath
		Body struct {
			MayRepeat bool `json:"may_repeat,omitempty" doc:"Try again although it may have been delivered: the recipient may be told twice"`
		}
	}
)

// Outbox is what the API does with notifications.
type Outbox interface {
	// Enqueue enqueues; key is the idempotency key, "" for none.
	Enqueue(ctx context.Context, who Who, key string, fingerprint [32]byte, items []NewNotification) (results []Enqueued, replayed bool, err error)
	Notifications(ctx context.Context, who Who, q NotificationQuery) (list []Notification, next string, err error)
	NotificationStory(ctx context.Context, who Who, id int64) (Story, error)
	CancelNotification(ctx context.Context, who Who, id int64) (Notification, error)
	RetryNotification(ctx context.Context, who Who, id int64, mayRepeat bool) (Enqueued, error)
}

// keysOnly are routes for keys that have a scope, and the operator.
func keysOnly(s access.Scope) need { return need{scope: s} }

func (a *API) registerNotifications(api huma.API) {
	const path = "/api/v1/notifications"
	enqueue := a.allow(api, operation("enqueue", http.MethodPost, path, "Enqueue a notification: tell it, if it is still true"), keysOnly(access.ScopeEnqueue))
	enqueue.MaxBodyBytes, enqueue.DefaultStatus = maxOneBody, http.StatusAccepted
	huma.Register(api, enqueue, func(ctx context.Context, in *enqueueInput) (*enqueueOutput, error) {
		results, replayed, err := a.enqueue(ctx, in.Key, []NewNotification{in.Body}, "body")
		if err != nil {
			return nil, err
		}
		return &enqueueOutput{Replayed: replayed, Body: results[0]}, nil
	})
	batch := a.allow(api, operation("enqueue-batch", http.MethodPost, path+"/batch", "Enqueue notifications together: all, or none"), keysOnly(access.ScopeEnqueue))
	batch.MaxBodyBytes, batch.DefaultStatus = maxBatchBody, http.StatusAccepted
	huma.Register(api, batch, func(ctx context.Context, in *batchInput) (*batchOutput, error) {
		results, replayed, err := a.enqueue(ctx, in.Key, in.Body.Notifications, "body.notifications")
		if err != nil {
			return nil, err
		}
		out := &batchOutput{Replayed: replayed}
		out.Body.Results = results
		return out, nil
	})
	list := a.allow(api, operation("list-notifications", http.MethodGet, path, "List one's own notifications, newest first"), reading)
	huma.Register(api, list, func(ctx context.Context, in *NotificationQuery) (*notificationsOutput, error) {
		out := &notificationsOutput{}
		var err error
		out.Body.Notifications, out.Body.NextCursor, err = a.cfg.Backend.Notifications(ctx, whoOf(ctx), *in)
		return out, a.problem(ctx, err)
	})
	get := a.allow(api, operation("get-notification", http.MethodGet, path+"/{notification}", "Show a notification"), reading)
	huma.Register(api, get, func(ctx context.Context, in *NotificationPath) (*notificationOutput, error) {
		s, err := a.cfg.Backend.NotificationStory(ctx, whoOf(ctx), in.Notification)
		return &notificationOutput{s.Notification}, a.problem(ctx, err)
	})
	story := a.allow(api, operation("get-story", http.MethodGet, path+"/{notification}/story", "Show all that happened to a notification: each look, verdict and attempt"), reading)
	huma.Register(api, story, func(ctx context.Context, in *NotificationPath) (*storyOutput, error) {
		s, err := a.cfg.Backend.NotificationStory(ctx, whoOf(ctx), in.Notification)
		return &storyOutput{s}, a.problem(ctx, err)
	})
	cancel := a.allow(api, operation("cancel-notification", http.MethodPost, path+"/{notification}/cancel", "Cancel a notification that is not being delivered"), keysOnly(access.ScopeOperate))
	huma.Register(api, cancel, func(ctx context.Context, in *NotificationPath) (*notificationOutput, error) {
		n, err := a.cfg.Backend.CancelNotification(ctx, whoOf(ctx), in.Notification)
		return &notificationOutput{n}, a.problem(ctx, err)
	})
	retry := a.allow(api, operation("retry-notification", http.MethodPost, path+"/{notification}/retry", "Try a failed notification again, as a new one"), keysOnly(access.ScopeOperate))
	retry.DefaultStatus = http.StatusAccepted
	huma.Register(api, retry, func(ctx context.Context, in *retryInput) (*enqueueOutput, error) {
		e, err := a.cfg.Backend.RetryNotification(ctx, whoOf(ctx), in.Notification, in.Body.MayRepeat)
		return &enqueueOutput{Body: e}, a.problem(ctx, err)
	})
}

// enqueue enqueues what a request asks for; at is where in its body that stands.
func (a *API) enqueue(ctx context.Context, key string, items []NewNotification, at string) (results []Enqueued, replayed string, err error) {
	who := whoOf(ctx)
	if wait := a.limits.enqueue(who, len(items), a.cfg.Clock()); wait > 0 {
		return nil, "", huma.ErrorWithHeaders(huma.NewError(http.StatusTooManyRequests, fmt.Sprintf("this key enqueues up to %d notifications a minute: wait a moment", who.key.PerMinute)),
			http.Header{"Retry-After": {seconds(wait)}})
	}
	var fingerprint [32]byte
	if key != "" {
		b, err := json.Marshal(items)
		if err != nil {
			return nil, "", a.problem(ctx, err)
		}
		fingerprint = sha256.Sum256(append([]byte(at+"\x00"), b...))
	}
	results, again, err := a.cfg.Backend.Enqueue(ctx, who, key, fingerprint, items)
	if err != nil {
		return nil, "", a.problem(ctx, within(err, at))
	}
	if again {
		replayed = "true"
	}
	return results, replayed, nil
}
