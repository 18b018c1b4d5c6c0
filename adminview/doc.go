// Package adminview is the read model of the sessions of all replicas, for admins. Every
// replica serves the same merged view.
//
// # What it owns
//
// The store collection "monitor" (the name is older than the package), and the view of all
// replicas that a replica serves. Replicas do not connect to each other; they exchange
// documents that expire:
//
//   - interest says which replica serves an admin now, and which sessions that admin watches.
//     Every replica reads it every 500 ms, which is the only cost while no admin watches.
//   - head, history, rows and part are the report of a replica, written while an admin
//     watches through another one: its measurements, its sessions in compressed chunks of
//     which only changed ones are written, and details of the watched sessions.
//
// Every replica takes a sample every 5 s and keeps 15 minutes of them, also while no admin
// watches. So the charts have a history from the start, and alerts cover the last 10 minutes.
//
// A replica that serves an admin reads the reports of the others, inspects its own sessions,
// and adds the directory: the 2,000 sessions that changed last and those in quarantine. It
// reads the directory once, and then the changes: every 10 s, and for a list request if the
// directory is more than a second old. Older sessions are only counted. A query that needs
// them reads them from the store: further pages by last change, a user, an id.
//
// The row of an owner takes precedence over the directory, and of two owners the one with the
// higher epoch. An [Orphaned] session has work and no live owner, a [Dormant] one no owner and
// no work. [Redact] and the Redacted methods remove user content, for admins who may not see
// it.
//
// # Concurrency
//
// cmd/hub runs it; the admin API queries and watches it from any goroutine.
//
// # Latency and failures
//
// A change is visible within two rounds of 500 ms. A slow watcher gets the newest state
// without the ones between. Without a watch, [Watcher.Overview], [Watcher.Sessions] and
// [Watcher.Detail] make the other replicas report for a few seconds; they wait at most 1.5 s
// for these reports and then return what has arrived. An interest that is not renewed counts
// for 6 s, by the clock of its reader.
//
// A session that does not answer its own hub within 100 ms is [Stuck] and delays nothing
// else. A session that is used on a hub which cannot own it is [Stuck], too. A live replica
// without a report for 3 s is an alert. A replica that is no longer alive is removed with its
// rows and history, and is an alert for 2 minutes for admins already watching, unless it
// announced its stop. While the store is unavailable, the sessions of this replica are still
// shown.
//
// # Bounds and errors
//
// Invalid queries return [ErrQuery]. Documents of another format or version are ignored, and
// none is decompressed beyond 8 MiB. At most 64 sessions in detail are shown at a time: first
// those being watched, then the most recently requested. At most 4 sessions without a
// reporting owner are read from the store at a time. The package changes nothing: watching a
// session neither loads it nor keeps it loaded.
package adminview
