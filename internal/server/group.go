package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
)

const (
	// maxGroup bounds the requests that are written in one transaction.
	maxGroup = 256
	// groupLimit bounds that transaction.
	groupLimit = 15 * time.Second
)

// errGroup says that whoever wrote for others ended without an answer.
var errGroup = errors.New("the write ended without an answer")

// grouper lets requests that come at the same time share one transaction: while
// one is written, those that arrive wait, and the first of them writes for all.
// Nobody waits when there is nobody else.
type grouper struct {
	write func(ctx context.Context, requests []access.Request) ([]access.Reply, error)

	mu      sync.Mutex
	writing bool
	waiting []*grouped
}

// grouped is a request that waits.
type grouped struct {
	request access.Request
	reply   access.Reply
	// turn gets true when the request is to write for all that wait, false when
	// it was written.
	turn chan bool
}

// do writes a request, alone or with others.
func (g *grouper) do(ctx context.Context, r access.Request) (access.Reply, error) {
	mine := &grouped{request: r, turn: make(chan bool, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, mine)
	lead := !g.writing
	g.writing = true
	g.mu.Unlock()
	// Not ctx: whoever writes is bounded, and one that left could be the one
	// whose turn it is.
	if lead || <-mine.turn {
		g.lead(ctx)
		<-mine.turn
	}
	return mine.reply, mine.reply.Err
}

// lead writes what waits, the caller's own first, and hands on.
func (g *grouper) lead(ctx context.Context) {
	g.mu.Lock()
	n := min(len(g.waiting), maxGroup)
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	g.mu.Unlock()
	for _, w := range batch {
		w.reply.Err = errGroup // unless it is written
	}
	defer func() { // also after a panic, or all would wait for ever
		for _, w := range batch {
			w.turn <- false
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(g.waiting) > 0 {
			g.waiting[0].turn <- true
			return
		}
		g.waiting, g.writing = nil, false
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), groupLimit)
	defer cancel()
	g.writeAll(ctx, batch)
}

// writeAll writes a batch, or, if one of it cannot be written, each alone: a bad
// one is no reason to refuse others.
func (g *grouper) writeAll(ctx context.Context, batch []*grouped) {
	requests := make([]access.Request, len(batch))
	for i, w := range batch {
		requests[i] = w.request
	}
	replies, err := g.write(ctx, requests)
	switch {
	case err == nil:
		for i, w := range batch {
			w.reply = replies[i]
		}
	case len(batch) == 1 || ctx.Err() != nil || errors.Is(err, lastlook.ErrBusy) || errors.Is(err, lastlook.ErrFull) || errors.Is(err, lastlook.ErrReadOnly):
		for _, w := range batch {
			w.reply.Err = err
		}
	default:
		for _, w := range batch {
			g.writeAll(ctx, []*grouped{w})
		}
	}
}
