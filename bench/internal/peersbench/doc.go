// Package peersbench measures the outbox on PostgreSQL beside other queues that keep
// their jobs there, on one server, in rounds that take turns, and beside the bound
// that its own statements set.
package peersbench
