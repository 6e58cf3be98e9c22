package memstore_test

import (
	"testing"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/memstore"
	"github.com/lastlook/lastlook/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Open:   func(storetest.TB) lastlook.Store { return memstore.New() },
		Reopen: func(_ storetest.TB, s lastlook.Store) lastlook.Store { return s },
		Orphan: func(tb storetest.TB, s lastlook.Store, now time.Time, it lastlook.Item) {
			if err := memstore.AddMark(s, now, it); err != nil {
				tb.Fatalf("mark: %v", err)
			}
		},
	})
}
