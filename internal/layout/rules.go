// Package layout keeps the directions of the code: which package may import
// which, and that nothing registers itself behind its users' backs. Its rules are
// a table, each with its reason; its tests hold the repository to them.
package layout

import (
	"fmt"
	"slices"
	"strings"
)

const modulePath = "github.com/lastlook/lastlook"

// A rule forbids imports: a package that from matches and except does not may not
// import what deny matches, unless allow matches it too.
//
// Patterns for packages of this module start with "./" ("." is the root package);
// all others are import paths as written. A last element "..." stands for
// anything below and the path itself, "*" stands for one element, and "*test" for
// one that ends so. Of what is imported there are two more: "self/..." is the
// importing package's own family (store/sqlite and what is below it), and
// "external" anything that is neither of this module nor the standard library.
type rule struct {
	name, why   string
	from        []string
	except      []string
	deny, allow []string
}

// concrete are the packages of which there are several kinds to choose from.
var concrete = []string{
	"./store/*/...", "./source/*/...", "./channel/*/...", "./watch/watchsqlite/...", "./watch/watchpg/...",
	"./device/devicesqlite/...", "./device/devicepg/...", "./access/accesssqlite/...", "./access/accesspg/...", "./topic/*/...",
}

// forTests are the packages that only tests may import: suites and fakes.
var forTests = []string{"./*test/...", "./*/*test/..."}

var rules = []rule{
	{
		name: "root",
		why:  "contracts and core: whoever imports the library gets nothing else with it",
		from: []string{"."},
		deny: []string{"./...", "external", "database/sql/..."},
	},
	{
		name:   "store",
		why:    "a store carries out the core's changes and knows nothing of what is told, or of another store",
		from:   []string{"./store/*/..."},
		except: forTests,
		deny:   []string{"./..."},
		allow:  []string{".", "self/...", "./internal/...", "./store/internal/..."},
	},
	{
		name:  "suites",
		why:   "a conformance suite that knew a concrete kind could be kind to it",
		from:  []string{"./store/storetest/...", "./channel/channeltest/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/...", "./internal/...", "./store/internal/..."},
	},
	{
		name:  "lastlooktest",
		why:   "users' tests take the memory store with it, and nothing that they would have to require",
		from:  []string{"./lastlooktest/..."},
		deny:  []string{"./...", "external"},
		allow: []string{".", "self/...", "./store/memstore"},
	},
	{
		name:   "source",
		why:    "a source answers with observations; sources, stores and channels never need each other",
		from:   []string{"./source/*/..."},
		except: forTests,
		deny:   []string{"./..."},
		allow:  []string{".", "self/...", "./internal/...", "./source/internal/...", "./watch", "./watch/extract", "./watch/price"},
	},
	{
		name:  "source suite",
		why:   "a conformance suite that knew a concrete kind could be kind to it",
		from:  []string{"./source/sourcetest/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/...", "./internal/...", "./watch", "./watch/price"},
	},
	{
		name:   "channel",
		why:    "a channel delivers a message and does not know what it is about",
		from:   []string{"./channel/*/..."},
		except: forTests,
		deny:   []string{"./..."},
		allow:  []string{".", "self/...", "./internal/...", "./channel/internal/...", "./webpush/..."},
	},
	{
		name: "pure watch",
		why:  "one function judges at detection and at the last look: it is given the world and touches none of it",
		from: []string{"./watch", "./watch/extract/...", "./watch/price/..."},
		deny: []string{"./...", "database/sql/...", "os", "os/exec"},
		allow: []string{
			".", "self/...", "./watch", "./watch/price", "./watch/condition", "./internal/...",
		},
	},
	{
		name:  "suites beside",
		why:   "a conformance suite that knew a concrete kind could be kind to it",
		from:  []string{"./watch/watchtest/...", "./device/devicetest/...", "./access/accesstest/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/...", "./internal/...", "./watch", "./watch/price", "./device", "./access", "./webpush/..."},
	},
	{
		name:  "beside",
		why:   "what the stores of watches and devices share knows no database: statements and connections are given to it",
		from:  []string{"./internal/beside/...", "./internal/watchdb/...", "./internal/devicedb/...", "./internal/accessdb/..."},
		deny:  []string{"./...", "external"},
		allow: []string{".", "self/...", "./internal/beside", "./watch", "./watch/price", "./device", "./access", "./webpush"},
	},
	{
		name:  "condition",
		why:   "users' conditions are compiled and asked without any knowledge of watches",
		from:  []string{"./watch/condition/..."},
		deny:  []string{"./..."},
		allow: []string{"self/..."},
	},
	{
		name: "offline watch",
		why:  "looking is the sources' work; pages come to the extractor as bytes",
		from: []string{"./watch", "./watch/price/..."},
		deny: []string{"net", "net/http/..."},
	},
	{
		name:  "price",
		why:   "text to money is the lowest layer, usable alone",
		from:  []string{"./watch/price/..."},
		deny:  []string{"./..."},
		allow: []string{"self/..."},
	},
	{
		name:  "watchsqlite",
		why:   "its tables stand beside the SQLite store's and are written in one transaction with them",
		from:  []string{"./watch/watchsqlite/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/...", "./internal/...", "./watch", "./watch/price", "./store/sqlite"},
	},
	{
		name:  "watchpg",
		why:   "its tables stand beside the PostgreSQL store's and are written in one transaction with them",
		from:  []string{"./watch/watchpg/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/...", "./internal/...", "./watch", "./watch/price", "./store/postgres"},
	},
	{
		name:  "device",
		why:   "who may be told and what is theirs: pure domain, its tables and routes are elsewhere",
		from:  []string{"./device"},
		deny:  []string{"./...", "external", "database/sql/...", "net/http/..."},
		allow: []string{".", "./webpush", "./internal/..."},
	},
	{
		name:  "devicesqlite",
		why:   "its tables stand beside the SQLite store's",
		from:  []string{"./device/devicesqlite/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/...", "./internal/...", "./device", "./webpush", "./store/sqlite"},
	},
	{
		name:  "devicepg",
		why:   "its tables stand beside the PostgreSQL store's",
		from:  []string{"./device/devicepg/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/...", "./internal/...", "./device", "./webpush", "./store/postgres"},
	},
	{
		name:  "access",
		why:   "which programs may do what: pure domain, its tables and routes are elsewhere",
		from:  []string{"./access"},
		deny:  []string{"./...", "external", "database/sql/...", "net/http/..."},
		allow: []string{".", "./internal/..."},
	},
	{
		name:  "accesssqlite",
		why:   "its tables stand beside the SQLite store's, and it enqueues in their transaction",
		from:  []string{"./access/accesssqlite/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/...", "./internal/...", "./access", "./store/sqlite"},
	},
	{
		name:  "accesspg",
		why:   "its tables stand beside the PostgreSQL store's",
		from:  []string{"./access/accesspg/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/...", "./internal/...", "./access", "./store/postgres"},
	},
	{
		name:  "topic",
		why:   "a kind of topic knows who judges, and neither channels nor stores",
		from:  []string{"./topic/*/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/...", "./internal/...", "./watch", "./watch/condition"},
	},
	{
		name: "concrete",
		why:  "only internal/server chooses among kinds; all others take interfaces",
		from: []string{".", "./..."},
		except: []string{
			"./internal/server/...", "./examples/...",
			// These have stricter rules of their own.
			"./watch/watchsqlite/...", "./watch/watchpg/...", "./lastlooktest/...",
			"./device/devicesqlite/...", "./device/devicepg/...",
			"./access/accesssqlite/...", "./access/accesspg/...",
		},
		deny:  concrete,
		allow: []string{"self/...", "./store/internal/...", "./source/internal/...", "./channel/internal/..."},
	},
	{
		name:   "server",
		why:    "the server puts the parts together: none of them may reach back into it",
		from:   []string{".", "./..."},
		except: []string{"./cmd/...", "./internal/server/...", "./internal/cli/...", "./internal/demo/..."},
		deny:   []string{"./internal/server/..."},
	},
	{
		name:   "front ends",
		why:    "HTTP, pages and configuration are the server's: the library's parts do not know them",
		from:   []string{".", "./..."},
		except: []string{"./cmd/...", "./internal/..."},
		deny:   []string{"./internal/httpapi/...", "./internal/webui/...", "./internal/config/...", "./internal/cli/...", "./internal/demo/..."},
	},
	{
		name: "thin command",
		why:  "a command's main package reads its arguments; the work is where tests reach it",
		from: []string{"./cmd/..."},
		deny: []string{"./..."},
		allow: []string{
			".", "self/...", "./internal/...", "./client/...",
		},
	},
	{
		name:   "commands",
		why:    "nothing imports a command",
		from:   []string{".", "./..."},
		except: []string{"./cmd/..."},
		deny:   []string{"./cmd/..."},
	},
	{
		name:  "client",
		why:   "users import the client without the server; API structs are not stored structs",
		from:  []string{"./client/..."},
		deny:  []string{"./..."},
		allow: []string{".", "self/..."},
	},
	{
		name: "webpush",
		why:  "usable alone: the standard library's cryptography is all it needs",
		from: []string{"./webpush/..."},
		deny: []string{"./...", "external"},
		allow: []string{
			"self/...",
		},
	},
	{
		name:   "test code",
		why:    "what only tests need stays out of programs",
		from:   []string{".", "./..."},
		except: forTests,
		deny: append([]string{
			"testing/...", "net/http/httptest", "pgregory.net/rapid/...",
		}, forTests...),
		allow: []string{"self/..."},
	},
	{
		name:   "SQLite",
		why:    "one place knows the driver, so that users on another one carry none of it",
		from:   []string{".", "./..."},
		except: []string{"./store/sqlite/...", "./internal/csqlite", "./watch/watchsqlite/...", "./device/devicesqlite/...", "./access/accesssqlite/..."},
		deny:   []string{"modernc.org/...", "github.com/mattn/go-sqlite3/..."},
	},
	{
		name:   "PostgreSQL",
		why:    "one place knows the driver, so that users on another database carry none of it",
		from:   []string{".", "./..."},
		except: []string{"./store/postgres/...", "./watch/watchpg/...", "./device/devicepg/...", "./access/accesspg/...", "./internal/pgtest"},
		deny:   []string{"github.com/jackc/..."},
	},
	{
		name: "modules",
		why:  "benchmarks and tools are modules of their own: their needs never enter users' module graphs",
		from: []string{".", "./..."},
		deny: []string{"./bench/...", "./tools/..."},
	},
	{
		name: "no cgo",
		why:  "one static binary, built anywhere with Go alone",
		from: []string{".", "./..."},
		deny: []string{"C"},
	},
}

// violations names what breaks the rules, given each package's imports. Packages
// of this module are written as in the patterns: ".", "./store/sqlite".
func violations(imports map[string][]string, rules []rule) []string {
	var out []string
	for pkg, list := range imports {
		for _, imp := range list {
			for _, r := range rules {
				if r.forbids(pkg, imp) {
					out = append(out, fmt.Sprintf("rule %q: %s may not import %s (%s)", r.name, pkg, imp, r.why))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func (r rule) forbids(pkg, imp string) bool {
	in := func(patterns []string, path string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
	}
	if !in(r.from, pkg) || in(r.except, pkg) {
		return false
	}
	allowed := slices.ContainsFunc(r.allow, func(p string) bool {
		if p == "self/..." {
			p = family(pkg)
		}
		return matches(p, imp)
	})
	return in(r.deny, imp) && !allowed
}

// matches reports whether a pattern of a rule matches a package.
func matches(pattern, path string) bool {
	if pattern == "external" {
		return isExternal(path)
	}
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	below := want[len(want)-1] == "..."
	if below {
		want = want[:len(want)-1]
	}
	if len(got) < len(want) || len(got) > len(want) && !below {
		return false
	}
	for i, w := range want {
		suffix, wild := strings.CutPrefix(w, "*")
		if wild && !strings.HasSuffix(got[i], suffix) || !wild && w != got[i] {
			return false
		}
	}
	return true
}

// family is the pattern of the packages that belong together with pkg: a kind and
// all below it. The root, watch and device stand alone, for what is below is not theirs.
func family(pkg string) string {
	parts := strings.Split(pkg, "/")
	if pkg == "." || pkg == "./watch" || pkg == "./device" || pkg == "./access" {
		return pkg
	}
	depth := 2 // ./client
	if slices.Contains([]string{"store", "source", "channel", "watch", "device", "access", "topic", "internal", "cmd"}, parts[1]) {
		depth = 3 // ./store/sqlite
	}
	return strings.Join(parts[:min(depth, len(parts))], "/") + "/..."
}

func isExternal(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != "." && strings.Contains(first, ".")
}
