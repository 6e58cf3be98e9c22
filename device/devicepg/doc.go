// Package devicepg keeps devices in a PostgreSQL database, beside the outbox that
// [postgres.Store] keeps there. It implements [device.Store].
//
//	outbox, err := postgres.Open(ctx, dsn, postgres.Config{})
//	devices, err := devicepg.Open(ctx, outbox)
//
// Tokens are kept as their SHA-256. Subscriptions stand in it as they are, for
// they must be sent to: let nobody read the tables who need not.
package devicepg
