-- Of days that are long over only the lowest price and the last look are kept: the
-- days before this one (counted from 1970-01-01, UTC) are done.
ALTER TABLE {s}lastlook_watch_listings ADD COLUMN thinned_before bigint NOT NULL DEFAULT 0;
CREATE INDEX lastlook_watch_listings_thinned ON {s}lastlook_watch_listings (thinned_before, n);
