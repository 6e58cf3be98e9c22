package server

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lastlook/lastlook/store/sqlite"
)

// copied is a table that [Copy] copies: its name without the prefix, and the
// columns by which its rows are numbered.
type copied struct {
	name string
	key  []string
}

func (t copied) table() string { return "lastlook_" + t.name }

// copiedTables are all tables but those that are made anew: claims, whose rows are
// written otherwise there, and what each database keeps of its own history.
func copiedTables() []copied {
	return []copied{
		{"lanes", []string{"id"}}, {"keys", []string{"id"}}, {"notifications", []string{"id"}}, {"live", []string{"id"}},
		{"outcomes", []string{"id"}}, {"marks", []string{"id"}}, {"muted", []string{"recipient", "channel"}},
		{"watch_listings", []string{"n"}}, {"watch_watches", []string{"n"}}, {"watch_states", []string{"watch", "trigger_id"}},
		{"watch_observations", []string{"n"}}, {"watch_lows", []string{"listing", "day", "currency", "buyable"}},
		{"device_devices", []string{"n"}}, {"access_keys", []string{"n"}}, {"access_once", []string{"caller", "key"}},
	}
}

// rowPage is some rows of a table, as JSON objects.
type rowPage struct {
	rows []map[string]any
	// last is the key of the last of them.
	last []any
}

// readPage reads rows behind a key, in its order.
func readPage(ctx context.Context, from *sqlite.Store, t copied, after []any, types map[string]string) (out rowPage, err error) {
	query := "SELECT * FROM " + t.table()
	if len(after) > 0 {
		query += fmt.Sprintf(" WHERE (%s) > (%s)", strings.Join(t.key, ", "), strings.TrimSuffix(strings.Repeat("?, ", len(after)), ", "))
	}
	query += fmt.Sprintf(" ORDER BY %s LIMIT %d", strings.Join(t.key, ", "), copyBatch)
	err = from.WithReadTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, after...)
		if err != nil {
			return err
		}
		return errors.Join(out.read(rows, t, types), rows.Close())
	})
	return out, err
}

func (p *rowPage) read(rows *sql.Rows, t copied, types map[string]string) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	size := 0
	for size < copyBytes && rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row := make(map[string]any, len(columns))
		for i, column := range columns {
			row[column] = carried(values[i], types[column])
			if text, ok := row[column].(string); ok {
				size += len(text)
			}
		}
		p.rows = append(p.rows, row)
		p.last = keyOf(t, columns, values)
	}
	return rows.Err()
}

// keyOf returns the values of a table's key.
func keyOf(t copied, columns []string, values []any) (key []any) {
	for _, column := range t.key {
		key = append(key, values[slices.Index(columns, column)])
	}
	return key
}

// carried makes of a value of SQLite what PostgreSQL reads from JSON as a type.
func carried(v any, kind string) any {
	b, ok := v.([]byte)
	text, isText := v.(string)
	switch {
	case ok && kind == "uuid":
		return hex.EncodeToString(b)
	case ok && kind == "bytea":
		return `\x` + hex.EncodeToString(b)
	case ok:
		text, isText = string(b), true
	}
	if isText { // what the server does not take
		return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	}
	return v
}

// encodePosition writes a key as the target keeps it; integers stay whole.
func encodePosition(key []any) (string, error) {
	b, err := json.Marshal(key)
	return string(b), err
}

func decodePosition(text string) (key []any, err error) {
	if text == "" {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&key); err != nil {
		return nil, fmt.Errorf("where the copy stands cannot be read: %w", err)
	}
	for i, v := range key {
		if n, ok := v.(json.Number); ok {
			if key[i], err = n.Int64(); err != nil {
				return nil, err
			}
		}
	}
	return key, nil
}

// countRows counts a table's rows in the file.
func countRows(ctx context.Context, from *sqlite.Store, t copied) (n int64, err error) {
	err = from.WithReadTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM "+t.table()).Scan(&n)
	})
	return n, err
}

// given returns the largest number that the file has given to rows of a table, also
// to those that are gone.
func given(ctx context.Context, from *sqlite.Store, t copied) (n int64, err error) {
	err = from.WithReadTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT max(coalesce((SELECT max("+t.key[0]+") FROM "+t.table()+"), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0))",
			t.table()).Scan(&n)
	})
	return n, err
}
