-- A device asks for its own watches, and must not read everybody's for that.
CREATE INDEX lastlook_watch_watches_recipient ON lastlook_watch_watches (recipient, created_at);
