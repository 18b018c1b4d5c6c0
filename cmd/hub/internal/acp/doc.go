// Package acp is `hub acp`: it makes the sessions of a hub available to editors and other clients of the
// Agent Client Protocol, over standard input and output.
//
// It runs no agent. It translates between one client of the protocol and the hub, to which every open
// session has a connection of package client. So it may end at any time, and the hub may be restarted
// meanwhile: the session goes on, and a prompt is answered when its turn ends.
//
// # Rules that differ from other agents
//
// A session is shared with tabs and other programs. Messages that people write elsewhere are updates
// here, a question is asked here and there and the first answer counts, and session/close leaves a
// session without stopping it. A second session/prompt is passed on to the agent that works; only
// session/cancel interrupts, and only the turn of a prompt that came from here.
//
// # Concurrency
//
// A [server] reads the input on one goroutine and serves each call on its own. An [openSession] translates
// on the goroutine of its client, in the order of the log.
package acp
