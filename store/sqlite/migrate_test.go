package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// The exported SQL makes the same tables as Open, and is known as that; asking
// for the status makes no file.
func TestMigrationSQL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "by-hand.db")
	status := func() (applied, all int) {
		t.Helper()
		list, err := sqlite.Status(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			if m.Applied {
				applied++
			}
		}
		return applied, len(list)
	}
	applied, all := status()
	if applied != 0 || all == 0 {
		t.Errorf("a missing file has seen %d of %d migrations", applied, all)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("asking made the file")
	}
	text, err := sqlite.MigrationSQL(0)
	if err != nil {
		t.Fatal(err)
	}
	db := otherHandle(t, path, "")
	if _, err := db.Exec("CREATE TABLE app (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	if applied, _ := status(); applied != 0 {
		t.Errorf("a stranger's file has seen %d migrations", applied)
	}
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
	if applied, all := status(); applied != all {
		t.Errorf("after all: %d of %d", applied, all)
	}
	k := newKitAt(t, path)
	k.inserted(item(key(1)))
	shape := "SELECT sql FROM sqlite_master WHERE name LIKE 'lastlook_%' AND sql IS NOT NULL ORDER BY name"
	fresh := newKit(t)
	if a, b := column(t, db, shape), column(t, otherHandle(t, fresh.path, ""), shape); strings.Join(a, ";") != strings.Join(b, ";") {
		t.Errorf("the tables differ:\n%s\n%s", a, b)
	}
	if none, err := sqlite.MigrationSQL(all); err != nil || none != "" {
		t.Errorf("after the last: %q, %v", none, err)
	}
	if _, err := sqlite.MigrationSQL(all + 1); !errors.Is(err, lastlook.ErrInvalid) {
		t.Errorf("behind the last: %v", err)
	}
	if _, err := db.Exec("INSERT INTO lastlook_schema VALUES (999, 'from the future')"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Status(t.Context(), path); !errors.Is(err, lastlook.ErrNewerSchema) {
		t.Errorf("a newer file: %v", err)
	}
}
