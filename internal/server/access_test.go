package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/access"
	"github.com/lastlook/lastlook/internal/httpapi"
)

// program is a visitor with an API key of an owner.
func (w *web) program(owner string, scopes ...access.Scope) *visitor {
	w.t.Helper()
	_, token, err := w.AddKey(w.t.Context(), NewKey{Name: owner + "'s", Owner: owner, Scopes: scopes})
	if err != nil {
		w.t.Fatal(err)
	}
	v := w.visitor()
	v.client.Jar, v.bearer = nil, token
	return v
}

// theOperator is a visitor with the operator's token.
func (w *web) theOperator() *visitor {
	w.t.Helper()
	token, err := w.RotateOperator(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	v := w.visitor()
	v.client.Jar, v.bearer = nil, token
	return v
}

// estate is what one owner, and one device, have: every part of an address that
// a route can name, and texts that nobody else may see.
type estate struct {
	device *visitor
	key    *visitor
	fill   map[string]string
	marks  []string
}

var pathPart = regexp.MustCompile(`\{[^}]*\}`)

// path fills a route's address in; a part that is not known here fails the test,
// so that whoever adds one says what another must not reach.
func (e *estate) path(t *testing.T, r route) string {
	t.Helper()
	return pathPart.ReplaceAllStringFunc(r.path, func(part string) string {
		id, ok := e.fill[part]
		if !ok {
			t.Fatalf("%s %s: give this test a %s that is somebody's own", r.method, r.path, part)
		}
		return id
	})
}

// estate sets up what belongs to the device of a visitor and to the owner "shop".
func (w *web) estate(t *testing.T) *estate {
	t.Helper()
	e := &estate{device: w.visitor(), key: w.program("shop", access.AllScopes()...)}
	d := e.device.arrive("phone-of-somebody")
	e.device.subscribe()
	added := w.watchThere(e.device, "500 EUR")
	e.fill = map[string]string{"{device}": d.ID, "{watch}": added.ID}
	e.marks = []string{d.ID, added.ID, "phone-of-somebody"}
	w.ownersEstate(t, e)
	return e
}

// declaredOrders is a topic that looks at a page.
var declaredOrders = map[string]any{
	"kind": "declared", "channels": []string{"log"}, "url": "http://" + shopHost + "/{subject}", "source": "page", "title": "topic-of-the-shop: {price}",
}

// ownersEstate adds what belongs to an owner of keys.
func (w *web) ownersEstate(t *testing.T, e *estate) {
	t.Helper()
	var watch httpapi.Added
	e.key.must(http.StatusCreated, http.MethodPost, "/api/v1/watches", map[string]any{"url": "http://" + shopHost + "/lamp", "name": "watch-of-the-shop", "below": "1 EUR"}, &watch)
	w.dryRun = e.fill["{watch}"]
	e.key.must(http.StatusOK, http.MethodPut, "/api/v1/topics/orders", declaredOrders, nil)
	var made httpapi.Enqueued
	e.key.must(http.StatusAccepted, http.MethodPost, "/api/v1/notifications", map[string]any{"topic": "orders", "subject": "order-of-the-shop", "detection": map[string]any{"secret": "seen-by-the-shop"}}, &made)
	var listings struct{ Listings []httpapi.Listing }
	e.key.must(http.StatusOK, http.MethodGet, "/api/v1/listings", nil, &listings)
	e.fill["{notification}"], e.fill["{topic}"], e.fill["{listing}"], e.fill["{channel}"] = fmt.Sprint(made.ID), "orders", listings.Listings[0].ID, "log"
	e.marks = append(e.marks, watch.ID, "watch-of-the-shop", "order-of-the-shop", "seen-by-the-shop", "topic-of-the-shop", listings.Listings[0].ID)
}

// Every route of the description, by everybody who may not: refused, with
// nothing changed and nothing told.
func TestEveryRouteRefuses(t *testing.T) {
	s := newShop(t, eur("598.00"))
	w := newWeb(t, at(s))
	e := w.estate(t)
	stranger := w.visitor()
	stranger.arrive("stranger")
	stranger.subscribe()
	revoked := w.program("shop", access.AllScopes()...)
	keys, err := w.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.RevokeKey(t.Context(), keys[len(keys)-1].ID); err != nil {
		t.Fatal(err)
	}
	rotated := w.theOperator()
	w.theOperator() // ends the one before
	noKey := w.visitor()
	noKey.bearer = "llk_" + strings.Repeat("A", 43)
	cases := []struct {
		name string
		v    *visitor
		// want is the status for a route; 0 if the caller may use it.
		want func(r route) int
	}{
		{"nobody", w.visitor(), func(route) int { return http.StatusUnauthorized }},
		{"a key that is none", noKey, func(route) int { return http.StatusUnauthorized }},
		{"a revoked key", revoked, func(route) int { return http.StatusUnauthorized }},
		{"the operator's old token", rotated, func(route) int { return http.StatusUnauthorized }},
		{"another device", stranger, func(r route) int {
			switch {
			case !r.devices:
				return http.StatusForbidden
			case strings.Contains(r.path, "{"), strings.HasSuffix(r.path, "/dry-run"):
				return http.StatusNotFound
			}
			return 0
		}},
		{"another owner's key", w.program("rival", access.AllScopes()...), func(r route) int {
			switch {
			case r.scope == "":
				return http.StatusForbidden
			case strings.Contains(r.path, "{"), strings.HasSuffix(r.path, "/dry-run"):
				return http.StatusNotFound
			}
			return 0
		}},
	}
	for _, sc := range access.AllScopes() {
		cases = append(cases, struct {
			name string
			v    *visitor
			want func(r route) int
		}{"the owner's key for " + string(sc), w.program("shop", sc), func(r route) int {
			if r.scope == string(sc) || r.scope == "any" {
				return -1 // may
			}
			return http.StatusForbidden
		}})
	}
	for _, r := range e.device.allRoutes() {
		path, body := e.path(t, r), e.device.bodyFor(r)
		for _, c := range cases {
			want := c.want(r)
			if want < 0 || want == 0 && r.method != http.MethodGet {
				continue // what it adds is its own
			}
			before := w.world()
			var raw json.RawMessage
			got := c.v.do(r.method, path, body, &raw)
			if want != 0 && got != want || want == 0 && got != http.StatusOK {
				t.Errorf("%s %s by %s: HTTP %d, want %d: %s", r.method, path, c.name, got, want, raw)
			}
			for _, mark := range e.marks {
				if strings.Contains(string(raw), mark) {
					t.Errorf("%s %s shows %s to %s: %s", r.method, path, mark, c.name, raw)
				}
			}
			if after := w.world(); after != before {
				t.Fatalf("%s %s by %s changed what it was refused:\n%s\n%s", r.method, path, c.name, before, after)
			}
		}
	}
}

// The operator sees what is anybody's.
func TestTheOperatorSeesAll(t *testing.T) {
	s := newShop(t, eur("598.00"))
	w := newWeb(t, at(s))
	e := w.estate(t)
	op := w.theOperator()
	for _, r := range e.device.allRoutes() {
		if !r.operator || r.method != http.MethodGet || strings.Contains(r.path, "events") {
			continue
		}
		op.ok(r.method, e.path(t, r), nil)
	}
	var list struct{ Watches []httpapi.Watch }
	op.must(http.StatusOK, http.MethodGet, "/api/v1/watches", nil, &list)
	if len(list.Watches) != 2 {
		t.Errorf("%d watches: %+v", len(list.Watches), list)
	}
	e.key.must(http.StatusOK, http.MethodGet, "/api/v1/watches", nil, &list)
	if len(list.Watches) != 1 || list.Watches[0].Name != "watch-of-the-shop" {
		t.Errorf("the owner sees %+v", list)
	}
}

// At its first start a server makes the operator's token and shows it, once.
// Without it, none listens where others reach it, unless anybody may.
func TestOperatorAtFirstStart(t *testing.T) {
	f := open(t)
	var shown []string
	f.opt.HTTP = HTTPOptions{Listen: "0.0.0.0:0", NewOperator: func(token string) { shown = append(shown, token) }}
	for range 2 { // a start that is refused makes none
		if err := f.Serve(t.Context()); err == nil || !strings.Contains(err.Error(), "lastlook token rotate") {
			t.Fatalf("it listens for all: %v", err)
		}
	}
	f.opt.HTTP.Listen = "127.0.0.1:0"
	for range 2 {
		_, stop := serving(t, f.Server)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	if len(shown) != 1 || strings.Contains(f.log.String(), shown[0]) {
		t.Fatalf("shown %d times, or in the log", len(shown))
	}
	f.opt.HTTP.Listen = "0.0.0.0:0"
	page, stop := serving(t, f.Server)
	// Others reach it, and that is not said to be meant: nobody makes a device
	// who shows nothing.
	port := page[strings.LastIndex(page, ":")+1:]
	url := "http://127.0.0.1:" + strings.TrimSuffix(port, "/") + "/api/v1/devices"
	for token, want := range map[string]int{"": http.StatusForbidden, shown[0]: http.StatusCreated} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"name":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		client := &http.Client{}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != want {
			t.Errorf("HTTP %d, want %d, %v", resp.StatusCode, want, err)
		}
		client.CloseIdleConnections()
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestInviteCode(t *testing.T) {
	w := newWeb(t, func(o *Options) { o.HTTP.InviteCode = "sesame-open" })
	for code, want := range map[string]int{"": http.StatusForbidden, "sesame-opem": http.StatusForbidden, "sesame-open": http.StatusCreated} {
		if got := w.visitor().do(http.MethodPost, "/api/v1/devices", map[string]any{"name": "x", "invite": code}, nil); got != want {
			t.Errorf("%q: HTTP %d, want %d", code, got, want)
		}
	}
	if _, err := (HTTPOptions{Listen: "127.0.0.1:0", InviteCode: "short"}).check(true); err == nil {
		t.Error("a short code is taken")
	}
}

// A proxy's word for who calls counts from the proxy alone.
func TestLoginHeader(t *testing.T) {
	for name, c := range map[string]struct {
		proxies []string
		users   []string
		path    string
		want    int
	}{
		"a login":              {[]string{"127.0.0.0/8", "::1"}, []string{"Alice"}, "/api/v1/watches", 200},
		"no login":             {[]string{"127.0.0.1"}, nil, "/api/v1/watches", 401},
		"from elsewhere":       {[]string{"10.0.0.0/8"}, []string{"alice"}, "/api/v1/watches", 401},
		"two logins":           {[]string{"127.0.0.1"}, []string{"alice", "root"}, "/api/v1/watches", 403},
		"a login like a path":  {[]string{"127.0.0.1"}, []string{"a/../b"}, "/api/v1/watches", 403},
		"a login is no device": {[]string{"127.0.0.1"}, []string{"alice"}, "/api/v1/devices/self", 403},
	} {
		w := newWeb(t, func(o *Options) {
			o.HTTP.LoginHeader, o.HTTP.TrustedProxies, o.HTTP.LoginOperators = "x-forwarded-user", c.proxies, []string{"root"}
		})
		v := w.visitor()
		v.header["X-Forwarded-User"] = c.users
		if got := v.do(http.MethodGet, c.path, nil, nil); got != c.want {
			t.Errorf("%s: HTTP %d, want %d", name, got, c.want)
		}
	}
	for _, o := range []HTTPOptions{{LoginHeader: "X-User"}, {LoginHeader: "Cookie", TrustedProxies: []string{"127.0.0.1"}}, {LoginHeader: "X-User", TrustedProxies: []string{"proxy"}}, {TrustedProxies: []string{"127.0.0.1"}}, {LoginOperators: []string{"root"}}} {
		o.Listen = "127.0.0.1:0"
		if _, err := o.check(true); err == nil {
			t.Errorf("%s is taken", fmt.Sprint(o.LoginHeader, o.TrustedProxies, o.LoginOperators))
		}
	}
}
