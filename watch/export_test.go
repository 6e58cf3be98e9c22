package watch

import (
	"time"

	"github.com/lastlook/lastlook"
)

// ValueOf is what a look for the dispatcher gives: the observation, and the
// watch as it stood then.
func ValueOf(e Entry, o Observation) Value { return Value{Observation: o, entry: &e} }

// DetectSafely is how the service calls Detect.
func (s *Service) DetectSafely(e Entry, keys []lastlook.KeyRow, o Observation) (Detected, error) {
	return s.detect(o, s.cfg.Clock())(e, keys)
}

// Next is when a listing is due after it was read.
func (s *Service) Next(l Listing, now time.Time) time.Time { return s.next(l, now) }
