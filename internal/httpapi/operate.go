package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lastlook/lastlook/access"
)

// Self is the caller as the server knows it.
type Self struct {
	Kind   string   `json:"kind" enum:"device,key,login,operator"`
	ID     string   `json:"id"`
	Owner  string   `json:"owner,omitempty"`
	Scopes []string `json:"scopes,omitempty" required:"false"`
}

// Channel is a way to be told.
type Channel struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Stats count notifications.
type Stats struct {
	Live  []LaneStats `json:"live" doc:"What is on its way"`
	Ended []EndStats  `json:"ended" doc:"What has ended since then"`
	Since time.Time   `json:"since"`
}

// LaneStats count what is on its way in one lane.
type LaneStats struct {
	Topic     string    `json:"topic"`
	Channel   string    `json:"channel"`
	Lane      string    `json:"lane"`
	State     string    `json:"state"`
	Count     int       `json:"count"`
	Leased    int       `json:"leased" doc:"How many are being worked on"`
	OldestDue time.Time `json:"oldest_due,omitzero" required:"false"`
}

// EndStats count what has ended.
type EndStats struct {
	Topic  string `json:"topic"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Count  int    `json:"count"`
}

// Alert is something that an operator must mend.
type Alert struct {
	Kind  string    `json:"kind" enum:"lane_parked,not_served,listing_unreadable" doc:"lane_parked: a channel refuses our settings; not_served: notifications of a topic or channel that is not set up wait; listing_unreadable: what is watched cannot be read"`
	What  string    `json:"what" doc:"Which lane, topic, channel or listing"`
	Text  string    `json:"text" doc:"What is wrong, and what to do"`
	Since time.Time `json:"since,omitzero" required:"false"`
	Count int       `json:"count,omitzero" required:"false" doc:"How many notifications wait for it"`
}

// ChannelPath names a channel.
type ChannelPath struct {
	Channel string `path:"channel" maxLength:"63" doc:"The channel's name"`
}

type (
	selfOutput     struct{ Body Self }
	channelsOutput struct {
		Body struct {
			Channels []Channel `json:"channels"`
		}
	}
	statsInput struct {
		Since time.Time `query:"since" doc:"Count what has ended since then; the last day if it is left out"`
	}
	statsOutput  struct{ Body Stats }
	alertsOutput struct {
		Body struct {
			Alerts []Alert `json:"alerts"`
		}
	}
)

// Operating is what the API does for operators.
type Operating interface {
	ChannelsOf(ctx context.Context, who Who) ([]Channel, error)
	TestChannel(ctx context.Context, who Who, name string) (Enqueued, error)
	StatsOf(ctx context.Context, who Who, since time.Time) (Stats, error)
	Alerts(ctx context.Context) ([]Alert, error)
	// AllDevices returns all devices, for operators.
	AllDevices(ctx context.Context) ([]Device, error)
}

func (a *API) registerOperating(api huma.API) {
	self := a.allow(api, operation("get-self", http.MethodGet, "/api/v1/self", "Who one is, as the server knows it"), need{devices: true, scope: anyScope})
	huma.Register(api, self, func(ctx context.Context, _ *struct{}) (*selfOutput, error) {
		return &selfOutput{selfOf(whoOf(ctx))}, nil
	})
	channels := a.allow(api, operation("list-channels", http.MethodGet, "/api/v1/channels", "List the ways to be told"), keysOnly(access.ScopeRead))
	huma.Register(api, channels, func(ctx context.Context, _ *struct{}) (*channelsOutput, error) {
		out := &channelsOutput{}
		var err error
		out.Body.Channels, err = a.cfg.Backend.ChannelsOf(ctx, whoOf(ctx))
		return out, a.problem(ctx, err)
	})
	test := a.allow(api, operation("test-channel", http.MethodPost, "/api/v1/channels/{channel}/test", "Send a test through a channel, the way that all notifications go"), operators)
	test.DefaultStatus = http.StatusAccepted
	huma.Register(api, test, func(ctx context.Context, in *ChannelPath) (*enqueueOutput, error) {
		e, err := a.cfg.Backend.TestChannel(ctx, whoOf(ctx), in.Channel)
		return &enqueueOutput{Body: e}, a.problem(ctx, err)
	})
	stats := a.allow(api, operation("get-stats", http.MethodGet, "/api/v1/stats", "Count one's own notifications: what is on its way, what was sent, and what was rightly withheld"), keysOnly(access.ScopeRead))
	huma.Register(api, stats, func(ctx context.Context, in *statsInput) (*statsOutput, error) {
		since := in.Since
		if since.IsZero() {
			since = a.cfg.Clock().Add(-24 * time.Hour)
		}
		s, err := a.cfg.Backend.StatsOf(ctx, whoOf(ctx), since)
		return &statsOutput{s}, a.problem(ctx, err)
	})
	alerts := a.allow(api, operation("list-alerts", http.MethodGet, "/api/v1/alerts", "What an operator must mend"), operators)
	huma.Register(api, alerts, func(ctx context.Context, _ *struct{}) (*alertsOutput, error) {
		out := &alertsOutput{}
		var err error
		out.Body.Alerts, err = a.cfg.Backend.Alerts(ctx)
		return out, a.problem(ctx, err)
	})
}

func selfOf(w Who) Self {
	s := Self{Kind: "key", ID: w.key.ID, Owner: w.Owner(), Scopes: []string{}}
	switch {
	case w.device.ID != "":
		s.Kind, s.ID = "device", w.device.ID
	case w.operator:
		s.Kind = "operator"
	}
	for _, sc := range w.key.Scopes {
		s.Scopes = append(s.Scopes, string(sc))
	}
	return s
}
