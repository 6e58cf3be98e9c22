package lastlook

import (
	"fmt"
	"slices"
)

// State is where a notification stands.
type State uint8

// The states. Pending, sending and retry are live; sent, dropped and failed
// are final: only retention deletes such rows.
const (
	// StateNone is no row at all: what an enqueue starts from.
	StateNone State = iota
	// StatePending waits for a look, or is under a claim that looks.
	StatePending
	// StateSending is being delivered.
	StateSending
	// StateRetry waits for its next attempt.
	StateRetry
	// StateSent was accepted by the channel.
	StateSent
	// StateDropped was rightly withheld: no error.
	StateDropped
	// StateFailed could not be told.
	StateFailed
)

var stateNames = [...]string{"", "pending", "sending", "retry", "sent", "dropped", "failed"}

// States returns all states, StateNone first.
func States() []State {
	return []State{StateNone, StatePending, StateSending, StateRetry, StateSent, StateDropped, StateFailed}
}

// String returns the state's name; "" for StateNone.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText implements [encoding.TextMarshaler].
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *State) UnmarshalText(b []byte) error {
	i := slices.Index(stateNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("%w: state %q: want pending, sending, retry, sent, dropped or failed", ErrInvalid, b)
	}
	*s = State(i)
	return nil
}

// Live reports whether a row in this state can still be told.
func (s State) Live() bool { return s == StatePending || s == StateSending || s == StateRetry }

// Event is what moves a row from one state to another.
type Event string

// The events, one per row of the state machine (see [Rules]).
const (
	EventEnqueued       Event = "enqueued"
	EventSending        Event = "sending"
	EventDropped        Event = "dropped"
	EventPostponed      Event = "postponed"
	EventLookUnknown    Event = "look_unknown"
	EventAccepted       Event = "accepted"
	EventTransient      Event = "transient"
	EventNotCalled      Event = "not_called"
	EventMisconfigured  Event = "misconfigured"
	EventOutcomeUnknown Event = "outcome_unknown"
	EventGaveUpUnknown  Event = "gave_up_unknown"
	EventRecipientGone  Event = "recipient_gone"
	EventRejected       Event = "rejected"
	EventClaimed        Event = "claimed"
	EventExhausted      Event = "exhausted"
	EventSwept          Event = "swept"
	EventWithdrawn      Event = "withdrawn"
)

// Reason says why a row was dropped or failed. The list is closed.
type Reason string

// The reasons of dropped rows.
const (
	ReasonConditionLost Reason = "condition_lost"
	ReasonOutOfStock    Reason = "out_of_stock"
	ReasonGone          Reason = "gone"
	ReasonAlreadyTold   Reason = "already_told"
	ReasonWatchRemoved  Reason = "watch_removed"
	ReasonListingPaused Reason = "listing_paused"
	ReasonMuted         Reason = "muted"
	ReasonRecipientGone Reason = "recipient_gone"
	ReasonExpired       Reason = "expired"
	ReasonCancelled     Reason = "cancelled"
)

// The reasons of failed rows.
const (
	ReasonLookUnavailable   Reason = "look_unavailable"
	ReasonAttemptsExhausted Reason = "attempts_exhausted"
	ReasonRejected          Reason = "rejected"
	ReasonUnknownOutcome    Reason = "unknown_outcome"
	ReasonBadPayload        Reason = "bad_payload"
)

// ReasonInfo documents a reason.
type ReasonInfo struct {
	Reason Reason
	// State is the final state that the reason belongs to.
	State State
	// Delays says that rows which end so push back the key's next row (G10).
	Delays bool
	// Verdict says that a topic's Judge may drop for this reason.
	Verdict bool
	// Inactive says that a topic's Active may give this reason.
	Inactive bool
	Meaning  string
	Do       string
}

// Reasons returns the closed list, in the order of the documentation.
func Reasons() []ReasonInfo {
	return []ReasonInfo{
		{Reason: ReasonConditionLost, State: StateDropped, Verdict: true, Meaning: "the last look found that the condition no longer holds", Do: "nothing: the alert was rightly withheld"},
		{Reason: ReasonOutOfStock, State: StateDropped, Verdict: true, Meaning: "the last look found the item sold out", Do: "nothing; a back-in-stock trigger tells when it returns"},
		{Reason: ReasonGone, State: StateDropped, Verdict: true, Meaning: "the last look got a definite answer that the item does not exist any more", Do: "check the subject's address; remove it if it is really gone"},
		{Reason: ReasonAlreadyTold, State: StateDropped, Delays: true, Verdict: true, Meaning: "it was told already: the key in this window, by another row, or, by the topic's own rule, the same news", Do: "nothing; use a shorter window if more tellings are wanted"},
		{Reason: ReasonWatchRemoved, State: StateDropped, Delays: true, Inactive: true, Meaning: "the subject was removed after the detection", Do: "nothing"},
		{Reason: ReasonListingPaused, State: StateDropped, Delays: true, Inactive: true, Meaning: "the subject is paused", Do: "resume it to be told again"},
		{Reason: ReasonMuted, State: StateDropped, Delays: true, Meaning: "the recipient is muted on this channel", Do: "unmute the recipient, or register its address again"},
		{Reason: ReasonRecipientGone, State: StateDropped, Meaning: "the channel answered that the recipient does not exist any more; it is now muted there", Do: "register the recipient again"},
		{Reason: ReasonExpired, State: StateDropped, Delays: true, Meaning: "the row's expiry passed before it could be told", Do: "look at the story for what held it up: a parked lane, a topic that no dispatcher registers, a source that cannot be read"},
		{Reason: ReasonCancelled, State: StateDropped, Meaning: "an operator cancelled it", Do: "nothing"},
		{Reason: ReasonLookUnavailable, State: StateFailed, Delays: true, Meaning: "the world could not be looked at in any of the attempts", Do: "read the last error in the story: a block page, a timeout, a page that no longer parses"},
		{Reason: ReasonAttemptsExhausted, State: StateFailed, Delays: true, Meaning: "all attempts were used up: by transient errors of the channel, or by crashes while the row was claimed", Do: "read the story; retry the row when the cause is mended"},
		{Reason: ReasonRejected, State: StateFailed, Delays: true, Meaning: "the channel refused this message for good", Do: "read the channel's answer in the story; correct the recipient or the wording"},
		{Reason: ReasonUnknownOutcome, State: StateFailed, Delays: true, Meaning: "nobody knows whether it was delivered, and no further attempt is allowed", Do: "ask the recipient, or retry it with may-repeat"},
		{Reason: ReasonBadPayload, State: StateFailed, Delays: true, Meaning: "the stored detection, baseline or value could not be decoded by the topic", Do: "deploy a version that can read it, then retry the row"},
	}
}

// Info returns the documentation of a reason; ok is false for an unknown one.
func (r Reason) Info() (info ReasonInfo, ok bool) {
	i, ok := reasonIndex[r]
	if !ok {
		return ReasonInfo{}, false
	}
	return reasonList[i], true
}

var (
	reasonList  = Reasons()
	reasonIndex = func() map[Reason]int {
		m := make(map[Reason]int, len(reasonList))
		for i, r := range reasonList {
			m[r.Reason] = i
		}
		return m
	}()
)

// Fence is what a write of a transition compares before it changes anything,
// besides the row's id and state.
type Fence uint8

// The fences.
const (
	// FenceNone: the state alone decides.
	FenceNone Fence = iota
	// FenceToken: the claim's token must still be the row's.
	FenceToken
	// FenceTokenAlive: the token, and its lease must not have passed.
	FenceTokenAlive
	// FenceTokenDead: the token, and its lease must have passed.
	FenceTokenDead
)

// Attempt is what a transition does to the row's attempt count, which the
// claim has raised by one.
type Attempt uint8

// The attempt effects.
const (
	AttemptKeep Attempt = iota
	AttemptGiveBack
)

// KeyEffect is what a transition does to the key row's telling.
type KeyEffect uint8

// The key effects.
const (
	// KeyKeep leaves it.
	KeyKeep KeyEffect = iota
	// KeyDelivered: baseline := asserted, maybe := none, seq and told := the
	// row's, failures := 0.
	KeyDelivered
	// KeyMaybe: maybe := asserted, seq and told := the row's.
	KeyMaybe
)

// Rule is one row of the state machine.
type Rule struct {
	// Number is the row's number in the design and in docs/state-machine.md.
	Number int
	From   []State
	Event  Event
	To     State
	// When is the condition, Effect what the same transaction writes; both
	// for the documentation.
	When, Effect string
	Fence        Fence
	// ReaperFence is the fence when a reaper, not the claim's holder, makes
	// the transition; FenceNone if a reaper never does.
	ReaperFence Fence
	Attempt     Attempt
	Key         KeyEffect
	// Reasons lists the reasons allowed; empty if the transition has none.
	Reasons []Reason
}

var rules = []Rule{
	{Number: 1, From: []State{StateNone}, Event: EventEnqueued, To: StatePending,
		When:   "enqueue; the key has no live row, is not told in the current window, is not muted",
		Effect: "the detection; due now, or later if the key's last rows failed"},
	{Number: 2, From: []State{StatePending}, Event: EventSending, To: StateSending, Fence: FenceTokenAlive,
		When:   "verdict `send` from a look made under this claim; lease alive; the key not told in this row's window, except by this very row",
		Effect: "asserted value, looked-at time, window, sequence; lease renewed"},
	{Number: 3, From: []State{StatePending}, Event: EventDropped, To: StateDropped, Fence: FenceToken,
		When:    "verdict `drop`; a guard: already told, muted, expired, subject inactive",
		Effect:  "reason, the value seen",
		Reasons: []Reason{ReasonConditionLost, ReasonOutOfStock, ReasonGone, ReasonAlreadyTold, ReasonWatchRemoved, ReasonListingPaused, ReasonMuted, ReasonExpired}},
	{Number: 4, From: []State{StatePending}, Event: EventPostponed, To: StatePending, Fence: FenceToken, Attempt: AttemptGiveBack,
		When:   "`defer`, quiet hours, closed lane, no capacity, clean shutdown, lost interest in an unstarted row",
		Effect: "due time; attempt given back; token cleared"},
	{Number: 5, From: []State{StatePending}, Event: EventLookUnknown, To: StateRetry, Fence: FenceToken,
		When:   "the look is unknown; the topic panicked or could not decode the row",
		Effect: "error; next attempt"},
	{Number: 6, From: []State{StateSending}, Event: EventAccepted, To: StateSent, Fence: FenceToken, Key: KeyDelivered,
		When:   "the channel accepted",
		Effect: "**baseline := asserted value**; maybe := none; seq := the row's; told := window, by this row; failure count := 0"},
	{Number: 7, From: []State{StateSending}, Event: EventTransient, To: StateRetry, Fence: FenceToken,
		When:   "`transient`: known not delivered",
		Effect: "error; next attempt"},
	{Number: 8, From: []State{StateSending}, Event: EventNotCalled, To: StateRetry, Fence: FenceToken, Attempt: AttemptGiveBack,
		When:   "`not_called`: deadline or `max_age` passed before the call, shutdown",
		Effect: "due now; attempt given back"},
	{Number: 9, From: []State{StateSending}, Event: EventMisconfigured, To: StateRetry, Fence: FenceToken, Attempt: AttemptGiveBack,
		When:   "`misconfigured`: the lane is parked, an operator alert raised",
		Effect: "no attempt counted"},
	{Number: 10, From: []State{StateSending}, Event: EventOutcomeUnknown, To: StateRetry, Fence: FenceToken, ReaperFence: FenceTokenDead, Key: KeyMaybe,
		When:   "outcome unknown (timeout after the request was written; lease dead: *reaped*), at-least-once",
		Effect: "maybe := asserted value; seq := the row's; told := window, by this row; next attempt"},
	{Number: 11, From: []State{StateSending}, Event: EventGaveUpUnknown, To: StateFailed, Fence: FenceToken, ReaperFence: FenceTokenDead, Key: KeyMaybe,
		When:    "outcome unknown, at-most-once",
		Effect:  "as 10, without another attempt",
		Reasons: []Reason{ReasonUnknownOutcome}},
	{Number: 12, From: []State{StateSending}, Event: EventRecipientGone, To: StateDropped, Fence: FenceToken,
		When:    "the recipient is gone (push 404/410)",
		Effect:  "reason; (recipient, channel) muted",
		Reasons: []Reason{ReasonRecipientGone}},
	{Number: 13, From: []State{StateSending}, Event: EventRejected, To: StateFailed, Fence: FenceToken,
		When:    "permanent rejection",
		Effect:  "reason",
		Reasons: []Reason{ReasonRejected}},
	{Number: 14, From: []State{StateRetry}, Event: EventClaimed, To: StatePending,
		When:   "due, and claimed: always to a new look",
		Effect: "new lease and token"},
	{Number: 15, From: []State{StateRetry}, Event: EventExhausted, To: StateFailed, Fence: FenceToken,
		When:    "that was the last attempt; one write with 5, 7 or 10, both steps stand in the story",
		Effect:  "reason",
		Reasons: []Reason{ReasonLookUnavailable, ReasonAttemptsExhausted, ReasonUnknownOutcome, ReasonBadPayload}},
	{Number: 16, From: []State{StatePending}, Event: EventSwept, To: StateFailed, Fence: FenceToken, ReaperFence: FenceTokenDead,
		When:    "swept: lease dead, attempts used up",
		Effect:  "reason",
		Reasons: []Reason{ReasonAttemptsExhausted}},
	{Number: 17, From: []State{StatePending, StateRetry}, Event: EventWithdrawn, To: StateDropped,
		When:    "cancelled by an operator; the subject dropped in bulk; expired, by a sweep that ignores lanes and topics (every row has an expiry, default 24 h)",
		Effect:  "reason; no token needed",
		Reasons: []Reason{ReasonCancelled, ReasonWatchRemoved, ReasonListingPaused, ReasonExpired}},
}

// Rules returns the state machine: every legal transition, by number. Nothing
// else may change a row's state.
func Rules() []Rule {
	out := slices.Clone(rules)
	for i := range out {
		out[i].From, out[i].Reasons = slices.Clone(out[i].From), slices.Clone(out[i].Reasons)
	}
	return out
}

// ruleFor returns the rule by which ev may happen to a row in the given state.
func ruleFor(from State, ev Event) (*Rule, error) {
	for i := range rules {
		if rules[i].Event == ev && slices.Contains(rules[i].From, from) {
			return &rules[i], nil
		}
	}
	name := from.String()
	if name == "" {
		name = "no"
	}
	return nil, fmt.Errorf("%w: no rule takes a %s row by %q", ErrIllegal, name, ev)
}
