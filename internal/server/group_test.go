package server

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
)

// Requests that come while one is written share the next transaction; each gets
// its own answer, and a bad one spoils none.
func TestGroup(t *testing.T) {
	var mu sync.Mutex
	var sizes []int
	first, goOn := make(chan struct{}), make(chan struct{})
	bad := errors.New("bad")
	g := &grouper{}
	g.write = func(_ context.Context, requests []access.Request) ([]access.Reply, error) {
		mu.Lock()
		sizes = append(sizes, len(requests))
		n := len(sizes)
		mu.Unlock()
		if n == 1 {
			close(first)
			<-goOn
		}
		out := make([]access.Reply, len(requests))
		for i, r := range requests {
			if r.Key == "bad" {
				return nil, bad
			}
			out[i].Results = []lastlook.EnqueueResult{{ID: lastlook.ID(len(r.Key))}}
		}
		return out, nil
	}
	var wg sync.WaitGroup
	ask := func(key string, want error) {
		wg.Go(func() {
			reply, err := g.do(t.Context(), access.Request{Key: key})
			if !errors.Is(err, want) || want == nil && reply.Results[0].ID != lastlook.ID(len(key)) {
				t.Errorf("%s: %+v, %v", key, reply, err)
			}
		})
	}
	ask("x", nil)
	<-first
	for i := range 5 {
		ask(fmt.Sprintf("%0*d", i+2, 0), nil)
	}
	ask("bad", bad)
	for { // until all wait
		g.mu.Lock()
		n := len(g.waiting)
		g.mu.Unlock()
		runtime.Gosched()
		if n == 6 {
			break
		}
	}
	close(goOn)
	wg.Wait()
	if len(sizes) != 8 || sizes[1] != 6 {
		t.Errorf("written in groups of %v", sizes)
	}
	if g.writing || len(g.waiting) > 0 {
		t.Error("somebody is left")
	}
}

// A write that panics ends alone: who waited gets an error, and the next is
// written.
func TestGroupPanics(t *testing.T) {
	calls := 0
	g := &grouper{write: func(_ context.Context, requests []access.Request) ([]access.Reply, error) {
		if calls++; calls == 1 {
			panic("on purpose")
		}
		return make([]access.Reply, len(requests)), nil
	}}
	func() {
		defer func() { _ = recover() }()
		_, _ = g.do(t.Context(), access.Request{})
	}()
	if _, err := g.do(t.Context(), access.Request{}); err != nil {
		t.Error(err)
	}
}
