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
			t.Errorf("%s: %s: requests leave through internal/door only: take an *http.Client in the configuration", fset.Position(n.Pos()), what(n))
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

// skip leaves out this package, other modules, and what is not Go code of ours.
func skip(path, base string) error {
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
		filepath.ToSlash(path) == "../../internal/door" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// forbidden are the names by which one gets at a client. Pointers to clients
// and transports may be passed around: http.Client is met only as *http.Client.
var forbidden = map[string][]string{
	"net/http": {"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "NewFileTransport"},
	// It uses the default transport unless told otherwise.
	"net/http/httputil": {"ReverseProxy", "NewSingleHostReverseProxy", "NewClientConn", "NewProxyClientConn"},
	"net/rpc":           {"DialHTTP", "DialHTTPPath", "Dial"},
}

// bypasses are imports that bring a client of their own.
var bypasses = []string{"golang.org/x/net/http2", "golang.org/x/net/websocket"}

// clientsIn returns where a file makes or borrows a client.
func clientsIn(f *ast.File) []ast.Node {
	var out []ast.Node
	names := map[string][]string{} // by local package name
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		local := path[strings.LastIndex(path, "/")+1:]
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
