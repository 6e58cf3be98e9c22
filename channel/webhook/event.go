package webhook

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/text"
)

// TypeAlert is the type of every event so far.
const TypeAlert = "lastlook.alert"

// Event is the body of a request.
type Event struct {
	// Type names what happened, and the schema of Data: [TypeAlert].
	Type string `json:"type"`
	// Timestamp is when what the message says was looked at.
	Timestamp time.Time `json:"timestamp"`
	Data      Alert     `json:"data"`
}

// Alert is what an event of type [TypeAlert] tells.
type Alert struct {
	// ID is the notification's number in its outbox.
	ID lastlook.ID `json:"id"`
	// Topic, Subject, Recipient and Channel are the notification's key.
	Topic     string `json:"topic"`
	Subject   string `json:"subject"`
	Recipient string `json:"recipient"`
	Channel   string `json:"channel"`
	// Title, Body and URL are for people.
	Title string `json:"title"`
	Body  string `json:"body"`
	URL   string `json:"url"`
	// Silent asks not to make a sound of it.
	Silent bool `json:"silent"`
	// Details are for machines; their form is the topic's. Null if none.
	Details json.RawMessage `json:"details"`
	// Value is what was looked at, in the topic's form. Null if none.
	Value json.RawMessage `json:"value"`
	// DeliveryKey is the webhook-id: it recognizes a resend.
	DeliveryKey string `json:"delivery_key"`
	// ReplaceKey is the same for all messages of which a newer one takes the
	// place of an older one.
	ReplaceKey string `json:"replace_key"`
	// Attempt counts from 1.
	Attempt int `json:"attempt"`
	// LookedAt is when Value was seen, ExpiresAt until when it is worth telling.
	LookedAt  time.Time `json:"looked_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// CloudEvent is the body of a request with [Config.CloudEvents].
type CloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject,omitzero"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	// TraceParent is the extension for distributed tracing.
	TraceParent string `json:"traceparent,omitzero"`
	Data        Alert  `json:"data"`
}

// encode returns the body, and what it is.
func (c *Channel) encode(d lastlook.Delivery) (body []byte, kind string, err error) {
	looked := d.LookedAt.UTC().Truncate(time.Microsecond)
	alert := Alert{
		ID:    d.ID,
		Topic: d.Key.Topic, Subject: d.Key.Subject, Recipient: d.Key.Recipient, Channel: d.Key.Channel,
		Title: d.Message.Title, Body: d.Message.Body, URL: d.Message.URL, Silent: d.Message.Silent,
		Details: orNull(d.Message.Data), Value: orNull(d.Value),
		DeliveryKey: d.DeliveryKey, ReplaceKey: d.ReplaceKey, Attempt: d.Attempt,
		LookedAt: looked, ExpiresAt: d.ExpiresAt.UTC().Truncate(time.Microsecond),
	}
	if c.source == "" {
		body, err = encodeJSON(Event{Type: TypeAlert, Timestamp: looked, Data: alert})
		return body, "application/json; charset=utf-8", err
	}
	e := CloudEvent{
		SpecVersion: "1.0", ID: d.DeliveryKey, Source: c.source, Type: TypeAlert, Subject: text.Line(d.Key.Subject),
		Time: looked, DataContentType: "application/json", Data: alert,
	}
	if traceparent(d.Trace) {
		e.TraceParent = d.Trace
	}
	body, err = encodeJSON(e)
	return body, "application/cloudevents+json; charset=utf-8", err
}

func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	// A raw value may hold what the encoder would have replaced in a string.
	return bytes.ToValidUTF8(bytes.TrimSuffix(buf.Bytes(), []byte("\n")), []byte("\uFFFD")), nil
}

// orNull makes nothing the JSON value null.
func orNull(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return nil
	}
	return v
}
