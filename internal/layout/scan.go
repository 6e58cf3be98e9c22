package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// tree is what the module's own Go files hold, whatever their build constraints.
type tree struct {
	imports map[string][]string // by package, of files that are no tests
	hidden  []string            // what happens by merely being imported
}

// scan reads the Go files of the module at root, those of nested modules left out.
func scan(root string) (*tree, error) {
	t := &tree{imports: map[string][]string{}}
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(root, name, d.Name())
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := packageOf(filepath.ToSlash(rel))
		t.imports[pkg] = append(t.imports[pkg], importsOf(f)...)
		for _, h := range hiddenIn(pkg, f) {
			t.hidden = append(t.hidden, filepath.ToSlash(rel)+": "+h)
		}
		return nil
	})
	for pkg, list := range t.imports {
		slices.Sort(list)
		t.imports[pkg] = slices.Compact(list)
	}
	return t, err
}

// enter skips what the go command skips, and folders of things that were built.
func enter(root, name, base string) error {
	if name == root {
		return nil
	}
	if base == "testdata" || base == "bin" || base == "dist" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// packageOf writes a file's package as the rules do.
func packageOf(file string) string {
	if dir := path.Dir(file); dir != "." {
		return "./" + dir
	}
	return "."
}

// importsOf lists a file's imports, those of this module written as the rules do.
func importsOf(f *ast.File) []string {
	var out []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused it
		}
		if rest, ok := strings.CutPrefix(p, modulePath); ok && (rest == "" || rest[0] == '/') {
			p = "." + rest
		}
		out = append(out, p)
	}
	return out
}

// sideEffects are the imports that may stand for what they do alone.
var sideEffects = map[string][]string{
	"embed":              {".", "./..."}, // the compiler's
	"time/tzdata":        {"./cmd/...", "./internal/server/..."},
	"modernc.org/sqlite": {"./store/sqlite"}, // names itself to database/sql; there is no other way
}

// hiddenIn names what a file does by merely being imported: init functions,
// registrations in the value of a blank variable, and imports for their own sake.
func hiddenIn(pkg string, f *ast.File) []string {
	var out []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				out = append(out, "func init: let the caller ask for it")
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && registers(v) {
					out = append(out, "a call whose result is thrown away, in a package variable: let the caller make it")
				}
			}
		}
	}
	for i, p := range importsOf(f) {
		blank := f.Imports[i].Name != nil && f.Imports[i].Name.Name == "_"
		allowed := slices.ContainsFunc(sideEffects[p], func(pattern string) bool { return matches(pattern, pkg) })
		if blank && !allowed {
			out = append(out, fmt.Sprintf("import _ %q: an import for its side effects", p))
		}
	}
	return out
}

// registers reports whether a variable is blank and made by a call. Assertions
// such as var _ Store = (*DB)(nil) are conversions, or have a type.
func registers(v *ast.ValueSpec) bool {
	for i, name := range v.Names {
		if name.Name != "_" || v.Type != nil || i >= len(v.Values) {
			continue
		}
		if call, ok := v.Values[i].(*ast.CallExpr); ok {
			if _, conversion := call.Fun.(*ast.ParenExpr); !conversion {
				return true
			}
		}
	}
	return false
}
