package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	codes "modernc.org/sqlite/lib"
)

//go:embed statistics.txt
var statisticsFile string

const (
	// makeStatistics makes sqlite_stat1, which no other statement can.
	makeStatistics  = "ANALYZE lastlook_lanes"
	readStatistics  = "SELECT tbl || ' ' || coalesce(idx, '-') || ' ' || coalesce(stat, '') FROM sqlite_stat1 WHERE tbl GLOB 'lastlook_*' ORDER BY 1"
	clearStatistics = "DELETE FROM sqlite_stat1 WHERE tbl GLOB 'lastlook_*'"
	addStatistics   = "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, nullif(?, '-'), ?)"
	// useStatistics makes the connection read them again.
	useStatistics = "ANALYZE sqlite_schema"
)

// keepStatistics puts the lines of statistics.txt into sqlite_stat1 unless they
// are there. Without the right to write, what is there must do.
func keepStatistics(ctx context.Context, conn *sql.Conn) error {
	want := slices.DeleteFunc(strings.Split(strings.TrimSpace(statisticsFile), "\n"), func(line string) bool { return strings.HasPrefix(line, "#") })
	var there bool
	if err := conn.QueryRowContext(ctx, tableThere, "sqlite_stat1").Scan(&there); err != nil {
		return err
	}
	if there {
		rows, err := conn.QueryContext(ctx, readStatistics)
		if err != nil {
			return err
		}
		var got []string
		err = readRows(rows, func(r *row) error {
			got = append(got, r.text(0))
			return nil
		})
		if err != nil || slices.Equal(got, want) {
			return err
		}
	}
	err := inTransaction(ctx, conn, func() error { return writeStatistics(ctx, conn, want) })
	if code(err) == codes.SQLITE_READONLY {
		return nil
	}
	return err
}

func writeStatistics(ctx context.Context, conn *sql.Conn, lines []string) error {
	for _, q := range []string{makeStatistics, clearStatistics} {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	for _, line := range lines {
		f := strings.SplitN(line, " ", 3)
		if len(f) != 3 {
			return fmt.Errorf("embedded statistics: line %q", line)
		}
		if _, err := conn.ExecContext(ctx, addStatistics, f[0], f[1], f[2]); err != nil {
			return err
		}
	}
	_, err := conn.ExecContext(ctx, useStatistics)
	return err
}
