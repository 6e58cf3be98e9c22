package checks

import (
	"go/ast"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// What a reader can still hold: DESIGN's aims for files and functions.
const (
	maxFileLines     = 500
	maxTestFileLines = 800
	maxFuncLines     = 80
)

// Size reports files and functions that have grown too long. Generated files,
// and functions in tests (tables are long), are free.
var Size = &analysis.Analyzer{
	Name: "size",
	Doc:  "report files over 500 lines (tests: 800) and functions over 80",
	Run:  runSize,
}

func runSize(pass *analysis.Pass) (any, error) {
	for _, f := range pass.Files {
		file := pass.Fset.File(f.FileStart)
		if ast.IsGenerated(f) || !strings.HasSuffix(file.Name(), ".go") {
			continue
		}
		limit, test := maxFileLines, isTestFile(file.Name())
		if test {
			limit = maxTestFileLines
		}
		if n := file.Line(f.FileEnd); n > limit {
			pass.Reportf(f.Package, "%s has %d lines, more than %d: split it by what changes together",
				filepath.Base(file.Name()), n, limit)
		}
		if test {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := file.Line(fn.End()) - file.Line(fn.Pos()) + 1; n > maxFuncLines {
				pass.Reportf(fn.Pos(), "func %s has %d lines, more than %d: name its parts", fn.Name.Name, n, maxFuncLines)
			}
		}
	}
	return nil, nil
}

func isTestFile(name string) bool { return strings.HasSuffix(name, "_test.go") }
