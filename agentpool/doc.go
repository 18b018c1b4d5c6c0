// Package agentpool executes runs: it gives each agent a slot, a provider session and a
// goroutine.
//
// [Limiter] bounds the number of concurrent agents, over all sessions and replicas, and per
// session and user. [Runner] belongs to a replica: it has the limiter, the providers and the
// tools. A [SessionRunner] executes the agents of one session that this replica owns. The
// session calls it after the commit of the step that decided the call, and receives
// [Report]s.
//
// A run waits for its slot, opens a provider session or reuses the one its agent has open,
// sends the prompt and reports events until the turn has ended. Then it releases its slot, and
// only then reports its end. Text of an agent is reported at once while the
// replica has few streams, and in at most twenty reports per second and run while it has many;
// no other report, including the start of a tool call, overtakes it. A slot counts a running turn, or, if the backend is a process, an open provider session. An idle provider
// session is closed after a while, and soon if another agent waits for its slot.
//
// Limiter and runner are safe for concurrent use. The methods of a session runner do not block,
// except TryReserve and Close, so the session calls them from its own goroutine. Reports block
// while the session's mailbox is full: this is the backpressure of a slow store on a turn.
//
// A backend that ignores an interrupt does not block the session runner: the runner ends
// a turn five seconds after its interrupt, and stops waiting for a provider session to close
// after the same time. A panic in a backend's methods or in a tool fails only that run.
// While the store is unavailable, agents without a slot wait and agents with a slot keep
// it. An agent whose slot the store has given to another one is stopped. When the session
// is lost or the session runner is closed, all agents are stopped without a report and all
// slots are released; Close returns after that.
//
// A backend that calls tools over MCP has one MCP token per provider session, because a process
// lives for many turns. Its calls are executed like those of other backends: in the turn that runs
// when a call arrives, and in none between turns, when they are refused. The end of a turn aborts
// its calls. The token is revoked when the provider session is closed.
//
// The package refuses only runs whose provider does not exist. All other decisions are made
// before a run is started.
package agentpool
