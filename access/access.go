// Package access is who may use the HTTP API as a program or an operator: the
// operator's token, and API keys with scopes and an owner. It is pure domain: it
// knows no database and no HTTP. A [Store] keeps keys, [Service] is what the
// front ends use. Devices, which have tokens of their own, are in package device.
//
//	keys, err := access.New(access.Config{Store: store})
//	token, made, err := keys.EnsureOperator(ctx) // at the first start; shown once
//	key, token, err := keys.Add(ctx, access.NewKey{Name: "shop", Owner: "shop", Scopes: …})
//	…
//	key, err = keys.Authenticate(ctx, token)
//
// # Tokens
//
// A token is 256 random bits behind a prefix that says what it is. Stores keep
// its SHA-256 alone, which needs no salt and no stretching: nobody can guess
// such a token, and nothing brings a lost one back.
//
// # Owners
//
// A key sees and changes only what is its owner's: the topics that the owner
// has, their notifications, and what is told to the owner's recipient
// ([Recipient]). The operator's token has no owner, and sees and changes all.
package access

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Errors that a caller can act on.
var (
	// ErrInvalid says that something cannot be as it was given.
	ErrInvalid = errors.New("access: invalid")
	// ErrNotFound says that there is no such key.
	ErrNotFound = errors.New("access: not found")
	// ErrUnauthorized says that a token is no key's (any more).
	ErrUnauthorized = errors.New("access: no key has this token")
	// ErrFull says that there are as many keys as there may be.
	ErrFull = errors.New("access: no more keys are taken")
	// ErrKeyReused says that an idempotency key came with another request than
	// the first time.
	ErrKeyReused = errors.New("access: the idempotency key was used for another request")
)

// Scope is something that a key allows.
type Scope string

// The scopes. None includes another.
const (
	// ScopeEnqueue allows to enqueue notifications.
	ScopeEnqueue Scope = "enqueue"
	// ScopeRead allows to see notifications, topics, watches and counts.
	ScopeRead Scope = "read"
	// ScopeOperate allows to change: topics, watches, cancel and retry.
	ScopeOperate Scope = "operate"
)

// AllScopes returns the scopes there are.
func AllScopes() []Scope { return []Scope{ScopeEnqueue, ScopeRead, ScopeOperate} }

// ParseScopes reads scopes separated by commas.
func ParseScopes(text string) ([]Scope, error) {
	var out []Scope
	for part := range strings.SplitSeq(text, ",") {
		s := Scope(strings.TrimSpace(part))
		if !slices.Contains(AllScopes(), s) {
			return nil, fmt.Errorf("%w: %q is no scope: known are enqueue, read and operate", ErrInvalid, s)
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out, nil
}

// JoinScopes is the inverse of [ParseScopes].
func JoinScopes(list []Scope) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	return strings.Join(texts, ",")
}

// OperatorID is the id under which the operator's token is known.
const OperatorID = "operator"

// Key is somebody who may use the API. It holds no secret.
type Key struct {
	ID    string
	Name  string
	Owner string
	// Scopes are what it allows; the operator's are all.
	Scopes []Scope
	// PerMinute bounds the notifications enqueued in a minute.
	PerMinute int
	CreatedAt time.Time
	// UsedAt is when it was last shown, to within [UsedEvery]; zero for never.
	UsedAt time.Time
	// RevokedAt is when it ended; zero while it holds.
	RevokedAt time.Time
}

// Operator reports whether the key is the operator's, who may do all.
func (k Key) Operator() bool { return k.ID == OperatorID }

// May reports whether the key allows something.
func (k Key) May(s Scope) bool { return k.Operator() || slices.Contains(k.Scopes, s) }

// recipientPrefix is what recipients begin with that are owners.
const recipientPrefix = "owner:"

// Recipient returns the recipient by which the outbox knows an owner.
func Recipient(owner string) string { return recipientPrefix + owner }

// OwnerOf returns the owner that a recipient is.
func OwnerOf(recipient string) (owner string, ok bool) {
	owner, ok = strings.CutPrefix(recipient, recipientPrefix)
	return owner, ok && owner != ""
}

// MaxName bounds a key's name, in bytes.
const MaxName = 100

var ownerRule = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,62}$`)

// CheckOwner reports, wrapping [ErrInvalid], an owner that cannot be one.
func CheckOwner(owner string) error {
	if ownerRule.MatchString(owner) {
		return nil
	}
	return fmt.Errorf("%w: an owner is up to 63 small letters, digits, dots, dashes, underscores and @, such as \"shop\"", ErrInvalid)
}

func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("%w: a key needs a name that says what it is for, such as \"shop backend\"", ErrInvalid)
	case len(name) > MaxName:
		return fmt.Errorf("%w: a name of %d bytes: the limit is %d", ErrInvalid, len(name), MaxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%w: a name is one line of text, without control characters", ErrInvalid)
	}
	return nil
}
