package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lastlook/lastlook"
)

// channelNames are the child's channels.
var channelNames = []string{"mail", "push"}

// goneMark in a recipient's name says that it does not exist for the channel.
const goneMark = "gone"

// channel is the fake channel: it records each call, and behaves as badly as
// channels do. It stands for a service elsewhere, which goes on when this process
// is stopped for a while: a call counts at the moment at which it was decided
// within its deadline, whenever the record of it is written.
type channel struct {
	seed    uint64
	run     int
	journal *journal
	life    *life
	now     func() time.Time
	calls   *atomic.Int64
	// mint makes a planted mistake: a delivery key of its own per attempt.
	mint bool
}

// The answers that are recorded.
const (
	answerOK      = "ok"
	answerLost    = "lost" // accepted, and nobody is told
	answerUnknown = "unknown"
	answerHung    = "hung"
	answerError   = "error" // known not to be delivered
)

func (ch *channel) Deliver(ctx context.Context, d lastlook.Delivery) (lastlook.Receipt, error) {
	if err := ch.life.pass("channel:before"); err != nil {
		return lastlook.Receipt{}, err
	}
	e := Entry{Kind: KindCall, N: ch.calls.Add(1), ID: d.ID, Key: d.Key, Value: d.Value, LookedAt: d.LookedAt.UnixMicro(),
		DeliveryKey: d.DeliveryKey, Attempt: d.Attempt}
	if err := json.Unmarshal(d.Message.Data, &e.Window); err != nil {
		return lastlook.Receipt{}, lastlook.Permanent(fmt.Errorf("message without its window: %w", err))
	}
	at, inTime := ch.moment(ctx)
	if e.At = at; !inTime {
		return lastlook.Receipt{}, context.DeadlineExceeded
	}
	if ch.mint {
		e.DeliveryKey = fmt.Sprintf("%s-%d-%d", d.DeliveryKey, ch.run, d.Attempt)
	}
	ch.journal.add(e)
	if err := ch.life.pass("channel:called"); err != nil {
		return lastlook.Receipt{}, err
	}
	answer, err := ch.accept(ctx, e)
	e.Kind, e.Text, e.At = KindAnswer, answer, 0
	ch.journal.add(e)
	return lastlook.Receipt{Answer: answer}, errors.Join(err, ch.life.pass("channel:answered"))
}

// moment returns now, and whether the call's deadline still lies ahead.
func (ch *channel) moment(ctx context.Context) (at int64, inTime bool) {
	now := ch.now()
	deadline, ok := ctx.Deadline()
	return now.UnixMicro(), !ok || now.Before(deadline)
}

// accept decides what becomes of a call, and records its acceptance.
func (ch *channel) accept(ctx context.Context, e Entry) (answer string, err error) {
	if strings.HasPrefix(e.Key.Recipient, goneMark) {
		return answerError, lastlook.Gone(errors.New("no such recipient"))
	}
	draw := hash(ch.seed, e.Key.String(), int64(ch.run)<<32|e.N) % 1000
	switch {
	case draw < 60:
		return answerError, errors.New("try again")
	case draw < 80:
		return answerError, lastlook.RetryAfter(50*time.Millisecond, errors.New("slow down"))
	case draw < 85:
		return answerError, lastlook.Permanent(errors.New("no"))
	case draw < 87:
		return answerError, lastlook.Misconfigured(errors.New("who are you?"))
	case draw < 107:
		return answerUnknown, lastlook.Unknown(errors.New("connection reset"))
	case draw < 112:
		<-ctx.Done()
		return answerHung, ctx.Err()
	case draw < 150:
		if !pause(ctx, time.Duration(draw)*time.Millisecond) {
			return answerHung, ctx.Err()
		}
	case draw < 500:
		pause(ctx, time.Duration(draw)*10*time.Microsecond)
	}
	at, inTime := ch.moment(ctx)
	if !inTime {
		return answerHung, context.DeadlineExceeded
	}
	e.Kind, e.At = KindAccept, at
	ch.journal.add(e)
	if err := ch.life.pass("channel:accepted"); err != nil {
		return answerLost, lastlook.Unknown(err)
	}
	if draw > 970 {
		return answerLost, lastlook.Unknown(errors.New("connection reset while the answer was awaited"))
	}
	return answerOK, nil
}
