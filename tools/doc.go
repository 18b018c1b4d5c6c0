// Package tools acts: it is what agents can do.
//
// A tool has a name, a JSON Schema and a way to run. [Executor] finds it, checks
// that the caller's profile has it and that the input fits, asks for permission
// where that is needed, runs it and tells the session. Everything a tool knows
// about where it acts comes with the call, in [Caller]: session, monitor, agent
// and turn. Nothing is taken from the process.
//
// Who may call: agents, from any goroutine. A tool that only changes the desktop
// is a function of the desktop's state that runs inside the session's own step,
// so that its progress, its actions and its result are one commit. Any other
// tool runs with the caller, between a commit that says it begins and one that
// says what came of it; when the first is there and the second is not, it may or
// may not have run, and the session says so instead of running it again.
//
// What belongs to a user and not to a desktop is in documents of the store:
// memory, hooks, settings and remembered permissions. One that cannot be read is
// taken for empty, with a line in the log.
//
// When a tool is slow, its turn waits, until the turn is interrupted. A tool that
// panics is a result that says so.
//
// It refuses, always with a result that says what would be right: tools that do
// not exist or that the profile does not have, input that does not fit the schema
// or is larger than 4 MiB, windows of other monitors, names of files that lead out
// of the session's storage, addresses that are code, and what the user does not
// allow. Nobody's answer within a minute is a no. Results have at most 50,000
// characters; the rest is cut off, with a note.
package tools
