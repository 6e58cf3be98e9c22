package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary stand in for lastlook: scripts and tests run it
// as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(withCluster{m}, map[string]func(){"lastlook": func() { os.Exit(realMain()) }})
}

// manyProcesses is what `make scripts` sets.
const manyProcesses = "LASTLOOK_TEST_SCRIPTS"

// needProcesses skips a test that starts lastlook again and again if that was not
// asked for: each start costs half a second under the race detector.
func needProcesses(t *testing.T) {
	t.Helper()
	if raceDetector && os.Getenv(manyProcesses) == "" {
		t.Skipf("make scripts: starts some 400 processes with the race detector (it sets %s=1)", manyProcesses)
	}
}

// TestScripts runs testdata/script: what each command does, as a user would
// type it. Besides testscript's own commands there are:
//
//	exits CODE program args…   run it, and check the exit code
//	shop …                     move the page at $SHOP: see shopCommand
//	hook …                     the receiver at $HOOK: see hookCommand
//	shape FILE                 the keys and types of the JSON on standard output, as in FILE
//	sql FILE                   run a file on the PostgreSQL server
//	as ROLE                    use the PostgreSQL server as another role
//	save VAR PATTERN           set VAR to what the group in PATTERN matches on standard output
func TestScripts(t *testing.T) {
	if raceDetector && os.Getenv(manyProcesses) == "" {
		first := scripts("", nil)
		first.Files = []string{"testdata/script/firstlook.txtar"}
		testscript.Run(t, first)
		t.Run("the others", needProcesses)
		return
	}
	testscript.Run(t, scripts("testdata/script", nil))
}

// scripts are those of a directory; more sets further variables.
func scripts(dir string, more func(*testscript.Env) error) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "" && more == nil,
		Setup: func(env *testscript.Env) error {
			s, r := newShop(), newReceiver()
			env.Defer(s.Close)
			env.Defer(r.Close)
			env.Values[shopKey{}], env.Values[hookKey{}] = s, r
			env.Setenv("SHOP", s.url())
			env.Setenv("HOOK", r.URL)
			env.Setenv("LASTLOOK_DATA", env.WorkDir+"/data")
			env.Setenv("LASTLOOK_ALLOW_PRIVATE", "127.0.0.1,::1") // where the shop and the receiver are
			env.Setenv("LASTLOOK_LISTEN", "127.0.0.1:0")
			env.Setenv("USER", "alice")
			env.Setenv("GORACE", raceOptions())
			if more == nil {
				return nil
			}
			return more(env)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "race":
				return raceDetector, nil
			case "postgres":
				return more != nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exitsCommand, "shop": shopCommand, "hook": hookCommand, "shape": shapeCommand, "save": saveCommand,
			"sql": sqlCommand, "as": asCommand,
		},
	}
}

// raceOptions keeps a process that was built with the race detector from
// waiting a second before it exits.
func raceOptions() string { return strings.TrimSpace(os.Getenv("GORACE") + " atexit_sleep_ms=0") }

type (
	shopKey struct{}
	hookKey struct{}
)

func exitsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE program args…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		got = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, not %s\n%s", got, args[0], ts.ReadFile("stderr"))
	}
}

// shopCommand moves the page: price P… (one per look, the last one stays),
// currency C, stock WORD (of schema.org; none for no word), status CODE,
// title TEXT, page FILE (instead of the product), looks N (wait for them).
func shopCommand(ts *testscript.TestScript, neg bool, args []string) {
	s, ok := ts.Value(shopKey{}).(*shop)
	if neg || len(args) < 2 || !ok {
		ts.Fatalf("usage: shop price|currency|stock|status|title|page|looks VALUE…")
	}
	number := func() int {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		return n
	}
	switch args[0] {
	case "price":
		s.set(func(s *shop) { s.prices = args[1:] })
	case "currency":
		s.set(func(s *shop) { s.currency = args[1] })
	case "stock":
		word := strings.TrimSuffix(args[1], "none")
		s.set(func(s *shop) { s.availability = word })
	case "status":
		code := number()
		s.set(func(s *shop) { s.status = code })
	case "title":
		title, err := strconv.Unquote(`"` + args[1] + `"`)
		ts.Check(err)
		s.set(func(s *shop) { s.title = title })
	case "page":
		text := ts.ReadFile(args[1])
		s.set(func(s *shop) { s.raw = text })
	case "looks":
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		ts.Check(s.await(ctx, number()))
	default:
		ts.Fatalf("shop %s: no such move", args[0])
	}
}

// hookCommand is the receiver: secret TEXT, status CODE, next FILE (wait for a
// webhook, verify it, and write its body into the file), none (nothing came).
func hookCommand(ts *testscript.TestScript, neg bool, args []string) {
	r, ok := ts.Value(hookKey{}).(*receiver)
	if neg || len(args) < 1 || !ok {
		ts.Fatalf("usage: hook secret|status|next|none …")
	}
	switch {
	case args[0] == "none":
		select {
		case e := <-r.events:
			ts.Fatalf("a webhook came: %s", e.Body)
		default:
		}
	case len(args) < 2:
		ts.Fatalf("usage: hook %s VALUE", args[0])
	case args[0] == "secret":
		r.set(func(r *receiver) { r.secret = args[1] })
	case args[0] == "status":
		code, err := strconv.Atoi(args[1])
		ts.Check(err)
		r.set(func(r *receiver) { r.status = code })
	case args[0] == "next":
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		e, err := r.next(ctx)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), e.Body, 0o600))
	default:
		ts.Fatalf("hook %s: no such thing", args[0])
	}
}

// saveCommand sets a variable from standard output.
func saveCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: save VAR PATTERN")
	}
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) != 2 {
		ts.Fatalf("%q matches nothing, or has not one group", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// shapeCommand compares the shape of the JSON on standard output, one value or
// one per line, with a file.
func shapeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shape FILE")
	}
	lines := map[string]bool{}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	for dec.More() {
		var v any
		ts.Check(dec.Decode(&v))
		shapeOf("", v, lines)
	}
	got := strings.Join(slices.Sorted(maps.Keys(lines)), "\n") + "\n"
	if want := ts.ReadFile(args[0]); got != want {
		ts.Fatalf("the shape is\n%s\nnot\n%s", got, want)
	}
}

// topicsOwn are members whose form is the topic's.
var topicsOwn = []string{"detection", "asserted", "seen", "value", "baseline", "maybe"}

func shapeOf(path string, v any, lines map[string]bool) {
	kind := ""
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if slices.Contains(topicsOwn, k) {
				lines[path+"."+k+" of the topic"] = true
			} else {
				shapeOf(path+"."+k, e, lines)
			}
		}
		return
	case []any:
		lines[path+"[]"] = true
		for _, e := range v {
			shapeOf(path+"[]", e, lines)
		}
		return
	case string:
		kind = "string"
	case float64:
		kind = "number"
	case bool:
		kind = "bool"
	case nil:
		kind = "null"
	}
	lines[path+" "+kind] = true
}
