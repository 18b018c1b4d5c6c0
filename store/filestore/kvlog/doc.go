// Package kvlog is an ordered key-value store in one folder: an append-only log with its
// index in memory, like Bitcask but with ordered keys.
//
// The package owns the folder: the lock file, the format file, the durable file, the
// segment files and the quarantine folder aside/ for unreadable bytes. It ignores other
// files in the folder.
//
// # Scope
//
// kvlog is frozen: bugs are fixed, features are not added. It serves one process with many
// small groups of keys ("buckets"), small atomic batches, group commit, and indexes that
// can be evicted from memory bucket by bucket. Choose another engine, such as Pebble, bbolt
// or SQLite, for transactions over several buckets, for snapshots or secondary indexes, for
// access by several processes, or for a data set that must open faster than its log can be
// read. Choose store/redisstore for several replicas.
//
// # Model
//
// Keys live in buckets. A [Batch] changes keys of one bucket atomically and is one
// checksummed record of the log. [Log.Submit] queues a batch. One committer goroutine writes
// all batches that were queued before [Log.Wake], or while the previous write was in
// progress, with one system call, applies them to the index and then calls the callback of
// each, in log order. The index holds the location of each value, not the value;
// [Log.Select] picks entries without touching the disk and reads the values without holding
// a lock.
//
// # Memory
//
// An entry costs about 70 bytes plus its key. The index of a bucket that was not used for
// [Config.EvictAfter] is evicted: it is written to the log as one record, and only the
// entries whose key begins with a zero byte stay in memory, some 200 bytes in all. The next
// use of the bucket loads the index again.
//
// # Disk
//
// Compaction processes segments oldest first: it appends the live values of a segment to the
// end of the log, while commits go on, and deletes the segment. The folder is bounded by
// twice the live bytes plus [SlackSegments] segments: when compaction falls behind, commits
// wait for it. After many deletions at once it takes a moment to reach the bound. Live bytes
// count keys, values and a few bytes of framing for each. The values of a dropped bucket are
// off the disk at the latest [Config.PurgeAfter] after the drop, unless the disk was full
// meanwhile.
//
// # Durability
//
// A batch is handed to the operating system before its callback runs, so the death of the
// process loses no batch whose callback ran, in any [Sync] mode. A power failure loses
// nothing with [SyncAlways], at most the last [Config.SyncEvery] with [SyncInterval], and
// all data that the operating system had not written with [SyncOff]. The loss is always a
// suffix of the log.
//
// # Damage
//
// Every record states up to which point the log was durable when the record was written, and
// the durable file states it for the end of the log. [Open] can therefore distinguish a tail
// torn by a crash, which it truncates, from damage to durable data, which it copies to aside/
// with a report, passes to [Config.OnDamage] and skips. A segment header states the final
// size of the segment before it, so a segment that is too short is detected as well. The
// header is durable before the segment file gets its name, so an empty segment is damage. A
// segment whose end is missing is never written to again. Every Open reports all damage that
// is still in the log, under the same report name. The records of a bucket are numbered, so
// the loss of a record is detected even if the record cannot be attributed to its bucket, as
// long as the bucket has later records. The buckets without later records are
// [Damage.Suspects].
//
// # Errors
//
// On a full disk, the batches that do not fit fail with [ErrNoSpace], a partial write is
// truncated, and later batches succeed as soon as there is space. After a failed fsync the
// content of the disk is unknown, so the log refuses batches with [ErrBroken] until it is
// opened again; reads go on.
//
// # Concurrency
//
// All methods are safe for concurrent use. Callbacks run on the committer goroutine; they
// must not block and must not call methods that wait for the committer ([Log.Apply]). A slow
// disk delays batches and reads of values, nothing else. The queue of [Log.Submit] is
// unbounded: a caller that does not wait for its callbacks must bound its outstanding
// batches. After Close every call returns [ErrClosed].
//
// # Limits
//
// Open refuses a folder that another process has open and a folder of a newer format. Bucket
// names are limited to 255 bytes and records to 1 GiB.
package kvlog
