// Package tools implements the tools of agents.
//
// A tool has a name, a JSON Schema and a handler. [Executor] looks it up, checks that the
// caller's profile includes it and that the input is valid, asks for permission where
// necessary, executes it and reports to the session. Everything a tool knows about its context
// comes with the call, in [Caller]: session, monitor, agent and turn. Nothing is taken from the
// process.
//
// Agents call it from any goroutine. A tool that only changes the desktop is a function of the
// desktop state that runs inside the session's own step, so that its progress, its actions and
// its result are one commit. Any other tool runs on the caller's goroutine, between a commit
// that records its begin and one that records its result; if only the first exists, the tool
// may or may not have run, and the session reports that instead of running it again.
//
// Data of a user, independent of the desktop, is in documents of the store: memory, hooks,
// settings and remembered permissions. A document that cannot be read counts as empty and is
// logged.
//
// A slow tool delays only its turn, until the turn is interrupted. A panic becomes an error
// result.
//
// It refuses, always with a result that says what would be right: unknown tools and tools
// outside the profile, input that does not match the schema or exceeds 4 MiB, windows of other
// monitors, file names outside the session's storage, addresses that are code, and what the
// user does not allow. No answer within a minute counts as a denial. Results have at most
// 50,000 characters; the rest is cut off, with a note.
package tools
