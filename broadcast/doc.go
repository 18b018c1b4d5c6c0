// Package broadcast shows: it brings the log of a session to the sockets of one
// replica.
//
// # What it owns
//
// Per session one [Center]: for every form in use a ring of the newest events,
// encoded once with everything that goes over the wire, and the tabs, each of
// which is a position in its ring. FormBatch has the ring of FormNative, whose
// envelopes are put together when they are written. The Center also owns the bytes on the way out of a
// socket: frame headers, partial writes, write deadlines. A write takes all that
// lies between a tab's position and the head of the ring, with one system call
// that does not wait. Only a tab whose socket is full has a goroutine, and only
// as long as it is full.
//
// From its session_state on, a client sees every durable event after its
// position exactly once and in order. A tab that falls off the ring reads on from
// the log at its own pace; where the log has moved on, it gets a fresh
// session_state. No tab, however slow, holds more than a few dozen kilobytes, and
// none waits for another. The exception is a snapshot, which is as large as the
// desktop is: it is held, once for all who were given the same, until the last of
// them has taken it.
//
// What is not in the log and yet for everybody, such as that the store is away, is
// said with [Center.Notify]: it goes through the private queue of each tab, so it
// takes no position and nobody can resume from it.
//
// # Who may call it
//
// The owner or follower of the session calls [Center.Publish] and
// [Center.Restart], from one goroutine at a time. Everything else may be called
// from anywhere. No lock is held while something may wait, and no callback is
// called with one. [Writers] are shared by all Centers of a replica. Who closes the
// connection of a tab does so with [Socket.Close].
//
// # When it is slow or stops
//
// Publish never waits for a socket. When the [Writers] are behind, it takes its
// share of their work. A socket that takes nothing for [Config.WriteTimeout], a
// tab that does not take its own answers, one that loses its place in the log
// three times in a minute, and those with the oldest snapshots when more than
// [Config.SnapshotBytes] of them wait to be taken are given up with 4408. While the [Source] cannot
// answer, tabs that need it wait and the others go on. [Center.Close] gives all
// tabs up; [Tab.Detach] returns when nothing is written any more.
//
// # What it refuses
//
// Tabs of a Center that was closed, with [ErrClosed]. Positions that are not in
// the log are no error: they mean a snapshot. Events that were published already
// are skipped.
package broadcast
