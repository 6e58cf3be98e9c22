package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/watch"
)

// keyed is a source whose service answers only to those with a key. The key is
// read again before each look, so that a lastlook that serves takes up a new one
// by itself, and lets go of one that was removed.
type keyed struct {
	name string
	dir  config.Dir
	make func(config.SourceKey) (watch.Source, error)

	mu  sync.Mutex
	key config.SourceKey // of src
	src watch.Source     // nil before the first look
}

// Look implements [watch.Source].
func (k *keyed) Look(ctx context.Context, l watch.Listing) (watch.Observation, error) {
	src, err := k.source()
	if err != nil {
		return watch.Observation{}, err
	}
	return src.Look(ctx, l)
}

// ready reports whether there is a key that the source takes.
func (k *keyed) ready() error {
	_, err := k.source()
	return err
}

// source returns the source with the key that is set now.
func (k *keyed) source() (watch.Source, error) {
	var keys config.SourceKeys
	if k.dir.Path() != "" {
		var err error
		if keys, err = k.dir.SourceKeys(); err != nil {
			return nil, err
		}
	}
	key, ok := keys.Of(k.name)
	if !ok {
		return nil, fmt.Errorf("%w: the source %q has no key yet: set it with lastlook source set %[2]s --key-file FILE (lastlook source set --help says what belongs into it)", config.ErrInvalid, k.name)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.src == nil || k.key != key {
		src, err := k.make(key)
		if err != nil {
			return nil, fmt.Errorf("%w: source %q: %w", config.ErrInvalid, k.name, err)
		}
		k.src, k.key = src, key
	}
	return k.src, nil
}

// off is a source that nobody asked for: its listings wait until it is on.
type off struct{ why error }

var errBrowserOff = errors.New("the source \"browser\" is off: start lastlook with --browser")

// Look implements [watch.Source].
func (o off) Look(context.Context, watch.Listing) (watch.Observation, error) {
	return watch.Observation{}, o.why
}

func (o off) ready() error { return fmt.Errorf("%w: %w", ErrInvalid, o.why) }
