package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

type (
	keyOutput struct {
		Body struct {
			Key string `json:"application_server_key" doc:"The public key to subscribe with; empty if this server does not push"`
		}
	}
	subscribeInput struct {
		DevicePath
		Body struct {
			Subscription Subscription `json:"subscription"`
			Key          string       `json:"application_server_key" maxLength:"200" doc:"The key that it was made with"`
		}
	}
	changeInput struct {
		DevicePath
		Body struct {
			OldEndpoint  string       `json:"old_endpoint,omitempty" maxLength:"2048" doc:"The endpoint of the subscription that it replaces, if the browser knows it"`
			Subscription Subscription `json:"subscription"`
			Key          string       `json:"application_server_key" maxLength:"200" doc:"The key that it was made with"`
		}
	}
	testOutput struct{ Body Test }
)

func (a *API) registerPush(api huma.API) {
	huma.Register(api, operation("get-push", http.MethodGet, "/api/v1/push", "The key to subscribe with"), func(context.Context, *struct{}) (*keyOutput, error) {
		out := &keyOutput{}
		out.Body.Key = a.cfg.Backend.PushKey()
		return out, nil
	})
	const path = "/api/v1/devices/{device}/subscription"
	put := a.own(api, operation("put-subscription", http.MethodPut, path, "Subscribe a device to push"))
	huma.Register(api, put, func(ctx context.Context, in *subscribeInput) (*deviceOutput, error) {
		d, err := a.cfg.Backend.Subscribe(ctx, deviceOf(ctx).ID, in.Body.Subscription, in.Body.Key)
		return a.answer(ctx, d, err)
	})
	change := a.own(api, operation("change-subscription", http.MethodPost, path+"/change", "Replace a subscription that the browser has changed"))
	huma.Register(api, change, func(ctx context.Context, in *changeInput) (*deviceOutput, error) {
		d, err := a.cfg.Backend.Resubscribe(ctx, deviceOf(ctx).ID, in.Body.OldEndpoint, in.Body.Subscription, in.Body.Key)
		return a.answer(ctx, d, err)
	})
	remove := a.own(api, operation("delete-subscription", http.MethodDelete, path, "Push to a device no more"))
	huma.Register(api, remove, func(ctx context.Context, _ *DevicePath) (*deviceOutput, error) {
		d, err := a.cfg.Backend.Unsubscribe(ctx, deviceOf(ctx).ID)
		return a.answer(ctx, d, err)
	})
	test := a.own(api, operation("test-push", http.MethodPost, "/api/v1/devices/{device}/test", "Send a test notification, the way that all go"))
	test.DefaultStatus = http.StatusAccepted
	huma.Register(api, test, func(ctx context.Context, _ *DevicePath) (*testOutput, error) {
		d := deviceOf(ctx)
		if wait := a.limits.tests.take(d.ID, a.cfg.Clock()); wait > 0 {
			return nil, huma.ErrorWithHeaders(huma.NewError(http.StatusTooManyRequests, "too many tests: wait a moment"), http.Header{"Retry-After": {seconds(wait)}})
		}
		t, err := a.cfg.Backend.Test(ctx, d)
		return &testOutput{t}, a.problem(ctx, err)
	})
}
