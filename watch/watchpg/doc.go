// Package watchpg keeps listings, watches, trigger states and observations in a
// PostgreSQL database, beside the outbox that [postgres.Store] keeps there. It
// implements [watch.Store].
//
//	outbox, err := postgres.Open(ctx, dsn, postgres.Config{})
//	watches, err := watchpg.Open(ctx, outbox)
//	polite, err := watches.NewPoliteness("sweep", 2, 20)
//
// [Store.Record] writes an observation, the states to which it moves the
// triggers and the outbox rows of what is news in one transaction: all of it is
// there, or nothing. However many watch a listing, that is a fixed number of
// statements.
//
// Any number of processes may sweep. Each claims what is due, passing over what
// others are just claiming; and a [Politeness] that all of them share keeps a
// host's limit across them. Whoever changes a listing or its watches locks the
// listing's row. Nothing needs a session, so it works through poolers as the
// outbox does.
package watchpg
