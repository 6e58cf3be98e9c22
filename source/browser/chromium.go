package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/lastlook/lastlook/source/internal/blocked"
	"github.com/lastlook/lastlook/source/internal/fetch"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

const pollEvery = 150 * time.Millisecond

// chromium is a browser that runs.
type chromium struct {
	ctx    context.Context // of chromedp; all tabs come from it
	cancel func()          // waits for the process to end
	lost   <-chan struct{}
}

// flags are what is added to chromedp's own defaults: one way out, and nothing
// that talks to anybody by itself.
func flags(c Config, proxy string) []chromedp.ExecAllocatorOption {
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(c.Path),
		chromedp.ProxyServer("http://"+proxy),
		// Without this, addresses of this machine would not go to the proxy.
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("no-pings", true),
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("mute-audio", true),
		chromedp.Flag("deny-permission-prompts", true),
		chromedp.Flag("blink-settings", "imagesEnabled=false"),
	)
	if c.Sandbox == SandboxAuto && os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	return opts
}

// launch starts a browser. It outlives the look that needed it first.
func launch(ctx context.Context, c Config, proxy string) (*chromium, error) {
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(ctx), flags(c, proxy)...)
	root, end := chromedp.NewContext(allocator)
	b := &chromium{ctx: root, cancel: sync.OnceFunc(func() { end(); stop() })}
	timer := time.AfterFunc(startLimit, stop)
	defer timer.Stop()
	defer context.AfterFunc(ctx, stop)()
	_, err := chromedp.Run(root, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		br := chromedp.FromContext(ctx).Browser
		b.lost = br.LostConnection
		_, err := cdp.Call(ctx, br, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorDeny})
		return err
	}))
	if err != nil {
		b.cancel()
		return nil, err
	}
	return b, nil
}

func (b *chromium) alive() bool {
	select {
	case <-b.lost:
		return false
	case <-b.ctx.Done():
		return false
	default:
		return true
	}
}

func (b *chromium) close() { b.cancel() }

// rendered is what a page became.
type rendered struct {
	status      int
	header      http.Header
	observation watch.Observation
	err         error // why there is no observation
	// robot names the check that the page is; vendor does by what nothing else has.
	robot, vendor string
	whole         bool // all of it was there when it was read
}

// unread is why nothing was read, with its outcome.
func (r rendered) unread() error {
	switch {
	case r.err == nil:
		return nil
	case r.robot != "":
		return r.blocked(r.robot)
	case errors.Is(r.err, extract.ErrNotProduct):
		return &Error{Outcome: fetch.NotProduct, Status: r.status, Err: r.err}
	}
	return &Error{Outcome: fetch.Failed, Status: r.status, Err: r.err}
}

func (r rendered) blocked(by string) error {
	return &Error{Outcome: fetch.Blocked, Status: r.status, Err: fmt.Errorf("the site takes us for a robot: %s; look less often, or elsewhere", by)}
}

// noDialogs keeps pages from waiting for an answer that nobody gives.
const noDialogs = `window.alert=()=>{};window.confirm=()=>false;window.prompt=()=>null;window.print=()=>{};`

// render opens a page and reads it again and again until it states a price, or
// until nothing but a little of the time is left.
func (b *chromium) render(ctx context.Context, l watch.Listing) (r rendered, err error) {
	tab, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	defer closeTab()
	deadline, _ := ctx.Deadline()
	tab, cancel := context.WithDeadline(tab, deadline)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()

	var mu sync.Mutex
	var main *network.Response
	_, err = chromedp.Run(tab, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		err := chromedp.Listen(tab, func(ev any) {
			if e, ok := ev.(*network.EventResponseReceived); ok && e.Type == network.ResourceTypeDocument && string(e.FrameID) == string(t.TargetID) {
				mu.Lock()
				defer mu.Unlock()
				main = e.Response
			}
		})
		if err != nil {
			return err
		}
		if _, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: noDialogs}); err != nil {
			return err
		}
		res, err := cdp.Call(ctx, t, page.Navigate, page.NavigateParams{URL: l.URL})
		// An error without a page of its own has a status all the same.
		if err == nil && res.ErrorText != "" && res.ErrorText != "net::ERR_HTTP_RESPONSE_CODE_FAILURE" {
			err = fmt.Errorf("the site did not answer: %.60s", res.ErrorText)
		}
		return err
	}))
	if err != nil {
		return r, err
	}
	for tick := time.NewTicker(pollEvery); ; {
		b.read(tab, l, &r)
		mu.Lock()
		if main != nil {
			r.status, r.header = int(main.Status), header(main.Headers)
		}
		mu.Unlock()
		bad := r.whole && r.status != 0 && r.status != http.StatusOK && r.status != http.StatusNonAuthoritativeInfo
		if bad || r.err == nil && !r.observation.Price.IsZero() || time.Until(deadline) < 10*pollEvery && r.status != 0 {
			tick.Stop()
			return r, nil
		}
		select {
		case <-tick.C:
		case <-b.lost:
			tick.Stop()
			return r, errors.New("the browser died: it will be started again")
		case <-tab.Done():
			tick.Stop()
			return r, tab.Err()
		}
	}
}

// read reads the page as it is now.
func (b *chromium) read(tab context.Context, l watch.Listing, r *rendered) {
	r.observation, r.robot, r.vendor, r.whole = watch.Observation{}, "", "", false
	now, err := chromedp.Run(tab, chromedp.Evaluate[[]string](`[location.href, document.documentElement ? document.documentElement.outerHTML.slice(0, 5300000) : "", document.readyState]`))
	if err == nil && len(now) != 3 {
		err = errors.New("the page cannot be read")
	}
	if r.err = err; err != nil {
		return
	}
	r.whole = now[2] != "loading"
	d, err := extract.Parse(tab, extract.Page{URL: l.URL, Final: now[0], ContentType: "text/html; charset=utf-8", Body: []byte(now[1]), Hint: extract.HintOf(l.Options)})
	if r.err = err; err != nil {
		return
	}
	r.robot, r.vendor = blocked.ByPage(d), blocked.ByVendor(d)
	r.observation, r.err = d.Product(tab)
}
