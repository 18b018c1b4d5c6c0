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
// When a backend does not do what it is told, the session runner goes on without it: a turn
// that does not end within five seconds of an interrupt is over all the same, and
// so is closing a conversation. A panic in a backend's methods or in a tool fails
// the run and nothing else. While the store is away agents wait for slots, and
// those that have one keep it; one that the store has given to somebody else stops
// its agent. When the session is lost or the session runner is closed, every agent is
// stopped without a word and every slot is given back; Close returns when that has
// happened.
//
// A backend that calls tools over MCP has a badge of its turn and goes to the tools
// by itself, around the session runner: what it said before a call may be shown after it, and
// a call that is under way when the turn ends is cut by taking the badge back and
// not waited for.
//
// It refuses a run whose provider there is not. What else may run was decided
// before.
package agentpool
