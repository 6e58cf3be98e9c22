package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// An order and its notification commit together, or not at all. The
// application's own table lies in the same file.
func ExampleStore_EnqueueTx() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lastlook")
	check(err)
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "app.db"))
	check(err)
	defer store.Close()
	orders := lastlook.Handle[string]{Name: "order"} // looked at, judged and worded by the dispatcher

	place := func(id string, fail error) error {
		return store.WithTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (id TEXT)"); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", id); err != nil {
				return err
			}
			item, err := orders.Item(lastlook.Target{Subject: id, Recipient: "ann", Channel: "mail"}, "placed")
			if err != nil {
				return err
			}
			if _, err := store.EnqueueTx(ctx, tx, time.Now(), item); err != nil {
				return err
			}
			return fail // rolls back, if not nil
		})
	}
	fmt.Println(place("one", nil))
	fmt.Println(place("two", fmt.Errorf("the card was declined")))
	// Call Dispatcher.Wake after the commit; without it, the next poll finds the row.

	waiting, err := store.List(ctx, lastlook.Query{Topic: "order"})
	check(err)
	for _, n := range waiting {
		fmt.Println(n.Key.Subject, n.State)
	}
	// Output:
	// <nil>
	// the card was declined
	// one pending
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
