package checks

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// RowsErr reports a loop over rows.Next in a function that never asks rows.Err:
// a result cut short would look like a whole one.
var RowsErr = &analysis.Analyzer{
	Name:     "rowserr",
	Doc:      "report loops over sql.Rows or pgx.Rows that never ask Err",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runRowsErr,
}

func runRowsErr(pass *analysis.Pass) (any, error) {
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	in.Preorder([]ast.Node{(*ast.FuncDecl)(nil)}, func(n ast.Node) {
		next := map[types.Object]*ast.CallExpr{}
		asked := map[types.Object]bool{}
		ast.Inspect(n, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			markArguments(pass, call, asked)
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || !isRows(pass.TypesInfo.TypeOf(id)) {
				return true
			}
			obj := pass.TypesInfo.ObjectOf(id)
			switch sel.Sel.Name {
			case "Next":
				if next[obj] == nil {
					next[obj] = call
				}
			case "Err":
				asked[obj] = true
			}
			return true
		})
		for obj, call := range next {
			if !asked[obj] {
				pass.Reportf(call.Pos(), "%s.Err is never asked: a result cut short would look whole", obj.Name())
			}
		}
	})
	return nil, nil
}

// markArguments counts rows that are handed on as asked: whoever gets them asks.
func markArguments(pass *analysis.Pass, call *ast.CallExpr, asked map[types.Object]bool) {
	for _, arg := range call.Args {
		if id, ok := arg.(*ast.Ident); ok && isRows(pass.TypesInfo.TypeOf(id)) {
			asked[pass.TypesInfo.ObjectOf(id)] = true
		}
	}
}

func isRows(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Name() != "Rows" {
		return false
	}
	switch named.Obj().Pkg().Path() {
	case "database/sql", "github.com/jackc/pgx/v5":
		return true
	}
	return false
}
