// Package agentpool runs: it gives agents a slot, a provider and a goroutine.
//
// [Limiter] bounds how many agents run at once, over all sessions and replicas,
// and per session and user. [Runner] is what a replica has: the limiter, the
// providers and the tools. A [SessionRunner] is the agents of one session that this replica
// owns; the session tells it what to do after it has committed that it will be
// done, and hears what happens as [Report]s.
//
// A run waits for its slot, opens a conversation with a backend or goes on with
// the one its agent has open, sends the prompt and reports what it hears until the
// turn has ended; then its slot is given back, and only then its end is reported.
// What an agent says is gathered into at most twenty reports a second and never
// overtaken by anything else, tools included. A slot counts a turn that runs, or a
// backend that is a process for as long as that is open; an idle one is closed
// after a while, and soon when somebody waits for its slot.
//
// Who may call: a limiter and a runner from any goroutine. The methods of a session runner
// never wait, but for TryReserve and Close, so the session calls them from its own
// goroutine. Reports wait for the session while it has too much to do: that is how
// a turn feels that the store is slow.
//
// A backend that ignores an interrupt does not block the session runner: the runner ends
// a turn five seconds after its interrupt, and stops waiting for a conversation to close
// after the same time. A panic in a backend's methods or in a tool fails only that run.
// While the store is unavailable, agents without a slot wait and agents with a slot keep
// it. An agent whose slot the store has given to another one is stopped. When the session
// is lost or the session runner is closed, all agents are stopped without a report and all
// slots are released; Close returns after that.
//
// A backend that calls tools over MCP uses the MCP token of its turn and bypasses the
// session runner, so text that it sent before a call may be published after the call. When
// the turn ends, the token is revoked, which aborts calls that are still running.
//
// It refuses a run whose provider there is not. What else may run was decided
// before.
package agentpool
