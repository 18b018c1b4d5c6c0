// Package contextpool remembers: which agent takes which message, what was said
// to whom, and how far every turn is.
//
// [Pool] is the part of a session that knows about agents. It is a state machine:
// no clock, no goroutine, no waiting. The session feeds it commands, reports of
// agents and the time; it answers by writing into the step of the session through
// [Stage], and by effects that happen after the step is committed. Everything it
// knows is in the session's tables and lists, so whoever owns the session next
// goes on where it was.
//
// Who may call: the session's own goroutine, within a step.
package contextpool
