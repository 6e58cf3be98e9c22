package watchpg

import (
	"context"
	"fmt"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/beside"
	"github.com/lastlook/lastlook/watch"
)

// Politeness says how often a host may be asked, by all who share the database. It
// is a row per host: the slot that the next look would have if the host were asked
// evenly. A look is admitted while that is no further ahead than a burst.
type Politeness struct {
	db    beside.DB
	scope string
	every time.Duration
	burst time.Duration
}

var _ watch.Politeness = (*Politeness)(nil)

// NewPoliteness returns a Politeness: so many looks per second at each host, and at
// most burst at once after a quiet time. Those with the same scope share it; they
// should agree on the numbers, and on the time ([postgres.Store.NewClock]).
func (s *Store) NewPoliteness(scope string, perSecond float64, burst int) (*Politeness, error) {
	if perSecond <= 0 || burst < 1 {
		return nil, fmt.Errorf("%w: %g looks per second and a burst of %d: both are above zero", watch.ErrInvalid, perSecond, burst)
	}
	every := max(time.Duration(float64(time.Second)/perSecond).Round(time.Microsecond), time.Microsecond)
	return &Politeness{s.db, scope, every, time.Duration(burst) * every}, nil
}

// Admit implements [watch.Politeness].
func (p *Politeness) Admit(ctx context.Context, host string, now time.Time) (wait time.Duration, err error) {
	if err := lastlook.CheckClock(now); err != nil {
		return 0, fmt.Errorf("ask for a look: %w", err)
	}
	host = p.scope + " " + host
	admitted := false
	var slot int64
	err = p.db.Write(ctx, func(ctx context.Context, tx beside.Tx) error {
		admitted = false
		err := tx.Query(ctx, "admit_host", func(scan func(...any) error) error {
			admitted = true
			return scan(&slot)
		}, host, now.UnixMicro(), p.every.Microseconds(), p.burst.Microseconds())
		if err != nil || admitted {
			return err
		}
		slot, err = beside.Number(ctx, tx, "host_slot", host)
		return err
	})
	if err != nil || admitted {
		return 0, err
	}
	// The next look fits when the slot after it is no further ahead than a burst.
	wait = time.UnixMicro(slot).Add(p.every).Sub(now.Add(p.burst))
	return max(wait, time.Microsecond), nil
}

// Forget deletes up to limit hosts that have been quiet since before now, which are
// as ones that were never asked. It returns how many.
func (s *Store) Forget(ctx context.Context, now time.Time, limit int) (int, error) {
	var n int64
	err := s.db.Write(ctx, func(ctx context.Context, tx beside.Tx) (err error) {
		n, err = tx.Exec(ctx, "forget_hosts", now.UnixMicro(), limit)
		return err
	})
	return int(n), err
}
