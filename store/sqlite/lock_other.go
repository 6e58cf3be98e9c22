//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package sqlite

import (
	"errors"
	"os"
)

// lockFile fails: fcntl's locks, which such systems have, belong to the process
// and would let two loops of one process in.
func lockFile(*os.File) error { return errors.ErrUnsupported }

func unlockFile(*os.File) error { return nil }

// mayWrite cannot tell here.
func mayWrite(string) bool { return true }
