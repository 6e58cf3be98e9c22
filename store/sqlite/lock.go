package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/lastlook/lastlook"
)

// errLocked is what lockFile returns if somebody else has the lock.
var errLocked = errors.New("locked")

// LockDispatch implements [lastlook.DispatchLocker] by an exclusive lock of the
// operating system on the file PATH.dispatch.lock, which holds the process
// number of whoever has it. The system drops the lock with the process, however
// that ends. The file stays: deleting it would let two hold "the" lock.
//
// Network file systems may not honour such locks; SQLite is not at home there
// either.
func (s *Store) LockDispatch(ctx context.Context) (release func() error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, s.explain(ctx, "lock dispatch", err)
	}
	if s.isClosed() {
		return nil, fmt.Errorf("sqlite: lock dispatch: %w", ErrClosed)
	}
	path := s.path + ".dispatch.lock"
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("sqlite: lock dispatch: %w: let this process write %s: %w", lastlook.ErrReadOnly, path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: lock dispatch: %w", err)
	}
	if err := lockFile(f); err != nil {
		holder := lockHolder(path)
		err = errors.Join(err, f.Close())
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("sqlite: %w: %s is locked%s: stop that one, or let it do the work", lastlook.ErrDispatcherRunning, path, holder)
		}
		return nil, fmt.Errorf("sqlite: lock dispatch: lock %s: %w", path, err)
	}
	// For people only, so a failure does no harm.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	}
	return sync.OnceValue(func() error {
		if err := errors.Join(unlockFile(f), f.Close()); err != nil {
			return fmt.Errorf("sqlite: unlock %s: %w", path, err)
		}
		return nil
	}), nil
}

// lockHolder says who has the lock, if the file tells.
func lockHolder(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(b)))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" by process %d", pid)
}
