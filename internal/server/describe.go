package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/lastlook/lastlook/watch"
)

// maxDescription bounds the JSON shown of a value that nobody here knows.
const maxDescription = 200

// Describe returns a topic's value in a few words, for people: what was seen,
// asserted or told. Values of unknown topics come as their JSON, shortened.
func Describe(topic string, value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	if topic == watch.TopicName {
		var v watch.Value
		if err := json.Unmarshal(value, &v); err == nil && !v.Observation.At.IsZero() {
			return DescribeObservation(v.Observation)
		}
	}
	if topic == watch.UnreadableTopic {
		var v watch.Unreadable
		if err := json.Unmarshal(value, &v); err == nil && v.Since.IsZero() {
			return "readable"
		} else if err == nil {
			return "not readable since " + v.Since.Format(time.DateTime) + ": " + v.Why
		}
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return "(unreadable)"
	}
	if s := b.String(); len(s) <= maxDescription {
		return s
	}
	return strings.ToValidUTF8(b.String()[:maxDescription], "") + "…"
}

// TitleOf returns what a topic's value calls its subject; "" if it has no name
// for it.
func TitleOf(topic string, value json.RawMessage) string {
	if topic != watch.TopicName {
		return ""
	}
	var v watch.Value
	if err := json.Unmarshal(value, &v); err != nil {
		return ""
	}
	return v.Observation.Title
}

// DescribeObservation returns price and availability in a few words.
func DescribeObservation(o Observation) string {
	text := o.Price.String()
	if o.Price.IsZero() {
		text = "no certain price"
	}
	return text + ", " + DescribeAvailability(o)
}

// DescribeAvailability returns the availability for people.
func DescribeAvailability(o Observation) string {
	switch o.Availability {
	case watch.InStock:
		return "in stock"
	case watch.Limited:
		return "in stock, few left"
	case watch.PreOrder:
		return "for pre-order"
	case watch.BackOrder:
		return "on back order"
	case watch.OutOfStock:
		return "out of stock"
	case watch.Discontinued:
		return "discontinued"
	case watch.Unknown:
	}
	return "stock unknown"
}

// DescribeFlags says what is not what it was, for people, and what to do.
func DescribeFlags(e *Entry) string {
	var out []string
	for _, f := range e.Listing.Standing.Flags() {
		switch f {
		case watch.FlagIdentity:
			out = append(out, "the page describes another product than before")
		case watch.FlagCurrency:
			out = append(out, "the price is in another currency than before")
		}
	}
	return strings.Join(out, "; ") + ": lastlook watch accept " + e.Watch.ID + " if that is right"
}
