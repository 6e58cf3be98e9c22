package beside

import "context"

// Observed is db, and calls ran for every statement that is run: for tests that
// count them.
func Observed(db DB, ran func(name string)) DB { return observed{db, ran} }

type observed struct {
	DB
	ran func(string)
}

func (o observed) Write(ctx context.Context, f func(context.Context, Tx) error) error {
	return o.DB.Write(ctx, func(ctx context.Context, tx Tx) error { return f(ctx, observedTx{tx, o.ran}) })
}

func (o observed) Read(ctx context.Context, f func(context.Context, Tx) error) error {
	return o.DB.Read(ctx, func(ctx context.Context, tx Tx) error { return f(ctx, observedTx{tx, o.ran}) })
}

type observedTx struct {
	Tx
	ran func(string)
}

func (t observedTx) Query(ctx context.Context, name string, f func(scan func(...any) error) error, args ...any) error {
	t.ran(name)
	return t.Tx.Query(ctx, name, f, args...)
}

func (t observedTx) Exec(ctx context.Context, name string, args ...any) (int64, error) {
	t.ran(name)
	return t.Tx.Exec(ctx, name, args...)
}
