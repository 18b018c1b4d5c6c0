// Package session owns sessions: it loads them, applies commands to them, keeps their leases and
// moves them between replicas.
//
// [Hub] has the sessions that this replica owns or follows. [Handle] is what a connection holds of
// one session. Every loaded session is a liveSession: one goroutine, which owns the session's state
// for as long as it is loaded, in one of two roles:
//
//   - The owner is an actor. It takes all items from its mailbox, turns them into one step (a batch
//     of events and table changes), commits the step, and only then publishes the events to tabs and
//     acknowledges the items. The mailbox collects while a commit runs. An event that a tab has seen
//     is therefore in the store, and an event that the store lost before the commit was never seen.
//   - The follower reads the log that the owning replica writes, folds the same events into the same
//     state and publishes them to the tabs of its own replica. When the owner is gone the follower
//     claims the session and becomes its owner; the tabs stay attached and get an OWNER_CHANGED.
//
// # Parts
//
// The files are named after the parts:
//
//   - hub_*.go, handle.go: [Hub] with its registry of live sessions, the directory, admin actions,
//     drain, sweep, import and export. hub_leases.go keeps the lease that all owned sessions of a
//     partition share. hub_environment.go has what all live sessions share.
//   - live_*.go, mailbox*.go: the liveSession. live_ownership.go has the table of its roles; each
//     change of role follows it. live_follow.go is the follower; live_relocate.go moves a session to
//     the replica that forwards its commands.
//   - owner*.go, ownership of a session: the owner takes items from the mailbox. Its committer
//     (owner_commit.go) is the only part that commits: it commits, then publishes, then executes
//     effects, and every write names the lease (owner_lease.go). owner_rewrite.go and
//     owner_restore.go bring back what a store has lost.
//   - command*.go, what each message of a client does: commands has one part per group of messages,
//     questions, replies, plans, desktopCommands and conversation, which know nothing of mailboxes,
//     leases and commits.
//   - view*.go, introspection: status, gauges, inspection and activity of an owned session.
//   - agents*.go: the agents of an owned session, and the port through which their tools reach it.
//   - client_calls.go: tool calls of programs, which any replica hands to the owner.
//   - owner_step.go: the stepWriter, which all of these write to.
//
// States are data: live_ownership.go (roles, leases), owner_step_state.go (the step, and the store's
// copy) and mailbox_mode.go have a table of states and events each, with what a state allows.
// ownership_internal_test.go walks every pair.
//
// # Concurrency
//
// All exported methods may be called from any goroutine. [Hub.Run] must be running for leases to be
// renewed; when it returns, every goroutine of this package has ended.
//
// # Slow and failing stores
//
// No lock is held during a store call, and every session calls the store on its own goroutine, so a
// slow call delays no other session. For idle sessions only [Hub.Run] calls the store: one probe per
// partition and second. A mailbox holds 1,024 items; a caller that adds more blocks until its context
// ends. While the store is unavailable, the owner repeats the same commit until its lease is lost;
// tabs stay attached and get STORE_STATUS (live_store_health.go), and commands wait. An owner that
// could not renew its lease in time stops by itself. When the store lost a part of what it had
// acknowledged, or the whole session, the owner writes it again (owner_rewrite.go). [Hub.Drain]
// hands all sessions over and [Hub.Undrain] cancels that. A follower without handles is unloaded
// after 5 s.
//
// A panic ends the step: the session is loaded again from the store and the command that caused the
// panic is refused. After three panics within a minute the session is suspended for 30 s.
//
// The plan of a session runs in its owner, beside the agents that execute its todos. The result of a
// job reaches the plan in the step in which the job ends. Deadlines of questions are honoured whether
// or not a tab is attached. See agents_plan.go.
//
// [Hub.Statuses], [Hub.Inspect] and [Hub.Viewers] serve the admin view. The session's goroutine
// answers them between two steps, without a commit and without keeping an idle session loaded. A
// session that does not answer within 100 ms counts as stuck; view_activity.go records what it
// executes.
//
// # Refusals
//
// A refused command gets MESSAGE_REJECTED in the log; commands.go says what each message does and
// when it is refused. A refused call returns [*Error], which has the code for the client.
package session
