// Package ratelimit limits how often users, addresses and connections may do something.
//
// # What it owns
//
// The rate limits of the gateway: connects and requests of a user, which all replicas share
// through the store (requests that change something and those that only read have separate
// limits), connects of an address, and messages and renewed credentials of a connection. A
// limit of N means that never more than N pass in any 60 s. Limits of what a session holds
// or does belong to package session.
//
// Connects and requests of a user are counted by the store, with one operation each. The
// messages of a connection are counted in the same way, in memory: all 100 of a minute
// may come at once, as from a client that reconnects, and a steady client is not held
// below the limit. All other limits are token buckets of one replica: a burst and a refill
// that add up to N in 60 s (600 interactions are a burst of 120 and 480 more per minute). A
// refused attempt is not counted.
//
// # Concurrency
//
// A [Limiter] may be used from any goroutine, a [Connection] only from the one that reads
// it. Package gateway uses both.
//
// # Slow or unavailable store
//
// Counting a connect or a request waits for the store for up to a second. Without an answer
// the replica counts by itself what it has seen. No other limit waits.
//
// # Bounds
//
// Refusals return how long to wait. Memory is bounded: at least the last 4,096 addresses
// and users are kept and at most twice as many; a dropped one starts with a full
// limit.
package ratelimit
