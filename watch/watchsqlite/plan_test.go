package watchsqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/watch/watchsqlite"
)

// The statements that run often, or over much, use their indexes.
func TestQueryPlans(t *testing.T) {
	f := file{t, filepath.Join(t.TempDir(), "lastlook.db")}
	openFile(t, f.path)
	db := f.raw()
	statements, err := watchsqlite.Statements()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"due":                  "SEARCH l USING INDEX lastlook_watch_listings_due (next_look<?)",
		"claim_due":            "SEARCH d USING INDEX lastlook_watch_listings_due (next_look<?)",
		"release":              "SEARCH lastlook_watch_listings USING INDEX sqlite_autoindex_lastlook_watch_listings_1 (id=?)",
		"next_due":             "SCAN l USING INDEX lastlook_watch_listings_due",
		"listing_by_id":        "SEARCH l USING INDEX sqlite_autoindex_lastlook_watch_listings_1 (id=?)",
		"listing_by_url":       "SEARCH l USING INDEX sqlite_autoindex_lastlook_watch_listings_2 (url=? AND source=? AND options=? AND private=?)",
		"listings_by_number":   "SEARCH l USING INTEGER PRIMARY KEY (rowid=?)",
		"watches_by_id":        "SEARCH w USING INDEX sqlite_autoindex_lastlook_watch_watches_1 (id=?)",
		"watches_by_listing":   "SEARCH w USING INDEX lastlook_watch_watches_listing (listing=?)",
		"watches_by_group":     "SEARCH w USING INDEX lastlook_watch_watches_group (recipient=? AND group_name=?)",
		"watches_by_recipient": "SEARCH w USING INDEX lastlook_watch_watches_recipient (recipient=?)",
		"states_by_watch":      "SEARCH s USING PRIMARY KEY (watch=?)",
		"demand":               "SEARCH lastlook_watch_watches USING INDEX lastlook_watch_watches_listing (listing=? AND paused=?)",
		"watched":              "SEARCH lastlook_watch_watches USING COVERING INDEX lastlook_watch_watches_listing (listing=?)",
		"history":              "SEARCH o USING INDEX lastlook_watch_observations_listing (listing=?)",
		"looked":               "SEARCH lastlook_watch_listings USING INTEGER PRIMARY KEY (rowid=?)",
		"postpone":             "SEARCH l USING INDEX sqlite_autoindex_lastlook_watch_listings_1 (id=?)",
		"lows":                 "SEARCH w USING PRIMARY KEY (listing=? AND day>?)",
		"failed":               "SEARCH lastlook_watch_listings USING INDEX sqlite_autoindex_lastlook_watch_listings_1 (id=?)",
	} {
		plan := f.plan(db, statements[name])
		sorts := strings.Contains(plan, "TEMP B-TREE") && name != "watches_by_listing"
		if !strings.Contains(plan, want) || sorts {
			t.Errorf("%s: %s\nwant %s", name, plan, want)
		}
	}
}

var numbered = regexp.MustCompile(`\?(\d*)`)

// plan returns EXPLAIN QUERY PLAN of a statement, every parameter NULL.
func (f file) plan(db *sql.DB, query string) string {
	f.Helper()
	params := 0
	for _, m := range numbered.FindAllStringSubmatch(query, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			params = max(params, n)
		} else {
			params++
		}
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, make([]any, params)...)
	if err != nil {
		f.Fatalf("%s: %v", query, err)
	}
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			f.Fatal(err)
		}
		lines = append(lines, detail)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		f.Fatal(err)
	}
	return strings.Join(lines, "; ")
}
