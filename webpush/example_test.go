package webpush_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

// A message, from the browser's subscription to the browser's service worker.
func Example() {
	keys, err := webpush.GenerateKeys() // once; keys.PEM() is what to keep
	if err != nil {
		fmt.Println(err)
		return
	}
	// In real life a push service of Google, Mozilla, Apple or Microsoft.
	service := webpushtest.NewService(webpushtest.Config{})
	server := httptest.NewServer(service)
	defer server.Close()
	browser, err := service.Subscribe(server.URL, keys.Public())
	if err != nil {
		fmt.Println(err)
		return
	}
	posted, err := json.Marshal(browser) // the page's JSON.stringify(subscription)
	if err != nil {
		fmt.Println(err)
		return
	}

	client, err := webpush.New(webpush.Config{Keys: keys, Subject: "mailto:push@example.com", Doer: server.Client()})
	if err != nil {
		fmt.Println(err)
		return
	}
	var sub webpush.Subscription
	if err := json.Unmarshal(posted, &sub); err != nil {
		fmt.Println(err)
		return
	}
	receipt, err := client.Send(context.Background(), sub, webpush.Message{
		Payload: []byte("470 EUR"), TTL: time.Hour, Urgency: webpush.High, Topic: "espresso-machine",
	})
	fmt.Println(receipt.Status, err)
	for _, p := range service.Pushes(browser) {
		fmt.Printf("%s, for %s\n", p.Payload, p.TTL)
	}

	service.End(browser, 410) // the person unsubscribes
	_, err = client.Send(context.Background(), sub, webpush.Message{Payload: []byte("465 EUR")})
	if failure, ok := errors.AsType[*webpush.Error](err); ok {
		fmt.Println(failure.Kind)
	}
	// Output:
	// 201 <nil>
	// 470 EUR, for 1h0m0s
	// gone
}
