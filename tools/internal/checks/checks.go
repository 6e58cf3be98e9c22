// Package checks gathers the linters of cmd/vetcheck: some published, with our
// settings and the reason for each, some our own.
package checks

import (
	"fmt"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	"github.com/nishanths/exhaustive/passes/exhaustive"
	sqlclose "github.com/ryanrolds/sqlclosecheck/pkg/analyzer"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
)

// All returns every linter, ready to run.
func All() []*analysis.Analyzer {
	set := []*analysis.Analyzer{
		// Errors are wrapped all over: == and type assertions miss them, and %v
		// cuts the chain that the typed error set needs.
		with(errorlint.NewAnalyzer(), "errorf", "true"),
		// A new state, reason or verdict must be met at each switch. A default
		// clause says that the rest was thought of.
		with(exhaustive.Analyzer, "d", "true"),
		// Rows left open keep the only SQLite connection. Closing them early,
		// without defer, is fine: pages are read, then written.
		sqlclose.NewClosedAnalyzer(),
		// A response body left open leaks its connection.
		bodyclose.Analyzer,
		nilness.Analyzer,
		unusedwrite.Analyzer,
		RowsErr,
		NoSleep,
		NoDefaultClient,
		Size,
	}
	for _, a := range set {
		acceptIgnores(a)
	}
	return set
}

func with(a *analysis.Analyzer, flag, value string) *analysis.Analyzer {
	if err := a.Flags.Set(flag, value); err != nil {
		panic(fmt.Sprintf("linter %s: -%s=%s: %v", a.Name, flag, value, err))
	}
	return a
}
