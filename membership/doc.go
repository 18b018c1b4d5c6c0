// Package membership says which of the hubs that share a store are alive, and
// carries what an admin wants of one of them to it, whichever was asked.
//
// # What it owns
//
// The announcement of this process in the store's directory of replicas, the list
// of those who were alive when that was last read and which users crowd them, the collection fleet with at most
// one [ReplicaOrder] per replica, a collection fleet-commands.REPLICA with what others ask of each
// ([Command]; any number at once, each answered), and whether this process serves, drains or is drained.
// What draining means is not its own: [Config.Drain] and [Config.Serve] say, and what an
// command is [Config.Execute].
//
// # Who may call it
//
// cmd/hub runs it; the door for admins asks, from any goroutine; sessions ask
// [Fleet.Alive] and wait for nothing then.
//
// # When it is slow or stops
//
// A round (announce, list, look for a order) takes place every 2 s, or at once after
// a change; an announcement lasts 6 s. While the store is away, and for one such
// span after it came back, everybody counts as alive: nothing is known then. A
// process that ends in order withdraws; one that is killed is gone after 6 s. A drain
// that does not end well is tried again, round by round, until it does or is taken
// back.
//
// # What it refuses
//
// Wishes for a replica that is not alive ([ErrUnknown]). A order names the process it
// is for, so one that is started anew under the same name does not take an old one
// for its own, and a order that nobody saw is forgotten after a minute. The same goes for
// commands; they are looked for four times as often as rounds take place, have 30 s to be
// done, and are done again only when their answer could not be written down.
package membership
