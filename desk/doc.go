// Package desk mirrors: it folds the events of a session's log into what the
// desktop looks like.
//
// It owns the rules of the desktop: what each of the actions does to windows,
// monitors, dialogs, prompts, notifications, toasts, badges and shortcuts, and
// which of them are refused. Owner, followers and clients all use these rules,
// so the same log gives everybody the same state, the same snapshot and the
// same hash.
//
// Who may call: one goroutine at a time per [State]; the package starts none and
// does no I/O. Nothing here waits and nothing depends on a clock: time is what
// the events say.
//
// It refuses, in [State.Check], actions that the rules of the desktop forbid.
// [State.Apply] refuses nothing: what is in the log has happened.
package desk
