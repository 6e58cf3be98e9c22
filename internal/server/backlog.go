package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lastlook/lastlook/internal/httpapi"
)

const (
	// maxOwnerLive is how many notifications of one owner's topics may be on
	// their way.
	maxOwnerLive = 100_000
	// backlogAge is for how long a count is believed.
	backlogAge = 5 * time.Second
)

// backlog keeps owners from filling the outbox: what they have on the way is
// counted now and then, and what they add since then is added.
type backlog struct {
	mu    sync.Mutex
	at    time.Time
	count map[string]int // by owner
}

// admit reports, wrapping [httpapi.ErrTooMany], that an owner has too much on
// the way for n more.
func (b *backlog) admit(ctx context.Context, s *Server, who httpapi.Who, n int) error {
	if who.Operator() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := s.opt.Clock()
	if age := now.Sub(b.at); b.count == nil || age < 0 || age >= backlogAge {
		stats, err := s.outbox.Stats(ctx, now)
		if err != nil {
			return err
		}
		topics := s.channels.Load().topics
		b.at, b.count = now, map[string]int{}
		for i := range stats.Live {
			if t, ok := topics.Get(stats.Live[i].Topic); ok {
				b.count[t.Owner] += stats.Live[i].Count
			}
		}
	}
	if b.count[who.Owner()]+n > maxOwnerLive {
		return fmt.Errorf("%w notifications on their way: %d is the most; wait until some have ended, or cancel some", httpapi.ErrTooMany, maxOwnerLive)
	}
	b.count[who.Owner()] += n
	return nil
}
