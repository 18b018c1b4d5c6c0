// Package broadcast delivers the log of a session to the sockets of one replica.
//
// # Model
//
// Each session has one [Center]. For every form in use the Center holds a ring of the newest
// events, encoded once with all bytes that go over the wire, and the tabs, each of which is a
// position in its ring. FormBatch uses the ring of FormNative and combines its envelopes when
// they are written. The Center also owns the writing side of a socket: frame headers, partial
// writes, write deadlines. One write covers everything between a tab's position and the head
// of the ring, with one non-blocking system call. Only a tab whose socket is full has a
// goroutine, and only while it is full.
//
// After its session_state a client receives every durable event after its position exactly
// once and in order. A tab that falls behind the ring continues from the log at its own pace;
// where the log was trimmed beyond its position, it gets a new session_state. No tab, however
// slow, holds more than a few dozen kilobytes, and no tab waits for another. The exception is
// a snapshot, which is as large as the desktop: it is held, once for all tabs that share it,
// until the last of them has received it.
//
// [Center.Notify] sends all tabs an event that is not in the log, such as that the store is
// unavailable. It goes through the private queue of each tab, so it has no position and no
// client can resume from it.
//
// # Concurrency
//
// The owner or follower of the session calls [Center.Publish] and [Center.Restart], from one
// goroutine at a time. All other methods are safe for concurrent use. No lock is held during
// an operation that may block, and no callback is called with a lock held. [Writers] are
// shared by all Centers of a replica. The connection of a tab must be closed with
// [Socket.Close].
//
// # Slow clients and shutdown
//
// Publish never blocks on a socket. When the [Writers] fall behind, Publish does a part of
// their work. A tab is closed with 4408 if its socket accepts nothing for
// [Config.WriteTimeout], if it does not receive its own replies, if it loses its position in
// the log three times in a minute, or if more than [Config.SnapshotBytes] of snapshots are
// pending and its own is among the oldest. While the [Source] is unavailable, tabs that need
// it wait and the others go on. [Center.Close] closes all tabs; [Tab.Detach] returns when no
// more bytes are written.
//
// # Errors
//
// A closed Center refuses new tabs with [ErrClosed]. A position that is not in the log is not
// an error: the tab gets a snapshot. Events that were already published are skipped.
package broadcast
