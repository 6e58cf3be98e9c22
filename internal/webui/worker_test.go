package webui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// answer is what a worker's fetch is answered.
type answer struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status,omitzero"`
	Body   any    `json:"body,omitzero"`
	Hang   bool   `json:"hang,omitzero"`
	Fail   bool   `json:"fail,omitzero"`
	Once   bool   `json:"once,omitzero"`
}

type scenario map[string]any

// did is what a worker did.
type did struct {
	Shown []struct {
		Title    string
		Body     string
		Tag      string
		Silent   bool
		Renotify bool
		Actions  []struct{ Action, Title string }
		Data     struct {
			URL, Watch, ID, Price, Availability string
			Holds                               bool
			Reasons                             []string
		}
	}
	Fetched []struct {
		Method, Path, Credentials string
		Body                      map[string]any
		Headers                   map[string]string
	}
	Opened                           []string
	Closed, Subscribed, Unsubscribed int
	Waited, Skipped, Claimed         int
}

// work runs the service worker on a scenario, in Node.js: see
// testdata/worker.mjs.
func work(t *testing.T, s scenario) did {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("Node.js is missing: see tools/debian-packages.txt")
		}
		t.Skip("NOT TESTED: the service worker's decisions, for Node.js is missing: apt install nodejs")
	}
	in, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), node, "testdata/worker.mjs", "assets/sw.js")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errOut.String())
	}
	var d did
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%s: %v", out.String(), err)
	}
	if d.Skipped != 1 || d.Claimed != 1 {
		t.Errorf("it takes over %d times, and claims pages %d times", d.Skipped, d.Claimed)
	}
	return d
}

// payload is what is pushed of a watch at a price.
func payload(price string, more ...string) string {
	return fmt.Sprintf(`{"v":1,"title":"Lamp","body":"%s: below your target","url":"https://shop.example/lamp","tag":"tag1","id":"k1","at":1,"subject":"w_abc",`+
		`"data":{"watch":"w_abc","reasons":["below"],"price":{"amount":%q,"currency":"EUR"},"availability":"in_stock"}%s}`, price, strings.TrimSuffix(price, " EUR"), strings.Join(more, ""))
}

const nowPath = "/api/v1/watches/w_abc/now"

// now is what the server says is true now.
func now(known, holds bool, price string, more map[string]any) []answer {
	body := map[string]any{"known": known, "holds": holds, "title": "Lamp", "body": price + ", in stock", "url": "https://shop.example/lamp", "price": map[string]any{"amount": strings.TrimSuffix(price, " EUR"), "currency": "EUR"}, "availability": "in_stock"}
	maps.Copy(body, more)
	return []answer{{Method: "GET", Path: nowPath, Status: 200, Body: body}}
}

// shown is a notification that is still there.
func shown(id string, holds bool, price, availability string, reasons ...string) []any {
	return []any{map[string]any{"tag": "tag1", "data": map[string]any{"id": id, "holds": holds, "price": price, "availability": availability, "reasons": reasons}}}
}

// TestLastLook: what a worker shows depends on what is true when it shows it.
func TestLastLook(t *testing.T) {
	for name, c := range map[string]struct {
		s           scenario
		title, body string
		silent      bool
		actions     int
	}{
		"still true":        {scenario{"payload": payload("480 EUR"), "answers": now(true, true, "480 EUR", nil)}, "Lamp", "480 EUR: below your target", false, 2},
		"cheaper by now":    {scenario{"payload": payload("480 EUR"), "answers": now(true, true, "470 EUR", nil)}, "Lamp", "470 EUR, in stock", false, 2},
		"no longer":         {scenario{"payload": payload("480 EUR"), "answers": now(true, false, "598 EUR", nil)}, "No longer: Lamp", "Now 598 EUR, in stock", true, 0},
		"not watched":       {scenario{"payload": payload("480 EUR"), "answers": []answer{{Method: "GET", Path: nowPath, Status: 404}}}, "No longer: Lamp", "It is not watched any more.", true, 0},
		"nobody knows":      {scenario{"payload": payload("480 EUR"), "answers": now(false, false, "", nil)}, "Lamp", "480 EUR: below your target", false, 2},
		"server is away":    {scenario{"payload": payload("480 EUR")}, "Lamp", "480 EUR: below your target", false, 2},
		"server hangs":      {scenario{"payload": payload("480 EUR"), "answers": []answer{{Method: "GET", Path: nowPath, Hang: true}}}, "Lamp", "480 EUR: below your target", false, 2},
		"server is broken":  {scenario{"payload": payload("480 EUR"), "answers": []answer{{Method: "GET", Path: nowPath, Status: 500, Body: map[string]any{}}}}, "Lamp", "480 EUR: below your target", false, 2},
		"token is refused":  {scenario{"payload": payload("480 EUR"), "answers": []answer{{Method: "GET", Path: nowPath, Status: 401, Body: map[string]any{}}}}, "Lamp", "480 EUR: below your target", false, 2},
		"snoozed meanwhile": {scenario{"payload": payload("480 EUR"), "answers": now(true, true, "480 EUR", map[string]any{"snoozed_until": "2026-12-02T00:00:00Z"})}, "Lamp", "480 EUR: below your target", true, 2},
		// What a relative trigger asks does not hold any more by what was told: the
		// same price still is what was told.
		"the same price, asked otherwise": {scenario{"payload": payload("480 EUR"), "answers": now(true, false, "480 EUR", nil)}, "Lamp", "480 EUR: below your target", false, 2},
		"asked to be silent":              {scenario{"payload": payload("480 EUR", `,"silent":true`), "answers": now(true, true, "480 EUR", nil)}, "Lamp", "480 EUR: below your target", true, 2},
		// Beside one that is shown already.
		"only the price moved":   {scenario{"payload": payload("470 EUR"), "answers": now(true, true, "470 EUR", nil), "shown": shown("k0", true, "480 EUR", "in_stock", "below")}, "Lamp", "470 EUR: below your target", true, 2},
		"the same once more":     {scenario{"payload": payload("480 EUR"), "answers": now(true, true, "480 EUR", nil), "shown": shown("k1", true, "480 EUR", "in_stock", "below")}, "Lamp", "480 EUR: below your target", true, 2},
		"another reason":         {scenario{"payload": payload("480 EUR"), "answers": now(true, true, "480 EUR", nil), "shown": shown("k0", true, "490 EUR", "in_stock", "back_in_stock")}, "Lamp", "480 EUR: below your target", false, 2},
		"few are left now":       {scenario{"payload": payload("480 EUR"), "answers": now(true, true, "480 EUR", nil), "shown": shown("k0", true, "480 EUR", "limited", "below")}, "Lamp", "480 EUR: below your target", false, 2},
		"true again":             {scenario{"payload": payload("480 EUR"), "answers": now(true, true, "480 EUR", nil), "shown": shown("k0", false, "598 EUR", "in_stock", "below")}, "Lamp", "480 EUR: below your target", false, 2},
		"shown by another":       {scenario{"payload": payload("480 EUR"), "answers": now(true, true, "480 EUR", nil), "shown": []any{map[string]any{"tag": "tag1", "data": nil}}}, "Lamp", "480 EUR: below your target", false, 2},
		"a test":                 {scenario{"payload": `{"v":1,"title":"lastlook reaches phone","body":"It works.","tag":"tag1","id":"k1","at":1,"subject":"d_abc"}`}, "lastlook reaches phone", "It works.", false, 0},
		"of a later version":     {scenario{"payload": `{"v":2,"what":"ever"}`}, "lastlook", `{"v":2,"what":"ever"}`, false, 0},
		"no JSON":                {scenario{"payload": "hello"}, "lastlook", "hello", false, 0},
		"nothing at all":         {scenario{"payload": nil}, "lastlook", "", false, 0},
		"JSON that is no object": {scenario{"payload": "null"}, "lastlook", "null", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := work(t, c.s)
			if len(d.Shown) != 1 {
				t.Fatalf("it showed %+v: browsers insist on one", d.Shown)
			}
			n := d.Shown[0]
			if n.Title != c.title || n.Body != c.body || n.Silent != c.silent || len(n.Actions) != c.actions {
				t.Errorf("it showed %+v", n)
			}
			if n.Renotify != (n.Tag != "" && !n.Silent) {
				t.Errorf("it rings: %v, silent: %v, tag: %q", n.Renotify, n.Silent, n.Tag)
			}
			for _, f := range d.Fetched {
				if f.Path != nowPath || f.Method != "GET" || f.Credentials != "same-origin" || strings.Contains(f.Path, "?") {
					t.Errorf("it asked %+v", f)
				}
			}
		})
	}
}

func TestClicks(t *testing.T) {
	data := map[string]any{"url": "https://shop.example/lamp", "watch": "w_abc"}
	click := func(action string, answers ...answer) scenario {
		return scenario{"click": map[string]any{"action": action, "data": data}, "answers": answers}
	}
	snooze := answer{Method: "POST", Path: "/api/v1/watches/w_abc/snooze", Status: 200, Body: map[string]any{}}
	stop := answer{Method: "DELETE", Path: "/api/v1/watches/w_abc", Status: 204}
	if d := work(t, click("")); !slices.Equal(d.Opened, []string{"https://shop.example/lamp"}) || d.Closed != 1 || len(d.Fetched) != 0 {
		t.Errorf("a click: %+v", d)
	}
	if d := work(t, click("snooze", snooze)); len(d.Opened) != 0 || d.Closed != 1 || len(d.Fetched) != 1 || d.Fetched[0].Body["hours"] != 24.0 || len(d.Shown) != 0 || d.Fetched[0].Credentials != "same-origin" {
		t.Errorf("snoozed: %+v", d)
	}
	if d := work(t, click("stop", stop)); len(d.Fetched) != 1 || d.Fetched[0].Method != "DELETE" || len(d.Shown) != 0 || len(d.Opened) != 0 {
		t.Errorf("stopped: %+v", d)
	}
	stop.Status = 404
	if d := work(t, click("stop", stop)); len(d.Shown) != 0 {
		t.Errorf("stopped what was stopped: %+v", d)
	}
	// What did not work is said.
	for _, action := range []string{"snooze", "stop"} {
		if d := work(t, click(action)); len(d.Shown) != 1 || !strings.Contains(d.Shown[0].Body, "try again") || d.Shown[0].Tag != "tag1" {
			t.Errorf("%s failed: %+v", action, d)
		}
	}
	if d := work(t, scenario{"click": map[string]any{"action": "", "data": nil}}); !slices.Equal(d.Opened, []string{"/"}) {
		t.Errorf("a click on one without data: %+v", d)
	}
}

func TestSubscriptionChange(t *testing.T) {
	const key, oldKey = "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM", "AQID"
	push := answer{Method: "GET", Path: "/api/v1/push", Status: 200, Body: map[string]any{"application_server_key": key}}
	change := answer{Method: "POST", Path: "/api/v1/devices/self/subscription/change", Status: 200, Body: map[string]any{}}
	put := answer{Method: "PUT", Path: "/api/v1/devices/self/subscription", Status: 200, Body: map[string]any{}}
	conflict := func(a answer) answer { a.Status, a.Once = 409, true; return a }
	for name, c := range map[string]struct {
		old                      string
		current                  any
		answers                  []answer
		want                     []string
		subscribed, unsubscribed int
	}{
		"the browser made a new one": {"https://push.example/old", map[string]any{"key": key, "endpoint": "https://push.example/x"}, []answer{push, change}, []string{"GET", "POST https://push.example/x for https://push.example/old"}, 0, 0},
		"it made none":               {"https://push.example/old", nil, []answer{push, change}, []string{"GET", "POST https://push.example/new1 for https://push.example/old"}, 1, 0},
		"it does not know the old":   {"", nil, []answer{push, change}, []string{"GET", "POST https://push.example/new1"}, 1, 0},
		"made with an old key":       {"", map[string]any{"key": oldKey, "endpoint": "https://push.example/x"}, []answer{push, change}, []string{"GET", "POST https://push.example/new1"}, 1, 1},
		"the page was faster":        {"https://push.example/old", map[string]any{"key": key, "endpoint": "https://push.example/x"}, []answer{push, conflict(change), put}, []string{"GET", "POST https://push.example/x for https://push.example/old", "PUT https://push.example/x"}, 0, 0},
		"that one has ended too":     {"", map[string]any{"key": key, "endpoint": "https://push.example/x"}, []answer{push, conflict(change), conflict(put), put}, []string{"GET", "POST https://push.example/x", "PUT https://push.example/x", "PUT https://push.example/new1"}, 1, 1},
		"the server does not push":   {"", nil, []answer{{Method: "GET", Path: "/api/v1/push", Status: 200, Body: map[string]any{"application_server_key": ""}}}, []string{"GET"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := work(t, scenario{"change": map[string]any{"old": c.old, "current": c.current}, "answers": c.answers})
			var got []string
			for _, f := range d.Fetched {
				text := f.Method
				if sub, ok := f.Body["subscription"].(map[string]any); ok {
					text += " " + sub["endpoint"].(string)
					if f.Body["application_server_key"] != key {
						t.Errorf("it gave the key %v", f.Body["application_server_key"])
					}
				}
				if old, ok := f.Body["old_endpoint"].(string); ok {
					text += " for " + old
				}
				got = append(got, text)
			}
			if !slices.Equal(got, c.want) || d.Subscribed != c.subscribed || d.Unsubscribed != c.unsubscribed {
				t.Errorf("it did %q, subscribed %d and unsubscribed %d times", got, d.Subscribed, d.Unsubscribed)
			}
		})
	}
}
