// Package desktop folds the events of a session's log into what the
// desktop looks like.
//
// It owns the rules of the desktop: what each of the actions does to windows,
// monitors, dialogs, prompts, notifications, toasts, badges and shortcuts, what
// the other events say of agents, queues, rows and presence, and which actions
// are refused. Owner, followers and clients all use these rules, so the same log
// gives everybody the same state, the same snapshot and the same hash.
//
// # What is kept
//
// The state is a set of tables. [State.Changes] names the fields that differ
// from the last call, each encoded once however many events touched it;
// [Restore] is the inverse. What a window shows is kept apart from the window, so
// that it can be moved cheaply; what an agent says is kept in pieces of 4 KiB, of
// which only the last changes while it speaks. Everything that decides what
// later events do is in the snapshot, so a client that begins with one ends
// where the owner is. All of it is bounded; the limits are the Max constants.
//
// # Plans
//
// The layer cognitive begins a plan: what there was of the one before goes. A plan
// is under way as long as there is a layer, which ends with the layer response, with
// complete and with failed. Todos and questions are as the newest event of each says;
// events of todos that are not in the plan mean nothing, and a question that is asked
// again keeps its place. A plan that stands still does so until it goes on or ends,
// whatever is said of it in between; a request may also stand still before there is a
// plan for it. How it ended stays until the next plan begins or plan_cleared comes,
// and a layer that starts makes it go on. Deadlines of its questions are not
// ours: who asked closes them.
//
// # Who may call
//
// One goroutine at a time per [State]; the package starts none and does no I/O.
// Nothing here waits and nothing depends on a clock: time is what the events
// say. Snapshots may be read by others while the state goes on, since what they
// share with it is replaced and never changed.
//
// # What it refuses
//
// [State.Check] refuses the actions that the rules forbid: what names a window
// that is not there or that another agent has locked, what would be too much or
// too large, what is no place on a desktop. [State.CheckUser] is for what the
// user does by hand, whom locks do not bind. [State.Apply] refuses nothing, for
// what is in the log has happened; but of what exceeds a limit the oldest goes
// (toasts, notifications, agents, rows) or the new is left out (everything else).
package desktop
