package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook/device"
	"github.com/lastlook/lastlook/internal/httpapi"
)

// route is an operation of the API, as its own description tells it.
type route struct {
	method, path string
	// devices says that devices may use it; scope which scope a key needs,
	// "" if none will do; operator that operators may.
	devices, operator bool
	scope             string
}

// open are the routes that need no token.
var openRoutes = []string{"GET /api/v1/push", "POST /api/v1/devices"}

// allRoutes reads the API's description, so that no route is forgotten here.
func (v *visitor) allRoutes() []route {
	v.w.t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Security []map[string][]string
		}
	}
	v.must(http.StatusOK, http.MethodGet, "/api/v1/openapi.json", nil, &doc)
	var out []route
	for path, methods := range doc.Paths {
		for method, op := range methods {
			r := route{method: strings.ToUpper(method), path: path}
			open := slices.Contains(openRoutes, r.method+" "+path)
			if open != (len(op.Security) == 0) {
				v.w.t.Errorf("%s %s: its security is %v", method, path, op.Security)
			}
			for _, s := range op.Security {
				for name, scopes := range s {
					switch {
					case name == "cookie", name == "device":
						r.devices = true
					case name == "operator":
						r.operator = true
					case name == "key" && len(scopes) == 1:
						r.scope = scopes[0]
					default:
						v.w.t.Errorf("%s %s: the security %s %v", method, path, name, scopes)
					}
				}
			}
			if !open {
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, func(a, b route) int { return strings.Compare(a.method+a.path, b.method+b.path) })
	if len(out) < 12 {
		v.w.t.Fatalf("only %d routes: %v", len(out), out)
	}
	return out
}

// routes are those that devices may use.
func (v *visitor) routes() []route {
	v.w.t.Helper()
	return slices.DeleteFunc(v.allRoutes(), func(r route) bool { return !r.devices })
}

// bodyFor is a body that a route takes.
func (v *visitor) bodyFor(r route) any {
	key := v.w.PushKey()
	sub, err := v.w.service.Subscribe(v.w.origin, key)
	if err != nil {
		v.w.t.Fatal(err)
	}
	switch {
	case r.method == http.MethodPatch:
		return map[string]any{"name": "mine now"}
	case strings.HasSuffix(r.path, "/subscription") && r.method == http.MethodPut, strings.HasSuffix(r.path, "/change"):
		return map[string]any{"subscription": sub, "application_server_key": key}
	case strings.HasSuffix(r.path, "/snooze"):
		return map[string]any{"hours": 1}
	case r.path == "/api/v1/notifications":
		return map[string]any{"topic": "orders", "subject": "o-2"}
	case r.path == "/api/v1/notifications/batch":
		return map[string]any{"notifications": []any{map[string]any{"topic": "orders", "subject": "o-3"}}}
	case strings.HasSuffix(r.path, "/retry"):
		return map[string]any{"may_repeat": true}
	case r.path == "/api/v1/topics/{topic}" && r.method == http.MethodPut:
		return declaredOrders
	case strings.HasSuffix(r.path, "/dry-run"):
		return map[string]any{"watch": v.w.dryRun, "below": "700 EUR"}
	case r.path == "/api/v1/watches" && r.method == http.MethodPost:
		return map[string]any{"url": "http://" + shopHost + "/lamp", "below": "1 EUR"}
	}
	return nil
}

// world is all that requests could have changed.
func (w *web) world() string {
	w.t.Helper()
	devices, err := w.Devices(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	watches, err := w.Watches(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	stats, err := w.Outbox().Stats(w.t.Context(), time.Time{})
	if err != nil {
		w.t.Fatal(err)
	}
	var text strings.Builder
	for i := range devices {
		d := &devices[i]
		text.WriteString(fmt.Sprintf("%s %q %s %s %+v\n", d.ID, d.Name, d.Push.Subscription.Endpoint(), d.Push.Key, d.Push.GoneAt))
	}
	for i := range watches {
		text.WriteString(fmt.Sprintf("%+v\n", watches[i].Watch))
	}
	topics, err := w.opt.Dir.Topics()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, t := range topics {
		text.WriteString(fmt.Sprintf("%v %v %v\n", t, t.Channels, t.Removed))
	}
	return text.String() + fmt.Sprintf("%+v", stats)
}

// parts are the parts of addresses that are a device's own.
func (v *visitor) parts(device, watch string) *strings.Replacer {
	v.w.t.Helper()
	var test httpapi.Test
	v.must(http.StatusAccepted, http.MethodPost, "/api/v1/devices/self/test", nil, &test)
	var list struct{ Listings []httpapi.Listing }
	v.must(http.StatusOK, http.MethodGet, "/api/v1/listings", nil, &list)
	return strings.NewReplacer("{device}", device, "{watch}", watch, "{notification}", fmt.Sprint(test.ID), "{listing}", list.Listings[0].ID)
}

// Every route, asked without a token, with a wrong one, and by another device
// for what is the first one's: refused, and nothing is changed.
func TestADeviceHasOnlyItsOwn(t *testing.T) {
	s := newShop(t, eur("598.00"))
	w := newWeb(t, at(s))
	owner, other, nobody, wrong, gone := w.visitor(), w.visitor(), w.visitor(), w.visitor(), w.visitor()
	d := owner.arrive("phone")
	owner.subscribe()
	added := w.watchThere(owner, "500 EUR")
	other.arrive("stranger")
	other.subscribe()
	wrong.bearer = device.NewToken().Reveal()
	gone.arrive("gone")
	gone.must(http.StatusNoContent, http.MethodDelete, "/api/v1/devices/self", nil, nil)
	fill := owner.parts(d.ID, added.ID)
	w.dryRun = added.ID
	before := w.world()
	for _, r := range owner.routes() {
		path, body := fill.Replace(r.path), owner.bodyFor(r)
		for name, c := range map[string]struct {
			v    *visitor
			want int
		}{
			"nobody": {nobody, http.StatusUnauthorized}, "a wrong token": {wrong, http.StatusUnauthorized}, "a token that was": {gone, http.StatusUnauthorized},
			"another device": {other, http.StatusNotFound},
		} {
			if c.v == other && !strings.Contains(r.path, "{") {
				continue // its own list, and what it adds, are its own
			}
			if got := c.v.do(r.method, path, body, nil); got != c.want {
				t.Errorf("%s %s by %s: HTTP %d, want %d", r.method, path, name, got, c.want)
			}
		}
		if after := w.world(); after != before {
			t.Fatalf("%s %s changed what it was refused:\n%s\n%s", r.method, path, before, after)
		}
		// A token in the address is no token, and the address is refused.
		if got := nobody.do(r.method, path+"?token="+device.NewToken().Reveal(), body, nil); got != http.StatusUnauthorized {
			t.Errorf("%s %s with a token in the address: HTTP %d", r.method, path, got)
		}
		if got := owner.do(r.method, path+"?token=x", body, nil); got != http.StatusUnprocessableEntity {
			t.Errorf("%s %s with an unknown parameter: HTTP %d", r.method, path, got)
		}
		if after := w.world(); after != before {
			t.Fatalf("%s %s changed what it was refused", r.method, path)
		}
	}
	// The lists show one's own alone.
	var list struct{ Watches []httpapi.Watch }
	other.must(http.StatusOK, http.MethodGet, "/api/v1/watches", nil, &list)
	var devices struct{ Devices []httpapi.Device }
	other.must(http.StatusOK, http.MethodGet, "/api/v1/devices", nil, &devices)
	if len(list.Watches) != 0 || len(devices.Devices) != 1 || devices.Devices[0].Name != "stranger" {
		t.Errorf("another sees %+v and %+v", list, devices)
	}
}

// The same routes, by the device itself.
func TestADeviceHasItsOwn(t *testing.T) {
	s := newShop(t, eur("598.00"))
	w := newWeb(t, at(s))
	v := w.visitor()
	d := v.arrive("phone")
	v.subscribe()
	added := w.watchThere(v, "500 EUR")
	w.dryRun = added.ID
	fill := v.parts("{device}", added.ID)
	for _, r := range v.routes() {
		for _, id := range []string{d.ID, "self"} {
			if r.method == http.MethodDelete && !strings.Contains(r.path, "subscription") {
				continue // below
			}
			path := strings.ReplaceAll(fill.Replace(r.path), "{device}", id)
			if strings.HasSuffix(path, "/test") {
				v.subscribe()
			}
			v.ok(r.method, path, v.bodyFor(r))
		}
	}
	v.must(http.StatusNoContent, http.MethodDelete, "/api/v1/watches/"+added.ID, nil, nil)
	v.must(http.StatusNotFound, http.MethodDelete, "/api/v1/watches/"+added.ID, nil, nil)
	v.must(http.StatusNoContent, http.MethodDelete, "/api/v1/devices/self", nil, nil)
	v.must(http.StatusUnauthorized, http.MethodGet, "/api/v1/devices/self", nil, nil)
	left, err := w.Watches(t.Context())
	if err != nil || len(left) != 0 {
		t.Errorf("a removed device still watches %+v, %v", left, err)
	}
	if u, err := url.Parse(w.url); err != nil || len(v.client.Jar.Cookies(u)) != 0 {
		t.Errorf("it keeps the cookies %v", v.client.Jar.Cookies(u))
	}
}

// A token comes as a cookie or in the answer, never as both, and once.
func TestTokenIsShownOnce(t *testing.T) {
	w := newWeb(t)
	browser, program := w.visitor(), w.visitor()
	var raw map[string]any
	browser.must(http.StatusCreated, http.MethodPost, "/api/v1/devices", map[string]any{"name": "browser"}, &raw)
	u, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	cookies := browser.client.Jar.Cookies(u)
	if raw["token"] != nil || len(cookies) != 1 {
		t.Errorf("a browser was answered %v, and has %d cookies", raw, len(cookies))
	}
	program.must(http.StatusCreated, http.MethodPost, "/api/v1/devices", map[string]any{"name": "program", "bearer": true}, &raw)
	token, _ := raw["token"].(string)
	if _, err := device.ParseToken(token); err != nil || len(program.client.Jar.Cookies(u)) != 0 {
		t.Errorf("a program was answered %v: %v", raw, err)
	}
	program.bearer = token
	for _, path := range []string{"/api/v1/devices", "/api/v1/devices/self"} {
		var again json.RawMessage
		program.must(http.StatusOK, http.MethodGet, path, nil, &again)
		if strings.Contains(string(again), token) {
			t.Errorf("%s shows the token again", path)
		}
	}
	if strings.Contains(w.log.String(), token) || strings.Contains(w.log.String(), cookies[0].Value) {
		t.Error("a token is in the log")
	}
	// The header counts before the cookie.
	browser.bearer = token
	var d httpapi.Device
	browser.must(http.StatusOK, http.MethodGet, "/api/v1/devices/self", nil, &d)
	if d.Name != "program" {
		t.Errorf("it is taken for %q", d.Name)
	}
	browser.bearer = "x"
	browser.must(http.StatusUnauthorized, http.MethodGet, "/api/v1/devices/self", nil, nil)
}

func TestCookie(t *testing.T) {
	for _, c := range []struct {
		base, name string
		secure     bool
	}{{"", "lastlook_device", false}, {"http://lastlook.lan", "lastlook_device", false}, {"https://lastlook.example", "__Host-lastlook_device", true}} {
		w := newWeb(t, func(o *Options) { o.HTTP.BaseURL = c.base })
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/api/v1/devices", strings.NewReader(`{"name":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := w.visitor().client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		got := resp.Cookies()
		if len(got) != 1 {
			t.Fatalf("%q: the cookies %v", c.base, got)
		}
		if k := got[0]; k.Name != c.name || k.Secure != c.secure || !k.HttpOnly || k.SameSite != http.SameSiteLaxMode || k.Path != "/" || k.Domain != "" || k.MaxAge < 86400*300 {
			t.Errorf("%q: %+v", c.base, k)
		}
		if hsts := resp.Header.Get("Strict-Transport-Security"); (hsts != "") != c.secure {
			t.Errorf("%q: HSTS is %q", c.base, hsts)
		}
	}
}

// What another site's page makes a browser send is refused, and changes nothing;
// so is what comes for a host that is not ours, as after DNS rebinding.
func TestOtherSites(t *testing.T) {
	w := newWeb(t, func(o *Options) { o.HTTP.BaseURL = "https://lastlook.example" })
	v := w.visitor()
	v.client.Jar = nil
	var raw map[string]any
	v.must(http.StatusCreated, http.MethodPost, "/api/v1/devices", map[string]any{"name": "x", "bearer": true}, &raw)
	v.bearer, _ = raw["token"].(string)
	host := strings.TrimPrefix(w.url, "http://")
	for name, c := range map[string]struct {
		header http.Header
		want   int
	}{
		"same origin":    {http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {w.url}}, http.StatusOK},
		"typed":          {http.Header{"Sec-Fetch-Site": {"none"}}, http.StatusOK},
		"no browser":     {nil, http.StatusOK},
		"cross site":     {http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		"same site":      {http.Header{"Sec-Fetch-Site": {"same-site"}}, http.StatusForbidden},
		"old browser":    {http.Header{"Origin": {"https://evil.example"}}, http.StatusForbidden},
		"sandbox":        {http.Header{"Origin": {"null"}}, http.StatusForbidden},
		"old, same host": {http.Header{"Origin": {"http://" + host}}, http.StatusOK},
	} {
		v.header = c.header
		if v.header == nil {
			v.header = http.Header{}
		}
		if got := v.do(http.MethodPatch, "/api/v1/devices/self", map[string]any{"name": name}, nil); got != c.want {
			t.Errorf("%s: HTTP %d, want %d", name, got, c.want)
		}
		all, err := w.Devices(t.Context())
		if err != nil || (all[0].Name == name) != (c.want == http.StatusOK) {
			t.Errorf("%s: it is called %q, %v", name, all[0].Name, err)
		}
	}
	for host, want := range map[string]int{
		"lastlook.example": 200, "LastLook.example": 200, "localhost": 200, "localhost:8080": 200, "127.0.0.1:99": 200, "[::1]:8080": 200, "192.168.1.5": 200,
		"evil.example": 421, "lastlook.example.evil.example": 421, "localhost.evil.example": 421, "evil.localhost": 421, "lastlook.example:99": 421, "127.0.0.1.evil.example": 421, "0x7f.1": 421,
	} {
		for _, path := range []string{"/", "/sw.js", "/api/v1/push"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			resp, err := w.visitor().client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s for %s: HTTP %d, want %d", path, host, resp.StatusCode, want)
			}
		}
	}
}

// What is too large, of another type or of another form is refused as a problem
// that repeats nothing of it.
func TestBadRequests(t *testing.T) {
	w := newWeb(t)
	v := w.visitor()
	v.arrive("phone")
	key := w.PushKey()
	good := map[string]any{"endpoint": "https://example.com/secretsecret", "keys": map[string]any{"p256dh": "x", "auth": "y"}}
	before := w.world()
	for name, c := range map[string]struct {
		method, path string
		body         any
		want         int
	}{
		"no JSON object":     {http.MethodPatch, "/api/v1/devices/self", "secretsecret", 422},
		"unknown member":     {http.MethodPatch, "/api/v1/devices/self", map[string]any{"name": "x", "unknown": "secretsecret"}, 422},
		"no name":            {http.MethodPatch, "/api/v1/devices/self", map[string]any{}, 422},
		"name too long":      {http.MethodPatch, "/api/v1/devices/self", map[string]any{"name": strings.Repeat("secretsecret", 10)}, 422},
		"name of two lines":  {http.MethodPatch, "/api/v1/devices/self", map[string]any{"name": "secretsecret\n"}, 422},
		"body too large":     {http.MethodPatch, "/api/v1/devices/self", map[string]any{"name": strings.Repeat("secretsecret", 10_000)}, 413},
		"bad keys":           {http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"subscription": good, "application_server_key": key}, 422},
		"another's key":      {http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"subscription": good, "application_server_key": "secretsecret"}, 422},
		"no subscription":    {http.MethodPut, "/api/v1/devices/self/subscription", map[string]any{"application_server_key": key}, 422},
		"test without push":  {http.MethodPost, "/api/v1/devices/self/test", nil, 422},
		"no trigger":         {http.MethodPost, "/api/v1/watches", map[string]any{"url": "https://shop.example/secretsecret"}, 422},
		"no address":         {http.MethodPost, "/api/v1/watches", map[string]any{"url": "gopher://x", "below": "1 EUR"}, 422},
		"no amount":          {http.MethodPost, "/api/v1/watches", map[string]any{"url": "https://shop.example/", "below": "cheap"}, 422},
		"no zone":            {http.MethodPost, "/api/v1/watches", map[string]any{"url": "https://shop.example/", "below": "1 EUR", "zone": "Moon/Base"}, 422},
		"snoozed for ever":   {http.MethodPost, "/api/v1/watches/w_1/snooze", map[string]any{"hours": 1e9}, 422},
		"no such watch":      {http.MethodGet, "/api/v1/watches/w_none/now", nil, 404},
		"no such address":    {http.MethodGet, "/api/v1/secretsecret", nil, 404},
		"no such old API":    {http.MethodGet, "/api/", nil, 404},
		"a private address":  {http.MethodPost, "/api/v1/watches", map[string]any{"url": "http://192.168.1.1/", "below": "1 EUR"}, 201},
		"no such method now": {http.MethodPut, "/api/v1/watches/w_1/now", nil, 404},
	} {
		var raw json.RawMessage
		got := v.do(c.method, c.path, c.body, &raw)
		if got != c.want && !(c.want == 404 && got == 405) {
			t.Errorf("%s: HTTP %d, want %d: %s", name, got, c.want, raw)
		}
		if strings.Contains(string(raw), "secretsecret") {
			t.Errorf("%s: the answer repeats what was sent: %s", name, raw)
		}
		if name == "a private address" {
			if !strings.Contains(string(raw), "not a public address") || strings.Contains(string(raw), "--allow-private") {
				t.Errorf("a device's private address: %s", raw)
			}
			var added httpapi.Added
			if err := json.Unmarshal(raw, &added); err != nil {
				t.Fatal(err)
			}
			v.must(http.StatusNoContent, http.MethodDelete, "/api/v1/watches/"+added.ID, nil, nil)
		}
	}
	if after := w.world(); after != before {
		t.Errorf("refused requests changed\n%s\n%s", before, after)
	}
}
