package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/watch"
)

// problems are the errors that a caller can act on, and the status of each.
var problems = []struct {
	err    error
	status int
}{
	{device.ErrUnauthorized, http.StatusUnauthorized},
	{ErrForbidden, http.StatusForbidden},
	{ErrConflict, http.StatusConflict},
	{device.ErrNotFound, http.StatusNotFound},
	{device.ErrFull, http.StatusServiceUnavailable},
	{device.ErrGone, http.StatusConflict},
	{device.ErrTaken, http.StatusConflict},
	{device.ErrSuperseded, http.StatusConflict},
	{ErrNotFound, http.StatusNotFound},
	{lastlook.ErrNotFound, http.StatusNotFound},
	{lastlook.ErrNotCancellable, http.StatusConflict},
	{lastlook.ErrNotRetriable, http.StatusConflict},
	{access.ErrKeyReused, http.StatusConflict},
	{lastlook.ErrPayloadTooLarge, http.StatusUnprocessableEntity},
	{lastlook.ErrBusy, http.StatusServiceUnavailable},
	{lastlook.ErrFull, http.StatusServiceUnavailable},
	{lastlook.ErrReadOnly, http.StatusServiceUnavailable},
	{watch.ErrNotFound, http.StatusNotFound},
	{ErrTooMany, http.StatusTooManyRequests},
	{ErrUnavailable, http.StatusServiceUnavailable},
	{device.ErrInvalid, http.StatusUnprocessableEntity},
	{ErrInvalid, http.StatusUnprocessableEntity},
	{watch.ErrInvalid, http.StatusUnprocessableEntity},
}

// problem turns an error into what is answered. What is not meant for callers
// is logged, and answered as what it is to them: a fault of ours.
func (a *API) problem(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	for _, p := range problems {
		if errors.Is(err, p.err) {
			if f, ok := errors.AsType[*fieldError](err); ok {
				return huma.NewError(p.status, plain(err), &huma.ErrorDetail{Message: f.text, Location: f.location()})
			}
			return huma.NewError(p.status, plain(err))
		}
	}
	if ctx.Err() != nil {
		return huma.NewError(http.StatusServiceUnavailable, "the request was given up before it was answered: try again")
	}
	a.cfg.Logger.Error("a request met trouble", "error", err)
	return huma.NewError(http.StatusInternalServerError, "something went wrong here; it is logged: try again later")
}

// plain returns an error's text without the names of packages.
func plain(err error) string {
	text := err.Error()
	for _, p := range problems {
		if pkg, rest, ok := strings.Cut(p.err.Error(), ": "); ok {
			text = strings.ReplaceAll(text, pkg+": "+rest, rest)
		}
	}
	return strings.TrimPrefix(text, "invalid: ")
}

// withoutValues takes out of a problem what was sent: it may be secret, and
// whoever sent it knows it.
func withoutValues(_ huma.Context, _ string, v any) (any, error) {
	if m, ok := v.(*huma.ErrorModel); ok {
		for _, d := range m.Errors {
			d.Value = nil
		}
	}
	return v, nil
}

// Problem answers with a problem (RFC 9457).
func Problem(w http.ResponseWriter, status int, detail string) {
	b, err := json.Marshal(huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
	if err != nil {
		panic(err) // plain text always encodes
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b) // who has gone does not read it
}
