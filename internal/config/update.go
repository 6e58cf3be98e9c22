package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Limits of waiting for another process that changes the channels.
const (
	lockWait = 5 * time.Second
	lockPoll = 20 * time.Millisecond
)

// UpdateChannels changes the channels by a function, one process at a time.
// The file is replaced in one step: a reader sees the old or the new one.
func (d Dir) UpdateChannels(ctx context.Context, change func(Channels) (Channels, error)) error {
	unlock, err := d.lock(ctx, d.ChannelsFile(), "the channels")
	if err != nil {
		return err
	}
	return errors.Join(d.updateChannels(change), unlock())
}

func (d Dir) updateChannels(change func(Channels) (Channels, error)) error {
	old, err := d.Channels()
	if err != nil {
		return err
	}
	changed, err := change(old)
	if err != nil {
		return err
	}
	b, err := encodeChannels(changed)
	if err != nil {
		return err
	}
	return replaceFile(d.ChannelsFile(), b)
}

// lock makes a file beside another one that only one process can make. It is no
// lock of the operating system, so that it works the same everywhere; a process
// that is killed within these few milliseconds leaves it behind.
func (d Dir) lock(ctx context.Context, file, what string) (unlock func() error, err error) {
	path := file + ".lock"
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return func() error { return errors.Join(f.Close(), os.Remove(path)) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("lock %s: %w", what, err)
		}
		timer := time.NewTimer(lockPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("another lastlook is changing %s: wait for it, or delete %s if none is running", what, path)
		}
	}
}

// replaceFile writes a file for its owner alone, in one step.
func replaceFile(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".lastlook-*") // made with 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
		}
	}()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
