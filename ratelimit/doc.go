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
// What is shared is counted exactly, second by second, in the collection
// quota, one small document per user and kind that goes away a minute
// after the last one. The messages of a connection are counted in the same way, in
// memory: all 100 of a minute may come at once, as a client sends them that comes
// back after a while, and a steady client is not held below the limit. Everything
// else is counted by one replica with a token bucket: a burst, and a refill that
// makes N of both in 60 s (600 interactions are a burst of 120 and 480 more per
// minute). What is refused is not counted.
//
// # Who may call it
//
// The door: a [Limiter] from any goroutine, a [Connection] from the one that
// reads it.
//
// # When it is slow or stops
//
// Counting a connect or a request waits for the store for up to a second and then counts with
// what this replica has seen itself, as it does when the store is away or other
// replicas keep changing the same document. Nothing else waits.
//
// # What it refuses
//
// What is too much; it says how long to wait. Its memory is bounded: of
// addresses and users at least the last 4,096 are remembered and at most twice
// as many, and who is forgotten starts afresh.
package ratelimit
