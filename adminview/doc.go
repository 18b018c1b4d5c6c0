// Package adminview is the read model of the sessions of all replicas, for admins: it merges what all replicas know of their sessions,
// for whoever looks after them, whichever replica they ask.
//
// # What it owns
//
// The collection monitor of the store, and the view of the whole fleet that a replica
// shows. No replica talks to another; all of it goes through documents that expire:
//
//   - interest says through which replicas somebody looks, and at which sessions. Every
//     replica reads it every 500 ms. That is all it costs while nobody looks.
//   - head, history, rows and part are what a replica reports while somebody looks
//     through another: what it measures and has measured, its sessions in compressed
//     chunks of which only those are written that have changed, and more of the
//     sessions that are looked at.
//
// Every replica measures itself every 5 s and remembers a quarter of an hour of it,
// also when nobody looks. So who begins to look sees what all replicas have measured
// together before, and alerts say what was counted in the last 10 minutes.
//
// Who looks reads those of the others, asks the sessions here, and adds what the
// directory says of all sessions, which is read at first and every 10 s, and for who
// asks for a list again when that is more than a second old. A row of an
// owner counts more than the directory, and of two owners the one with the higher
// epoch. So [Orphaned] has work and no owner that is alive, and [Dormant] no owner and
// nothing to do. [Redact] and the methods Redacted leave out what people wrote, for
// those who may not see it.
//
// # Who may call it
//
// cmd/hub runs it; the door for admins asks and watches, from any goroutine.
//
// # When it is slow or stops
//
// What changes is shown within two rounds, each of 500 ms. Who is slow is shown the
// newest state and not what was between. [Watcher.Overview], [Watcher.Sessions] and
// [Watcher.Detail] look for a few seconds without a watch and wait 1.5 s at the most
// for the others to tell; then they answer with what there is. A session that does not
// answer its own hub within 100 ms is [Stuck] and delays nobody, and so is one that is
// used at a hub which cannot own it. A replica that is alive and says nothing for 3 s
// is an alert; one that is not alive any more is gone with its rows and its history,
// and an alert for 2 minutes to those who look already unless it has said that it
// stops. When the store is away, the sessions of this replica are still shown.
// An interest that is not renewed counts for 6 s, by the clock of whoever reads it.
//
// # What it refuses
//
// Queries that make no sense ([ErrQuery]). Documents that it did not write, or of
// another version, are ignored, and nothing is unpacked to more than 8 MiB. It shows
// 100,000 sessions of the directory and 64 sessions in detail at the same time: first
// those that are watched, then those that were asked for last. Of sessions that no owner
// tells of, 4 are read at the same time. It changes nothing: looking at a session
// neither loads it nor keeps it loaded.
package adminview
