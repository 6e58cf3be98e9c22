package model

// Faults are mistakes that can be planted in the model, so that storetest can
// show that it catches them. They are those that no wrapper around a store can
// make. The zero value plants none.
type Faults struct {
	// NoUnique: an enqueue does not see that the key has a live row.
	NoUnique bool
	// BaselineLater: the key row's part of a delivery is written in a second
	// transaction, by whichever call comes next.
	BaselineLater bool
	// FailuresKept: a delivery does not reset the key's failure count.
	FailuresKept bool
	// MaybeKept: a delivery does not clear the key's maybe.
	MaybeKept bool
	// TokenKept: a row that is given back keeps its token.
	TokenKept bool
	// UnreadOnly: a claim records only marks that no claim has recorded yet.
	UnreadOnly bool
	// NullEqual: the end of a row without a token deletes the marks without one.
	NullEqual bool
	// NoRevive: marks that are left when a row ends wait for the next enqueue.
	NoRevive bool
	// SharedBaseline: one baseline for all channels of a subject and recipient.
	SharedBaseline bool
	// AttemptLate: the attempt is counted by the write that ends it, not by
	// the claim.
	AttemptLate bool
	// ReuseIDs: the identifier of a pruned row is given out again.
	ReuseIDs bool
	// PruneBusyKeys: pruning keys does not look for live rows and marks.
	PruneBusyKeys bool
	// HeadOfLine: the claim takes the first N rows of a lane and only then
	// asks which of them are due.
	HeadOfLine bool
	// MarksInMemory: which marks a claim has read is lost with the process.
	MarksInMemory bool
}
