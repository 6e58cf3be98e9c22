// Package sqlite keeps the outbox in a SQLite file.
package sqlite

import _ "modernc.org/sqlite"
