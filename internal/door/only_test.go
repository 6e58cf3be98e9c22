package door

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestOnlyDoor fails if a package of this module that is not for tests makes
// an HTTP client, or uses one that net/http shares with everybody.
func TestOnlyDoor(t *testing.T) {
	const root = "../.."
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path == root {
				return nil
			}
			return skip(path, d.Name())
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // somebody tidies up at this moment
		}
		if err != nil {
			return err
		}
		files++
		for _, n := range clientsIn(f) {
			if excepted(path, what(n)) {
				continue
			}
			t.Errorf("%s: %s: requests leave through internal/door only: take an *http.Client, or a door.Dialer's DialContext, in the configuration", fset.Position(n.Pos()), what(n))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files were read: the test looks in the wrong place", files)
	}
}

// skip leaves out this package, other modules, what is not Go code of ours, and
// suites (sourcetest, webpushtest): a rule of internal/layout keeps those out of
// programs.
func skip(path, base string) error {
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || strings.HasSuffix(base, "test") ||
		filepath.ToSlash(path) == "../../internal/door" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// forbidden are the names by which one gets at a client, or at a connection of
// one's own. Pointers to clients and transports may be passed around:
// http.Client is met only as *http.Client.
var forbidden = map[string][]string{
	"net/http": {"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "NewFileTransport"},
	// It uses the default transport unless told otherwise.
	"net/http/httputil":           {"ReverseProxy", "NewSingleHostReverseProxy", "NewClientConn", "NewProxyClientConn"},
	"net":                         {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer"},
	"crypto/tls":                  {"Dial", "DialWithDialer", "Dialer"},
	"net/textproto":               {"Dial"},
	"syscall":                     {"Socket", "Connect"},
	"golang.org/x/sys/unix":       {"Socket", "Connect"},
	"github.com/coder/websocket":  {"Dial", "DialOptions"},
	"github.com/wneessen/go-mail": {"NewClient"},
	"golang.org/x/crypto/ssh":     {"Dial"},
}

// bypasses are imports that bring a client of their own.
var bypasses = []string{
	"golang.org/x/net/http2", "golang.org/x/net/websocket", "golang.org/x/net/proxy", "github.com/gorilla/websocket",
	"net/smtp", "net/rpc", "net/rpc/jsonrpc", "log/syslog",
	"github.com/chromedp/chromedp", "github.com/godbus/dbus/v5", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgxpool", "github.com/jackc/pgx/v5/pgconn",
}

// exceptions are the packages that may do one such thing all the same, and why
// nothing gets past the door by it.
var exceptions = []struct{ under, what, why string }{
	{"store/postgres", "github.com/jackc/pgx/v5", "the database is the operator's own, named in the configuration; nobody else's address gets there"},
	{"watch/watchpg", "github.com/jackc/pgx/v5", "runs statements in the store's transactions; it connects to nothing"},
	{"device/devicepg", "github.com/jackc/pgx/v5", "runs statements in the store's transactions; it connects to nothing"},
	{"source/browser", "github.com/chromedp/chromedp", "drives a browser of ours over a pipe or loopback; the browser itself is sent through a proxy that asks the door"},
	{"channel/desktop", "github.com/godbus/dbus/v5", "the desktop's own bus: a socket of this machine's that the session names"},
	{"internal/pgtest", "net.Dialer", "a rig that only tests import waits for the pooler that it has started on loopback"},
	{"channel/email", "gomail.NewClient", "takes door.Dialer as its DialContextFunc, which its tests check"},
}

// excepted reports whether a find is listed.
func excepted(path, what string) bool {
	dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), filepath.FromSlash("../../")))
	for _, e := range exceptions {
		if (dir == e.under || strings.HasPrefix(dir, e.under+"/")) && (what == e.what || strings.HasPrefix(what, "import \""+e.what)) {
			return true
		}
	}
	return false
}

// clientsIn returns where a file makes or borrows a client.
func clientsIn(f *ast.File) []ast.Node {
	var out []ast.Node
	names := map[string][]string{} // by local package name
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		local := localName(path)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if slices.Contains(bypasses, path) || local == "." && forbidden[path] != nil {
			out = append(out, spec)
		}
		names[local] = forbidden[path]
	}
	pointers := map[ast.Expr]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			pointers[n.X] = true
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if ok && slices.Contains(names[pkg.Name], n.Sel.Name) && !pointers[n] {
				out = append(out, n)
			}
		}
		return true
	})
	return out
}

// localName is by which name a package is known that is imported without one.
func localName(path string) string {
	base := path[strings.LastIndex(path, "/")+1:]
	return strings.TrimPrefix(base, "go-") // github.com/wneessen/go-mail is mail
}

func what(n ast.Node) string {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		return n.X.(*ast.Ident).Name + "." + n.Sel.Name
	case *ast.ImportSpec:
		return "import " + n.Path.Value
	}
	return "client"
}

func TestClientsIn(t *testing.T) {
	for source, want := range map[string]int{
		`import "net/http"; type Config struct { Client *http.Client }`:                                0,
		`import "net/http"; func f(c *http.Client) { d := *c; d.CheckRedirect = nil }`:                 0,
		`import "net/http"; var _ http.Handler; var s http.Server; var r http.RoundTripper`:            0,
		`import "net/http"; var m = http.MethodGet; func f(h http.Header) { h.Get("a") }`:              0,
		`import http "example.com/http"; var _ = http.Get()`:                                           0,
		`import "net/http"; var _ = http.Client{}`:                                                     1,
		`import "net/http"; var _ = &http.Client{Transport: &http.Transport{}}`:                        2,
		`import "net/http"; var c http.Client`:                                                         1,
		`import "net/http"; type T struct { http.Client }`:                                             1,
		`import "net/http"; var c = new(http.Transport)`:                                               1,
		`import web "net/http"; func f() { web.Get("") }`:                                              1,
		`import . "net/http"; func f() { Get("") }`:                                                    1,
		`import "net/http"; var get = http.DefaultClient.Get`:                                          1,
		`import "net/http"; var t = http.DefaultTransport`:                                             1,
		`import "net/http/httputil"; var p = &httputil.ReverseProxy{}`:                                 1,
		`import "golang.org/x/net/http2"; var t http2.Transport`:                                       1,
		`import "net"; func f() { net.Dial("tcp", ""); net.DialTimeout("tcp", "", 0) }`:                2,
		`import "net"; var d net.Dialer`:                                                               1,
		`import "net"; var d = &net.Dialer{}`:                                                          1,
		`import "net"; func f() { net.Listen("tcp", "") }; type C interface { net.Conn }`:              0,
		`import "crypto/tls"; func f() { tls.Dial("tcp", "", nil) }; var d tls.Dialer`:                 2,
		`import "crypto/tls"; var c = &tls.Config{}`:                                                   0,
		`import "syscall"; func f() { syscall.Socket(0, 0, 0); _ = syscall.ECONNREFUSED }`:             1,
		`import "github.com/coder/websocket"; func f() { websocket.Dial(nil, "", nil) }`:               1,
		`import "github.com/coder/websocket"; func f() { websocket.Accept(nil, nil, nil) }`:            0,
		`import "github.com/wneessen/go-mail"; func f() { mail.NewClient("") }`:                        1,
		`import "net/smtp"; func f() { smtp.SendMail("", nil, "", nil, nil) }`:                         1,
		`import _ "github.com/chromedp/chromedp"`:                                                      1,
		`import "github.com/jackc/pgx/v5/pgxpool"`:                                                     1,
		`import "net/http"; func f() { http.Post("", "", nil); http.PostForm("", nil); http.Head("")}`: 3,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "planted.go", "package p\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := clientsIn(f)
		if len(got) != want {
			t.Errorf("%s: found %d, want %d", source, len(got), want)
		}
		for _, n := range got {
			if what(n) == "client" {
				t.Errorf("%s: a find has no name", source)
			}
		}
	}
}

func TestExcepted(t *testing.T) {
	for path, want := range map[string]bool{
		"../../store/postgres/store.go": true, "../../store/postgres/internal/x.go": true, "../../store/postgresx/store.go": false, "../../channel/push/push.go": false,
	} {
		if got := excepted(filepath.FromSlash(path), `import "github.com/jackc/pgx/v5/pgxpool"`); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if excepted("../../store/postgres/store.go", "net.Dial") {
		t.Error("an exception for one thing is one for all")
	}
	for _, e := range exceptions {
		if e.why == "" {
			t.Errorf("%s: %s has no reason", e.under, e.what)
		}
	}
}
