-- Who sweeps claims what is due, so that several do not look at the same.
ALTER TABLE lastlook_watch_listings ADD COLUMN claimed_until INTEGER NOT NULL DEFAULT 0 CHECK (claimed_until >= 0);
