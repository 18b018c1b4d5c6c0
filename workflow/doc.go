// Package workflow executes a message as a plan: a graph of todos that agents work on.
//
// # What it owns
//
// [Flow] is the plan of a session: the layers that a message passes (cognitive, planning,
// execution, response), the todos with their dependencies, and the open questions to the
// user. It is a state machine without clock, goroutine or blocking. The session passes
// messages, answers, control messages, job results and the time to it; it writes events and
// store operations into the step of the session through [StepWriter], and starts jobs
// through [Executor]. Its whole state is in one store table of the session, so the next
// owner continues where it was.
//
// Every call that changes something ends the same way: it starts what can start, emits the
// events, and stores what changed, all in the step of the call. A client that folds the
// events has the same todos and open questions as the flow.
//
// Nothing runs twice. A todo that is completed or skipped never starts again. A todo whose
// job was lost, or whose agent was interrupted within a tool, is requeued and the user is
// asked before it runs again. Ids of jobs and questions are never reused in a session, not
// even after a reset.
//
// The texts of models and users are parsed by stateless functions: plans, changes, graphs,
// answers, insights, results.
//
// # Concurrency
//
// Only the session's own goroutine calls it, within a step. Nothing blocks. An [Executor]
// does not call back before the call that called it has returned. [Flow.Interrupted] is
// called before the jobs are interrupted, so that they are restarted later instead of
// failing.
//
// # Cost and recovery
//
// A plan has at most [MaxTodos] todos, of which [Config.Parallel] run at once, and 20 open
// questions; the cost of a call is proportional to what it changes. A paused plan costs
// nothing: its deadlines stop and continue with the time they had left. After a crash
// [Flow.Restore] and [Flow.Recover] continue from the committed state.
//
// # Errors
//
// A [*Refusal] has the error code for the client: a second plan while one is active,
// control messages that do not fit the state, answers that are invalid, late or to no
// question. A plan of a model that is not a valid graph is sent back once, with a list of
// its faults. [Flow.Restore] refuses records of an unknown newer format.
package workflow
