package main

import (
	"context"
	"fmt"

	"github.com/lastlook/lastlook/internal/server"
)

type serveCmd struct {
	Listen  string `default:"127.0.0.1:8080" env:"LASTLOOK_LISTEN" placeholder:"ADDRESS" help:"Where to serve the page and the API: host and port, or none (default ${default})."`
	Public  bool   `env:"LASTLOOK_PUBLIC" help:"Listen where others than this machine reach it, on purpose."`
	BaseURL string `name:"base-url" env:"LASTLOOK_BASE_URL" placeholder:"URL" help:"The address that people use, such as https://lastlook.example, if a proxy stands before it."`
	Contact string `env:"LASTLOOK_CONTACT" placeholder:"WHO" help:"Where a push service can reach you: mailto:you@example.com or https://example.com."`

	InviteCode    string   `env:"LASTLOOK_INVITE_CODE" placeholder:"CODE" help:"Let only those make a device who know this code, or show a key."`
	LoginHeader   string   `env:"LASTLOOK_LOGIN_HEADER" placeholder:"HEADER" help:"The header in which a proxy before it says whom it has let in, such as X-Forwarded-User."`
	TrustedProxy  []string `env:"LASTLOOK_TRUSTED_PROXY" placeholder:"WHERE" help:"Where that proxy calls from: an address or a prefix, separated by commas or given several times. From elsewhere the header counts for nothing."`
	LoginOperator []string `env:"LASTLOOK_LOGIN_OPERATOR" placeholder:"WHO" help:"Those of its logins who may see and change all."`

	Browser browserFlag `env:"LASTLOOK_BROWSER" help:"Also run Chromium, for watches with --source browser: the one that is found, or --browser=PATH."`

	keepFlags
}

// Help implements [kong.HelpProvider].
func (serveCmd) Help() string {
	return `Looks at every watched page when it is due, and sends what still is true after a last look. Watches and channels that are added meanwhile are taken up. Ctrl-C (or SIGTERM) stops it cleanly: what is being delivered is finished; a second one stops at once, which loses nothing either.

What is told through the channel log goes to standard output, one line each, as JSON with --json; the log goes to standard error.

On the page, browsers and phones are told by push, without an account: open it, allow notifications, and paste a product's address. Push needs https, or this very machine: put a proxy with a certificate before it, and name its address with --base-url.

Programs use the HTTP API with keys (lastlook key add), operators with the operator's token, which the first start makes and prints once on standard error (lastlook token rotate makes another). Where others than this machine reach it, it does not start without that token, unless --public says that anybody may make a device; without --public, devices are then made with a key, a login or the invite code.

Only one serve or tick runs on a data directory at a time; on a PostgreSQL database (--database) any number do.`
}

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, a *app) error {
	a.http = server.HTTPOptions{Listen: c.Listen, Public: c.Public, BaseURL: c.BaseURL,
		InviteCode: c.InviteCode, LoginHeader: c.LoginHeader, TrustedProxies: c.TrustedProxy, LoginOperators: c.LoginOperator, NewOperator: a.showOperator}
	if c.Listen == "none" {
		a.http.Listen = ""
	}
	a.contact = c.Contact
	a.browser, a.retention = c.Browser.options(), c.retention()
	return a.with(ctx, func(s *server.Server) error { return s.Serve(ctx) })
}

// showOperator shows the operator's token, which is not kept. It is not the log's,
// which others may read.
func (a *app) showOperator(token string) {
	_, _ = fmt.Fprintf(a.streams.err, "The operator's token for the HTTP API, shown this once: %s\n", token)
}

type tickCmd struct {
	Browser browserFlag `env:"LASTLOOK_BROWSER" help:"Also run Chromium, for watches with --source browser: the one that is found, or --browser=PATH."`
}

// Help implements [kong.HelpProvider].
func (*tickCmd) Help() string {
	return `For machines without a service of their own: run it from cron every minute or so, instead of serve.

Example: * * * * * lastlook tick --quiet`
}

// Run makes one pass.
func (c *tickCmd) Run(ctx context.Context, a *app) error {
	a.browser = c.Browser.options()
	if a.out.json {
		a.messages = a.streams.err // standard output is for the one JSON value
	}
	return a.with(ctx, func(s *server.Server) error {
		res, err := s.Tick(ctx)
		if err != nil {
			return err
		}
		if a.out.json {
			return a.out.value(res)
		}
		a.out.notef("looked at %s (%d could not be read), noticed %d", plural(res.Sweep.Looked+res.Sweep.Failed, "page"), res.Sweep.Failed, res.Sweep.Enqueued)
		d := res.Dispatch
		a.out.notef("took %s: %d sent, %d dropped, %d to be tried again, %d postponed, %d failed", plural(d.Claimed, "notification"), d.Sent, d.Dropped, d.Retried, d.Postponed, d.Failed)
		return nil
	})
}
