package checks

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// NoSleep reports time.Sleep in tests: a test that sleeps is slow on a fast
// machine and wrong on a slow one. Inside a testing/synctest bubble time is fake,
// and sleeping is how it passes.
var NoSleep = &analysis.Analyzer{
	Name:     "nosleep",
	Doc:      "report time.Sleep in tests, outside testing/synctest bubbles",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runNoSleep,
}

func runNoSleep(pass *analysis.Pass) (any, error) {
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	in.WithStack([]ast.Node{(*ast.CallExpr)(nil)}, func(n ast.Node, push bool, stack []ast.Node) bool {
		call := n.(*ast.CallExpr)
		if !push || !isFunc(pass, call, "time", "Sleep") || !isTestFile(pass.Fset.File(call.Pos()).Name()) {
			return true
		}
		for _, outer := range stack {
			if c, ok := outer.(*ast.CallExpr); ok && isFunc(pass, c, "testing/synctest", "Test") {
				return true
			}
		}
		pass.Reportf(call.Pos(), "time.Sleep in a test: wait for the event itself, or use a testing/synctest bubble")
		return true
	})
	return nil, nil
}

func isFunc(pass *analysis.Pass, call *ast.CallExpr, pkg, name string) bool {
	fn := typeutil.StaticCallee(pass.TypesInfo, call)
	return fn != nil && isMember(fn, pkg, name)
}

func isMember(obj types.Object, pkg, name string) bool {
	return obj.Pkg() != nil && obj.Pkg().Path() == pkg && obj.Name() == name && obj.Parent() == obj.Pkg().Scope()
}

// NoDefaultClient reports net/http's package-wide client and transport, also as
// used by http.Get and its like: no timeout, redirects followed, shared by all.
var NoDefaultClient = &analysis.Analyzer{
	Name:     "nodefaultclient",
	Doc:      "report http.DefaultClient, http.DefaultTransport, http.Get, Head, Post and PostForm",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runNoDefaultClient,
}

func runNoDefaultClient(pass *analysis.Pass) (any, error) {
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	in.Preorder([]ast.Node{(*ast.Ident)(nil)}, func(n ast.Node) {
		id := n.(*ast.Ident)
		obj := pass.TypesInfo.Uses[id]
		if obj == nil {
			return
		}
		for _, name := range []string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"} {
			if isMember(obj, "net/http", name) {
				pass.Reportf(id.Pos(), "http.%s has no time limit and is shared by all: make a client with a timeout", name)
			}
		}
	})
	return nil, nil
}
