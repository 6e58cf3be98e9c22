package beside

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/lastlook/lastlook"
)

// History is the migrations of one set of tables: the files migrations/*.sql,
// whose names begin with their numbers, from 1 on and without gaps.
type History struct {
	Files fs.FS
	// Table keeps which of them a database has seen.
	Table string
	// Of says whose tables these are: "watches".
	Of string
}

// Migration is one file of a history.
type Migration struct {
	Version int
	Name    string
	Text    string
}

// Load reads the files.
func (h History) Load() ([]Migration, error) {
	files, err := fs.ReadDir(h.Files, "migrations")
	if err != nil {
		return nil, fmt.Errorf("embedded migrations: %w", err)
	}
	var all []Migration
	for i, f := range files {
		number, _, _ := strings.Cut(f.Name(), "_")
		if version, err := strconv.Atoi(number); err != nil || version != i+1 {
			return nil, fmt.Errorf("embedded migrations: %s: want number %d", f.Name(), i+1)
		}
		b, err := fs.ReadFile(h.Files, "migrations/"+f.Name())
		if err != nil {
			return nil, fmt.Errorf("embedded migrations: %w", err)
		}
		all = append(all, Migration{Version: i + 1, Name: f.Name(), Text: string(b)})
	}
	return all, nil
}

// Missing returns those of all that a database which has seen the first at has
// not, or [lastlook.ErrNewerSchema].
func (h History) Missing(all []Migration, at int) ([]Migration, error) {
	if at > len(all) {
		return nil, fmt.Errorf("%w: the tables of %s have version %d, this program knows up to %d: run a newer lastlook, or restore a backup made before the upgrade",
			lastlook.ErrNewerSchema, h.Of, at, len(all))
	}
	return all[at:], nil
}

// After returns the migrations after a version, 0 for all, or
// [lastlook.ErrInvalid].
func (h History) After(version int) ([]Migration, error) {
	all, err := h.Load()
	if err != nil {
		return nil, err
	}
	if version < 0 || version > len(all) {
		return nil, fmt.Errorf("%w: there is no migration of %s after %d: they are numbered 1 to %d", lastlook.ErrInvalid, h.Of, version, len(all))
	}
	return all[version:], nil
}
