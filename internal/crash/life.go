package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Failpoint says where the child kills itself: the N-th time that it passes a
// point.
type Failpoint struct {
	Point string `json:"point,omitzero"`
	N     int64  `json:"n,omitzero"`
}

// points are the failpoints of the child's own parts, between any two writes of
// the database, the journals and the channels. A backend adds those between the
// writes of one transaction.
var points = []string{
	"enqueue:before", "enqueue:after",
	"tx:begun", "tx:written", "tx:enqueued", "tx:committed",
	"claim:before", "claim:after",
	"look:before", "look:after", "judge",
	"sending:before", "sending:after",
	"channel:before", "channel:called", "channel:accepted", "channel:answered",
	"sent:before", "sent:after",
	"waiting:before", "waiting:after",
	"dropped:before", "dropped:after",
	"reaped:before", "reaped:after",
	"sweep:before", "sweep:after",
}

// Points returns the names of all failpoints that do not depend on a backend.
func Points() []string { return slices.Clone(points) }

var errKilled = errors.New("crash: the process is dead")

// life is that of one process: it knows where it is to end.
type life struct {
	// kill ends the process. It returns in tests only, where the process is no
	// process of its own; everything that asks over must then have no effect.
	kill func()
	fail Failpoint
	left atomic.Int64
	dead atomic.Bool
}

func newLife(fail Failpoint, kill func()) *life {
	l := &life{kill: kill, fail: fail}
	l.left.Store(max(fail.N, 1))
	return l
}

// pass passes a point, and dies there if it is the one.
func (l *life) pass(point string) error {
	if point == l.fail.Point && l.left.Add(-1) == 0 {
		l.end()
	}
	if l.over() {
		return fmt.Errorf("%w: %s", errKilled, point)
	}
	return nil
}

func (l *life) end() {
	l.dead.Store(true)
	l.kill()
}

func (l *life) over() bool { return l.dead.Load() }

// pause waits, and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
