// Package contextpool remembers: which agent takes which message, what was said
// to whom, and how far every turn is.
//
// # What it owns
//
// [Pool] is the part of a session that knows about agents: the turns under way,
// the queues of main agents and windows, the [Tape] of what was said, a
// [Timeline] for each monitor, the conversations of agents that last, and the
// state of the policies. It is a state machine: no clock, no goroutine, no
// waiting. The session feeds it commands, reports of agents and the time; it
// answers by writing into the step of the session through [StepWriter], and by effects
// on the [Runner] that happen after the step is committed. Everything it knows is
// in the session's tables and lists, so whoever owns the session next goes on
// where it was.
//
// # A message's way
//
// A message to a main agent is decided when it comes, in the order of arrival. If
// the agent is idle, a turn begins with it. If a turn runs that takes messages,
// it is offered to that turn; what the turn does not take goes the next way. If
// a slot is free, an agent is made for it alone. Else it waits, or is rejected
// when too many do. A message is offered or waits only behind those that came
// before it. Messages to a window wait for the agent that the window shares with
// those it opened; a button with an actionId has a turn of its own on a copy of
// the conversation. Every message has one answer (MESSAGE_QUEUED may come first)
// and one end: an AGENT_RESPONSE of its own when the turn that took it ends, or its
// rejection.
//
// # When a conversation becomes too long
//
// How full the memory of an agent is is known from what its model read last, or
// estimated. When that of an agent that lasts is fuller than is wanted, or somebody
// says CONDENSE to a main agent, its model sums it up, in a turn that answers nobody
// and for which messages wait: the agent goes on from the summary. If that does not
// work, the older half is left out. A turn whose model says that there is too
// much goes on without the older half, three times at most. Nothing is deleted, a row
// tells of each time, and who goes back to before it has all of it again.
//
// # What ends it
//
//   - INTERRUPT has turns end as interrupted, as soon as their runs can be
//     stopped. What they said is kept. Queues go on afterwards, or each message
//     in them is rejected.
//   - RESET ends every turn as interrupted in the same step and rejects what
//     waits. Agents and their conversations, tape, timelines, groups, budgets and
//     questions are gone; what could be done again (the reload cache) and the
//     provider stay. What is wanted when a desktop begins happens again.
//   - REWIND ends every turn of a monitor as interrupted, takes back a row and
//     what followed from it, for people and for models, and rejects what waits of
//     that, all in the same step. Agents begin their next turns with what is left.
//     EDIT_MESSAGE says something else there, in that step, too.
//   - REMOVE_MONITOR does the same for one monitor, never for the first, and has
//     nothing happen.
//   - SET_PROVIDER is for the turns that begin later.
//   - Closing the last window of a group ends its agent: what waits is rejected,
//     what runs is interrupted, unless it closed the window itself.
//   - A new owner runs the turns again that were under way, with the results of
//     the tools that had ended. A turn of which nobody knows whether a tool ran is
//     ended as interrupted, and a row asks whether to go on. The third time that a
//     turn that runs is cut off, counted from when a message joined it last, it
//     fails.
//
// # Tasks
//
// A turn gives a task away with a tool call, which is bound to the task in the
// step in which that begins to exist, and ended in the step in which the task
// ends: there is no moment at which the result could be lost, or come twice. A new
// owner treats a task like any turn, but that nobody is asked; what it was given up
// for is its result. The turn that made the call has no run until its tasks have
// ended, and then goes on. When it ends before, so do they.
//
// # Jobs
//
// A job of a plan is a task without a turn that it is for: it works on a copy of
// the main agent's conversation, waits for its slot like everybody, and what came
// of it is handed to the plan by [Stage.Worked] in the step in which it ends. Those
// that only think have no tools, and nobody sees what they say. A new owner begins a
// job anew that has used no tool; else it ends as interrupted and the plan is told
// that nobody knows how far it came. A plan itself is no turn: [Pool.Plan] and
// [Pool.EndPlan] are what people see of its beginning and its end.
//
// # Who may call
//
// The session's own goroutine, within a step. Nothing here waits; a call costs
// about as much as what it changes.
//
// # What it refuses
//
// Messages, by MESSAGE_REJECTED: when there is no provider, no such window, or no
// room in a queue. Tools of a turn that has ended or is to end, by [ErrOver].
// Actions that the desktop or the budget of the monitor does not allow, by a
// result that says so. What is kept and cannot be read is an error of Restore,
// and nothing is mended silently.
package contextpool
