// Package accesstest is the conformance suite of [access.Store]: what each must
// pass.
package accesstest

import (
	"testing"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/access"
)

// Harness opens the stores that are tested.
type Harness struct {
	// Open returns an empty store of its own for each test. It is closed by the
	// test's cleanup.
	Open func(tb testing.TB) *Opened
}

// Opened is an open store, and what the suite does behind its back.
type Opened struct {
	Store  access.Store
	Outbox lastlook.Store
	// Rows returns all rows of all tables, or the bytes that they are kept in.
	Rows func() []string
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"Operator":          testOperator,
		"Keys":              testKeys,
		"TokensAreHidden":   testTokensAreHidden,
		"EnqueueOnce":       testEnqueueOnce,
		"EnqueueFailsWhole": testEnqueueFailsWhole,
		"EnqueueOnceAtOnce": testEnqueueOnceAtOnce,
	} {
		t.Run(name, func(t *testing.T) { test(t, h) })
	}
}
