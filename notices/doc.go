// Package notices makes every replica notice an event that belongs to no session, within a second:
// a sign-out, a changed setting.
//
// A [Board] is a collection of documents. A replica publishes a notice as a document with a short
// TTL; the others list the collection every [Interval] and call back for each document that is new
// or has changed. A notice may be delivered more than once over the restart of a replica, and never
// with old data after new data of the same name. The collection stays small: a notice with the name
// of an earlier one replaces it.
//
// A Board is safe for concurrent use. It has no goroutine of its own: [Board.Watch] runs in that of
// its caller. While the store is unavailable, Watch goes on trying.
package notices
