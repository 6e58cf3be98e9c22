package checks

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// acceptIgnores makes a pass over its findings: one that a comment accepts, with
// a reason, is left out. The comments are those that staticcheck reads.
func acceptIgnores(a *analysis.Analyzer) {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		ignores := map[string][]ignore{} // by file name
		for _, f := range pass.Files {
			name := pass.Fset.File(f.FileStart).Name()
			ignores[name] = fileIgnores(pass.Fset, f, a.Name)
		}
		report := pass.Report
		quiet := *pass
		quiet.Report = func(d analysis.Diagnostic) {
			at := pass.Fset.Position(d.Pos)
			for _, ig := range ignores[at.Filename] {
				if ig.whole || ig.line == at.Line {
					return
				}
			}
			report(d)
		}
		return run(&quiet)
	}
}

// ignore accepts the findings of a line, or of the whole file.
type ignore struct {
	line  int
	whole bool
}

func fileIgnores(fset *token.FileSet, f *ast.File, name string) []ignore {
	var out []ignore
	for _, g := range f.Comments {
		for _, c := range g.List {
			names, whole, ok := parseIgnore(c.Text)
			if !ok || !slices.Contains(names, name) {
				continue
			}
			line := fset.Position(c.Pos()).Line
			if !hasCode(fset, f, line) {
				line++
			}
			out = append(out, ignore{line: line, whole: whole})
		}
	}
	return out
}

// hasCode reports whether anything but a comment begins or ends on the line.
func hasCode(fset *token.FileSet, f *ast.File, line int) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.File, *ast.CommentGroup, *ast.Comment:
			return !found
		}
		found = found || fset.Position(n.Pos()).Line == line || fset.Position(n.End()).Line == line
		return !found
	})
	return found
}

// parseIgnore reads a comment such as "//lint:ignore a,b why". One without a
// reason accepts nothing.
func parseIgnore(comment string) (names []string, whole, ok bool) {
	rest, ok := strings.CutPrefix(comment, "//lint:ignore ")
	if !ok {
		rest, whole = strings.CutPrefix(comment, "//lint:file-ignore ")
		if !whole {
			return nil, false, false
		}
	}
	list, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if strings.TrimSpace(reason) == "" {
		return nil, false, false
	}
	return strings.Split(list, ","), whole, true
}
