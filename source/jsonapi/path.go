package jsonapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/lastlook/lastlook/watch"
)

// Limits of paths.
const (
	maxPath   = 500
	maxValues = 16
	maxGrowth = 6 // operators by which a value can become a multiple of itself
	runLimit  = time.Second
)

// permitted are the functions that a path can use: those whose work is in
// proportion to the document. What makes values out of nothing (range, repeat,
// combinations), keeps state (input), shows the machine (env) or the time, or
// multiplies texts (gsub, join) is not among them.
var permitted = strings.Fields(`
	abs add all any arrays ascii_downcase ascii_upcase booleans ceil contains empty endswith explode fabs first flatten
	floor from_entries fromjson getpath group_by has implode in index inside isempty iterables keys keys_unsorted last length
	limit ltrim ltrimstr map map_values match max max_by min min_by not nth nulls numbers objects recurse reverse rindex round
	rtrim rtrimstr scalars scan select sort sort_by split startswith strings sub test to_entries toboolean tonumber tostring
	trim trimstr trunc type unique unique_by values with_entries capture true false null`)

var (
	errPathEmpty = errors.New("it is empty")
	errPathLong  = fmt.Errorf("it is longer than %d bytes", maxPath)
)

// path is a filter that is ready to run.
type path struct {
	text         string
	code, places *gojq.Code // places finds where the values stand; nil if that cannot be told
}

// compile checks a path and makes it ready to run.
func compile(text string) (*path, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errPathEmpty
	case len(text) > maxPath:
		return nil, errPathLong
	}
	q, err := gojq.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is no jq filter: %w", err)
	}
	c := checker{}
	if err := c.check(reflect.ValueOf(q)); err != nil {
		return nil, err
	}
	if c.growth > maxGrowth {
		return nil, fmt.Errorf("it has more than %d of the operators , + * .. and \"\\(…)\": make it simpler", maxGrowth)
	}
	p := &path{text: text}
	// Without an environment loader and an input iterator there is neither.
	if p.code, err = gojq.Compile(q); err != nil {
		return nil, fmt.Errorf("it is no jq filter: %w", err)
	}
	// A comment at the end must not take the parenthesis with it.
	if where, err := gojq.Parse("path(" + text + "\n)"); err == nil {
		p.places, _ = gojq.Compile(where)
	}
	return p, nil
}

// checker goes through the tree of a filter.
type checker struct{ growth int }

func (c *checker) check(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if err := c.node(v.Interface()); err != nil {
			return err
		}
		return c.check(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			if err := c.check(field); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := c.check(v.Index(i)); err != nil {
				return err
			}
		}
	default: // names, numbers
	}
	return nil
}

func (c *checker) node(n any) error {
	refuse := func(what string) error {
		return fmt.Errorf("%s is not permitted here: a path points at values, and may use %s", what, strings.Join(permitted, " "))
	}
	switch n := n.(type) {
	case *gojq.Query:
		switch n.Op {
		case gojq.OpAdd, gojq.OpMul, gojq.OpComma:
			c.growth++
		case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
			return refuse("an assignment")
		default:
		}
		if n.Meta != nil || len(n.Imports) > 0 {
			return refuse("a module")
		}
	case *gojq.Term:
		if n.Type == gojq.TermTypeRecurse {
			c.growth++
		}
		if n.Type == gojq.TermTypeFormat {
			return refuse("a format")
		}
	case *gojq.Func:
		return c.function(n, refuse)
	case *gojq.String:
		c.growth += len(n.Queries)
	case *gojq.FuncDef:
		return refuse("def")
	case *gojq.Reduce:
		return refuse("reduce")
	case *gojq.Foreach:
		return refuse("foreach")
	case *gojq.Label:
		return refuse("label")
	}
	return nil
}

func (c *checker) function(f *gojq.Func, refuse func(string) error) error {
	switch {
	case f.Name == "$ENV" || strings.HasPrefix(f.Name, "$__"):
		return refuse(f.Name)
	case strings.HasPrefix(f.Name, "$"):
	case f.Name == "recurse" && len(f.Args) > 0, f.Name == "sub" && len(f.Args) > 2:
		return refuse(fmt.Sprintf("%s with %d arguments", f.Name, len(f.Args)))
	case !slices.Contains(permitted, f.Name):
		return refuse(fmt.Sprintf("%.40q", f.Name))
	case f.Name == "recurse", f.Name == "implode":
		c.growth++
	}
	return nil
}

// found is a value that a path led to.
type found struct {
	value any
	place []any // where it stands in the document; nil if it was made
}

var errTooMany = fmt.Errorf("it leads to more than %d values: point at one", maxValues)

// run returns what the path finds in a document. Null is nothing.
func (p *path) run(ctx context.Context, doc any) ([]found, error) {
	values, err := collect(ctx, p.code, doc)
	if err != nil {
		return nil, err
	}
	var out []found
	var places []any
	if p.places != nil {
		if places, err = collect(ctx, p.places, doc); err != nil || len(places) != len(values) {
			places = nil // a value that was computed stands nowhere
		}
	}
	for i, v := range values {
		f := found{value: v}
		if places != nil {
			f.place, _ = places[i].([]any)
		}
		if v != nil {
			out = append(out, f)
		}
	}
	return out, nil
}

func collect(ctx context.Context, code *gojq.Code, doc any) ([]any, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	var out []any
	for iter := code.RunWithContext(ctx, doc); ; {
		v, ok := iter.Next()
		if !ok {
			return out, nil
		}
		if err, failed := v.(error); failed {
			if ctx.Err() != nil {
				return nil, fmt.Errorf("it took longer than %s", runLimit)
			}
			return nil, err
		}
		if out = append(out, v); len(out) > maxValues {
			return nil, errTooMany
		}
	}
}

// ValidateOptions reports, wrapping [watch.ErrInvalid], what is wrong with a
// listing's paths. A listing of this source needs one at least.
func ValidateOptions(o watch.Options) error {
	_, err := compileAll(o)
	return err
}

// paths are those of a listing; nil where there is none.
type paths struct{ price, stock, value *path }

func compileAll(o watch.Options) (p paths, err error) {
	if o.PricePath == "" && o.StockPath == "" && o.ValuePath == "" {
		return p, fmt.Errorf("%w: a JSON document needs a path to the price, the stock or a value, such as .offers[0].price", watch.ErrInvalid)
	}
	for _, c := range []struct {
		to         **path
		name, text string
	}{{&p.price, "price", o.PricePath}, {&p.stock, "stock", o.StockPath}, {&p.value, "value", o.ValuePath}} {
		if c.text == "" {
			continue
		}
		if *c.to, err = compile(c.text); err != nil {
			return paths{}, fmt.Errorf("%w: the %s path %.80q: %w", watch.ErrInvalid, c.name, c.text, err)
		}
	}
	return p, nil
}
