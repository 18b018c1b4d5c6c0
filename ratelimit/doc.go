// Package ratelimit limits how often users, addresses and connections may do something.
//
// # What it owns
//
// The rate limits at the door: connects and requests of a user, which are shared
// by all replicas through the store (requests that change something and those that
// only read have limits of their own), connects of an address, and messages and
// renewed credentials of a connection. A limit of N means that
// never more than N pass in any 60 s. It does not own limits of what a session
// holds or does; those are the session's.
//
// Requests of a user are counted by the store, with one operation per request. The
// messages of a connection are counted in the same way, in memory: all 100 of a minute
// may come at once, as from a client that reconnects, and a steady client is not held
// below the limit. All other limits are token buckets of one replica: a burst, and a
// refill that makes N of both in 60 s (600 interactions are a burst of 120 and 480 more
// per minute). A refused request is not counted.
//
// # Who may call it
//
// The door: a [Limiter] from any goroutine, a [Connection] from the one that
// reads it.
//
// # When it is slow or stops
//
// Counting a connect or a request waits for the store for up to a second. Without an
// answer the replica counts by itself what it has seen. No other limit waits.
//
// # What it refuses
//
// What is too much; it says how long to wait. Its memory is bounded: of
// addresses and users at least the last 4,096 are remembered and at most twice
// as many, and who is forgotten starts afresh.
package ratelimit
