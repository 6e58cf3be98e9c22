package lastlook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Outbox is what detectors and operators use: it validates, enqueues, wakes
// the dispatchers of the process, and makes the transitions that people ask
// for. It is safe for concurrent use.
type Outbox struct {
	store  Store
	now    func() time.Time
	topics []string

	mu    sync.Mutex
	wakes map[*Dispatcher]struct{} // the dispatchers that run on this outbox
}

// OutboxOption configures an [Outbox].
type OutboxOption func(*Outbox)

// WithClock sets the clock; the default is [time.Now].
func WithClock(now func() time.Time) OutboxOption {
	return func(o *Outbox) { o.now = now }
}

// WithTopics restricts the topics that may be enqueued to those named, so that
// a misspelt one is an error at once instead of a row that nobody claims.
func WithTopics(names ...string) OutboxOption {
	return func(o *Outbox) { o.topics = append(o.topics, names...) }
}

// NewOutbox returns an outbox on the store, which the caller goes on to own.
func NewOutbox(store Store, opts ...OutboxOption) *Outbox {
	o := &Outbox{store: store, now: time.Now}
	for _, opt := range opts {
		opt(o)
	}
	return o
}

// Enqueue writes the items that are admitted, in one transaction of its own,
// and says what became of each. To enqueue in your own transaction, use the
// store's EnqueueTx, and [Dispatcher.Wake] after your commit.
func (o *Outbox) Enqueue(ctx context.Context, items ...Item) ([]EnqueueResult, error) {
	for i := range items {
		if len(o.topics) > 0 && !slices.Contains(o.topics, items[i].Topic) {
			return nil, fmt.Errorf("%w: item %d names %q; known are %s", ErrUnknownTopic, i, items[i].Topic, quoteAll(o.topics))
		}
	}
	res, err := o.store.Enqueue(ctx, o.now(), items)
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if slices.ContainsFunc(res, func(r EnqueueResult) bool { return r.Status == Inserted }) {
		o.wake()
	}
	return res, nil
}

// Get returns one notification with its whole story.
func (o *Outbox) Get(ctx context.Context, id ID) (Record, error) { return o.store.Get(ctx, id) }

// List returns notifications, newest first.
func (o *Outbox) List(ctx context.Context, q Query) ([]Record, error) { return o.store.List(ctx, q) }

// Stats counts the live rows, and those that ended since the given moment.
func (o *Outbox) Stats(ctx context.Context, since time.Time) (Stats, error) {
	return o.store.Stats(ctx, o.now(), since)
}

// Prune deletes ended notifications, a bounded number per call.
func (o *Outbox) Prune(ctx context.Context, r PruneRequest) (Pruned, error) {
	return o.store.Prune(ctx, r)
}

// Mute mutes a recipient on a channel: nothing is enqueued for it, and its
// rows drop when they are claimed.
func (o *Outbox) Mute(ctx context.Context, recipient, channel string) error {
	return o.mute(ctx, MuteChange{Recipient: recipient, Channel: channel})
}

// Unmute lifts a mute, for example when a gone recipient has registered again.
func (o *Outbox) Unmute(ctx context.Context, recipient, channel string) error {
	return o.mute(ctx, MuteChange{Recipient: recipient, Channel: channel, Lift: true})
}

func (o *Outbox) mute(ctx context.Context, m MuteChange) error {
	if m.Recipient == "" || m.Channel == "" {
		return fmt.Errorf("%w: name both the recipient and the channel", ErrInvalid)
	}
	now := o.now()
	if err := CheckClock(now); err != nil {
		return err
	}
	return o.store.Mute(ctx, now, []MuteChange{m})
}

// withdrawTries bounds how often a withdrawal is tried again because the row
// changed between the read and the write.
const withdrawTries = 10

// Cancel drops a live row, as by an operator, whose name is recorded. A row
// that is being delivered at this moment cannot be cancelled
// ([ErrNotCancellable]).
func (o *Outbox) Cancel(ctx context.Context, id ID, by string) error {
	for range withdrawTries {
		rec, err := o.store.Get(ctx, id)
		if err != nil {
			return err
		}
		switch {
		case rec.State == StateSending:
			return fmt.Errorf("%w: notification %d is being delivered right now: look at it again in a moment", ErrNotCancellable, id)
		case !rec.State.Live():
			return fmt.Errorf("%w: notification %d has ended already: %s", ErrNotCancellable, id, rec.State)
		}
		done, err := o.withdraw(ctx, []Record{rec}, ReasonCancelled, by)
		if err != nil || done == 1 {
			return err
		}
	}
	return fmt.Errorf("%w: notification %d kept changing", ErrBusy, id)
}

// DropSubject drops all live rows and marks of a subject that was removed or
// paused, and returns how many rows it dropped. Commit the removal in your own
// tables first. A row that is being delivered at this moment is left: one
// alert may still follow, within the call's deadline. That it is the last one
// needs a topic with [Topic.Active], or this call repeated: a delivery that
// fails for now is tried again, and an edge may have left a mark meanwhile. The
// reason is
// [ReasonWatchRemoved] or [ReasonListingPaused]. It may be repeated.
func (o *Outbox) DropSubject(ctx context.Context, topicName, subject string, reason Reason) (int, error) {
	if info, ok := reason.Info(); !ok || !info.Inactive {
		return 0, fmt.Errorf("%w: %q is no reason to drop a subject: use %s or %s", ErrInvalid, reason, ReasonWatchRemoved, ReasonListingPaused)
	}
	if topicName == "" || subject == "" {
		return 0, fmt.Errorf("%w: name both the topic and the subject", ErrInvalid)
	}
	q := Query{Topic: topicName, Subject: subject, States: []State{StatePending, StateRetry}, Full: true, Limit: 500}
	total := 0
	for tries := 0; tries < withdrawTries; {
		recs, err := o.store.List(ctx, q)
		if err != nil {
			return total, fmt.Errorf("drop subject %s/%s: %w", topicName, subject, err)
		}
		if len(recs) == 0 {
			return total, nil
		}
		n, err := o.withdraw(ctx, recs, reason, "drop subject")
		total += n
		if err != nil {
			return total, fmt.Errorf("drop subject %s/%s: %w", topicName, subject, err)
		}
		if n == 0 {
			tries++
		}
	}
	return total, fmt.Errorf("%w: rows of %s/%s kept changing: call again", ErrBusy, topicName, subject)
}

func (o *Outbox) withdraw(ctx context.Context, recs []Record, reason Reason, by string) (int, error) {
	now := o.now()
	if err := CheckClock(now); err != nil {
		return 0, err
	}
	changes := make([]Change, 0, len(recs))
	for i := range recs {
		r := rowOf(&recs[i])
		c, err := r.Withdraw(now, reason, by)
		if err != nil {
			return 0, err
		}
		changes = append(changes, c)
	}
	done, err := o.store.Apply(ctx, now, changes)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, ok := range done {
		if ok {
			n++
		}
	}
	return n, nil
}

// rowOf returns what a transition without a token needs of a record.
func rowOf(rec *Record) Row {
	r := Row{ID: rec.ID, Key: rec.Key, State: rec.State, Attempt: rec.Attempt, Due: rec.Due, Story: rec.Story}
	if rec.KeyRow != nil {
		r.KeyRow = *rec.KeyRow
	}
	return r
}

// RetryOptions says how a failed row is tried again.
type RetryOptions struct {
	// MayRepeat allows it although the row may have been delivered: the key's
	// told window is cleared, and the recipient may be told twice.
	MayRepeat bool
}

// Retry makes a new row that does a failed row's work again, and names the old
// one. It returns [ErrNotRetriable] if the row has not failed, or if it may
// have been delivered and a repeat is not allowed.
func (o *Outbox) Retry(ctx context.Context, id ID, opt RetryOptions) (EnqueueResult, error) {
	rec, err := o.store.Get(ctx, id)
	if err != nil {
		return EnqueueResult{}, err
	}
	if rec.State != StateFailed {
		return EnqueueResult{}, fmt.Errorf("%w: notification %d is %s: only a failed one can be tried again", ErrNotRetriable, id, rec.State)
	}
	if !opt.MayRepeat && maybeDelivered(&rec) {
		return EnqueueResult{}, fmt.Errorf("%w: notification %d may have been delivered: allow a repeat (--may-repeat) if telling twice does no harm", ErrNotRetriable, id)
	}
	it := Item{Key: rec.Key, Detection: rec.Detection, Lane: rec.Lane, Priority: rec.Priority, Trace: rec.Trace,
		Episode: rec.Episode, RetryOf: rec.ID, MayRepeat: opt.MayRepeat, TTL: rec.ExpiresAt.Sub(rec.CreatedAt)}
	res, err := o.Enqueue(ctx, it)
	if errors.Is(err, ErrWindowBackwards) {
		return EnqueueResult{}, fmt.Errorf("%w: notification %d is of an episode that is over", ErrNotRetriable, id)
	}
	if err != nil {
		return EnqueueResult{}, err
	}
	switch {
	case res[0].Status == AlreadyTold:
		return res[0], fmt.Errorf("%w: its key was told, perhaps by this very row (%d): allow a repeat (--may-repeat) if telling twice does no harm", ErrNotRetriable, res[0].ID)
	case res[0].Status == Muted:
		return res[0], fmt.Errorf("%w: %s is muted on %s: unmute it first", ErrNotRetriable, rec.Key.Recipient, rec.Key.Channel)
	}
	return res[0], nil
}

// maybeDelivered reports whether nobody knows if a row was delivered.
func maybeDelivered(rec *Record) bool {
	return rec.KeyRow.ToldBy == rec.ID || slices.ContainsFunc(rec.Story, func(s Step) bool {
		return s.Event == EventOutcomeUnknown || s.Event == EventGaveUpUnknown
	})
}

func (o *Outbox) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for d := range o.wakes {
		d.Wake()
	}
}

// subscribe has d woken after each enqueue until the returned function is
// called.
func (o *Outbox) subscribe(d *Dispatcher) (cancel func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wakes == nil {
		o.wakes = map[*Dispatcher]struct{}{}
	}
	o.wakes[d] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.wakes, d)
	}
}
