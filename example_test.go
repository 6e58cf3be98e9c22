package lastlook_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/store/sqlite"
)

// Price is what the topic looks at, in cents.
type Price struct{ Cents int }

// printer is a channel that prints.
type printer struct{}

func (printer) Deliver(_ context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	fmt.Printf("to %s: %s\n", d.Key.Recipient, d.Message.Title)
	return lastlook.Receipt{}, nil
}

// The whole library: two shops were seen under 500.00. By the time of telling,
// one is even cheaper, and the other has put its price back.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lastlook")
	check(err)
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "outbox.db"))
	check(err)
	defer store.Close()

	shops := map[string]Price{"lamp": {47000}, "chair": {59800}} // the world now
	topic := lastlook.Topic[Price]{
		Name:    "price",
		LookOne: func(_ context.Context, subject string) (Price, error) { return shops[subject], nil },
		Judge: func(c lastlook.Case[Price]) lastlook.Verdict {
			if c.Value.Cents < 50000 {
				return lastlook.Send()
			}
			return lastlook.Drop(lastlook.ReasonConditionLost)
		},
		Word: func(c lastlook.Case[Price]) lastlook.Message {
			return lastlook.Message{Title: fmt.Sprintf("the %s costs %d.%02d now", c.Key.Subject, c.Value.Cents/100, c.Value.Cents%100)}
		},
		Windows: lastlook.Once(),
	}
	outbox := lastlook.NewOutbox(store)
	for _, subject := range []string{"lamp", "chair"} { // the detector's part
		item, err := topic.Item(lastlook.Target{Subject: subject, Recipient: "ann", Channel: "print"}, Price{49800})
		check(err)
		_, err = outbox.Enqueue(ctx, item)
		check(err)
	}

	dispatcher, err := lastlook.NewDispatcher(outbox, lastlook.Config{
		Topics:   []lastlook.Registration{topic},
		Channels: map[string]lastlook.Channel{"print": printer{}},
	})
	check(err)
	done, err := dispatcher.Tick(ctx)
	check(err)
	fmt.Printf("sent %d, rightly withheld %d\n", done.Sent, done.Dropped)
	// Output:
	// to ann: the lamp costs 470.00 now
	// sent 1, rightly withheld 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
