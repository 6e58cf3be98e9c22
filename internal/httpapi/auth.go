package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

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

// errNoToken says that a request shows no token at all.
var errNoToken = errors.New("no token")

// tokenOf returns the token that a request shows: the header's, if there is one,
// else the cookie's.
func (a *API) tokenOf(r *http.Request) (t device.Token, byCookie bool, err error) {
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, text, _ := strings.Cut(h, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return t, false, device.ErrUnauthorized
		}
		t, err = device.ParseToken(strings.TrimSpace(text))
		return t, false, err
	}
	c, err := r.Cookie(a.cookieName(r))
	if err != nil {
		return t, false, errNoToken
	}
	t, err = device.ParseToken(c.Value)
	return t, true, err
}

// Device returns the device whose request it is, for pages; ok is false if it is
// none's. It renews the cookie. A page counts as a request of the device's, like
// any other ([ErrTooMany]).
func (a *API) Device(w http.ResponseWriter, r *http.Request) (d device.Device, ok bool, err error) {
	t, byCookie, err := a.tokenOf(r)
	if err != nil {
		return d, false, nil
	}
	if wait := a.limits.refused(clientOf(r), a.cfg.Clock()); wait > 0 {
		return d, false, nil
	}
	d, err = a.cfg.Devices.Authenticate(r.Context(), t)
	if errors.Is(err, device.ErrUnauthorized) {
		a.limits.refuse(clientOf(r), a.cfg.Clock())
		return d, false, nil
	}
	if err != nil {
		return d, false, err
	}
	if wait := a.limits.request(d.ID, a.cfg.Clock()); wait > 0 {
		w.Header().Set("Retry-After", seconds(wait))
		return d, false, fmt.Errorf("%w requests: wait a moment", ErrTooMany)
	}
	if byCookie {
		http.SetCookie(w, a.cookie(r, t.Reveal()))
	}
	return d, true, nil
}

// deviceKey is under which a context holds the device whose request it is.
type deviceKey struct{}

func deviceOf(ctx context.Context) device.Device {
	d, _ := ctx.Value(deviceKey{}).(device.Device)
	return d
}

// authenticated lets a request through if it shows a device's token. Whoever
// shows many wrong ones has to wait.
func (a *API) authenticated(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, _ := humago.Unwrap(ctx)
		now := a.cfg.Clock()
		refuse := func(status int, detail string) {
			if status == http.StatusUnauthorized {
				ctx.SetHeader("WWW-Authenticate", `Bearer realm="lastlook"`)
			}
			_ = huma.WriteErr(api, ctx, status, detail)
		}
		t, _, err := a.tokenOf(r)
		if errors.Is(err, errNoToken) {
			refuse(http.StatusUnauthorized, "this is for devices: make one with POST /api/v1/devices, and show its token")
			return
		}
		if wait := a.limits.refused(clientOf(r), now); wait > 0 {
			ctx.SetHeader("Retry-After", seconds(wait))
			refuse(http.StatusTooManyRequests, "too many wrong tokens: wait a moment")
			return
		}
		var d device.Device
		if err == nil {
			d, err = a.cfg.Devices.Authenticate(r.Context(), t)
		}
		switch {
		case errors.Is(err, device.ErrUnauthorized):
			a.limits.refuse(clientOf(r), now)
			refuse(http.StatusUnauthorized, "no device has this token: make a new one with POST /api/v1/devices")
			return
		case err != nil:
			a.cfg.Logger.Error("cannot authenticate", "error", err)
			refuse(http.StatusInternalServerError, "something went wrong here; it is logged: try again later")
			return
		}
		if id := ctx.Param("device"); id != "" && id != "self" && id != d.ID {
			refuse(http.StatusNotFound, "there is no such device of yours")
			return
		}
		if wait := a.limits.request(d.ID, now); wait > 0 {
			ctx.SetHeader("Retry-After", seconds(wait))
			refuse(http.StatusTooManyRequests, "too many requests: wait a moment")
			return
		}
		next(huma.WithValue(ctx, deviceKey{}, d))
	}
}

func seconds(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}
