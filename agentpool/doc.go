// Package agentpool runs: it gives agents a slot, a provider and a goroutine.
//
// [Limiter] bounds how many agents run at once, over all sessions and replicas.
// [Staff] is what a replica has: the limiter, the providers and the tools. A
// [Crew] is the agents of one session that this replica owns; the session tells
// it what to do after it has committed that it will be done, and hears what
// happens as [Report]s.
//
// Who may call: the methods of a crew never wait, so the session calls them from
// its own goroutine. Reports wait for the session while it has too much to do:
// that is how a turn feels that the store is slow. When the session is lost or
// the crew is closed, every agent is stopped and every slot is given back; Close
// returns when that has happened.
//
// It refuses nothing itself: what may run was decided before.
package agentpool
