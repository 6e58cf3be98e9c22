package sqlite_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
)

// mayScan are the statements that may walk through a whole table, and why.
var mayScan = map[string]string{
	"lanes":            "busy", // the lanes that have live rows; the rows in them by index
	"stats_live":       "lastlook_live",
	"stats_others":     "lastlook_marks lastlook_muted",
	"marks_any":        "lastlook_marks", // ends at the first row
	"enqueue_next_ids": "sqlite_sequence",
}

// maySort are the statements that may sort what they found.
var maySort = []string{"lanes", "stats_live", "stats_ended", "list_subject", "list_recipient", "revive_keys"}

// Batches are the outer loop, and tables are reached by their numbers or
// indexes; also after an ANALYZE that found the outbox empty, or nearly.
func TestQueryPlans(t *testing.T) {
	for name, rows := range map[string]int{"fresh": 0, "analyzed when tiny": 1, "analyzed when small": 20} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			if rows > 0 {
				believe(t, otherHandle(t, k.path, ""), rows)
				k = newKitAt(t, k.path)
			}
			// A connection reads the statistics with the schema.
			checkPlans(t, k, otherHandle(t, k.path, ""))
		})
	}
}

// EnqueueTx runs on connections that may have seen anything.
func TestStandingIsFoundByIndex(t *testing.T) {
	k := newKit(t)
	believe(t, otherHandle(t, k.path, ""), 1)
	_, text := k.s.Statements(8)
	query := text("enqueue_standing")
	plan := strings.Join(explainPlan(t, otherHandle(t, k.path, ""), "enqueue_standing", query, make([]any, strings.Count(query, "?"))), "\n")
	for _, step := range []string{"SEARCH k USING INDEX lastlook_keys_parts (topic=? AND subject=? AND recipient=? AND channel=?)", "SEARCH l USING INDEX lastlook_live_key (key_id=?)"} {
		if !strings.Contains(plan, step) {
			t.Errorf("no %q in:\n%s", step, plan)
		}
	}
}

// believe writes the statistics of an ANALYZE that found so many rows in every
// table, each index being unique.
func believe(t *testing.T, db *sql.DB, rows int) {
	t.Helper()
	if _, err := db.Exec("ANALYZE"); err != nil {
		t.Fatal(err)
	}
	_, err := db.Exec(`INSERT INTO sqlite_stat1 (tbl, idx, stat)
		SELECT t.name, i.name, ? || replace(hex(zeroblob((SELECT count(*) FROM pragma_index_info(i.name)))), '00', ' 1')
		FROM sqlite_master t, pragma_index_list(t.name) i WHERE t.type = 'table' AND t.name LIKE 'lastlook_%'
		UNION ALL SELECT name, NULL, ? FROM sqlite_master WHERE type = 'table' AND name LIKE 'lastlook_%'`, rows, rows)
	if err != nil {
		t.Fatal(err)
	}
}

func checkPlans(t *testing.T, k *kit, db *sql.DB) {
	names, text := k.s.Statements(8)
	for _, name := range names {
		query := text(name)
		args := make([]any, strings.Count(query, "?"))
		plan := explainPlan(t, db, name, query, args)
		outer := ""
		for _, step := range plan {
			what, is := strings.CutPrefix(step, "SCAN ")
			if !is || strings.Contains(what, "CONSTANT ROW") || strings.HasPrefix(what, "8-ROW") {
				continue
			}
			table, _, _ := strings.Cut(what, " ")
			if outer == "" {
				outer = table
			}
			if !slices.Contains([]string{"v", "p", "r", "s"}, table) && !slices.Contains(strings.Fields(mayScan[name]), table) {
				t.Errorf("%s walks through %s:\n%s", name, table, strings.Join(plan, "\n"))
			}
		}
		if strings.Contains(query, "v(") && outer != "v" {
			t.Errorf("%s: the batch is not the outer loop:\n%s", name, strings.Join(plan, "\n"))
		}
		sorts := slices.ContainsFunc(plan, func(s string) bool { return strings.Contains(s, "TEMP B-TREE") })
		if sorts && !slices.Contains(maySort, name) {
			t.Errorf("%s sorts:\n%s", name, strings.Join(plan, "\n"))
		}
	}
}

func explainPlan(t *testing.T, db *sql.DB, name, query string, args []any) (plan []string) {
	t.Helper()
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// A claim, and the move to sending, write nothing that an index holds.
func TestClaimsTouchNoIndex(t *testing.T) {
	k := newKit(t)
	db := otherHandle(t, k.path, "")
	indexed := column(t, db, `SELECT c.name FROM pragma_index_list('lastlook_live') i, pragma_index_info(i.name) c`)
	if len(indexed) == 0 {
		t.Fatal("no indexed columns found")
	}
	_, text := k.s.Statements(1)
	for _, name := range []string{"claim_row", "apply_sending"} {
		_, set, ok := strings.Cut(text(name), " SET")
		set, _, _ = strings.Cut(set, "WHERE")
		if !ok {
			t.Fatalf("%s: no SET", name)
		}
		for _, col := range indexed {
			if strings.Contains(set, col+" =") {
				t.Errorf("%s writes %s, which is indexed", name, col)
			}
		}
	}
}
