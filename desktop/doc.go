// Package desktop folds the events of a session's log into the desktop state.
//
// It owns the rules of the desktop: the effect of each action on windows, monitors,
// dialogs, prompts, notifications, toasts, badges and shortcuts, the effect of other events
// on agents, queues, rows and presence, and which actions are refused. Owner, followers and
// clients all use these rules, so the same log gives all of them the same state, the same
// snapshot and the same hash.
//
// # Parts
//
// [State] passes each event to the parts that it concerns; a part holds tables of its own
// and knows no other part. The surface is the visible desktop, which actions change:
// monitors, windows, notices and icons. The other parts are the agents with their texts,
// the rows, the plan, and the properties of the session.
//
// # Storage
//
// The state is a set of tables. [State.Changes] returns the fields that changed since the
// last call, each encoded once however many events touched it; [Restore] is the inverse.
// The content of a window is stored separately from the window, so that moving a window is
// cheap. What is appended to a long text is stored in pieces behind it, so that an append
// costs the same for any size; programs that do not know pieces refuse such a session. The
// text of an agent is stored in pieces of 4 KiB, of which only the last changes
// while the agent streams. The snapshot contains everything that later events depend on, so
// a client that starts with a snapshot ends in the owner's state. Everything is bounded by
// the Max constants.
//
// # Plans
//
// The layer cognitive starts a plan and removes the previous one. A plan is active as long
// as there is a layer; the layer ends with the layer response, with complete and with
// failed. Todos and questions are as in the newest event of each; events of unknown todos
// are ignored, and a question that is asked again keeps its place. A paused plan stays
// paused until it is resumed or ends, whatever other events say; a request may also be
// paused before it has a plan. The outcome stays until the next plan starts or plan_cleared
// arrives, and a layer that starts makes the plan active again. The desktop does not
// enforce deadlines of a plan's questions: the owner closes them by events.
//
// # Concurrency
//
// One goroutine at a time may use a [State]; the package starts none and does no I/O.
// Nothing blocks and nothing depends on a clock: time is the time of the events. Snapshots
// may be read concurrently, because values shared with the state are replaced and never
// modified.
//
// # Errors and bounds
//
// [State.Check] refuses actions that the rules forbid: unknown or locked windows, too many
// or too large objects, invalid positions. [State.CheckUser] is for actions of the user, to
// which locks do not apply. [State.Apply] refuses nothing, because the log is history;
// beyond a limit it drops the oldest (toasts, notifications, agents, rows) or ignores the
// new (everything else).
package desktop
