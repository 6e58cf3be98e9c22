package storetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lastlook/lastlook"
)

// What a correct dispatcher decides, written plainly and apart from the one in
// the root package: guard, then judge, then assert.

// guard says whether a claimed row may not be told at all, before anybody
// looks.
func guard(r *lastlook.Row, w lastlook.Windows, now time.Time) (lastlook.Reason, bool) {
	switch {
	case !r.ExpiresAt.After(now):
		return lastlook.ReasonExpired, true
	case r.Muted:
		return lastlook.ReasonMuted, true
	case r.KeyRow.Told.Covers(w.At(now, r.Episode)) && r.KeyRow.ToldBy != r.ID:
		return lastlook.ReasonAlreadyTold, true
	}
	return "", false
}

// assertionOf is what a row tells: the value just looked at, in the window of
// now or the told one if that is later, under the sequence number of the last
// maybe-delivered assertion if that told the same.
func assertionOf(r *lastlook.Row, w lastlook.Windows, now time.Time, value json.RawMessage, g lastlook.Guarantee) (lastlook.Assertion, error) {
	a := lastlook.Assertion{Value: value, LookedAt: now, Window: r.KeyRow.Told.Later(w.At(now, r.Episode)), Seq: r.KeyRow.Seq + 1, Guarantee: g}
	if len(r.KeyRow.Maybe) > 0 {
		same, err := sameValue(r.KeyRow.Maybe, value)
		if err != nil {
			return a, err
		}
		if same {
			a.Seq = r.KeyRow.Seq
		}
	}
	return a, nil
}

func sameValue(a, b json.RawMessage) (bool, error) {
	ca, err := lastlook.Canonical(a)
	if err != nil {
		return false, err
	}
	cb, err := lastlook.Canonical(b)
	return bytes.Equal(ca, cb), err
}

// backoff is min(2ⁿ · 30 s, 30 min).
func backoff(n int) time.Duration {
	d := 30 * time.Second
	for range n {
		d = min(2*d, 30*time.Minute)
	}
	return d
}

// maxPages bounds a sweep: a cursor that does not move would never end.
const maxPages = 1000

// sweepAll reads a sweep to its end, page by page. between is called after
// each page, if given.
func sweepAll(ctx context.Context, s lastlook.Store, now time.Time, limit int, between func(page lastlook.Swept) error) (lastlook.Swept, error) {
	var all lastlook.Swept
	req := lastlook.SweepRequest{Now: now, Limit: limit}
	for range maxPages {
		page, err := s.Sweep(ctx, req)
		if err != nil {
			return all, err
		}
		if len(page.Dead) > limit || len(page.Expired) > limit {
			return all, fmt.Errorf("a page of a sweep with limit %d has %d dead and %d expired rows", limit, len(page.Dead), len(page.Expired))
		}
		all.Dead = append(all.Dead, page.Dead...)
		all.Expired = append(all.Expired, page.Expired...)
		all.Revived = append(all.Revived, page.Revived...)
		if between != nil {
			if err := between(page); err != nil {
				return all, err
			}
		}
		if page.Next == "" {
			return all, nil
		}
		req.Cursor = page.Next
	}
	return all, fmt.Errorf("a sweep with limit %d has not ended after %d pages", limit, maxPages)
}

// tidyStats brings counts into one order, without lane numbers and zeros.
func tidyStats(st lastlook.Stats) lastlook.Stats {
	st.Live = slices.DeleteFunc(append([]lastlook.LaneStats{}, st.Live...), func(l lastlook.LaneStats) bool { return l.Count == 0 })
	for i := range st.Live {
		st.Live[i].Lane.ID = 0
	}
	slices.SortFunc(st.Live, func(a, b lastlook.LaneStats) int {
		return cmp.Or(compareLanes(a.Lane, b.Lane), cmp.Compare(a.State, b.State))
	})
	st.Ended = slices.DeleteFunc(append([]lastlook.EndCount{}, st.Ended...), func(e lastlook.EndCount) bool { return e.Count == 0 })
	slices.SortFunc(st.Ended, func(a, b lastlook.EndCount) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.State, b.State), cmp.Compare(a.Reason, b.Reason))
	})
	return st
}

func compareLanes(a, b lastlook.Lane) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Priority, b.Priority))
}
