// Package client follows: it keeps a program attached to one session of a hub,
// whatever happens to the connection.
//
// # What it owns
//
// One [Client] owns one connection at a time, the cursor into the session's log,
// a mirror of the desktop made by the same rules as the hub's, and the messages
// that were sent and not answered yet. Its user sees every durable event after
// the cursor exactly once and in order; when the hub says that the cursor is not
// good any more, a snapshot replaces what was known.
//
// # Who may call it
//
// [Client.Run] once, from one goroutine; it calls the functions in [Config] from
// there, one at a time. Everything else from any goroutine, also before Run.
// Those functions must not wait for the answer to a message, since it is Run
// that would have to read it.
//
// # When it is slow or stops
//
// A slow handler slows the reading down: a few frames are held, then the socket
// fills up and the hub takes the client for slow. It closes the connection and
// the client resumes where it was, so being slow loses nothing. A lost connection
// is made anew for ever, with growing random waits. Messages without an answer
// are sent again with the same id: over a new connection, when a snapshot may have
// passed over their answers, and when the hub asked to wait with them, which also
// slows down all others. When Run returns, everything it started has ended, and
// whoever waits for an answer gets [ErrClosed].
//
// # What it refuses
//
// To try again what the hub has refused for good: wrong credentials, a session
// that is not there, too many bad messages. Run returns an [*Error] with the
// close code then. More unanswered messages than [Config.Unanswered]: sending
// waits. A frame that the hub found too large or not to be text is not sent
// again; its sender gets the error.
package client
