// Command vetcheck holds the linters that go vet and staticcheck lack. It runs
// as a vet tool, so that the go command caches what it found per package:
//
//	go vet -vettool=bin/vetcheck ./...
//
// A finding is accepted at its place, with a reason, by a comment on its line or
// on the line above, or at the top of its file:
//
//	//lint:ignore NAME reason
//	//lint:file-ignore NAME reason
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/lastlook/lastlook/tools/internal/checks"
)

func main() {
	unitchecker.Main(checks.All()...)
}
