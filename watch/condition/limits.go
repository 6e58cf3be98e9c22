package condition

import (
	"fmt"
	"regexp/syntax"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// A cost limit bounds what is asked only if each step costs what it does, and if
// no single step can do much before its cost is known. CEL's own prices miss both
// in three places: joining and comparing lists count by their length or not at
// all, whatever is inside; a list that is made of a variable twice, within a macro
// within a macro, is as large as one likes for next to nothing; and a pattern's
// price is its length, whatever it repeats. So joins and comparisons are priced by
// all that is inside (prices), and two things are refused (refuse).

// maxPattern bounds a pattern of matches, in instructions of its program.
const maxPattern = 500

// prices is the price list of what CEL prices too low.
type prices struct{}

// CallCost returns what a call costs; nil leaves it to CEL.
func (prices) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if len(args) != 2 {
		return nil
	}
	var n uint64
	switch function {
	case operators.Add:
		// What both are made of has been paid for, but for the first time that the
		// one is put into the other.
		n = weight(args[1], maxCost+1)
		n = min(n, weight(args[0], n+1))
	case operators.Equals, operators.NotEquals, operators.In:
		n = weight(args[1], maxCost+1)
		n += weight(args[0], n+1)
	case overloads.Matches:
		// The pattern's program is bounded; the text is gone through once for each
		// of its instructions at the worst.
		n = 10 * weight(args[0], maxCost+1)
	default:
		return nil
	}
	n++
	return &n
}

// weight counts what a value is made of, until it is over a limit.
func weight(v ref.Val, limit uint64) uint64 {
	n := uint64(1)
	switch v := v.(type) {
	case types.String:
		return n + uint64(len(v))/10
	case types.Bytes:
		return n + uint64(len(v))/10
	case traits.Lister:
		for it := v.Iterator(); n <= limit && it.HasNext() == types.True; {
			n += weight(it.Next(), limit-n)
		}
	case traits.Mapper:
		for it := v.Iterator(); n <= limit && it.HasNext() == types.True; {
			k := it.Next()
			n += weight(k, limit-n)
			if n <= limit {
				n += weight(v.Get(k), limit-n)
			}
		}
	}
	return n
}

// refuse says what of a condition no cost limit would stop in time.
func refuse(e ast.Expr) error {
	var err error
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case err != nil:
		case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == overloads.Matches:
			err = refusePattern(e.AsCall())
		case e.Kind() == ast.ComprehensionKind:
			err = refuseBuilding(e.AsComprehension())
		}
	}))
	return err
}

// refusePattern takes only patterns that are known, and not large.
func refusePattern(c ast.CallExpr) error {
	args := c.Args()
	if len(args) == 0 || args[len(args)-1].Kind() != ast.LiteralKind {
		return fmt.Errorf("%w: the pattern of matches is to be written out, as in now.matches('^v2')", ErrInvalid)
	}
	pattern, ok := args[len(args)-1].AsLiteral().(types.String)
	if !ok {
		return nil // the types do not fit, and CEL says so
	}
	parsed, err := syntax.Parse(string(pattern), syntax.Perl)
	if err != nil {
		return fmt.Errorf("%w: the pattern %.60q: %w", ErrInvalid, string(pattern), err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(prog.Inst) > maxPattern {
		return fmt.Errorf("%w: the pattern %.60q is too large: repeat less", ErrInvalid, string(pattern))
	}
	return nil
}

// refuseBuilding takes no lists and objects that are made anew for each element of
// another: only what a macro makes itself, which is priced.
func refuseBuilding(c ast.ComprehensionExpr) error {
	var err error
	macros := map[int64]bool{} // the lists that macros append
	look := ast.NewExprVisitor(func(e ast.Expr) {
		kind := e.Kind()
		if kind == ast.CallKind {
			if args := e.AsCall().Args(); e.AsCall().FunctionName() == operators.Add && len(args) == 2 && isAccumulator(args[0]) {
				macros[args[1].ID()] = true
			}
		}
		builds := kind == ast.ListKind || kind == ast.MapKind || kind == ast.StructKind
		if err == nil && builds && !macros[e.ID()] && !constant(e) {
			err = fmt.Errorf("%w: a list or an object is made for each element of another: make it of constants only, or outside", ErrInvalid)
		}
	})
	for _, part := range []ast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
		ast.PreOrderVisit(part, look)
	}
	return err
}

// isAccumulator reports whether an expression is a macro's own result so far,
// which conditions cannot name.
func isAccumulator(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == accumulator
}

// constant reports whether nothing in an expression is a variable.
func constant(e ast.Expr) bool {
	is := true
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		is = is && e.Kind() != ast.IdentKind
	}))
	return is
}
