package postgres_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// wholeIndex are the statements that may read an index without a condition, and
// why.
var wholeIndex = map[string]string{
	"lanes":        "lastlook_live_due",             // its first row
	"claim_marks":  "lastlook_marks",                // whether there is a row
	"marks_any":    "lastlook_marks",                // the same
	"sweep_marks":  "lastlook_marks_key",            // its first row behind a key
	"stats_others": "lastlook_marks lastlook_muted", // counted
}

// counted are the statements that may walk through a table: they count it.
var counted = []string{"stats_live", "stats_others"}

// noPlan are statements without one.
var noPlan = regexp.MustCompile(`^(BEGIN|COMMIT|SAVEPOINT|RELEASE|ROLLBACK)`)

// Tables are reached by their numbers or indexes, from the batch, whatever the
// server believes of them: nothing, that they are empty, or the truth.
func TestQueryPlans(t *testing.T) {
	for _, believes := range []string{"nothing", "empty", "one row", "the truth"} {
		t.Run(believes, func(t *testing.T) {
			k := newKit(t)
			k.fill(3000)
			k.believe(believes)
			names, text := k.s.Statements()
			for _, name := range names {
				if query := text(name); !noPlan.MatchString(query) && strings.Contains(query, "lastlook_") {
					checkPlan(t, name, k.explain(name, query))
				}
			}
		})
	}
}

// fill makes a backlog and a history.
func (k *kit) fill(n int) {
	k.Helper()
	for lo := 0; lo < n; lo += 500 {
		k.enqueue(items(lo, lo+500)...)
	}
	rows := k.claim(n / 2)
	for chunk := range slices.Chunk(rows, 500) {
		var changes []change
		for i := range chunk {
			changes = append(changes, k.dropped(&chunk[i]))
		}
		k.apply(changes...)
	}
}

// believe makes the server's statistics say something of lastlook's tables.
func (k *kit) believe(what string) {
	k.Helper()
	rows, pages := 0, 1
	switch what {
	case "nothing":
		rows, pages = -1, 0
	case "one row":
		rows = 1
	case "the truth":
		k.analyze()
		return
	}
	k.exec(fmt.Sprintf(`UPDATE pg_class SET reltuples = %d, relpages = %d FROM pg_namespace n
		WHERE n.oid = relnamespace AND n.nspname = $1 AND relkind IN ('r', 'i')`, rows, pages), k.s.Schema())
}

// explain returns the plan that is kept for a prepared statement.
func (k *kit) explain(name, query string) []string {
	k.Helper()
	var plan []string
	with := k.s.WithTx
	if slices.Contains(counted, name) {
		with = k.s.WithReadTx
	}
	err := with(k.Context(), func(ctx context.Context, tx pgx.Tx) error {
		for _, q := range []string{"SET LOCAL plan_cache_mode = force_generic_plan", "PREPARE planned AS " + query} {
			if _, err := tx.Conn().PgConn().Exec(ctx, q).ReadAll(); err != nil {
				return err
			}
		}
		call := "EXPLAIN (COSTS OFF) EXECUTE planned"
		if n := parameters(query); n > 0 {
			call += "(NULL" + strings.Repeat(", NULL", n-1) + ")"
		}
		res, err := tx.Conn().PgConn().Exec(ctx, call).ReadAll()
		if err != nil {
			return err
		}
		for _, row := range res[0].Rows {
			plan = append(plan, string(row[0]))
		}
		_, err = tx.Conn().PgConn().Exec(ctx, "DEALLOCATE planned").ReadAll()
		return err
	})
	if err != nil {
		k.Fatalf("%s: %v", name, err)
	}
	return plan
}

var parameter = regexp.MustCompile(`\$(\d+)`)

func parameters(query string) (most int) {
	for _, m := range parameter.FindAllStringSubmatch(query, -1) {
		n, _ := strconv.Atoi(m[1]) // digits
		most = max(most, n)
	}
	return most
}

var onTable = regexp.MustCompile(`(Seq Scan|Index Scan|Index Only Scan|Bitmap Index Scan|Tid Scan|Tid Range Scan)( Backward)?(?: using (\S+))? on (\S+)`)

func checkPlan(t *testing.T, name string, plan []string) {
	t.Helper()
	whole := func(index string) bool {
		return slices.ContainsFunc(strings.Fields(wholeIndex[name]), func(p string) bool { return strings.HasPrefix(index, p) })
	}
	for i, line := range plan {
		if strings.Contains(line, "Hash Join") || strings.Contains(line, "Merge Join") {
			t.Errorf("%s: a join that needs statistics:\n%s", name, strings.Join(plan, "\n"))
		}
		m := onTable.FindStringSubmatch(line)
		if m == nil || !strings.Contains(line, "lastlook_") {
			continue
		}
		next := ""
		if i+1 < len(plan) {
			next = strings.TrimSpace(plan[i+1])
		}
		switch {
		case strings.HasSuffix(m[1], "Seq Scan"):
			if !slices.Contains(counted, name) {
				t.Errorf("%s walks through %s:\n%s", name, m[4], strings.Join(plan, "\n"))
			}
		case strings.HasPrefix(m[1], "Tid Scan"):
			if !strings.HasPrefix(next, "TID Cond") {
				t.Errorf("%s: no ctid is compared:\n%s", name, strings.Join(plan, "\n"))
			}
		case !strings.HasPrefix(next, "Index Cond") && !whole(m[3]) && !slices.Contains(counted, name):
			t.Errorf("%s walks through the whole index %s:\n%s", name, m[3], strings.Join(plan, "\n"))
		}
	}
}

// The indexes that the hot statements are meant to use.
func TestIntendedIndexes(t *testing.T) {
	k := newKit(t)
	k.fill(3000)
	_, text := k.s.Statements()
	for name, want := range map[string][]string{
		"claim_rows":       {"Index Scan using lastlook_live_due on lastlook_live", "Index Cond: ((lane_id = v.lane_id) AND (ROW(due, id) >= ROW(v.start_due, v.start_id)) AND (due <= "},
		"claim_read":       {"lastlook_notifications_pkey", "lastlook_keys_pkey", "Index Cond: (id = v.key_id)"},
		"enqueue_standing": {"lastlook_keys_parts", "lastlook_live_key", "Index Cond: ((topic = v.topic) AND (subject = v.subject) AND (recipient = v.recipient) AND (channel = v.channel))"},
		"apply_sending":    {"Tid Scan on lastlook_live", "lastlook_live_pkey"},
		"apply_waiting":    {"Tid Scan on lastlook_live", "Tid Scan on lastlook_keys", "lastlook_live_pkey", "lastlook_keys_pkey"},
		"apply_end":        {"Tid Scan on lastlook_live", "Tid Scan on lastlook_keys", "lastlook_live_pkey", "lastlook_keys_pkey"},
		"sweep_expired":    {"lastlook_live_expiry"},
		"sweep_claims":     {"lastlook_claims_lease"},
		"list_recipient":   {"lastlook_keys_recipient", "lastlook_notifications_key"},
		"list_subject":     {"lastlook_keys_parts", "lastlook_notifications_key"},
		"prune_find":       {"lastlook_outcomes_ended"},
	} {
		plan := strings.Join(k.explain(name, text(name)), "\n")
		for _, part := range want {
			if !strings.Contains(plan, part) {
				t.Errorf("%s: no %q in\n%s", name, part, plan)
			}
		}
	}
}

// A claim, and the move to sending, write nothing that an index holds.
func TestClaimsTouchNoIndex(t *testing.T) {
	k := newKit(t)
	indexed := k.column(`SELECT DISTINCT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
		WHERE i.indrelid = $1::regclass`, k.table("live"))
	if len(indexed) == 0 {
		t.Fatal("no indexed columns found")
	}
	_, text := k.s.Statements()
	for _, name := range []string{"claim_rows", "apply_sending"} {
		_, set, ok := strings.Cut(text(name), " SET")
		set, _, _ = strings.Cut(set, "WHERE")
		if !ok {
			t.Fatalf("%s: no SET", name)
		}
		for _, col := range indexed {
			if regexp.MustCompile(`\b` + col + ` =`).MatchString(set) {
				t.Errorf("%s writes %s, which is indexed", name, col)
			}
		}
	}
}
