// Package adminview is the read model of the sessions of all replicas, for admins. Every
// replica serves the same merged view.
//
// # What it owns
//
// The store collection "monitor", and the view of all replicas that a replica serves.
// Replicas do not connect to each other; they exchange documents that expire:
//
//   - interest names the replicas through which an admin looks, and the sessions. Every
//     replica reads it every 500 ms, which is the only cost while no admin looks.
//   - head, history, rows and part are what a replica reports while an admin looks through
//     another one: its measurements, its sessions in compressed chunks of which only
//     changed ones are written, and details of the sessions being looked at.
//
// Every replica takes a sample every 5 s and keeps 15 minutes of them, also while no admin
// looks. So the history is there from the start, and alerts cover the last 10 minutes.
//
// A replica through which an admin looks reads the reports of the others, inspects its own
// sessions, and adds the directory: the 2,000 sessions that changed last and those in
// quarantine. It reads these at the start. After that it reads what changed, every 10 s, and
// for a list request if they are more than a second old. Older sessions are counted, and read
// from the store for the queries that need them: further pages by last change, a user, an id.
// An owner's row takes precedence over the directory, and of two owners the one with the
// higher epoch. So an [Orphaned] session has work and no live owner, a [Dormant] one no owner
// and no work.
// [Redact] and the Redacted methods remove user content, for admins who may not see it.
//
// # Concurrency
//
// cmd/hub runs it; the admin API queries and watches it from any goroutine.
//
// # Latency and failures
//
// A change is visible within two rounds of 500 ms. A slow watcher gets the newest state
// without the ones between. [Watcher.Overview], [Watcher.Sessions] and [Watcher.Detail]
// collect reports for a few seconds without a watch; they wait at most 1.5 s for the other
// replicas and then return what there is. A session that does not answer its own hub within
// 100 ms is [Stuck] and delays nothing else; so is a session used on a hub that cannot own
// it. A live replica without a report for 3 s is an alert. A replica that is no longer
// alive is removed with its rows and history, and is an alert for 2 minutes for admins
// already watching, unless it announced its stop. While the store is unavailable, the
// sessions of this replica are still shown. An interest that is not renewed counts for 6 s,
// by the clock of its reader.
//
// # Bounds and errors
//
// Invalid queries return [ErrQuery]. Documents of another format or version are ignored,
// and none is decompressed beyond 8 MiB. At most 64
// sessions in detail are shown at a time: first those being watched, then the most recently
// requested. At most 4 sessions without a reporting owner are read from the store at a
// time. The package changes nothing: looking at a session neither loads it nor keeps it
// loaded.
package adminview
