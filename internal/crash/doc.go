// Package crash finds out whether an outbox keeps its promises when the process
// that runs it is killed, at whatever moment.
//
// A parent ([Drive]) starts a child process ([Live]) again and again. The child
// is a whole application: an enqueuer with levels, edges and transactions of its
// own, one or two dispatchers, a world that moves, and channels that accept,
// refuse, hang and lose their answers. The parent kills it at random moments;
// then the child kills itself at named points between any two writes. What was
// acknowledged, looked at and accepted stands in append-only journals, written by
// those who did it and never by the outbox. At the end the outbox drains in
// peace, and [Judge], which is pure, holds the database against the journals.
//
// A record of a journal is one write of one line. A process that is killed loses
// no write that has returned, so nothing is synced: only a machine that stops
// could lose it. A line cut in two by the kill was not acknowledged to anybody,
// and is taken out when the journal is next opened.
//
// The package knows no database. A [Backend] brings one, with points of its own
// inside its transactions.
package crash
