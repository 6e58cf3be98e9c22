// Package lastlook sends notifications that are still true when they are sent.
//
// A detector only writes a row to an outbox: "this looked true, tell them".
// Later a dispatcher takes the row, looks at the world again, and asks the
// same question of the new value. Still true: it words the message from that
// new value and delivers it. No longer true: it drops the row, with a reason,
// as a normal outcome. Could not look: it tries again. What was "last told"
// moves only when something was really delivered.
//
// # The parts
//
// A [Topic] is a kind of alert: how to look, how to judge, how to word. An
// [Item], made by [Topic.Item] or by an enqueue-only [Handle], is what
// [Outbox.Enqueue] writes, once per [Key] however often the detector repeats
// itself. To enqueue in the transaction of your own data, use EnqueueTx of the
// store. A [Dispatcher] claims due rows, looks, judges and delivers through a
// [Channel]: [Dispatcher.Run] is the loop for a service, [Dispatcher.Tick] one
// pass for cron. A [Store] keeps it all; see the packages below store.
//
// # How often
//
// A key is told once per window: [Once], [Always], [Day] in a zone, [Every]
// duration, or one of the [Episodes] that you number. The window is that of the
// moment of sending, so a row that waited over midnight counts for the day on
// which it was sent. Dropped and failed rows never block a new detection,
// unless they may have been delivered.
//
// # What is guaranteed
//
// At least once, by default: a crash between the channel's acceptance and our
// commit delivers twice, with the same [DeliveryKey] if the value is the same,
// so that the receiver can tell. With [AtMostOnce], nothing whose outcome is
// unknown is tried again. Every claim is fenced by a random token and a lease:
// a holder that was too slow changes nothing and delivers nothing more. A row
// that kills the process ends, too, when its attempts are used up.
//
// The world can still move between the look and the acceptance; how long that
// gap was is what an [Observer] sees. A message is never worded from a look
// older than [Policy.MaxAge] at the moment of the call.
//
// # Errors
//
// Looks and channels classify what went wrong: a plain error is "known not
// done, try again"; [RetryAfter], [Permanent], [Gone], [Misconfigured] and
// [Unknown] say more. Only the core decides what follows. docs/state-machine.md
// lists every transition and every reason.
//
// # Time
//
// The only clock is the one you pass ([WithClock], [Config.Clock]); stores get
// now as an argument. So tests run days in milliseconds: see the package
// lastlooktest.
package lastlook
