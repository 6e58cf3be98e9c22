package config

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/lastlook/lastlook/webpush"
)

// VAPID is the keys by which push services recognize this server. Browsers
// subscribe with the first. The others are older: subscriptions that were made
// with them take messages of nobody else, so they are kept until all have
// moved.
type VAPID []*webpush.Keys

// Current returns the keys that browsers subscribe with; nil if there are none
// yet.
func (v VAPID) Current() *webpush.Keys {
	if len(v) == 0 {
		return nil
	}
	return v[0]
}

// VAPIDFile returns the path of the file that holds the keys, the current ones
// first, as PEM.
func (d Dir) VAPIDFile() string { return d.file("vapid.pem") }

// VAPID reads the keys; a missing file means that there are none.
func (d Dir) VAPID() (VAPID, error) {
	b, err := os.ReadFile(d.VAPIDFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the VAPID keys: %w", err)
	}
	var out VAPID
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		if block.Type == "EC PARAMETERS" { // which openssl puts before a key
			continue
		}
		keys, err := webpush.ParseKeys(pem.EncodeToMemory(block))
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, d.VAPIDFile(), err)
		}
		out = append(out, keys)
	}
	if len(out) == 0 || len(bytes.TrimSpace(b)) > 0 {
		return nil, fmt.Errorf("%w: %s holds something that is no private key in PEM: restore it from a backup; without it, every device must subscribe anew", ErrInvalid, d.VAPIDFile())
	}
	return out, nil
}

// EnsureVAPID returns the keys, and makes them if there are none yet.
func (d Dir) EnsureVAPID(ctx context.Context) (VAPID, error) {
	// Without the lock first: they are made once and read for ever.
	if v, err := d.VAPID(); err != nil || len(v) > 0 {
		return v, err
	}
	return d.updateVAPID(ctx, func(v VAPID) (VAPID, error) {
		if len(v) > 0 {
			return v, nil // somebody was faster
		}
		keys, err := webpush.GenerateKeys()
		return VAPID{keys}, err
	})
}

// ImportVAPID makes the keys given, as PEM or in base64url, the current ones, and
// keeps those that were.
func (d Dir) ImportVAPID(ctx context.Context, text []byte) (VAPID, error) {
	keys, err := webpush.ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return d.putVAPID(ctx, keys)
}

func (d Dir) putVAPID(ctx context.Context, keys *webpush.Keys) (VAPID, error) {
	return d.updateVAPID(ctx, func(v VAPID) (VAPID, error) {
		rest := slices.DeleteFunc(slices.Clone(v), func(k *webpush.Keys) bool { return k.Public() == keys.Public() })
		return append(VAPID{keys}, rest...), nil
	})
}

// RotateVAPID makes new keys, and keeps the old ones until
// [Dir.ForgetVAPID].
func (d Dir) RotateVAPID(ctx context.Context) (VAPID, error) {
	keys, err := webpush.GenerateKeys()
	if err != nil {
		return nil, err
	}
	return d.putVAPID(ctx, keys)
}

// ForgetVAPID drops old keys whose public half is not among those in use. The
// current ones stay.
func (d Dir) ForgetVAPID(ctx context.Context, inUse []string) (VAPID, error) {
	needed := func(v VAPID) VAPID {
		var out VAPID
		for i, k := range v {
			if i == 0 || slices.Contains(inUse, k.Public()) {
				out = append(out, k)
			}
		}
		return out
	}
	v, err := d.VAPID()
	if err != nil || len(needed(v)) == len(v) {
		return v, err
	}
	return d.updateVAPID(ctx, func(v VAPID) (VAPID, error) { return needed(v), nil })
}

// updateVAPID changes the keys by a function, one process at a time. The file
// is its owner's alone, and replaced in one step.
func (d Dir) updateVAPID(ctx context.Context, change func(VAPID) (VAPID, error)) (v VAPID, err error) {
	unlock, err := d.lock(ctx, d.VAPIDFile(), "the VAPID keys")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	old, err := d.VAPID()
	if err != nil {
		return nil, err
	}
	if v, err = change(old); err != nil {
		return nil, err
	}
	var b []byte
	for _, k := range v {
		text, err := k.PEM()
		if err != nil {
			return nil, err
		}
		b = append(b, text...)
	}
	return v, replaceFile(d.VAPIDFile(), b)
}
