//go:build !unix

package pgtest

import (
	"fmt"
	"os/exec"
	"runtime"
)

func unprivileged(*exec.Cmd) error { return nil }

func tempDir(string) (string, error) {
	return "", fmt.Errorf("%w: a shell and servers that it can start, on %s", ErrMissing, runtime.GOOS)
}
