// Package agui serves AG-UI, the protocol of agent frontends: it finds the session of a thread,
// delivers the messages of requests, and streams the session's log as package agui at the top
// translates it.
//
// A closed connection cancels nothing. A request with the same runId shows the same turn again, on
// any replica, so a client that lost its connection repeats its request. A stream ends when its user
// may no longer see the session.
package agui
