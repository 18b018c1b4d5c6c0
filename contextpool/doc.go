// Package contextpool decides which agent answers which message and keeps the state of every
// turn: queues, conversations, questions and progress.
//
// # What it owns
//
// [Pool] is the part of a session that deals with agents: the turns under way, the queues of
// main agents and windows, the [Tape] of the conversation, a [Timeline] for each monitor, the
// threads of lasting agents (the messages a model reads), and the state of the policies. It is
// a state machine: no clock, no goroutine, no blocking. The session calls it with commands,
// reports of runs and the time. The pool writes events and store operations into the session's
// step through [StepWriter], and registers effects on the [Runner] that execute after the step
// is committed. All of its state is in the session's tables and lists, so the next owner of the
// session continues where the previous one stopped.
//
// # Parts
//
// The pool is made of parts, each with state of its own, that call downwards only. At the bottom
// are what the pool holds: budgets, turns, threads, rows about turns, the transcript, the reload
// cache, window groups, questions, the list of tasks and the queues. Above them are what it does:
// record tool calls, begin turns, end turns, compact threads, apply actions, route messages, apply
// reports, recover, reset and rewind. A change that lets something else begin, such as the end of a
// turn, calls nothing: at the end of each call the pool itself starts what can start.
//
// # States of a turn
//
// A turn is accepted, runs, or waits for its tasks; each of these can be stopping; then it has
// ended. The table in turn_states.go says which event leads where. All changes go through it, and
// an event that a state does not allow has no effect.
//
// # Routing a message
//
// A message to a main agent is routed when it arrives, in the order of arrival:
//
//   - If the main agent is idle, a turn begins with the message.
//   - If a turn is running and its provider accepts messages while it runs, the message is
//     offered to that turn. If the turn refuses it, the next rules apply.
//   - If a slot is free, an ephemeral agent is created for this message alone.
//   - Otherwise the message is queued, or rejected when the queue is full.
//
// A message is offered or queued only behind the messages that arrived before it. Messages to a
// window are queued for the agent that the window shares with the windows it opened. A button
// with an actionId has a turn of its own on a copy of the conversation. Every message gets one
// reply (MESSAGE_QUEUED may precede it) and one end: an AGENT_RESPONSE of its own when the turn
// that took it ends, or its rejection.
//
// # When a conversation becomes too long
//
// The size of a thread is the number of tokens the model read in its newest call, or an
// estimate. When the thread of a lasting agent exceeds the configured share of the context
// window, or a user sends CONDENSE to a main agent, the model summarises it in a turn that
// answers no message; messages are queued meanwhile, and the agent continues from the summary.
// If an automatic summary fails and the thread is too large for the context window, its older
// half is hidden from the model. A turn of a lasting agent whose model reports that its input is
// too long is retried without the older half, at most three times.
// Nothing is deleted: a row records each of these changes, and a rewind to an earlier row makes
// the hidden messages visible again.
//
// # What ends turns
//
//   - INTERRUPT ends turns as interrupted as soon as their runs can be stopped. The text they
//     produced is kept. Queued messages begin afterwards, or each of them is rejected.
//   - RESET ends every turn as interrupted in the same step and rejects queued messages. It
//     deletes agents with their threads, tape, timelines, groups, budgets and questions; the
//     reload cache and the chosen provider stay. The launch hooks run again.
//   - REWIND ends every turn of a monitor as interrupted, removes a row and everything after it,
//     for people and for models, and rejects the queued messages among the removed rows, all in
//     the same step. Agents begin their next turns with the remaining thread. EDIT_MESSAGE does
//     the same and routes the changed message in that step.
//   - REMOVE_MONITOR does what RESET does for one monitor, never for the first one, and runs no
//     launch hooks.
//   - SET_PROVIDER applies to the turns that begin later.
//   - Closing the last window of a group ends its agent: queued messages are rejected, running
//     turns are interrupted, except the turn that closed the window.
//   - A new owner restarts the turns that were under way, with the results of the tool calls
//     that had ended. A turn with a tool call that may or may not have run is ended as
//     interrupted, and a row asks whether to continue. The third time that a running turn is cut
//     off, counted from the last message that joined it, it fails.
//
// # Tasks
//
// A turn delegates a task with a tool call. The call is bound to the task in the step that
// creates the task, and ended in the step in which the task ends, so the result can neither be
// lost nor delivered twice. A new owner treats a task like any other turn, except that it asks
// no question: the reason why a task was not continued is its result. At a new owner a parent
// turn that only waits for tasks has no run until they have ended, and then continues. When the
// parent ends first, its tasks end.
//
// # Jobs
//
// A job of a plan is a task without a parent turn. It works on a copy of the main agent's
// conversation, waits for a slot like any other turn, and its result is given to the plan by
// [EndListener.JobEnded] in the step in which it ends. Jobs that only think have no tools, and
// their text is not published. A new owner restarts a job that has used no tool; otherwise the
// job ends as interrupted and the plan is informed that its progress is unknown. The plan itself
// is no turn: [Pool.BeginPlan] and [Pool.EndPlan] publish its beginning and its end.
//
// # Titles
//
// With Config.Titles a session without a title gets one after its first answer. A turn that users do
// not see sends the beginning of the message and of the answer to the model of the role title, and
// [EndListener.TitleEnded] gets the first line of its reply. At most two runs are started for a session,
// over all owners: the second after a failure, with the next answer, or at a new owner. A title that a
// person gives ends all of that ([Pool.TitleChanged]). Providers without a model are not asked.
//
// # Calls of programs
//
// A tool call of a program outside the hub ([ClientCall]) is a turn without a model, a slot and a
// message. Its result is given to the program by [EndListener.ClientCallEnded]. A new owner ends the
// calls that it finds and never executes one again.
//
// # Concurrency
//
// All methods are called from the session's own goroutine, within a step. No method blocks; the
// cost of a call is about proportional to what it changes.
//
// # What it refuses
//
// Messages, by MESSAGE_REJECTED: when there is no provider, no such window, or no room in a
// queue. Tool calls of a turn that has ended or is being stopped, by [ErrTurnOver]. Actions that
// the desktop or the budget of the monitor does not allow, by a tool result with the reason.
// Stored state that cannot be read is an error of [Pool.Restore]; nothing is repaired silently.
package contextpool
