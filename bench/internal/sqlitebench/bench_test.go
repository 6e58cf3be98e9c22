package sqlitebench

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// The drains are compared, so they must come to the same.
func TestDrainsComeToTheSame(t *testing.T) {
	q, err := loadQueries()
	if err != nil {
		t.Fatal(err)
	}
	const n = 1_100 // more than a batch
	for name, drain := range map[string]func(s *sqlite.Store) error{
		"engine": func(s *sqlite.Store) error { _, err := drainEngine(t.Context(), s, 0, n); return err },
		"store":  func(s *sqlite.Store) error { _, err := drainStore(t.Context(), s, 0, n); return err },
		"raw":    func(s *sqlite.Store) error { _, err := q.drain(t.Context(), s, 0, n); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "drain.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := fill(t.Context(), s, 0, n); err != nil {
				t.Fatal(err)
			}
			if err := drain(s); err != nil {
				t.Fatal(err)
			}
			list, err := s.List(t.Context(), lastlook.Query{Full: true, Limit: 2 * n})
			if err != nil {
				t.Fatal(err)
			}
			if len(list) != n {
				t.Fatalf("%d rows, want %d", len(list), n)
			}
			for _, r := range list {
				k := r.KeyRow
				if r.State != lastlook.StateSent || r.Seq != 1 || r.Attempt != 1 || len(r.Story) != 2 ||
					k.Baseline == nil || k.Maybe != nil || k.ToldBy != r.ID || k.Last.ID != r.ID || k.Told != r.Window ||
					r.Window != lastlook.Day(time.UTC).At(r.LookedAt, 0) {
					t.Fatalf("row %+v, key row %+v", r, k)
				}
			}
		})
	}
}

func TestOriginalStarvesBehindRetries(t *testing.T) {
	o, err := openOriginal(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := o.close(); err != nil {
			t.Error(err)
		}
	}()
	later := time.Now().Add(time.Hour).UnixMilli()
	if err := o.fill(t.Context(), 0, originalLimit-10, "retry", later); err != nil {
		t.Fatal(err)
	}
	if err := o.fill(t.Context(), originalLimit, originalLimit, "pending", nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{10, 10} {
		if told, err := o.tick(t.Context()); err != nil || told != want {
			t.Errorf("tick %d told %d, %v; want %d", i, told, err, want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestMissingStatementIsNamed(t *testing.T) {
	c := &rawConn{q: statements{}}
	if _, err := c.stmt("claim_lane"); err == nil || !strings.Contains(err.Error(), "claim_lane") {
		t.Errorf("a statement that the store does not have: %v", err)
	}
}
