package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
)

// WatchPath is the part of an address that names a watch. It is exported, as
// [DevicePath] is, for huma passes over embedded types that are not.
type WatchPath struct {
	Watch string `path:"watch" maxLength:"64" doc:"The watch's id"`
}

type (
	addInput    struct{ Body NewWatch }
	snoozeInput struct {
		WatchPath
		Body struct {
			Hours float64 `json:"hours" minimum:"0" maximum:"2160" doc:"For how long to be silent; 0 ends that"`
		}
	}
	watchOutput   struct{ Body Watch }
	addedOutput   struct{ Body Added }
	nowOutput     struct{ Body Now }
	watchesOutput struct {
		Body struct {
			Watches []Watch `json:"watches"`
		}
	}
)

// What devices may do with their own, and keys that have the scope.
var (
	reading  = need{devices: true, scope: access.ScopeRead}
	changing = need{devices: true, scope: access.ScopeOperate}
)

func (a *API) registerWatches(api huma.API) {
	const path = "/api/v1/watches"
	list := a.allow(api, operation("list-watches", http.MethodGet, path, "List one's own watches"), reading)
	huma.Register(api, list, func(ctx context.Context, _ *struct{}) (*watchesOutput, error) {
		out := &watchesOutput{}
		var err error
		out.Body.Watches, err = a.cfg.Backend.WatchesOf(ctx, whoOf(ctx))
		return out, a.problem(ctx, err)
	})
	add := a.allow(api, operation("add-watch", http.MethodPost, path, "Watch a page, and look at it at once"), changing)
	add.DefaultStatus = http.StatusCreated
	huma.Register(api, add, a.addWatch)
	snooze := a.allow(api, operation("snooze-watch", http.MethodPost, path+"/{watch}/snooze", "Keep a watch silent for a while"), changing)
	huma.Register(api, snooze, func(ctx context.Context, in *snoozeInput) (*watchOutput, error) {
		var until time.Time
		if in.Body.Hours > 0 {
			until = lastlook.Micro(a.cfg.Clock().Add(time.Duration(in.Body.Hours * float64(time.Hour))))
		}
		w, err := a.cfg.Backend.SnoozeFor(ctx, whoOf(ctx), in.Watch, until)
		return &watchOutput{w}, a.problem(ctx, err)
	})
	remove := a.allow(api, operation("remove-watch", http.MethodDelete, path+"/{watch}", "Watch no more"), changing)
	huma.Register(api, remove, func(ctx context.Context, in *WatchPath) (*struct{}, error) {
		return nil, a.problem(ctx, a.cfg.Backend.RemoveFor(ctx, whoOf(ctx), in.Watch))
	})
	now := a.allow(api, operation("watch-now", http.MethodGet, path+"/{watch}/now", "What is true now: a service worker's own last look"), reading)
	huma.Register(api, now, func(ctx context.Context, in *WatchPath) (*nowOutput, error) {
		n, err := a.cfg.Backend.Now(ctx, whoOf(ctx), in.Watch)
		return &nowOutput{n}, a.problem(ctx, err)
	})
}

// addsOf names whoever adds watches, for limits; the operator is not limited.
func addsOf(w Who) string {
	if w.operator {
		return ""
	}
	return w.ID()
}

func (a *API) addWatch(ctx context.Context, in *addInput) (*addedOutput, error) {
	if !in.Body.Wishes.any() && in.Body.Below == "" && !in.Body.BackInStock {
		return nil, huma.Error422UnprocessableEntity("say when to tell: below an amount, back in stock, or another trigger",
			&huma.ErrorDetail{Message: "give one or more triggers, such as below", Location: "body"})
	}
	who := whoOf(ctx)
	if who.device.ID != "" {
		for _, f := range []struct {
			name  string
			given bool
		}{{"source", in.Body.Source != ""}, {"options", in.Body.Options != nil}, {"every_seconds", in.Body.Every != 0}, {"channels", in.Body.Channels != nil}, {"recipient", in.Body.Recipient != ""}} {
			if f.given {
				return nil, huma.Error422UnprocessableEntity("devices cannot choose "+f.name+": leave it out", &huma.ErrorDetail{Message: "leave it out", Location: "body." + f.name})
			}
		}
	}
	if in.Body.Recipient != "" && !who.operator {
		return nil, huma.Error422UnprocessableEntity("a key's watches tell its owner: leave recipient out", &huma.ErrorDetail{Message: "leave it out", Location: "body.recipient"})
	}
	if wait := a.limits.adds.take(addsOf(who), a.cfg.Clock()); wait > 0 {
		return nil, huma.ErrorWithHeaders(huma.NewError(http.StatusTooManyRequests, "too many new watches: wait a moment"), http.Header{"Retry-After": {seconds(wait)}})
	}
	added, err := a.cfg.Backend.WatchFor(ctx, who, in.Body)
	return &addedOutput{added}, a.problem(ctx, err)
}
