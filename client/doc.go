// Package client keeps a program attached to one session of a hub and reconnects when the
// connection is lost.
//
// # What it owns
//
// One [Client] owns one connection at a time, the cursor into the session's log, a mirror
// of the desktop state built by the same rules as the hub's, and the messages that were
// sent and not answered yet. The program sees every durable event after the cursor exactly
// once and in order; when the hub reports that the cursor is no longer valid, a snapshot
// replaces the mirror.
//
// # Concurrency
//
// [Client.Run] is called once, from one goroutine; it calls the functions in [Config] from
// there, one at a time. Everything else may be called from any goroutine, also before Run.
// Those functions must not wait for the answer to a message, since Run would have to read
// it.
//
// # Slow handlers and lost connections
//
// A slow handler slows the reading down: a few frames are buffered, then the socket fills
// up and the hub closes the connection of the slow client. The client resumes where it was,
// so being slow loses nothing. It reconnects forever, with growing random delays. It sends
// unanswered messages again with the same id: over a new connection, after a snapshot that
// may include their answers, and when the hub asked to wait, which also slows down all
// other messages. When Run returns, everything it started has ended, and calls that wait
// for an answer return [ErrClosed].
//
// # What it refuses
//
// It does not retry what the hub has refused permanently: wrong credentials, a missing
// session, too many bad messages. Run then returns an [*Error] with the close code. With
// [Config.Unanswered] unanswered messages, sending blocks. It does not repeat a frame that
// the hub found too large or not to be valid text; its sender gets the error.
package client
