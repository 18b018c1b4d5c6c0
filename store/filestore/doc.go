// Package filestore implements the contract of package store in one folder, for one hub
// process. It needs no server.
//
// The package owns the folder, through store/filestore/kvlog, and the state that exists
// only while the process lives: expiry times of leases, slots, replicas, and waiting
// callers. kvlog handles the files; this package implements the contract on top.
//
// # Data model
//
// A session is one bucket of the log, so each batch is one record and damage affects only
// the sessions whose records it hit. All documents share another bucket. Every value is
// sealed with [store.Schema].
//
// The folder's lock admits one process, so leases granted by a previous process are void
// when the folder is opened: their sessions are free at once, and epochs keep growing.
// Leases of the same process stay valid across Close and Open. Slots and replicas are not
// stored.
//
// # Durability
//
// The death of the process loses no acknowledged write in any sync mode. A power failure
// loses
//
//	always    nothing
//	interval  at most the last [Config.SyncEvery], 50 ms by default
//	off       everything the operating system had not yet written
//
// and the loss is always a suffix of the writes. A batch with Durable set is on disk when
// Commit returns in the modes always and interval; in mode off it is not, and the receipt
// says so.
//
// # Bounds
//
// The folder is bounded by twice the live data plus kvlog.SlackSegments segments (96 MiB
// with default settings, less while there is less data). The data of a deleted session is
// off the disk after at most a day. A session that was not used for five minutes costs
// about 1 KiB of memory, whatever its size; a session in use costs about 100 bytes for each
// batch in its log, each field and each item. Opening reads the whole folder.
//
// # Concurrency
//
// All methods are safe for concurrent use. Readers and writers do not wait for each other.
// Writers to one session are serialised by its lock; writers to several sessions share
// system calls. A slow disk blocks a writer until its context ends; the write may still
// succeed then, and a retry detects that.
//
// # Errors
//
// A full disk refuses writes with [store.ErrNoSpace] and leaves no partial write. Reads,
// including Open, go on, and writes succeed again as soon as there is space. After a failed
// fsync writes are refused with [store.ErrUnavailable] until the store is opened again.
// Unreadable data is copied to the quarantine folder aside/ with a report; its session is
// quarantined if it can be identified, and other sessions are not affected. Every Open
// quarantines a damaged session again until the quarantine is stored, and the session's log
// is unreadable until it was repaired to begin after the gap.
//
// Open refuses a folder that another process has open, and folders of a newer format.
package filestore
