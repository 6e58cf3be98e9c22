// Package httpapi is the HTTP API: what a browser, its service worker or any
// other holder of a device's token may ask for, and what programs with an API
// key and operators may. It knows the domain (access, device, watch) and no
// concrete part; a [Backend] does the work.
//
// # Who may do what
//
// A device shows its token in a cookie, or as "Authorization: Bearer …"; a
// program shows an API key, an operator the operator's token, always in that
// header. Devices and keys see and change only their own: what belongs to
// another does not exist for them (404), what their kind or scope does not
// allow is refused (403), and without a token there is nothing (401). A token
// never stands in a URL, and a query parameter that is not known is refused.
//
// The cookie is HttpOnly and SameSite=Lax; requests that change something and
// come from another origin are refused ([Guard]).
//
// # Errors
//
// Errors are RFC 9457 problems (application/problem+json), whose detail says
// what to do. They repeat nothing of what was sent, for it may be secret.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/device"
)

// Errors of a [Backend] that a caller can act on; the text is shown.
var (
	// ErrInvalid says that something cannot be as it was given.
	ErrInvalid = errors.New("httpapi: invalid")
	// ErrNotFound says that there is no such thing, or that it is another's.
	ErrNotFound = errors.New("httpapi: not found")
	// ErrForbidden says that the caller may not, whatever it is.
	ErrForbidden = errors.New("httpapi: forbidden")
	// ErrConflict says that the thing's present state does not allow it.
	ErrConflict = errors.New("httpapi: conflict")
	// ErrTooMany says that a quota is used up.
	ErrTooMany = errors.New("httpapi: too many")
	// ErrUnavailable says that something is not set up here.
	ErrUnavailable = errors.New("httpapi: unavailable")
)

// Devices keeps devices, as [device.Service] does.
type Devices interface {
	Create(ctx context.Context, name string) (device.Device, device.Token, error)
	Authenticate(ctx context.Context, t device.Token) (device.Device, error)
	Rename(ctx context.Context, id, name string) (device.Device, error)
}

// Backend does the work. What it is asked for by a caller is that
// caller's own: anything else is [ErrNotFound].
type Backend interface {
	Outbox
	Topics
	Listings
	Operating
	Events

	// PushKey returns the public key to subscribe with; "" if there is no push.
	PushKey() string
	// Subscribe takes a subscription, Resubscribe one in the place of an older
	// one; Unsubscribe forgets it.
	Subscribe(ctx context.Context, id string, s Subscription, key string) (device.Device, error)
	Resubscribe(ctx context.Context, id, oldEndpoint string, s Subscription, key string) (device.Device, error)
	Unsubscribe(ctx context.Context, id string) (device.Device, error)
	// Test enqueues a test notification, LastTest says what became of the last
	// one.
	Test(ctx context.Context, d device.Device) (Test, error)
	LastTest(ctx context.Context, id string) (*Test, error)
	// RemoveDevice removes a device and all that is its own.
	RemoveDevice(ctx context.Context, id string) error

	WatchesOf(ctx context.Context, who Who) ([]Watch, error)
	WatchFor(ctx context.Context, who Who, n NewWatch) (Added, error)
	// SnoozeFor keeps a watch silent until then; zero ends that.
	SnoozeFor(ctx context.Context, who Who, id string, until time.Time) (Watch, error)
	RemoveFor(ctx context.Context, who Who, id string) error
	// Now looks at what is watched, if that is not too soon, and says whether
	// it holds.
	Now(ctx context.Context, who Who, id string) (Now, error)
}

// Programs tell whose token it is, as [access.Service] does.
type Programs interface {
	Authenticate(ctx context.Context, t access.Token) (access.Key, error)
}

// Arrivals say who may make a device without being known.
type Arrivals struct {
	// Open lets anybody.
	Open bool
	// Invite, if it is not "", lets whoever knows it.
	Invite string
}

const description = "Notifications that are still true when they are sent. Enqueue what you noticed; before anything is told, lastlook looks again and asks whether it still holds. docs/api.md of the repository tells the whole."

// Config configures an [API].
type Config struct {
	Devices Devices
	Backend Backend
	// Keys may be nil: then there are none.
	Keys Programs
	// Arrivals say who may make devices.
	Arrivals Arrivals
	// LoginOperators are those whom the proxy's login lets operate; see [Guard].
	LoginOperators []string
	Logger         *slog.Logger
	// Version is the program's, for the API's description.
	Version string
	// Secure says that the address that people use is https, whatever the
	// connection here is; see [Guard].
	Secure bool
	// Clock is the source of now; nil means [time.Now].
	Clock func() time.Time
}

// API answers requests. Make one with [New].
type API struct {
	cfg     Config
	limits  *limits
	streams streams
}

// New registers the API's routes on a mux.
func New(mux *http.ServeMux, cfg Config) *API {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	a := &API{cfg: cfg, limits: newLimits()}
	c := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "lastlook", Version: cfg.Version, Description: description},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"cookie":   {Type: "apiKey", In: "cookie", Name: cookieName},
					"device":   {Type: "http", Scheme: "bearer", Description: "The token that POST /api/v1/devices gave, with \"bearer\": true"},
					"key":      {Type: "http", Scheme: "bearer", Description: "An API key: lastlook key add"},
					"operator": {Type: "http", Scheme: "bearer", Description: "The operator's token: shown at the first start, or by lastlook token rotate"},
				},
			},
		},
		OpenAPIPath:                  "/api/v1/openapi",
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{withoutValues},
	}
	api := humago.New(mux, c)
	a.registerDevices(api)
	a.registerPush(api)
	a.registerWatches(api)
	a.registerListings(api)
	a.registerNotifications(api)
	a.registerTopics(api)
	a.registerOperating(api)
	a.registerEvents(api)
	registerReference(mux, api.OpenAPI())
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		Problem(w, http.StatusNotFound, "there is no such address: see /openapi.json, or /api/v1/reference to read")
	})
	return a
}

// maxBody bounds what a request may send: subscriptions and addresses are
// small.
const maxBody = 32 << 10

// maxOneBody bounds one notification.
const maxOneBody = 128 << 10

// maxBatchBody bounds a batch of notifications.
const maxBatchBody = 4 << 20

// operation describes a route.
func operation(id, method, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: maxBody, RejectUnknownQueryParameters: true}
}

// own adds to a route that it is for devices, and that an address within it must
// be the device's own.
func (a *API) own(api huma.API, op huma.Operation) huma.Operation {
	return a.allow(api, op, devicesOnly)
}

// allow adds to a route who may use it.
func (a *API) allow(api huma.API, op huma.Operation, n need) huma.Operation {
	op.Security = n.security()
	op.Middlewares = append(op.Middlewares, a.authenticated(api, n))
	return op
}
