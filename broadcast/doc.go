// Package broadcast shows: it brings the log of a session to the sockets of one
// replica.
//
// It owns, per session, one [Center]: a ring of the newest frames, encoded once
// per form in use, and the tabs, each of which is a cursor into the ring and a
// small private queue for its own answers. It also owns the bytes on the way out
// of a socket: frame headers, partial writes, write deadlines.
package broadcast
