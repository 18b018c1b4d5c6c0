// Package audit witnesses: it writes down who had what done, before it is done, and
// how that ended.
//
// # What it owns
//
// The collection audit-chain, with one record per action that begins and one per end of
// it, under names that put the newest first, and audit-actions, which knows for a week
// what became of the id of an action. Records are only ever added; nothing here changes
// or removes one, and no two get the same place.
//
// Each record has the hash of the one before it and a hash of its own: SHA-256 over
// "everdesk audit 1", seq, prev, id, time in ms since 1970, who, address, action,
// target, reason, replica, result and detail, each as its length in bytes, a colon and
// itself. So a record cannot be changed, taken out or put in without all that follow
// being written anew, and those were logged with their hashes when they were added.
//
// # Who may call it
//
// The doors that admins use, from any goroutine of any replica. The order is:
// [Book.Begin], act unless it says that this was done already, [Book.End]. An action
// that only began was cut off by a crash, or is under way.
//
// # When it is slow or stops
//
// A record costs two writes and three reads, and more while others write too: of those
// who want the same place one gets it. When the store is away nothing can be witnessed,
// so nothing may be done either. An error may mean that the record was written; asking
// again with the same id finds out.
//
// # What it refuses
//
// Records without an id, a person, an action or a reason, reasons over
// [MaxReason] characters, and an id that stands for another action already.
package audit
