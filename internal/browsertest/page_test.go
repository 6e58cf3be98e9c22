package browsertest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lastlook/lastlook/webpush"
)

// page is a page with a service worker, of the test's own, that does as little
// as shows that a rig works.
type page struct {
	*httptest.Server
	keys *webpush.Keys

	mu      sync.Mutex
	reports []string
}

// origin is a secure context, which 127.0.0.1 is too; it is the name that
// people type.
func (p *page) origin() string { return strings.Replace(p.URL, "127.0.0.1", "localhost", 1) }

func newPage(t *testing.T) *page {
	t.Helper()
	keys, err := webpush.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	p := &page{keys: keys}
	mux := http.NewServeMux()
	serve := func(path, kind, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		})
	}
	serve("/{$}", "text/html", pageHTML)
	serve("/opened", "text/html", "<title>opened</title>")
	serve("/key", "text/plain", keys.Public())
	serve("/worker.js", "text/javascript", workerJS)
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reports = append(p.reports, r.FormValue("is"))
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// told reports whether the worker has reported this.
func (p *page) told(report string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.reports, report)
}

// subscription decodes what the page shows after a click on its button.
func subscriptionOf(t *testing.T, text string) webpush.Subscription {
	t.Helper()
	var sub webpush.Subscription
	if err := json.Unmarshal([]byte(text), &sub); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return sub
}

const pageHTML = `<!doctype html><title>page</title><button id=allow>allow</button><pre id=out></pre>
<script>
const show = (s) => { document.querySelector("#out").textContent = s };
document.querySelector("#allow").onclick = async () => {
	try {
		if (await Notification.requestPermission() !== "granted") throw new Error("not granted");
		await navigator.serviceWorker.register("/worker.js");
		const reg = await navigator.serviceWorker.ready;
		const key = await (await fetch("/key")).text();
		show(JSON.stringify(await reg.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: key})));
	} catch (e) { show("failed: " + e) }
};
</script>`

const workerJS = `
const report = (is) => fetch("/report?is=" + encodeURIComponent(is), {method: "POST"});
self.addEventListener("install", (e) => e.waitUntil(self.skipWaiting()));
self.addEventListener("push", (e) => e.waitUntil((async () => {
	const text = e.data ? e.data.text() : "";
	const [title, tag] = text.split("|");
	await self.registration.showNotification(title || "empty", {body: "of " + text.length, tag: tag || "",
		actions: [{action: "later", title: "Later"}]});
	await report("shown " + title);
})()));
self.addEventListener("notificationclick", (e) => { e.notification.close(); e.waitUntil((async () => {
	await report("clicked " + e.notification.title + " " + e.action);
	if (!e.action) await self.clients.openWindow("/opened?" + e.notification.title);
})()) });
self.addEventListener("pushsubscriptionchange", (e) => e.waitUntil(report("changed")));
`
