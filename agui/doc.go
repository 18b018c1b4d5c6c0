// Package agui translates between sessions and AG-UI, the protocol of agent frontends such as
// CopilotKit and assistant-ui.
//
// An AG-UI client sends a request with its whole conversation ([Input]) and reads one run: a stream
// of events that ends with RUN_FINISHED or RUN_ERROR. A [Run] turns the log of a session into such a
// stream. It begins with a copy of the desktop state, takes the events that follow it in the log, and
// returns AG-UI events. It does no I/O.
//
// # Names
//
// The runId of a request is the id of the hub's message, so a repeated request has no second effect.
// All messages of a turn have ids that begin with the id of the turn's message and a dot: the text of
// the agent is "m.text", a tool call "m.CALL" and its result "m.CALL.result". The ids are the same in
// every run and snapshot, so a client that lost its connection ends up with each message once.
//
// # Rules of the protocol
//
// Clients exist in two generations, 0.0 and 1.0. Each rejects a stream that breaks its rules. A Run
// keeps the stricter rule of both; what only 1.0 knows is sent to clients that name it in their
// request. Clients take a stream that ends without a final event as success, so whoever sends a
// Run must send [Run.Fail] when it cannot go on.
//
// # Concurrency
//
// A Run belongs to one goroutine. It holds the state of one desktop, whose values it shares with the
// snapshot that it began with.
package agui
