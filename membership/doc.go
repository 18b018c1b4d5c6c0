// Package membership tracks which of the hubs that share a store are alive, and delivers
// orders and commands to each of them, whichever hub received the request.
//
// # State
//
// The package owns the announcement of this process in the store's directory of replicas, the
// list of live replicas as of the last read with their users' connection counts, the
// collection fleet with at most one [ReplicaOrder] per replica, a collection
// fleet-errands.REPLICA with the commands for each replica ([Command]; any number at once,
// each answered), and the state of this process: serving, draining or drained. It does not
// define what draining or a command does: [Config.Drain], [Config.Serve] and
// [Config.Execute] do.
//
// # Concurrency
//
// cmd/hub calls [Membership.Run]. All other methods are safe for concurrent use.
// [Membership.Alive] never blocks on the store.
//
// # Timing and failures
//
// A round (announce, list, check for an order) runs every 2 s, or at once after a change; an
// announcement lasts 6 s. While the store is unavailable, and for 6 s after it is available
// again, every replica counts as alive, because its state is unknown. A process that stops in
// order withdraws its announcement; that of a killed one expires after 6 s. A failed drain is
// retried every round until it succeeds or is revoked.
//
// # Orders and commands
//
// An order for a replica that is not alive is refused with [ErrUnknown]. An order names the
// process it is for, so that a process restarted under the same replica name ignores it, and
// it expires after a minute. The same holds for commands; they are polled four times as often
// as rounds run, have 30 s to execute, and are executed again only if their answer could not
// be stored.
package membership
