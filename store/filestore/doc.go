// Package filestore keeps everything in one folder of one process: the store
// that needs no server.
//
// It owns the folder, through store/filestore/kvlog, and everything in memory
// that only makes sense while the process lives: leases' lifetimes, slots,
// replicas, and those who wait. The contract is that of package store; this
// package is its logic, kvlog is its disk.
//
// # What is where
//
// A session is one bucket of the log, so that each batch is one record and
// damage concerns the sessions whose records it hit. All documents together are
// another bucket. Every value is sealed with [store.Schema].
//
// Who holds the folder's lock is alone, so leases granted by a process that is
// dead are void when the folder is opened: their sessions are free at once,
// with their epochs still growing. Leases of this very process stay good over
// closing and opening again. Slots and replicas are not kept.
//
// # What may be lost
//
// A process that dies loses nothing it was acknowledged, whatever the sync
// mode. A power cut loses
//
//	always    nothing
//	interval  at most the last [Config.SyncEvery], 50 ms unless set otherwise
//	off       what the operating system had not written by itself
//
// and what it loses is always the newest. A batch with Durable set is on disk
// when Commit answers in the modes always and interval; with off it is not, and
// the receipt says so.
//
// # Bounds
//
// The folder is kept to twice the live data plus kvlog.SlackSegments segments
// (96 MiB as delivered, less while there is less data). Bytes of a deleted
// session are off the disk after at most a day. A session that nobody used for
// five minutes costs about 1 KiB of memory, whatever its size; one in use costs
// about 100 bytes for each batch in its log, field and item. Opening reads the
// whole folder.
//
// # Who may call, and what happens when
//
// Any goroutine may call. One who reads does not wait for those who write, nor
// they for him; those who write to one session take turns, those who write to
// several share system calls. A slow disk makes writers wait until their
// context ends; the write may be done all the same and a retry will find out.
//
// A full disk refuses writes with [store.ErrNoSpace] and nothing is left half
// done; reads go on, Open included, and so do writes as soon as there is space.
// After a failed fsync writes are refused with [store.ErrUnavailable] until the
// store is opened again. Data that cannot be read is copied to the folder's
// aside/ with a report, its session is quarantined where it can be told, the
// others run on. A damaged session is quarantined at every Open until that is
// written down, and its log is not read until it begins after the hole.
//
// It refuses a folder that another process has open, and folders of a newer
// format.
package filestore
