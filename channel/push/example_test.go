package push_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/push"
	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

// devices is where an application keeps its subscriptions.
type devices map[string]webpush.Subscription

func (d devices) Subscription(_ context.Context, recipient string) (webpush.Subscription, error) {
	sub, known := d[recipient]
	if !known {
		return sub, push.ErrNoSubscription
	}
	return sub, nil
}

// A channel, and what the browser's service worker gets.
func Example() {
	keys, err := webpush.GenerateKeys()
	if err != nil {
		fmt.Println(err)
		return
	}
	service := webpushtest.NewService(webpushtest.Config{}) // in place of a browser's push service
	server := httptest.NewServer(service)
	defer server.Close()
	phone, err := service.Subscribe(server.URL, keys.Public())
	if err != nil {
		fmt.Println(err)
		return
	}

	channel, err := push.New(push.Config{
		Keys: keys, Subject: "mailto:push@example.com", Client: server.Client(),
		Subscriptions: devices{"kim": phone},
		Clock:         func() time.Time { return time.Now().Truncate(time.Hour) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt, err := channel.Deliver(context.Background(), lastlook.Delivery{
		Key:         lastlook.Key{Topic: "watch", Subject: "w7", Recipient: "kim", Channel: "push"},
		Message:     lastlook.Message{Title: "Espresso machine: 470 EUR", URL: "https://shop.example/espresso"},
		DeliveryKey: "delivery-key", ReplaceKey: "replace-key", ExpiresAt: time.Now().Add(time.Hour),
	})
	fmt.Println(receipt.Answer, err)
	for _, p := range service.Pushes(phone) {
		fmt.Println(p.Topic, len(p.Payload) > 100, p.Err)
	}

	_, err = channel.Deliver(context.Background(), lastlook.Delivery{Key: lastlook.Key{Recipient: "nobody"}})
	class, _ := lastlook.Classify(err)
	fmt.Println(class)
	// Output:
	// HTTP 201 <nil>
	// replace-key true <nil>
	// gone
}
