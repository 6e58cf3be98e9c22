package layout

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repo is the repository's root, as seen from here.
const repo = "../.."

func TestDirections(t *testing.T) {
	tree, err := scan(repo)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.imports["."]) == 0 || len(tree.imports["./store/sqlite"]) == 0 {
		t.Fatalf("read only the packages %v: the test looks in the wrong place", tree.imports)
	}
	for _, v := range violations(tree.imports, rules) {
		t.Error(v)
	}
	for _, h := range tree.hidden {
		t.Error(h)
	}
}

// TestModules holds the go.mod files to what users of the library get from them.
func TestModules(t *testing.T) {
	main := readModule(t, repo)
	if main.Module.Path != modulePath {
		t.Errorf("the module is %s", main.Module.Path)
	}
	if len(main.Replace)+len(main.Exclude) > 0 {
		t.Errorf("go.mod replaces %v, excludes %v: users' builds ignore that", main.Replace, main.Exclude)
	}
	if len(main.Tool) > 0 {
		t.Errorf("go.mod names the tools %v: they enter users' module graphs; tools/go.mod is for them", main.Tool)
	}
	for _, dir := range []string{"bench", "tools"} {
		if _, err := os.Stat(filepath.Join(repo, dir)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if got := readModule(t, filepath.Join(repo, dir)).Module.Path; got != modulePath+"/"+dir {
			t.Errorf("%s is the module %s", dir, got)
		}
		for _, r := range main.Require {
			if r.Path == modulePath+"/"+dir {
				t.Errorf("go.mod requires %s", r.Path)
			}
		}
	}
}

// module is what go mod edit -json tells of a go.mod.
type module struct {
	Module           struct{ Path string }
	Require          []struct{ Path, Version string }
	Tool             []struct{ Path string }
	Replace, Exclude []any
}

func readModule(t *testing.T, dir string) module {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s in %s: %v", cmd, dir, err)
	}
	var m module
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// planted are imports as they might be written one day, each with the rules that
// must refuse it; none means that it is fine.
var planted = []struct {
	pkg, imp string
	want     string
}{
	{".", "context", ""},
	{".", "golang.org/x/time/rate", "root"},
	{".", "database/sql", "root"},
	{".", "./internal/clock", "root"},
	{".", "./store/sqlite", "root, concrete"},

	{"./store/sqlite", ".", ""},
	{"./store/sqlite", "database/sql", ""},
	{"./store/sqlite", "modernc.org/sqlite", ""},
	{"./store/sqlite", "./store/sqlite/internal/migrate", ""},
	{"./store/sqlite/internal/migrate", "./store/sqlite", ""},
	{"./store/sqlite", "./internal/sqlfile", ""},
	{"./store/sqlite", "./store/postgres", "store, concrete"},
	{"./store/postgres", "./channel/ntfy", "store, concrete"},
	{"./store/postgres", "./watch", "store"},
	{"./store/postgres", "github.com/jackc/pgx/v5", ""},
	{"./store/postgres", "modernc.org/sqlite", "SQLite"},
	{"./store/memstore", "./store/internal/planted", ""},
	{"./store/memstore", "./store/sqlite", "store, concrete"},

	{"./store/storetest", ".", ""},
	{"./store/storetest", "testing", ""},
	{"./store/storetest", "pgregory.net/rapid", ""},
	{"./store/storetest", "./store/sqlite", "suites, concrete"},
	{"./channel/channeltest", "net/http/httptest", ""},
	{"./channel/channeltest", "./channel/ntfy", "suites, concrete"},
	{"./source/sourcetest", "net/http/httptest", ""},
	{"./source/sourcetest", "./source/page", "source suite, concrete"},
	{"./store/sqlite", "./store/storetest", "store, concrete, test code"},
	{"./internal/server", "./store/storetest", "test code"},
	{"./internal/server", "testing", "test code"},

	{"./lastlooktest", "./store/memstore", ""},
	{"./lastlooktest", "./store/sqlite", "lastlooktest"},
	{"./lastlooktest", "pgregory.net/rapid", "lastlooktest"},

	{"./source/page", "./watch/extract", ""},
	{"./source/page", "./internal/door", ""},
	{"./source/page", "./source/jsonapi", "source, concrete"},
	{"./source/page", "./channel/webhook", "source, concrete"},

	{"./channel/telegram", "./channel/internal/chat", ""},
	{"./channel/push", "./webpush", ""},
	{"./channel/ntfy", "./channel/webhook", "channel, concrete"},
	{"./channel/ntfy", "./watch", "channel"},

	{"./watch", "./watch/price", ""},
	{"./watch/extract", "./watch", ""},
	{"./watch/extract", "net/http", ""},
	{"./watch", "net/http", "offline watch"},
	{"./watch/price", "net/http/httputil", "offline watch"},
	{"./watch", "database/sql", "pure watch"},
	{"./watch/extract", "database/sql/driver", "pure watch"},
	{"./watch", "./store/sqlite", "pure watch, concrete"},
	{"./watch", "./watch/watchsqlite", "pure watch, concrete"},
	{"./watch/price", "./watch", "price"},

	{"./watch/watchsqlite", "./store/sqlite", ""},
	{"./watch/watchsqlite", "./store/postgres", "watchsqlite"},
	{"./watch/watchpg", "./store/postgres", ""},
	{"./watch/watchpg", "github.com/jackc/pgx/v5/pgxpool", ""},
	{"./watch/watchpg", "./watch/watchsqlite", "watchpg"},

	{"./watch/watchtest", "./watch", ""},
	{"./watch/watchtest", "./watch/watchpg", "suites beside, concrete"},
	{"./device/devicetest", "./webpush/webpushtest", ""},
	{"./device/devicetest", "./device/devicesqlite", "suites beside, concrete"},
	{"./internal/watchdb", "./internal/beside", ""},
	{"./internal/watchdb", "./store/postgres", "beside, concrete"},
	{"./internal/devicedb", "github.com/jackc/pgx/v5", "beside, PostgreSQL"},

	{"./watch", "./watch/condition", ""},
	{"./watch/condition", "cel.dev/cel-go/cel", ""},
	{"./watch/condition", "./watch", "condition"},

	{"./device", "./webpush", ""},
	{"./device", "net/http", "device"},
	{"./device/devicesqlite", "./device", ""},
	{"./device/devicesqlite", "./watch", "devicesqlite"},
	{"./device/devicepg", "./store/postgres", ""},
	{"./device/devicepg", "./store/sqlite", "devicepg"},
	{"./topic/declared", "./watch/condition", ""},
	{"./topic/declared", "./source/jsonapi", "topic, concrete"},
	{"./internal/httpapi", "./topic/callback", "concrete"},
	{"./access", ".", ""},
	{"./access", "database/sql", "access"},
	{"./access/accesssqlite", "./store/sqlite", ""},
	{"./access/accesssqlite", "./device", "accesssqlite"},
	{"./access/accesspg", "./store/sqlite", "accesspg"},
	{"./access/accesstest", "./access/accesspg", "suites beside, concrete"},
	{"./internal/httpapi", "./device", ""},
	{"./internal/httpapi", "./access/accesssqlite", "concrete"},
	{"./channel/push", "./device", "channel"},

	{"./internal/server", "./store/sqlite", ""},
	{"./internal/server", "./channel/ntfy", ""},
	{"./internal/httpapi", "./store/sqlite", "concrete"},
	{"./internal/lanes", "./channel/ntfy", "concrete"},
	{"./internal/webui", "./internal/server", "server"},
	{"./store/sqlite", "./internal/server", "server"},
	{"./channel/ntfy", "./internal/config", "front ends"},

	{"./cmd/lastlook", "./internal/server", ""},
	{"./cmd/lastlook", "./store/sqlite", "concrete, thin command"},
	{"./cmd/lastlook", "./watch", "thin command"},
	{"./internal/server", "./cmd/lastlook", "commands"},

	{"./client", "net/http", ""},
	{"./client", "./internal/httpapi", "front ends, client"},
	{"./webpush", "crypto/ecdh", ""},
	{"./webpush", "golang.org/x/crypto/hkdf", "webpush"},

	{"./internal/lanes", "github.com/jackc/pgx/v5", "PostgreSQL"},
	{"./internal/server", "./bench/peers", "modules"},
	{"./internal/server", "./tools/cmd/gate", "modules"},
	{"./store/sqlite", "C", "no cgo"},
}

func TestPlantedImports(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range planted {
		var got []string
		for _, r := range rules {
			if len(violations(map[string][]string{p.pkg: {p.imp}}, []rule{r})) > 0 {
				got = append(got, r.name)
				seen[r.name] = true
			}
		}
		if s := strings.Join(got, ", "); s != p.want {
			t.Errorf("%s imports %s: refused by %q, want %q", p.pkg, p.imp, s, p.want)
		}
	}
	for _, r := range rules {
		if !seen[r.name] {
			t.Errorf("no planted import breaks the rule %q", r.name)
		}
	}
}

func TestPlantedSideEffects(t *testing.T) {
	tests := []struct {
		pkg, source string
		want        int
	}{
		{".", `var _ Store = (*memory)(nil)`, 0},
		{".", `var _ = (*memory)(nil)`, 0},
		{".", `var _ Store = wrap(nil)`, 0},
		{".", `var names = build()`, 0},
		{".", `func (s *Store) init() {}`, 0},
		{".", `func init() {}`, 1},
		{".", `var _ = registry.Add("page", open)`, 1},
		{".", `import _ "embed"`, 0},
		{"./store/sqlite", `import _ "modernc.org/sqlite"`, 0},
		{"./watch/watchsqlite", `import _ "modernc.org/sqlite"`, 1},
		{"./internal/server", `import _ "net/http/pprof"`, 1},
	}
	for _, tt := range tests {
		f, err := parser.ParseFile(token.NewFileSet(), "planted.go", "package p\n"+tt.source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := hiddenIn(tt.pkg, f); len(got) != tt.want {
			t.Errorf("%s: %s: found %q, want %d", tt.pkg, tt.source, got, tt.want)
		}
	}
}

// TestScan plants a tree on disk: what the go command would not build is not read,
// whatever its build constraints say otherwise.
func TestScan(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                     "module " + modulePath,
		"a.go":                       "package lastlook\nimport \"fmt\"",
		"a_test.go":                  "package lastlook\nimport \"testing\"",
		"store/sqlite/s.go":          "package sqlite\nimport (\n\"fmt\"\n\"" + modulePath + "\"\n)",
		"store/sqlite/s_plan9.go":    "//go:build plan9\n\npackage sqlite\nimport (\n\"fmt\"\n\"" + modulePath + "/watch\"\n)\nfunc init() {}",
		"store/sqlite/testdata/x.go": "package x\nimport \"os\"",
		".hidden/x.go":               "package x\nimport \"os\"",
		"bench/go.mod":               "module " + modulePath + "/bench",
		"bench/b.go":                 "package bench\nimport \"os\"",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := scan(root)
	if err != nil {
		t.Fatal(err)
	}
	for pkg, want := range map[string]string{".": "fmt", "./store/sqlite": ". ./watch fmt"} {
		if s := strings.Join(got.imports[pkg], " "); s != want {
			t.Errorf("%s imports %q, want %q", pkg, s, want)
		}
	}
	if len(got.imports) != 2 {
		t.Errorf("packages read: %v", got.imports)
	}
	if len(got.hidden) != 1 || !strings.HasPrefix(got.hidden[0], "store/sqlite/s_plan9.go: func init") {
		t.Errorf("side effects found: %q", got.hidden)
	}
}
