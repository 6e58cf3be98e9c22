package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/lastlook/lastlook/device"
)

// DevicePath is the part of an address that names a device.
type DevicePath struct {
	Device string `path:"device" maxLength:"64" doc:"The device's own id, or self"`
}

type (
	createInput struct {
		Body struct {
			Name   string `json:"name" maxLength:"100" doc:"What to call it, such as \"phone\""`
			Invite string `json:"invite,omitempty" maxLength:"200" doc:"The invite code, where one is asked for"`
			Bearer bool   `json:"bearer,omitempty" doc:"Answer with the token instead of setting a cookie: for programs that are no browser"`
		}
		request *http.Request
	}
	createOutput struct {
		SetCookie string `header:"Set-Cookie"`
		Body      struct {
			Device
			Token string `json:"token,omitempty" doc:"The device's token, shown this once"`
		}
	}
	renameInput struct {
		DevicePath
		Body struct {
			Name string `json:"name" maxLength:"100"`
		}
	}
	deviceOutput  struct{ Body Device }
	devicesOutput struct {
		Body struct {
			Devices []Device `json:"devices"`
		}
	}
	removeInput struct {
		DevicePath
		request *http.Request
	}
	removeOutput struct {
		SetCookie string `header:"Set-Cookie"`
	}
)

// Resolve implements [huma.Resolver]: cookies depend on how a request came.
func (in *createInput) Resolve(ctx huma.Context) []error {
	in.request, _ = humago.Unwrap(ctx)
	return nil
}

// Resolve implements [huma.Resolver].
func (in *removeInput) Resolve(ctx huma.Context) []error {
	in.request, _ = humago.Unwrap(ctx)
	return nil
}

func (a *API) registerDevices(api huma.API) {
	create := operation("create-device", http.MethodPost, "/api/v1/devices", "Make a device, and be it")
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, a.createDevice)
	list := a.allow(api, operation("list-devices", http.MethodGet, "/api/v1/devices", "List the devices that are one's own: the one that asks; for operators, all"), devicesAndOperators)
	huma.Register(api, list, func(ctx context.Context, _ *struct{}) (*devicesOutput, error) {
		if whoOf(ctx).operator {
			all, err := a.cfg.Backend.AllDevices(ctx)
			out := &devicesOutput{}
			out.Body.Devices = all
			return out, a.problem(ctx, err)
		}
		d, err := a.deviceView(ctx, deviceOf(ctx))
		out := &devicesOutput{}
		out.Body.Devices = []Device{d}
		return out, a.problem(ctx, err)
	})
	get := a.own(api, operation("get-device", http.MethodGet, "/api/v1/devices/{device}", "Show a device, and whether it is pushed to"))
	huma.Register(api, get, func(ctx context.Context, _ *DevicePath) (*deviceOutput, error) {
		return a.answer(ctx, deviceOf(ctx), nil)
	})
	rename := a.own(api, operation("rename-device", http.MethodPatch, "/api/v1/devices/{device}", "Rename a device"))
	huma.Register(api, rename, func(ctx context.Context, in *renameInput) (*deviceOutput, error) {
		d, err := a.cfg.Devices.Rename(ctx, deviceOf(ctx).ID, in.Body.Name)
		return a.answer(ctx, d, err)
	})
	remove := a.allow(api, operation("delete-device", http.MethodDelete, "/api/v1/devices/{device}", "Remove a device, its watches, and its token"), devicesAndOperators)
	huma.Register(api, remove, func(ctx context.Context, in *removeInput) (*removeOutput, error) {
		if whoOf(ctx).operator {
			return &removeOutput{}, a.problem(ctx, a.cfg.Backend.RemoveDevice(ctx, in.Device))
		}
		if err := a.cfg.Backend.RemoveDevice(ctx, deviceOf(ctx).ID); err != nil {
			return nil, a.problem(ctx, err)
		}
		return &removeOutput{SetCookie: a.cookie(in.request, "").String()}, nil
	})
}

// createDevice makes a device. It is the one route that takes no token; a client
// may use it now and then only.
func (a *API) createDevice(ctx context.Context, in *createInput) (*createOutput, error) {
	if wait := a.limits.arrive(clientOf(in.request), a.cfg.Clock()); wait > 0 {
		return nil, huma.ErrorWithHeaders(huma.NewError(http.StatusTooManyRequests, "too many new devices from this address: wait a moment"),
			http.Header{"Retry-After": {seconds(wait)}})
	}
	if err := a.mayArrive(in.request, in.Body.Invite); err != nil {
		return nil, err
	}
	d, token, err := a.cfg.Devices.Create(ctx, in.Body.Name)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	out := &createOutput{}
	out.Body.Device = view(d)
	if in.Body.Bearer {
		out.Body.Token = token.Reveal()
	} else {
		out.SetCookie = a.cookie(in.request, token.Reveal()).String()
	}
	return out, nil
}

// mayArrive reports why a request may not make a device. A key or a login always
// may; a device's own token says nothing, for whoever has one has one already.
func (a *API) mayArrive(r *http.Request, invite string) error {
	if a.cfg.Arrivals.Open {
		return nil
	}
	who, _, wait, err := a.identify(r)
	if err == nil && who.key.ID != "" {
		return nil
	}
	if wait == 0 {
		wait = a.limits.refused(clientOf(r), a.cfg.Clock())
	}
	if wait > 0 {
		return huma.ErrorWithHeaders(huma.NewError(http.StatusTooManyRequests, "too many wrong tokens or codes: wait a moment"), http.Header{"Retry-After": {seconds(wait)}})
	}
	want := a.cfg.Arrivals.Invite
	if want == "" {
		return huma.NewError(http.StatusForbidden, "this server takes no devices that it does not know: ask its operator to make one for you, or to start it with --invite-code or --public")
	}
	given, expected := sha256.Sum256([]byte(invite)), sha256.Sum256([]byte(want))
	if subtle.ConstantTimeCompare(given[:], expected[:]) == 1 {
		return nil
	}
	if invite != "" {
		a.limits.refuse(clientOf(r), a.cfg.Clock())
	}
	return huma.NewError(http.StatusForbidden, "this server takes devices with an invite code only: ask its operator for it", &huma.ErrorDetail{Message: "give the invite code", Location: "body.invite"})
}

// answer answers with a device.
func (a *API) answer(ctx context.Context, d device.Device, err error) (*deviceOutput, error) {
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	v, err := a.deviceView(ctx, d)
	return &deviceOutput{v}, a.problem(ctx, err)
}

func (a *API) deviceView(ctx context.Context, d device.Device) (v Device, err error) {
	v = view(d)
	v.Test, err = a.cfg.Backend.LastTest(ctx, d.ID)
	return v, err
}

// DeviceView is a device as the API shows it.
func DeviceView(d device.Device) Device { return view(d) }

// view is a device as it is shown to itself.
func view(d device.Device) Device {
	p := d.Push
	v := Device{ID: d.ID, Name: d.Name, CreatedAt: d.CreatedAt, Push: Push{
		State: "none", Key: p.Key, Service: p.Subscription.Host(), Since: p.Since, GoneAt: p.GoneAt, LostAt: p.LostAt, BackAt: p.BackAt,
	}}
	const form = "2006-01-02 15:04 UTC"
	switch {
	case p.Active() && !p.BackAt.IsZero():
		v.Push.State = "active"
		v.Push.Note = "Push came back at " + p.BackAt.Format(form) + ", after the push service had ended it at " + p.LostAt.Format(form) + "."
	case p.Active():
		v.Push.State = "active"
	case !p.GoneAt.IsZero():
		v.Push.State = "gone"
		v.Push.Note = "The push service ended the subscription at " + p.GoneAt.Format(form) + ": allow push again."
	}
	return v
}

// Describe returns a device as the API does, for pages.
func (a *API) Describe(ctx context.Context, d device.Device) (Device, error) {
	return a.deviceView(ctx, d)
}
