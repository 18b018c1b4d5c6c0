// Package kvlog is an ordered key-value store in one folder, made of one
// append-only log with its index in memory ("Bitcask with order").
//
// It owns the folder: the lock file, the format file, the durable file, the segment
// files and aside/, where unreadable bytes go. Other files in the folder are left alone.
//
// # Model
//
// Keys live in buckets. A [Batch] changes keys of one bucket, whole or not at
// all, and is one checksummed record of the log. [Log.Submit] queues a batch;
// one committer goroutine writes everything that queued up until [Log.Wake], or
// while the write before was under way, with one system call, applies it to the
// index and then calls every batch back, in the order of the log. The index keeps
// where each value lies, not the value; [Log.Select] picks entries without
// touching the disk and reads them with no lock held.
//
// # Memory
//
// An entry costs about 70 bytes plus its key. A bucket that nobody used for
// [Config.FoldAfter] is folded: its index is written to the log and only keys
// that begin with a zero byte stay in memory, some 200 bytes in all. The next
// use reads it back.
//
// # Disk
//
// Segments are compacted oldest first, by writing what is still live to the end
// of the log while commits go on. The folder is kept to at most twice the live
// bytes plus [SlackSegments] segments: when compaction falls behind, commits
// wait for it. After much was deleted at once it takes a moment to get there.
// Live bytes count keys, values and a few bytes of framing each.
// What a dropped bucket held is off the disk at the latest [Config.PurgeAfter]
// after the drop, unless the disk was full meanwhile.
//
// # What may be lost
//
// A batch is handed to the operating system before its callback, so the death
// of the process loses nothing that was called back, in any [Sync] mode. A
// power cut loses nothing with [SyncAlways], at most the last
// [Config.SyncEvery] with [SyncInterval], and whatever the system had not
// written with [SyncOff], always from the end backwards.
//
// # Damage
//
// Every record says how much of the log was known to be on disk when it was
// written, and the durable file says it of the end of the log. So [Open] can tell a tail that a crash tore off, which it cuts, from
// damage to what had been safe, which it copies to aside/ with a report, tells
// [Config.OnDamage] and steps over. A segment says how long the one before it
// became, so one that ends too early is noticed as well, and its header is on disk before
// it has a name, so that an empty segment is damage. A segment whose end is missing is not
// written to again. Every Open tells of all
// damage that is still in the log, under the same report. Records of a bucket are numbered, so a
// bucket that lost one is known even if the lost record cannot say whose it was. The
// buckets without later records are [Damage.Suspects].
//
// # When things go wrong
//
// A full disk refuses the batches that did not fit with [ErrNoSpace], takes
// back what was half written, and goes on as soon as there is room. After a
// failed fsync nobody knows what is on the disk, so the log takes no more
// batches ([ErrBroken]) until it is opened again; reads go on.
//
// Who may call: any goroutine, but callbacks run on the committer and must
// neither block nor call Submit's waiting relatives. When the disk is slow,
// batches wait and reads that need the disk wait; nothing else does. The queue
// of [Log.Submit] has no bound of its own: whoever calls it without waiting for
// the callbacks must bound what it has under way. After
// Close every call answers [ErrClosed].
//
// It refuses a folder that another process has open, folders of a newer format,
// bucket names over 255 bytes and records over 1 GiB. It runs on Unix systems.
package kvlog
