package server

import (
	"context"
	"errors"
	"net/url"
)

// errAskedMuch says that devices have a host looked at too often.
var errAskedMuch = errors.New("devices have its site looked at as often as may be just now")

// mayLook reports whether a host may be looked at because a device asks, and
// counts it. All devices share it: together they are no way to flood a site. It
// is apart from what sweeps and last looks may do, or devices could use that up
// for everybody.
func (s *Server) mayLook(ctx context.Context, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	wait, err := s.asked.Admit(ctx, u.Hostname(), s.opt.Clock())
	return err == nil && wait <= 0
}
