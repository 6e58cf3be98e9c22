package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/device"
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

func (a *API) registerWatches(api huma.API) {
	const path = "/api/v1/watches"
	list := a.own(api, operation("list-watches", http.MethodGet, path, "List one's own watches"))
	huma.Register(api, list, func(ctx context.Context, _ *struct{}) (*watchesOutput, error) {
		out := &watchesOutput{}
		var err error
		out.Body.Watches, err = a.cfg.Backend.DeviceWatches(ctx, recipientOf(ctx))
		return out, a.problem(ctx, err)
	})
	add := a.own(api, operation("add-watch", http.MethodPost, path, "Watch a page, and look at it at once"))
	add.DefaultStatus = http.StatusCreated
	huma.Register(api, add, a.addWatch)
	snooze := a.own(api, operation("snooze-watch", http.MethodPost, path+"/{watch}/snooze", "Keep a watch silent for a while"))
	huma.Register(api, snooze, func(ctx context.Context, in *snoozeInput) (*watchOutput, error) {
		var until time.Time
		if in.Body.Hours > 0 {
			until = lastlook.Micro(a.cfg.Clock().Add(time.Duration(in.Body.Hours * float64(time.Hour))))
		}
		w, err := a.cfg.Backend.SnoozeFor(ctx, recipientOf(ctx), in.Watch, until)
		return &watchOutput{w}, a.problem(ctx, err)
	})
	remove := a.own(api, operation("remove-watch", http.MethodDelete, path+"/{watch}", "Watch no more"))
	huma.Register(api, remove, func(ctx context.Context, in *WatchPath) (*struct{}, error) {
		return nil, a.problem(ctx, a.cfg.Backend.RemoveFor(ctx, recipientOf(ctx), in.Watch))
	})
	now := a.own(api, operation("watch-now", http.MethodGet, path+"/{watch}/now", "What is true now: a service worker's own last look"))
	huma.Register(api, now, func(ctx context.Context, in *WatchPath) (*nowOutput, error) {
		n, err := a.cfg.Backend.Now(ctx, recipientOf(ctx), in.Watch)
		return &nowOutput{n}, a.problem(ctx, err)
	})
}

func recipientOf(ctx context.Context) string { return device.Recipient(deviceOf(ctx).ID) }

func (a *API) addWatch(ctx context.Context, in *addInput) (*addedOutput, error) {
	if in.Body.Below == "" && !in.Body.BackInStock {
		return nil, a.problem(ctx, fmt.Errorf("%w: say when to tell: below an amount, back in stock, or both", ErrInvalid))
	}
	if wait := a.limits.adds.take(deviceOf(ctx).ID, a.cfg.Clock()); wait > 0 {
		return nil, huma.ErrorWithHeaders(huma.NewError(http.StatusTooManyRequests, "too many new watches: wait a moment"), http.Header{"Retry-After": {seconds(wait)}})
	}
	added, err := a.cfg.Backend.WatchFor(ctx, recipientOf(ctx), in.Body)
	return &addedOutput{added}, a.problem(ctx, err)
}
