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
// When a tool is slow, its turn waits, until the turn is interrupted.
package tools
