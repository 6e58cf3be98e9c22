package main

import (
	"strings"
	"testing"

	"github.com/lastlook/lastlook/bench/internal/result"
	"github.com/lastlook/lastlook/bench/internal/sqlitebench"
)

func TestTableReplacesOnlyItself(t *testing.T) {
	text := table(result.File{Machine: "a machine"}, []sqlitebench.Row{
		{Name: "drain", Value: 12345.6, Unit: "rows/s", Rounds: []float64{9, 12345.6, 20000}},
		{Name: "ratio", Value: 0.5012, Unit: "×", Note: "aim: ≥ 0.5"},
	})
	begin, end := marks(sqliteTable)
	page := "before\n" + begin + "\nold\n" + end + "\nafter\n"
	got, err := replaceTable(page, sqliteTable, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n", "\nafter\n", "a machine", "| drain | 12 346 rows/s | 3 | 9.00 – 20 000 |  |", "| ratio | 0.50 × | 1 |  | aim: ≥ 0.5 |"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") {
		t.Error("the old table is still there")
	}
	if again, err := replaceTable(got, sqliteTable, text); err != nil || again != got {
		t.Errorf("the same table again makes another page (%v)", err)
	}
	if _, err := replaceTable("no marks", sqliteTable, text); err == nil {
		t.Error("a page without marks was taken")
	}
}
