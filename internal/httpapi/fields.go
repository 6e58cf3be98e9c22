package httpapi

import (
	"errors"
	"strconv"
)

// fieldError names the field that an error is about.
type fieldError struct {
	// item is the number of a batch's item, -1 for none.
	item        int
	field, text string
	at          string
}

// Invalid is an [ErrInvalid] that names the field of a request's body and what to
// do; field "" is the whole. The text must repeat nothing of what was sent.
func Invalid(field, text string) error { return &fieldError{item: -1, field: field, text: text} }

// InvalidItem is [Invalid] for an item of a batch.
func InvalidItem(item int, field, text string) error {
	return &fieldError{item: item, field: field, text: text}
}

// Error implements [error].
func (e *fieldError) Error() string { return ErrInvalid.Error() + ": " + e.text }

// Is lets it be an [ErrInvalid].
func (e *fieldError) Is(target error) bool { return target == ErrInvalid }

// location is where in the request the field stands.
func (e *fieldError) location() string {
	at := e.at
	if at == "" {
		at = "body"
	}
	if e.item >= 0 && at != "body" {
		at += "[" + strconv.Itoa(e.item) + "]"
	}
	if e.field != "" {
		at += "." + e.field
	}
	return at
}

// within says where in a body the items stand that an error may be about.
func within(err error, at string) error {
	if e, ok := errors.AsType[*fieldError](err); ok {
		e.at = at
	}
	return err
}
