// Package devicesqlite keeps devices in a SQLite file, beside the outbox that
// [sqlite.Store] keeps there. It implements [device.Store].
//
//	outbox, err := sqlite.Open(ctx, path)
//	devices, err := devicesqlite.Open(ctx, outbox)
//
// Tokens are kept as their SHA-256. Subscriptions stand in it as they are, for
// they must be sent to: the file is its owner's alone.
package devicesqlite
