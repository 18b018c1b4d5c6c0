// Package tools implements the tools of agents.
//
// A tool has a name, a JSON Schema and a handler. [Executor] looks it up, checks that the
// caller's profile includes it and that the input is valid, asks for permission where
// necessary, executes it and reports to the session. [Caller] carries the context of a call:
// session, monitor, agent and turn. There is no global state.
//
// [Executor] is safe for concurrent use. A tool that only changes the desktop is a function of
// the desktop state that runs inside the session's own step, so that its progress, its actions
// and its result are one commit. Any other tool runs on the caller's goroutine, between a step
// that publishes its start and one that records its result. Unless the tool is repeatable, the
// start is also stored; if the result is missing, the tool may or may not have run, and the
// session reports that instead of running it again. Calls of the tools of a plan's todo are not
// reported to the session.
//
// Data of a user, independent of the desktop, is in documents of the store: memory, hooks,
// settings and remembered permissions. A corrupt document counts as empty and is logged.
//
// A slow tool delays only its turn, until the turn is interrupted. A panic becomes an error
// result.
//
// These are refused with an error result that says what is wrong: unknown tools and tools
// outside the profile, input that does not match the schema or exceeds 4 MiB, windows of other
// monitors, file names outside the session's storage, iframe addresses with a scheme other than
// http and https, and calls that the user does not permit. A permission question without an answer
// within a minute counts as denied. Results have at most 50,000 characters; the rest is cut
// off, with a note.
package tools
