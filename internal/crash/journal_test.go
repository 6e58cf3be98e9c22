package crash

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestJournalSurvivesATornLine(t *testing.T) {
	dir := t.TempDir()
	l := newLife(Failpoint{}, func() {})
	write := func(run int, steps ...int64) {
		t.Helper()
		j, err := openJournal(dir, journalFile(enqueuerJournal, ""), run, time.Now, l)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range steps {
			j.add(Entry{Kind: KindStep, N: n})
		}
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
	}
	write(1, 1, 2, 3)
	path := filepath.Join(dir, journalFile(enqueuerJournal, ""))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:len(b)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readJournals(dir, enqueuerJournal); err != nil || len(got) != 2 {
		t.Fatalf("with a torn line: %d entries, %v; want 2", len(got), err)
	}
	write(2, 4)
	got, err := readJournals(dir, enqueuerJournal)
	if err != nil || len(got) != 3 || got[2].N != 4 || got[2].Run != 2 {
		t.Fatalf("after it was opened again: %+v, %v", got, err)
	}
	if last, err := lastEntry(dir, journalFile(enqueuerJournal, ""), KindStep); err != nil || last.N != 4 {
		t.Errorf("the last step is %+v, %v", last, err)
	}
	if none, err := lastEntry(dir, journalFile(enqueuerJournal, ""), KindAck); err != nil || none.Kind != "" {
		t.Errorf("an entry of a kind that is not there: %+v, %v", none, err)
	}
	if _, err := parseJournal("x", []byte("{}\nnot JSON\n")); err == nil {
		t.Error("a damaged journal was read")
	}
	if none, err := readJournals(t.TempDir(), enqueuerJournal); err != nil || none != nil {
		t.Errorf("no journal: %v, %v", none, err)
	}
}

func TestLifeEndsAtItsPoint(t *testing.T) {
	killed := 0
	l := newLife(Failpoint{Point: "judge", N: 3}, func() { killed++ })
	for i := range 5 {
		if err := l.pass("look:before"); (err != nil) != l.over() {
			t.Fatalf("pass %d of another point: %v", i, err)
		}
		if err := l.pass("judge"); (err != nil) != (i >= 2) {
			t.Errorf("pass %d: %v", i+1, err)
		}
	}
	if killed != 1 {
		t.Errorf("it ended %d times", killed)
	}
}

func TestPointsAreNames(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Points() {
		if seen[p] {
			t.Errorf("two points are named %q", p)
		}
		seen[p] = true
	}
}
