// Package rows is analyzed, not run.
package rows

import "database/sql"

func unasked(rows *sql.Rows) {
	for rows.Next() { // want `rows.Err is never asked`
		_ = rows.Scan()
	}
}

func asked(db *sql.DB) error {
	rows, err := db.Query("")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		_ = rows.Scan()
	}
	return rows.Err()
}

func handedOn(rows *sql.Rows) error {
	for rows.Next() {
		_ = rows.Scan()
	}
	return asks(rows)
}

func asks(rows *sql.Rows) error { return rows.Err() }
