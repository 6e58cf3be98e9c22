// Package watchtest is the conformance suite of [watch.Store]: what each must
// pass.
package watchtest

import (
	"sync/atomic"
	"testing"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/watch"
)

// Harness opens the stores that are tested.
type Harness struct {
	// Open returns an empty store of its own for each test. It is closed by the
	// test's cleanup.
	Open func(tb testing.TB) *Opened
}

// Opened is an open store, and what the suite does behind its back.
type Opened struct {
	Store  watch.Store
	Outbox lastlook.Store
	// Statements counts the statements that the store runs.
	Statements *atomic.Int64
	// Again opens the same tables once more, as another process would; Close ends
	// this store's use of them.
	Again func(tb testing.TB) *Opened
	Close func() error
	// Exec runs SQL, as another program would, which finds the tables by their
	// names; Column returns what the first column of a query has, as text.
	Exec   func(query string)
	Column func(query string) []string
	// Dump returns all rows of all tables of lastlook's.
	Dump func() map[string][]string
	// Break makes writes of one kind ("INSERT", "UPDATE") to a table fail with the
	// text "boom", until mend.
	Break func(table, kind string) (mend func())
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"AddReturnsWhatIsStored":                testAddReturnsWhatIsStored,
		"AddRefusesWhatCannotBeWatched":         testAddRefusesWhatCannotBeWatched,
		"ListingsAreShared":                     testListingsAreShared,
		"AddedWatchSeesThePageSoon":             testAddedWatchSeesThePageSoon,
		"ListIsOldestFirst":                     testListIsOldestFirst,
		"Claims":                                testClaims,
		"Thin":                                  testThin,
		"ClaimsAtOnce":                          testClaimsAtOnce,
		"AddAtOnce":                             testAddAtOnce,
		"NotFound":                              testNotFound,
		"Update":                                testUpdate,
		"UpdateGivesChangedQuestionsNewIDs":     testUpdateGivesChangedQuestionsNewIDs,
		"Remove":                                testRemove,
		"DueInOrderAndWithoutPaused":            testDueInOrderAndWithoutPaused,
		"RecordFailureKeepsWhatIsKnown":         testRecordFailureKeepsWhatIsKnown,
		"ReopenFindsEverything":                 testReopenFindsEverything,
		"UnreadableWatchDoesNotHoldTheOthersUp": testUnreadableWatchDoesNotHoldTheOthersUp,
		"RecordWritesObservationStatesAndRowsTogether": testRecordWritesObservationStatesAndRowsTogether,
		"HistoryIsNewestFirst":                         testHistoryIsNewestFirst,
		"RecordReadsKeyRowsInTheOrderOfChannels":       testRecordReadsKeyRowsInTheOrderOfChannels,
		"RecordIsAtomic":                               testRecordIsAtomic,
		"LateObservationDecidesNothing":                testLateObservationDecidesNothing,
		"ManyWatchers":                                 testManyWatchers,
		"TwoHandlesOnOneFile":                          testTwoHandlesOnOneFile,
		"ConcurrentUse":                                testConcurrentUse,
	} {
		t.Run(name, func(t *testing.T) { test(t, h) })
	}
}
