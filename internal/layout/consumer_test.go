package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestConsumer is a user's module: it imports the library, tidies, and must find
// nothing in its go.mod but the library, the driver of the store that it chose,
// and what that driver needs by its own word.
func TestConsumer(t *testing.T) {
	const driver, pgx = "modernc.org/sqlite", "github.com/jackc/pgx/v5"
	tests := []struct {
		name    string
		imports []string
		driver  string // "" if only the library may be required
	}{
		{"root", []string{modulePath}, ""},
		{"root and its test helpers", []string{modulePath, modulePath + "/lastlooktest"}, ""},
		{"root and SQLite", []string{modulePath, modulePath + "/store/sqlite"}, driver},
		{"root and PostgreSQL", []string{modulePath, modulePath + "/store/postgres"}, pgx},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			required, strange := requirements(t, tt.imports, tt.driver)
			for _, m := range strange {
				t.Errorf("a consumer of %v must require %s", tt.imports, m)
			}
			if !slices.Contains(required, modulePath) || tt.driver != "" && !slices.Contains(required, tt.driver) {
				t.Errorf("a consumer of %v requires only %v: the test looks at the wrong module", tt.imports, required)
			}
		})
	}
	t.Run("planted", func(t *testing.T) {
		t.Parallel()
		if _, strange := requirements(t, []string{modulePath, driver}, ""); !slices.Contains(strange, driver) {
			t.Errorf("a needless driver was not found, only %v", strange)
		}
	})
}

// requirements tidies a consumer's module and lists what it then requires, and
// what of that is neither the library nor the driver nor among the driver's needs.
func requirements(t *testing.T, imports []string, driver string) (required, strange []string) {
	t.Helper()
	dir := consumer(t, imports)
	goMod(t, dir, "mod", "tidy")
	allowed := map[string]bool{modulePath: true}
	if driver != "" {
		allowed[driver] = true
		addNeeds(allowed, driver, goMod(t, dir, "mod", "graph"))
	}
	for _, r := range readModule(t, dir).Require {
		required = append(required, r.Path)
		if !allowed[r.Path] {
			strange = append(strange, r.Path)
		}
	}
	return required, strange
}

// consumer writes a module that imports the given packages of this repository.
func consumer(t *testing.T, imports []string) string {
	t.Helper()
	root, err := filepath.Abs(repo)
	if err != nil {
		t.Fatal(err)
	}
	var main strings.Builder
	main.WriteString("package main\n\n")
	for _, p := range imports {
		main.WriteString("import _ \"" + p + "\"\n")
	}
	main.WriteString("\nfunc main() {}\n")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": main.String(),
		"go.mod":  "module example.com/consumer\n\ngo 1.26.0\n\nreplace " + modulePath + " => " + root + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goMod runs the go command in a consumer's module, from the module cache if that
// has all, else with the proxy that the environment names.
func goMod(t *testing.T, dir string, args ...string) string {
	t.Helper()
	run := func(env ...string) (string, string, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(env, "GOFLAGS=-mod=mod", "GOWORK=off")...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		return string(out), stderr.String(), err
	}
	out, _, err := run("GOPROXY=off")
	if err == nil {
		return out
	}
	out, stderr, err := run()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return out
}

// addNeeds adds the modules that are reached from module in a module graph: what
// its own go.mod requires, and theirs.
func addNeeds(allowed map[string]bool, module, graph string) {
	requires := map[string][]string{}
	for line := range strings.Lines(graph) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
		requires[pathOf(from)] = append(requires[pathOf(from)], pathOf(to))
	}
	var visit func(string)
	visit = func(m string) {
		for _, need := range requires[m] {
			if !allowed[need] {
				allowed[need] = true
				visit(need)
			}
		}
	}
	visit(module)
}

func pathOf(module string) string {
	path, _, _ := strings.Cut(module, "@")
	return path
}

func TestAddNeeds(t *testing.T) {
	const graph = `consumer lib@v1.0.0
consumer driver@v1.0.0
lib@v1.0.0 driver@v1.0.0
lib@v1.0.0 checker@v1.0.0
driver@v1.0.0 libc@v1.1.0
libc@v1.1.0 memory@v1.0.0
memory@v1.0.0 driver@v0.9.0
`
	allowed := map[string]bool{"lib": true, "driver": true}
	addNeeds(allowed, "driver", graph)
	for _, m := range []string{"lib", "driver", "libc", "memory"} {
		if !allowed[m] {
			t.Errorf("%s is not allowed", m)
		}
	}
	if allowed["checker"] || allowed["consumer"] {
		t.Errorf("too much is allowed: %v", allowed)
	}
}
