package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/device"
)

// The cookie that holds a device's token. Over https it has the prefix by which
// browsers keep other hosts of the same domain from setting it.
const (
	cookieName   = "lastlook_device"
	securePrefix = "__Host-"
	// cookieLife is as long as browsers keep one (RFC 6265bis: 400 days); each
	// visit renews it.
	cookieLife = 400 * 24 * time.Hour
)

// secure reports whether a request's cookies travel over https alone.
func (a *API) secure(r *http.Request) bool { return a.cfg.Secure || r.TLS != nil }

func (a *API) cookieName(r *http.Request) string {
	if a.secure(r) {
		return securePrefix + cookieName
	}
	return cookieName
}

// cookie returns a token's cookie; one that ends it for the zero token.
func (a *API) cookie(r *http.Request, token string) *http.Cookie {
	c := &http.Cookie{
		Name: a.cookieName(r), Value: token, Path: "/", MaxAge: int(cookieLife / time.Second),
		HttpOnly: true, Secure: a.secure(r), SameSite: http.SameSiteLaxMode,
	}
	if token == "" {
		c.MaxAge = -1
	}
	return c
}

// credential is what a request shows: a device's token or a key's.
type credential struct {
	device device.Token
	key    access.Token
	isKey  bool
	cookie bool
}

// errNoToken says that a request shows no token at all.
var errNoToken = errors.New("no token")

// credentialOf returns what a request shows: the header's, if there is one, else
// the cookie's.
func (a *API) credentialOf(r *http.Request) (c credential, err error) {
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, text, _ := strings.Cut(h, " ")
		text = strings.TrimSpace(text)
		if !strings.EqualFold(scheme, "Bearer") || len(r.Header.Values("Authorization")) > 1 {
			return c, device.ErrUnauthorized
		}
		if access.LooksLikeToken(text) {
			c.isKey = true
			c.key, err = access.ParseToken(text)
			return c, err
		}
		c.device, err = device.ParseToken(text)
		return c, err
	}
	cookie, err := r.Cookie(a.cookieName(r))
	if err != nil {
		return c, errNoToken
	}
	c.cookie = true
	c.device, err = device.ParseToken(cookie.Value)
	return c, err
}

// Errors of [API.identify] besides those of tokens.
var (
	errWait   = errors.New("too many wrong tokens: wait a moment")
	errWorld  = errors.New("cannot authenticate")
	errsToken = []error{device.ErrUnauthorized, access.ErrUnauthorized}
)

// identify finds out who calls. wait says how long a client that showed many
// wrong tokens has to wait, with errWait.
func (a *API) identify(r *http.Request) (who Who, byCookie bool, wait time.Duration, err error) {
	now := a.cfg.Clock()
	c, err := a.credentialOf(r)
	if errors.Is(err, errNoToken) {
		if user := loginOf(r); user != "" {
			return a.login(user), false, 0, nil
		}
		return who, false, 0, err
	}
	if wait := a.limits.refused(clientOf(r), now); wait > 0 {
		return who, c.cookie, wait, errWait
	}
	if err == nil {
		who, err = a.authenticate(r.Context(), c)
	}
	switch {
	case err == nil:
		return who, c.cookie, 0, nil
	case slices.ContainsFunc(errsToken, func(e error) bool { return errors.Is(err, e) }):
		a.limits.refuse(clientOf(r), now)
		return who, c.cookie, 0, err
	}
	return who, c.cookie, 0, fmt.Errorf("%w: %w", errWorld, err)
}

func (a *API) authenticate(ctx context.Context, c credential) (Who, error) {
	if !c.isKey {
		d, err := a.cfg.Devices.Authenticate(ctx, c.device)
		return AsDevice(d), err
	}
	if a.cfg.Keys == nil {
		return Who{}, access.ErrUnauthorized
	}
	k, err := a.cfg.Keys.Authenticate(ctx, c.key)
	return AsKey(k), err
}

// login is whom the proxy before us has let in.
func (a *API) login(user string) Who {
	k := access.Key{ID: "login:" + user, Name: "login " + user, Owner: user, Scopes: access.AllScopes(), PerMinute: access.DefaultPerMinute}
	return Who{key: k, operator: slices.Contains(a.cfg.LoginOperators, user)}
}

// Device returns the device whose request it is, for pages; ok is false if it is
// none's. It renews the cookie. A page counts as a request of the device's, like
// any other ([ErrTooMany]).
func (a *API) Device(w http.ResponseWriter, r *http.Request) (d device.Device, ok bool, err error) {
	who, byCookie, _, err := a.identify(r)
	switch {
	case errors.Is(err, errWorld):
		return d, false, err
	case err != nil || who.device.ID == "":
		return d, false, nil
	}
	d = who.device
	if wait := a.limits.request(d.ID, a.cfg.Clock()); wait > 0 {
		w.Header().Set("Retry-After", seconds(wait))
		return d, false, fmt.Errorf("%w requests: wait a moment", ErrTooMany)
	}
	if c, err := r.Cookie(a.cookieName(r)); byCookie && err == nil {
		http.SetCookie(w, a.cookie(r, c.Value))
	}
	return d, true, nil
}

// need says who may use a route.
type need struct {
	// devices lets devices in, scope keys that have it. Operators may, unless
	// noOperator.
	devices, noOperator bool
	scope               access.Scope
}

// anyScope is the need of any key, whatever it allows.
const anyScope access.Scope = "any"

var (
	devicesOnly = need{devices: true, noOperator: true}
	operators   = need{}
	// devicesAndOperators leaves out keys.
	devicesAndOperators = need{devices: true}
)

// security is a need as the API's description tells it.
func (n need) security() (out []map[string][]string) {
	if n.devices {
		out = append(out, map[string][]string{"cookie": {}}, map[string][]string{"device": {}})
	}
	if n.noOperator {
		return out
	}
	if n.scope != "" {
		out = append(out, map[string][]string{"key": {string(n.scope)}})
	}
	return append(out, map[string][]string{"operator": {}})
}

// allows reports, by a status and a text, why a caller may not.
func (n need) allows(w Who) (status int, detail string) {
	switch {
	case w.device.ID != "" && n.devices, w.operator && !n.noOperator, n.scope != "" && w.device.ID == "" && (w.key.May(n.scope) || n.scope == anyScope && w.key.ID != ""):
		return 0, ""
	case n.scope == "" && n.devices:
		return http.StatusForbidden, "this is for devices: show the token of one, not a key's"
	case n == operators:
		return http.StatusForbidden, "this is for the operator: show the operator's token (lastlook token rotate makes a new one)"
	case w.device.ID != "":
		return http.StatusForbidden, "this is not for devices: show an API key (lastlook key add makes one)"
	}
	return http.StatusForbidden, "this key has not the scope " + string(n.scope) + ": make one that has with lastlook key add"
}

// authenticated lets a request through if it shows a token that the route takes.
// Whoever shows many wrong ones has to wait.
func (a *API) authenticated(api huma.API, n need) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, _ := humago.Unwrap(ctx)
		refuse := func(status int, detail string) {
			if status == http.StatusUnauthorized {
				ctx.SetHeader("WWW-Authenticate", `Bearer realm="lastlook"`)
			}
			_ = huma.WriteErr(api, ctx, status, detail)
		}
		who, _, wait, err := a.identify(r)
		switch {
		case errors.Is(err, errNoToken):
			refuse(http.StatusUnauthorized, "show a token: a device's (make one with POST /api/v1/devices), or an API key (lastlook key add)")
			return
		case errors.Is(err, errWait):
			ctx.SetHeader("Retry-After", seconds(wait))
			refuse(http.StatusTooManyRequests, errWait.Error())
			return
		case errors.Is(err, device.ErrUnauthorized):
			refuse(http.StatusUnauthorized, "no device has this token: make a new one with POST /api/v1/devices")
			return
		case errors.Is(err, access.ErrUnauthorized):
			refuse(http.StatusUnauthorized, "no key has this token (any more): make one with lastlook key add, or lastlook token rotate for the operator's")
			return
		case err != nil:
			a.cfg.Logger.Error("cannot authenticate", "error", err)
			refuse(http.StatusInternalServerError, "something went wrong here; it is logged: try again later")
			return
		}
		if status, detail := n.allows(who); status != 0 {
			refuse(status, detail)
			return
		}
		if id := ctx.Param("device"); id != "" && id != "self" && id != who.device.ID && !who.operator {
			refuse(http.StatusNotFound, "there is no such device of yours")
			return
		}
		if wait := a.limits.requestOf(who, a.cfg.Clock()); wait > 0 {
			ctx.SetHeader("Retry-After", seconds(wait))
			refuse(http.StatusTooManyRequests, "too many requests: wait a moment")
			return
		}
		next(huma.WithValue(ctx, whoKey{}, who))
	}
}

func seconds(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}
