package memstore

import (
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/internal/model"
)

// AddMark leaves a mark on a key, with or without a live row.
func AddMark(s lastlook.Store, now time.Time, it lastlook.Item) error {
	return model.AddMark(s.(*Store).store, now, it)
}
