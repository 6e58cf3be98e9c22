// Package browsertest runs real browsers for tests: Firefox and Chromium,
// headless, each with a desktop of its own for notifications (package desktop)
// and a push service of its own (package pushservice). Nothing of it needs the
// internet, and nothing gets there.
//
//	rig := browsertest.New(t, browsertest.Firefox)
//	rig.Start(t)
//	rig.Open(t, "http://localhost:8080/")
//	rig.Click(t, "#allow")
//	n := rig.WaitNotification(t, "the lamp", func(n desktop.Notification) bool { … })
//
// What a rig starts ends with the test, also when that fails or is killed.
//
// # What a rig does not show
//
// The browsers are real, their makers' push services are stand-ins. Chromium
// takes long to notice that its connection was dropped, and is not told that
// its subscription was forgotten. Firefox ESR shows a notification's buttons
// only with a setting that newer versions have as their default.
package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/internal/browsertest/desktop"
	"github.com/lastlook/lastlook/internal/browsertest/proc"
	"github.com/lastlook/lastlook/internal/browsertest/pushservice"
)

// How long things may take before they count as never happening.
const (
	StartLimit = 60 * time.Second
	EventLimit = 20 * time.Second
)

// Kind is an engine.
type Kind string

// The engines.
const (
	Firefox  Kind = "firefox"
	Chromium Kind = "chromium"
)

// Kinds are all engines.
func Kinds() []Kind { return []Kind{Firefox, Chromium} }

// driver is what an engine must be able to do.
type driver interface {
	// start starts the browser on its profile.
	start(context.Context) error
	// stop asks it to end, and kills it if it does not.
	stop(context.Context) error
	kill() error
	// allow lets pages of the origin show notifications.
	allow(ctx context.Context, origin string) error
	// open goes to an address, and waits until it is loaded.
	open(ctx context.Context, url string) error
	// eval calls an asynchronous function with the body, and returns what it
	// resolves to as JSON.
	eval(ctx context.Context, body string) (json.RawMessage, error)
	// click clicks on the middle of the first element that matches, as a
	// person does.
	click(ctx context.Context, selector string) error
	// pages returns the addresses of all open pages.
	pages(context.Context) ([]string, error)
}

// Rig is a browser with what it needs around it. Its methods end the test if
// they fail; they are for the test's goroutine.
type Rig struct {
	Kind    Kind
	Desktop *desktop.Desktop
	Push    *pushservice.Service

	driver  driver
	web     *web
	origins []string // that may show notifications
	running bool
}

// enabled is what `make test-browser` sets.
const enabled = "LASTLOOK_TEST_BROWSER"

// programs are what an engine needs, with Debian's packages.
func programs(kind Kind) map[string]string {
	p := map[string]string{"dbus-daemon": "dbus-daemon"}
	switch kind {
	case Firefox:
		p["firefox-esr"] = "firefox-esr libnotify4"
	case Chromium:
		p["chromium"] = "chromium"
	}
	return p
}

// need skips the test unless it is to run browsers. In CI they must be there.
func need(t testing.TB, kind Kind) {
	t.Helper()
	if os.Getenv(enabled) == "" {
		t.Skipf("make test-browser: runs real browsers, which takes a minute (it sets %s=1)", enabled)
	}
	for program, packages := range programs(kind) {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("no %s: install %s (Debian's names)", program, packages)
		}
		t.Skipf("NOT TESTED in a real browser: no %s: install %s (Debian's names)", program, packages)
	}
}

// New makes a rig, and starts all of it but the browser. Without
// LASTLOOK_TEST_BROWSER in the environment it skips the test.
func New(t testing.TB, kind Kind) *Rig {
	t.Helper()
	need(t, kind)
	ctx, cancel := context.WithTimeout(t.Context(), StartLimit)
	defer cancel()
	r := &Rig{Kind: kind}
	var err error
	if r.Desktop, err = desktop.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, r.Desktop.Close) })
	if r.Push, err = pushservice.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, r.Push.Close) })
	r.web = newWeb()
	t.Cleanup(func() { closed(t, r.web.close) })
	// Not the test's own directory: a browser that is killed may still write
	// into it for a moment, at which the testing package takes offence.
	profile, err := os.MkdirTemp("", "lastlook-"+string(kind)+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proc.Remove(profile); err != nil {
			t.Error(err)
		}
	})
	if r.driver, err = newDriver(kind, profile, r); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, r.driver.kill) })
	return r
}

func newDriver(kind Kind, profile string, r *Rig) (driver, error) {
	switch kind {
	case Firefox:
		path, err := exec.LookPath("firefox-esr")
		if err != nil {
			return nil, err
		}
		return &firefox{path: path, profile: profile, bus: r.Desktop.Address, push: r.Push.Autopush(), proxy: r.web.address()}, nil
	case Chromium:
		path, err := exec.LookPath("chromium")
		if err != nil {
			return nil, err
		}
		google, err := r.Push.Google()
		if err != nil {
			return nil, err
		}
		return &chromium{path: path, profile: profile, bus: r.Desktop.Address, google: google, proxy: r.web.address()}, nil
	}
	return nil, fmt.Errorf("browsertest: no browser %q", kind)
}

func closed(t testing.TB, f func() error) {
	if err := f(); err != nil {
		t.Error(err)
	}
}

// Start starts the browser; again after a Stop, with the same profile.
func (r *Rig) Start(t testing.TB) {
	t.Helper()
	r.do(t, StartLimit, "start", r.driver.start)
	r.running = true
	for _, origin := range r.origins {
		r.allow(t, origin)
	}
}

// Stop ends the browser as a person does who closes it. The profile stays, and
// the push service has noticed when Stop returns.
func (r *Rig) Stop(t testing.TB) {
	t.Helper()
	r.running = false
	r.do(t, StartLimit, "stop", r.driver.stop)
	r.do(t, EventLimit, "disconnect", func(ctx context.Context) error {
		return proc.Until(ctx, "the push service to notice", func() bool { return r.Push.Connected() == 0 })
	})
}

// Allow lets pages of an origin show notifications, from now on and also after
// the next start: a person has answered the browser's question with yes.
func (r *Rig) Allow(t testing.TB, origin string) {
	t.Helper()
	if slices.Contains(r.origins, origin) {
		return
	}
	r.origins = append(r.origins, origin)
	if r.running {
		r.allow(t, origin)
	}
}

func (r *Rig) allow(t testing.TB, origin string) {
	t.Helper()
	r.do(t, EventLimit, "allow", func(ctx context.Context) error { return r.driver.allow(ctx, origin) })
}

// Open goes to an address, and waits until the page is loaded.
func (r *Rig) Open(t testing.TB, url string) {
	t.Helper()
	r.do(t, EventLimit, "open "+url, func(ctx context.Context) error { return r.driver.open(ctx, url) })
}

// ClosePage leaves the page: none of its origin stays open.
func (r *Rig) ClosePage(t testing.TB) {
	t.Helper()
	r.Open(t, "about:blank")
}

// Eval runs JavaScript in the page, as the body of an asynchronous function, and
// decodes what that returns into result, if it is not nil.
func (r *Rig) Eval(t testing.TB, body string, result any) {
	t.Helper()
	r.do(t, EventLimit, "eval", func(ctx context.Context) error {
		raw, err := r.driver.eval(ctx, body)
		if err != nil || result == nil {
			return err
		}
		return json.Unmarshal(raw, result)
	})
}

// Click clicks on an element with the mouse. It waits until there is one.
func (r *Rig) Click(t testing.TB, selector string) {
	t.Helper()
	r.WaitFor(t, "an element "+selector, fmt.Sprintf(`const e = document.querySelector(%q); return !!e && e.checkVisibility()`, selector))
	r.do(t, EventLimit, "click on "+selector, func(ctx context.Context) error { return r.driver.click(ctx, selector) })
}

// WaitFor polls JavaScript in the page until it returns true. A page that is
// being replaced by another says false.
func (r *Rig) WaitFor(t testing.TB, what, body string) {
	t.Helper()
	var last error
	r.do(t, EventLimit, "wait", func(ctx context.Context) error {
		err := proc.Until(ctx, what, func() bool {
			var raw json.RawMessage
			raw, last = r.driver.eval(ctx, body)
			return last == nil && string(raw) == "true"
		})
		if err != nil && last != nil {
			err = fmt.Errorf("%w (%w)", err, last)
		}
		return err
	})
}

// Pages returns the addresses of all open pages.
func (r *Rig) Pages(t testing.TB) (pages []string) {
	t.Helper()
	r.do(t, EventLimit, "pages", func(ctx context.Context) (err error) {
		pages, err = r.driver.pages(ctx)
		return err
	})
	return pages
}

// WaitPage waits until a page is open whose address begins so.
func (r *Rig) WaitPage(t testing.TB, prefix string) {
	t.Helper()
	r.do(t, EventLimit, "wait", func(ctx context.Context) error {
		var pages []string
		var last error
		err := proc.Until(ctx, "a page "+prefix, func() bool {
			pages, last = r.driver.pages(ctx)
			return slices.ContainsFunc(pages, func(p string) bool { return strings.HasPrefix(p, prefix) })
		})
		if err != nil {
			err = errors.Join(fmt.Errorf("%w (open: %q)", err, pages), last)
		}
		return err
	})
}

// WaitNotification waits for a notification that none before has matched.
func (r *Rig) WaitNotification(t testing.TB, what string, match func(desktop.Notification) bool) (n desktop.Notification) {
	t.Helper()
	r.do(t, EventLimit, "wait", func(ctx context.Context) (err error) {
		n, err = r.Desktop.Wait(ctx, what, match)
		return err
	})
	return n
}

// Until polls until ok says so.
func (r *Rig) Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	r.do(t, EventLimit, "wait", func(ctx context.Context) error { return proc.Until(ctx, what, ok) })
}

func (r *Rig) do(t testing.TB, limit time.Duration, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := f(ctx); err != nil {
		t.Fatalf("%s: %s: %v", r.Kind, what, err)
	}
}
