// Package webui is the page: what a person sees who opens lastlook in a browser,
// and the service worker that shows notifications when nobody has it open.
// Everything is embedded, written by hand and served from here: no third-party
// file, no inline script, and a policy that allows nothing else.
//
// The page is drawn on the server and changed by its module through the HTTP
// API. The service worker (sw.js) stands at the root, so that it serves the
// whole host; what it decides is in its pure functions, which tests call without
// a browser.
package webui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/lastlook/lastlook/internal/httpapi"
)

//go:embed page.html assets
var files embed.FS

// State is what the page shows.
type State struct {
	// Key is the public key to subscribe with; "" if there is no push.
	Key     string
	Version string
	// Device is the visitor's; nil if it is none yet.
	Device  *httpapi.Device
	Watches []httpapi.Watch
}

// Config configures a [Page].
type Config struct {
	// State says what to show; it may set cookies.
	State  func(w http.ResponseWriter, r *http.Request) (State, error)
	Logger *slog.Logger
	Clock  func() time.Time
}

// Page serves the page and its files.
type Page struct {
	cfg    Config
	page   *template.Template
	assets map[string]asset
}

// asset is a file that never changes while the program runs.
type asset struct {
	body []byte
	kind string
	tag  string
}

// New reads the embedded files.
func New(cfg Config) (*Page, error) {
	if cfg.State == nil {
		return nil, errors.New("webui: the page needs to know what to show")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	p := &Page{cfg: cfg, assets: map[string]asset{}}
	err := fs.WalkDir(files, "assets", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(path)
		p.add(strings.TrimPrefix(path, "assets"), b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("webui: embedded files: %w", err)
	}
	p.page, err = template.New("page.html").Funcs(template.FuncMap{"json": toJSON, "day": p.day, "iso": iso}).ParseFS(files, "page.html")
	if err != nil {
		return nil, fmt.Errorf("webui: %w", err)
	}
	return p, nil
}

// kinds are the types of the files, by the ends of their names: not the
// system's table, which may say otherwise.
var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
	".webmanifest": "application/manifest+json",
}

func (p *Page) add(name string, body []byte) {
	sum := sha256.Sum256(body)
	p.assets[name] = asset{body, kinds[name[strings.LastIndexByte(name, '.'):]], `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
}

// Register registers the page and its files on a mux.
func (p *Page) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", p.index)
	mux.HandleFunc("GET /{name}", p.asset)
}

// policy allows what is served from here, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; " +
	"manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

func (p *Page) index(w http.ResponseWriter, r *http.Request) {
	st, err := p.cfg.State(w, r)
	if errors.Is(err, httpapi.ErrTooMany) {
		http.Error(w, "too many requests: wait a moment", http.StatusTooManyRequests)
		return
	}
	if err != nil {
		p.cfg.Logger.Error("cannot draw the page", "error", err)
		http.Error(w, "something went wrong here; it is logged: try again later", http.StatusInternalServerError)
		return
	}
	var b bytes.Buffer
	if err := p.page.Execute(&b, p.view(&st)); err != nil {
		p.cfg.Logger.Error("cannot draw the page", "error", err)
		http.Error(w, "something went wrong here; it is logged", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes()) // who has gone does not read it
}

func (p *Page) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := p.assets[r.URL.Path]
	if !ok {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("ETag", a.tag)
	h.Set("Cache-Control", "no-cache") // asked for each time, and seldom sent
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}

// pageView is what the template draws.
type pageView struct {
	State

	Watches []watchView
	// Push is the state of push, in a word: body[data-state].
	Push string
	// Boot is what the module needs to know.
	Boot boot
}

type boot struct {
	Key    string          `json:"key"`
	Device *httpapi.Device `json:"device"`
}

type watchView struct {
	httpapi.Watch
	Snoozed bool
}

func (p *Page) view(st *State) pageView {
	v := pageView{State: *st, Push: "new", Boot: boot{st.Key, st.Device}}
	switch {
	case st.Key == "":
		v.Push = "unavailable"
	case st.Device != nil:
		v.Push = st.Device.Push.State
	}
	for _, w := range st.Watches {
		v.Watches = append(v.Watches, watchView{w, w.SnoozedUntil.After(p.cfg.Clock())})
	}
	return v
}

func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// day shows a time to people, in UTC; the module shows it in their zone.
func (p *Page) day(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04 UTC") }

func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }
