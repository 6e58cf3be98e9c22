package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tooLong is how long the tests may take with a warm build cache.
const tooLong = 3 * time.Minute

// unwatched leaves SQLite's C, translated to Go, out of race detection. It keeps
// its data outside the Go heap, where the detector sees nothing, and being asked
// at each access makes it eight times slower.
const unwatched = "-gcflags=modernc.org/sqlite/lib=-race=false"

func runTest(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("gate test", flag.ContinueOnError)
	elsewhere := fs.String("elsewhere", "", "`TARGETS` of make that run, also in CI, what is skipped here for them")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dirs, extra := fs.Args(), []string(nil)
	if i := slices.Index(dirs, "--"); i >= 0 {
		dirs, extra = dirs[:i], dirs[i+1:]
	}
	if len(dirs) == 0 {
		return errors.New("gate test: name the modules' directories")
	}

	began := time.Now()
	noRace := whyNoRace(ctx)
	sum := newSummary(out)
	sum.elsewhere = strings.Fields(*elsewhere)
	for i, dir := range dirs {
		// lint has vetted already. One more at a time than there are processors,
		// for many tests wait for a disk or a peer.
		flags := []string{"test", "-json", "-vet=off", "-p=" + strconv.Itoa(runtime.GOMAXPROCS(0)+1)}
		if inCI() {
			flags = append(flags, "-count=1")
		}
		if i == 0 && noRace == "" {
			flags = append(flags, "-race", unwatched)
		}
		flags = append(append(flags, extra...), "./...")
		if err := goTest(ctx, dir, flags, sum); err != nil {
			return err
		}
	}
	return sum.finish(time.Since(began), noRace, inCI())
}

// goTest runs go test in dir. Failing tests are the summary's to report; an error
// here means that the run itself broke.
func goTest(ctx context.Context, dir string, flags []string, sum *summary) error {
	cmd := exec.CommandContext(ctx, "go", flags...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	readErr := sum.read(events)
	err = cmd.Wait()
	if readErr != nil {
		return fmt.Errorf("%s: reading its events: %w", cmd, readErr)
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	if err != nil {
		sum.goFailed = true
	}
	return nil
}

// whyNoRace says why the race detector cannot be used here; "" if it can.
func whyNoRace(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED", "CC", "GOOS", "GOARCH")
	b, err := cmd.Output()
	if err != nil {
		return fmt.Sprintf("%s: %v", cmd, err)
	}
	env := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(env) != 4 {
		return fmt.Sprintf("%s answered %q", cmd, b)
	}
	cgo, cc, platform := env[0], env[1], env[2]+"/"+env[3]
	compiler, _, _ := strings.Cut(cc, " ")
	if _, err := exec.LookPath(compiler); err != nil {
		return fmt.Sprintf("no C compiler (CC=%s): the race detector needs one", cc)
	}
	if cgo != "1" {
		return "CGO_ENABLED=" + cgo + ": the race detector needs cgo"
	}
	switch platform {
	case "linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x", "linux/loong64", "linux/riscv64",
		"darwin/amd64", "darwin/arm64", "windows/amd64", "freebsd/amd64", "netbsd/amd64":
		return ""
	}
	return "no race detector on " + platform
}
