// Package session owns: it keeps sessions alive.
//
// [Hub] is the registry of the sessions this replica owns or follows. [Handle] is
// what a door holds of one session. Inside, every session that is open here has
// a live session, one goroutine that owns its state for as long as it is loaded:
//
//   - as the owner it is an actor. It takes everything that waits in its
//     mailbox, makes one batch of events and table changes of it, commits that,
//     and only then shows it and answers. While a commit is under way the next
//     step collects. What was shown is never lost, and what was lost was never
//     shown.
//   - as a follower it reads the log of the replica that owns the session, folds
//     the same events into the same state and shows them to its own tabs. When
//     the owner is gone it claims the session and goes on as its owner, and the
//     tabs notice nothing but an OWNER_CHANGED.
//
// # Who may call
//
// Doors, from any goroutine. [Hub.Run] must be running for leases to be renewed;
// when it returns, everything this package started has ended.
//
// # When it is slow or stops
//
// No lock is held while the store is asked, and every session waits for the store
// on its own: a slow one holds up nobody else. Only [Hub.Run] asks it for sessions
// in which nothing happens, one of each partition a second. A mailbox takes 1,024 items; who
// brings more waits until its context ends. When the store is away, a commit is
// repeated unchanged until the lease is lost; tabs stay attached and are told, see
// store_health.go, and commands wait. An owner that could not renew its lease in time stops by itself. A store
// that forgot what it had acknowledged, or the whole session, is told again, see
// rewrite.go. [Hub.Drain] hands all sessions over and [Hub.Undrain] takes that back.
// A session of another replica that nobody here uses is unloaded after 5 s.
//
// A panic in a step ends that step: the session is loaded again from the store
// and the command that did it is refused. The third panic within a minute closes
// the session for a while.
//
// The plan of a session is a part of its owner, beside its agents, who work for it:
// what came of their work is told to the plan in the step in which it ends. A question
// that it waits for becomes due whether or not somebody uses the session. See plan.go.
//
// Those who look after sessions ask [Hub.Statuses], [Hub.Inspect] and [Hub.Viewers]. A
// session is looked at between two steps, through a signal of its own, so that an idle
// one stays as it is; one that does not answer within 100 ms is stuck, and doing.go
// knows in what.
//
// # What it refuses
//
// Commands are refused in the log, with MESSAGE_REJECTED: see commands.go for
// what each message does and when it may not. Calls are refused with [*Error],
// which has the code for the client.
package session
