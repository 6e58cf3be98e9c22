// Package devicetest is the conformance suite of [device.Store]: what each must
// pass.
package devicetest

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/lastlook/lastlook/device"
)

// Harness opens the stores that are tested.
type Harness struct {
	// Open returns an empty store of its own for each test. It is closed by the
	// test's cleanup.
	Open func(tb testing.TB) *Opened
}

// Opened is an open store, and what the suite does behind its back.
type Opened struct {
	Store device.Store
	// Exec runs SQL, as another program would, which finds the tables by their
	// names; Column returns what the first column of a query has, as text.
	Exec   func(query string)
	Column func(query string) []string
	// Hex is the expression that writes a column of bytes in hexadecimal.
	Hex func(column string) string
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"TokensAreNotStored":              testTokensAreNotStored,
		"ATokenIsItsDevice":               testATokenIsItsDevice,
		"SeenIsWrittenNowAndThen":         testSeenIsWrittenNowAndThen,
		"Limit":                           testLimit,
		"Rename":                          testRename,
		"SubscriptionComesAndGoes":        testSubscriptionComesAndGoes,
		"Resubscribe":                     testResubscribe,
		"ASubscriptionBelongsToOneDevice": testASubscriptionBelongsToOneDevice,
		"KeysChangedIdle":                 testKeysChangedIdle,
		"RefusedChangesAreNotWritten":     testRefusedChangesAreNotWritten,
		"UnreadableSubscription":          testUnreadableSubscription,
		"Concurrent":                      testConcurrent,
	} {
		t.Run(name, func(t *testing.T) { test(t, h) })
	}
}

// The tables hold nothing from which a token could be made.
func testTokensAreNotStored(t *testing.T, h Harness) {
	k := newKit(t, h, 0)
	_, token := k.create("phone")
	hash := token.Hash()
	got := k.o.Column("SELECT " + k.o.Hex("token") + " FROM lastlook_device_devices")
	if len(got) != 1 || !strings.EqualFold(got[0], hex.EncodeToString(hash[:])) {
		t.Errorf("what is stored is not the token's hash: %v", got)
	}
}
