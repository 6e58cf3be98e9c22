// Command gate is what the Makefile asks whether a change may land: it runs the
// tests and says what was skipped, holds coverage to its floors, finds stale
// generated files, and known vulnerabilities that nobody accepted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const usage = `usage:
  gate test [-elsewhere TARGETS] DIR... [-- go test flags]
                                                      run the tests of these modules; the first with -race
  gate cover FILE                                     print coverage per package and hold it to its floors
  gate generate DIR...                                run go generate and fail if that changes a file
  gate vuln -tool FILE -db DIR -accepted FILE DIR...  run govulncheck on these modules`

// errFailed is a gate that did its work and says no: it has told why itself.
var errFailed = errors.New("failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err == nil {
		return
	}
	if !errors.Is(err, errFailed) {
		fmt.Fprintln(os.Stderr, "gate:", err)
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say what to do\n" + usage)
	}
	switch args[0] {
	case "test":
		return runTest(ctx, args[1:], out)
	case "cover":
		return runCover(args[1:], out)
	case "generate":
		return runGenerate(ctx, args[1:], out)
	case "vuln":
		return runVuln(ctx, args[1:], out)
	}
	return fmt.Errorf("no such command: %s\n%s", args[0], usage)
}

func inCI() bool { return os.Getenv("CI") == "true" }
