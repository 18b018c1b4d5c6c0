// Package session owns: it keeps sessions alive.
//
// [Hub] is the registry of the sessions this replica owns or follows. [Room] is
// what a door holds of one session. Inside, an owned session is an actor: one
// goroutine, one bounded mailbox, no locks around its state; commit, then show,
// then act.
package session
