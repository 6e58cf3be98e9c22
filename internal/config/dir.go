// Package config is what an operator sets up: the data directory and the
// channels that are kept in it. Secrets have a type of their own, which prints
// as nothing but "[redacted]".
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// ErrInvalid says that something given cannot be as it is.
var ErrInvalid = errors.New("config: invalid")

// Dir is a data directory that exists and can be written.
type Dir struct{ path string }

// DefaultPath returns the place for user data that the platform has, with
// lastlook's own directory in it. getenv is [os.Getenv].
func DefaultPath(getenv func(string) string) (string, error) {
	return defaultPath(runtime.GOOS, getenv)
}

func defaultPath(goos string, getenv func(string) string) (string, error) {
	base := ""
	switch goos {
	case "windows":
		base = getenv("LocalAppData")
	case "darwin", "ios":
		if home := getenv("HOME"); home != "" {
			base = filepath.Join(home, "Library", "Application Support")
		}
	default:
		// The XDG specification: a relative path there is to be ignored.
		if base = getenv("XDG_DATA_HOME"); !filepath.IsAbs(base) {
			base = ""
		}
		if home := getenv("HOME"); base == "" && home != "" {
			base = filepath.Join(home, ".local", "share")
		}
	}
	if base == "" {
		return "", fmt.Errorf("%w: this account has no home directory to keep data in: name a data directory with --data or LASTLOOK_DATA", ErrInvalid)
	}
	return filepath.Join(base, "lastlook"), nil
}

// Open makes the directory, for its owner alone, if it is missing, and makes
// sure that it can be written.
func Open(path string) (Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Dir{}, unusable(path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return Dir{}, unusable(abs, err)
	}
	probe, err := os.CreateTemp(abs, ".probe-*")
	if err != nil {
		return Dir{}, unusable(abs, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return Dir{}, unusable(abs, err)
	}
	return Dir{path: abs}, nil
}

func unusable(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("the data directory %s cannot be written: %w: choose another with --data, or let this user write it", path, err)
}

// Path returns the directory's absolute path.
func (d Dir) Path() string { return d.path }

func (d Dir) file(name string) string { return filepath.Join(d.path, name) }

// DatabaseFile is the name of the SQLite file.
const DatabaseFile = "lastlook.db"

// Database returns the path of the SQLite file.
func (d Dir) Database() string { return d.file(DatabaseFile) }

// ChannelsFile returns the path of the file that holds the channels.
func (d Dir) ChannelsFile() string { return d.file("channels.json") }

// AllowFile returns the path of the file that lists what may be called although
// it is private.
func (d Dir) AllowFile() string { return d.file("allow-private.txt") }

// AllowPrivate reads that file: an entry a line, with comments after a #. A
// missing file lists nothing.
func (d Dir) AllowPrivate() ([]string, error) {
	b, err := os.ReadFile(d.AllowFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what may be called: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		entry, _, _ := strings.Cut(line, "#")
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out, nil
}
