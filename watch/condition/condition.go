// Package condition compiles and asks users' conditions on any value, written in
// CEL (the Common Expression Language): "now < 100 && now < last * 0.9".
//
// The variables are now, last (the value told last; until something was told,
// the first), previous (before its last change), first, low and high (the least
// and the greatest number seen). Each is whatever JSON the source gave: a
// number, a text, true or false, null, a list or an object.
//
// Every number is a double, literals included, so that "now * 2" means what it
// says: about 15 digits, and not meant for money, which triggers compare as
// decimals.
//
// A condition that is too long or too deep is refused, as is one that makes lists
// within macros, or matches a pattern that is not written out: no limit on its
// cost would stop it in time. One that costs too much when it is asked, or does
// not come to true or false, is an error: "cannot tell", never false.
package condition

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"
)

// ErrInvalid is wrapped by the errors of conditions that cannot be used.
var ErrInvalid = errors.New("invalid condition")

// Limits on a condition, and on what asking it may cost.
const (
	// MaxLength bounds a condition, in bytes.
	MaxLength = 2000
	// MaxValue bounds a value, as JSON.
	MaxValue = 8 << 10
	maxDepth = 40
	// maxCost is in steps, each of less than a microsecond; see limits.go.
	maxCost = 100_000
)

// accumulator is what macros call their results so far.
const accumulator = parser.HiddenAccumulatorName

// Names of the variables.
var names = []string{"now", "last", "previous", "first", "low", "high"}

// Values are what the variables stand for, as JSON. What is missing is null.
type Values struct {
	Now, Last, Previous, First, Low, High json.RawMessage
}

// Condition is a compiled condition. It is safe for concurrent use.
type Condition struct {
	program cel.Program
	uses    map[string]bool
}

// environment is what conditions are compiled in; it never changes.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	opts := []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(MaxLength),
		cel.ParserRecursionLimit(maxDepth),
		cel.DefaultUTCTimeZone(true),
	}
	for _, name := range names {
		opts = append(opts, cel.Variable(name, cel.DynType))
	}
	return cel.NewEnv(opts...)
})

// Compile compiles a condition; the error says what is wrong with it, and where.
func Compile(text string) (*Condition, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("%w: it is empty: write one such as \"now < 100\"", ErrInvalid)
	}
	if len(text) > MaxLength {
		return nil, fmt.Errorf("%w: it has %d bytes: the limit is %d", ErrInvalid, len(text), MaxLength)
	}
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("condition: make the environment: %w", err)
	}
	checked, err := check(env, text)
	if err != nil {
		return nil, err
	}
	if checked.OutputType() != cel.BoolType {
		return nil, fmt.Errorf("%w: it comes to %s, not to true or false: compare it with something, such as \"now < 100\"", ErrInvalid, checked.OutputType())
	}
	if err := refuse(checked.NativeRep().Expr()); err != nil {
		return nil, err
	}
	program, err := env.Program(checked, cel.CostLimit(maxCost), cel.CostTracking(prices{}), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrInvalid, firstLine(err.Error()))
	}
	return &Condition{program: program, uses: variables(checked.NativeRep().Expr())}, nil
}

// check parses and types a condition. Its integers become doubles, as the values
// are; where that does not do ("size(now) % 2"), they stay as they are.
func check(env *cel.Env, text string) (*cel.Ast, error) {
	parsed, issues := env.Parse(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrInvalid, firstLine(err.Error()))
	}
	asWritten, issues := env.Check(parsed)
	writtenErr := issues.Err()
	parsed, issues = env.Parse(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrInvalid, firstLine(err.Error()))
	}
	toDoubles(parsed.NativeRep().Expr())
	checked, issues := env.Check(parsed)
	switch {
	case issues.Err() == nil:
		return checked, nil
	case writtenErr == nil:
		return asWritten, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrInvalid, firstLine(writtenErr.Error()))
}

// toDoubles makes every integer of a condition a double, in place.
func toDoubles(e ast.Expr) {
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.LiteralKind {
			return
		}
		switch v := e.AsLiteral().(type) {
		case types.Int:
			e.SetKindCase(factory.NewLiteral(e.ID(), types.Double(v)))
		case types.Uint:
			e.SetKindCase(factory.NewLiteral(e.ID(), types.Double(v)))
		}
	}))
}

// variables returns the names that a condition uses.
func variables(e ast.Expr) map[string]bool {
	used := map[string]bool{}
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			used[e.AsIdent()] = true
		}
	}))
	return used
}

// Uses reports whether the condition speaks of a variable.
func (c *Condition) Uses(name string) bool { return c.uses[name] }

// Holds asks the condition. An error says why it cannot be told.
func (c *Condition) Holds(v Values) (bool, error) {
	yes, _, err := c.ask(v)
	return yes, err
}

// ask asks the condition, and says what that cost.
func (c *Condition) ask(v Values) (yes bool, cost uint64, err error) {
	vars := make(map[string]any, len(names))
	for i, raw := range []json.RawMessage{v.Now, v.Last, v.Previous, v.First, v.Low, v.High} {
		var value any
		if len(raw) > MaxValue {
			return false, 0, fmt.Errorf("condition: the value of %s has %d bytes, and the limit is %d: point at less of it", names[i], len(raw), MaxValue)
		}
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &value); err != nil {
				return false, 0, fmt.Errorf("condition: the value of %s is not JSON", names[i])
			}
		}
		vars[names[i]] = value
	}
	out, details, err := c.program.Eval(vars)
	if n := details.ActualCost(); n != nil {
		cost = *n
	}
	if err != nil {
		return false, cost, fmt.Errorf("condition: %s", firstLine(err.Error()))
	}
	yes, ok := out.Value().(bool)
	if !ok {
		return false, cost, fmt.Errorf("condition: it comes to %s, not to true or false", out.Type().TypeName())
	}
	return yes, cost, nil
}

// firstLine returns what an error of CEL says, without its drawing.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = strings.TrimPrefix(s, "ERROR: <input>:")
	const limit = 300
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
