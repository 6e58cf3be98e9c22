package storetest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"pgregory.net/rapid"
)

// recorder is a TB that keeps failures instead of failing a test.
type recorder struct {
	name   string
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	failures []string
	cleanups []func()
}

// attempt runs f with a recorder and returns the failures it reported.
func attempt(ctx context.Context, name string, f func(tb TB)) []string {
	r := &recorder{name: name}
	r.ctx, r.cancel = context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine, as in testing
		defer close(done)
		defer r.finish()
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		f(r)
	}()
	<-done
	return r.failures
}

func (r *recorder) finish() {
	r.cancel()
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

func (r *recorder) Helper()                  {}
func (r *recorder) Name() string             { return r.name }
func (r *recorder) Logf(string, ...any)      {}
func (r *recorder) FailNow()                 { runtime.Goexit() }
func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.FailNow()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *recorder) TempDir() string { return tempDir(r) }

// rapidTB makes a TB of a rapid.T.
type rapidTB struct{ *rapid.T }

func (t rapidTB) TempDir() string { return tempDir(t) }

func tempDir(tb TB) string {
	dir, err := os.MkdirTemp("", "storetest-"+strings.NewReplacer("/", "-", " ", "-").Replace(tb.Name())+"-*")
	if err != nil {
		tb.Fatalf("temporary directory: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
