package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/postgres"
)

// What stands between the two marks is the example of docs/embedding.md, word by
// word.

// <embedding>

type Stock struct{ Left int }

// Shop is a service with a table of its own: products (sku text, stock int).
type Shop struct {
	store *postgres.Store
	clock *postgres.Clock
	alert lastlook.Topic[Stock]
}

func NewShop(store *postgres.Store, clock *postgres.Clock) *Shop {
	look := func(ctx context.Context, sku string) (s Stock, err error) {
		err = store.Pool().QueryRow(ctx, "SELECT stock FROM products WHERE sku = $1", sku).Scan(&s.Left)
		return s, err
	}
	judge := func(c lastlook.Case[Stock]) lastlook.Verdict {
		if c.Value.Left == 0 {
			return lastlook.Drop(lastlook.ReasonOutOfStock)
		}
		return lastlook.Send()
	}
	word := func(c lastlook.Case[Stock]) lastlook.Message {
		return lastlook.Message{Title: fmt.Sprintf("%s: %d in stock", c.Key.Subject, c.Value.Left)}
	}
	return &Shop{store, clock, lastlook.Topic[Stock]{Name: "stock", LookOne: look, Judge: judge, Word: word, Windows: lastlook.Day(time.UTC)}}
}

// Restock writes the stock and what is to be told about it in one transaction.
func (s *Shop) Restock(ctx context.Context, sku string, n int, who string) error {
	return pgx.BeginFunc(ctx, s.store.Pool(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE products SET stock = $2 WHERE sku = $1", sku, n); err != nil {
			return err
		}
		item, err := s.alert.Item(lastlook.Target{Subject: sku, Recipient: who, Channel: "mail"}, Stock{n})
		if err == nil {
			_, err = s.store.EnqueueTx(ctx, tx, s.clock.Now(), item) // late in the transaction
		}
		return err
	})
}

// </embedding>

// again makes a transaction again while others are in its way.
// <again>

func again(ctx context.Context, f func(context.Context) error) error {
	for {
		err := f(ctx)
		if !errors.Is(err, lastlook.ErrBusy) || ctx.Err() != nil { // 40001 and 40P01, and locks kept for too long
			return err
		}
	}
}

// </again>

type mails struct {
	mu    sync.Mutex
	texts []string
	came  chan struct{}
}

func (m *mails) Deliver(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts = append(m.texts, d.Key.Recipient+": "+d.Message.Title)
	m.came <- struct{}{}
	return lastlook.Receipt{}, nil
}

// The service runs: what was true when it was enqueued and is not any more is
// withheld, and what is told is the stock of now.
func TestEmbedding(t *testing.T) {
	k := newKit(t)
	k.exec("CREATE TABLE IF NOT EXISTS public.products (sku text PRIMARY KEY, stock int NOT NULL)")
	t.Cleanup(func() { k.exec("DROP TABLE public.products") })
	k.exec("INSERT INTO public.products VALUES ('lamp', 0), ('chair', 0)")
	clock, err := k.s.NewClock(t.Context())
	k.ok(err)
	shop := NewShop(k.s, clock)
	for _, sku := range []string{"lamp", "chair"} {
		k.ok(again(t.Context(), func(ctx context.Context) error { return shop.Restock(ctx, sku, 5, "ann") }))
	}
	k.exec("UPDATE public.products SET stock = CASE sku WHEN 'lamp' THEN 3 ELSE 0 END") // sold meanwhile
	mail := &mails{came: make(chan struct{}, 10)}
	d, err := lastlook.NewDispatcher(lastlook.NewOutbox(k.s), lastlook.Config{Topics: []lastlook.Registration{shop.alert},
		Channels: map[string]lastlook.Channel{"mail": mail}, Clock: clock.Now})
	k.ok(err)
	done, err := d.Tick(t.Context())
	k.ok(err)
	if done.Sent != 1 || done.Dropped != 1 || len(mail.texts) != 1 || mail.texts[0] != "ann: lamp: 3 in stock" {
		t.Errorf("%+v, told %q", done, mail.texts)
	}
}

// The page shows this code, and it is no longer than it says.
func TestEmbeddingPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("embedding_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, limit := range map[string]int{"embedding": 40, "again": 12} {
		_, code, _ := strings.Cut(string(source), "// <"+name+">\n\n")
		code, _, ok := strings.Cut(code, "\n// </"+name+">")
		if n := strings.Count(code, "\n"); !ok || n > limit {
			t.Errorf("%s has %d lines, at most %d are to be there", name, n, limit)
		}
		if !strings.Contains(string(page), "```go\n"+code+"```") {
			t.Errorf("docs/embedding.md does not have the code of %s", name)
		}
	}
}
