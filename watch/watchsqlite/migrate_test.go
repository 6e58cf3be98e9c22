package watchsqlite_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/price"
)

// old makes a file as the first version left it: one watch that holds, another
// listing that cannot be read, and what was seen on two days.
func old(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lastlook.db")
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile("migrations/0001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	k := file{t, path}
	k.exec(string(first))
	for _, statement := range []string{
		"CREATE TABLE lastlook_watch_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
		"INSERT INTO lastlook_watch_schema VALUES (1, '0001_init.sql')",
		`INSERT INTO lastlook_watch_listings VALUES
			(7, 'l_a', 'page', 'https://shop.example/1', 1, 1, 900000000, 1796117400000000, 1796116500000000, 1796116500000000, NULL, 0, 3, ''),
			(8, 'l_b', 'page', 'https://shop.example/2', 0, 1, 900000000, 1796117400000000, 1796116500000000, 1796116600000000, NULL, 4, NULL, 'blocked')`,
		`INSERT INTO lastlook_watch_watches VALUES (1, 'w_a', 7, 900000000, 0, NULL, 1796000000000000, 0, '', 'kettle', 'ann', '["push"]',
			'[{"id":"t1","kind":"below","target":{"amount":"500","currency":"EUR"}}]')`,
		"INSERT INTO lastlook_watch_states VALUES (1, 't1', 1, 1, 2, 1796116500000000)",
		`INSERT INTO lastlook_watch_observations VALUES
			(1, 7, 1796030000000000, '600', 'EUR', 'in_stock', '', 'Kettle', '', NULL),
			(2, 7, 1796030100000000, '1000.5', 'EUR', 'in_stock', '', 'Kettle', '', NULL),
			(3, 7, 1796116500000000, '480.00', 'EUR', 'in_stock', 'K-1', 'Kettle', '', '[]'),
			(4, 7, 1796116400000000, '9', 'EUR', 'out_of_stock', '', 'Kettle', '', NULL),
			(5, 7, 1796116300000000, NULL, NULL, 'unknown', '', 'Kettle', '', NULL)`,
	} {
		k.exec(statement)
	}
	return path
}

func TestMigrationKeepsWhatIsThere(t *testing.T) {
	o := openFile(t, old(t))
	s := o.Store
	e, err := s.Get(t.Context(), "w_a")
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMicro(1796116500000000).UTC()
	if e.Watch.Name != "kettle" || e.Watch.Triggers[0].Target != money(t, "500 EUR") || e.Watch.Cooldown != 0 || e.Watch.Group != "" ||
		e.States["t1"] != (watch.State{Known: true, Holding: true, Episode: 2, Since: at}) {
		t.Errorf("the watch: %+v", e)
	}
	l := e.Listing
	if l.ID != "l_a" || !l.Private || l.Options != (watch.Options{}) || !l.LastOK.Equal(at) || l.Interval != 15*time.Minute || l.Pace != 0 {
		t.Errorf("the listing: %+v", l)
	}
	if s := l.Standing; s.Price.String() != "480.00 EUR" || s.Pending.Doubt != "" || s.Flag != "" {
		t.Errorf("what is trusted: %+v", s)
	}
	history, err := s.History(t.Context(), "l_a", 10)
	if err != nil || e.Last == nil || e.Last.SKU != "K-1" || e.Last.Agreed || len(history) != 5 {
		t.Errorf("what was seen: %+v, %v", e.Last, err)
	}
	h, err := s.Lows(t.Context(), "l_a", 0)
	day := watch.DayOf(at)
	want := watch.History{Lows: []watch.Low{
		{Day: day - 1, Price: money(t, "600 EUR"), Buyable: true},
		{Day: day, Price: money(t, "9 EUR")}, {Day: day, Price: money(t, "480.00 EUR"), Buyable: true},
	}}
	if err != nil || !reflect.DeepEqual(h, want) {
		t.Errorf("lows: %+v, %v\nwant  %+v", h, err, want)
	}
	// It goes on: the episode is the one that was there, and the page with other
	// options is another listing.
	now := at.Add(time.Hour)
	seen := watch.Observation{At: now, Price: money(t, "470 EUR"), Availability: watch.InStock, Title: "Kettle"}
	got, err := s.Record(t.Context(), now, watch.Recording{ListingID: "l_a", Observation: seen, NextLook: now.Add(15 * time.Minute),
		Detect: func(e watch.Entry, keys []lastlook.KeyRow) (watch.Detected, error) {
			return watch.Detect(e, keys, seen, now)
		}})
	if err != nil || got[0].States["t1"].Episode != 2 {
		t.Errorf("recorded: %+v, %v", got, err)
	}
	if recs, err := o.Outbox.List(t.Context(), lastlook.Query{}); err != nil || len(recs) != 1 {
		t.Errorf("outbox: %+v, %v", recs, err)
	}
	below := watch.Watch{Recipient: "ann", Channels: []string{"push"}, Triggers: []watch.Trigger{{ID: "t1", Kind: watch.Below, Target: money(t, "500 EUR")}}}
	other := watch.Listing{Source: "page", URL: "https://shop.example/1", Private: true, Options: watch.Options{Variant: "Blue"}}
	if got, err := s.Add(t.Context(), now, other, below); err != nil || got.Listing.ID == "l_a" || got.Listing.Options.Variant != "Blue" {
		t.Errorf("another variant: %+v, %v", got, err)
	}
	other.Options = watch.Options{}
	if got, err := s.Add(t.Context(), now, other, below); err != nil || got.Listing.ID != "l_a" {
		t.Errorf("the same page: %+v, %v", got, err)
	}
	if got, err := s.Due(t.Context(), now.Add(time.Hour), now, 10); err != nil || len(got) != 3 || got[0].ID == "l_b" && got[0].FailingSince.IsZero() {
		t.Errorf("due: %+v, %v", got, err)
	}
}

func money(t testing.TB, s string) price.Money {
	t.Helper()
	m, err := price.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
