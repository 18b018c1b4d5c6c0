// Package audit witnesses: it writes down who had what done, before it is done.
//
// # What it owns
//
// The collections audit, with one record per action under a name that puts the
// newest first, and audit-actions, which knows for a week what became of the id of
// an action, so that the same id never makes a second record. Records are only ever
// added; nothing here changes or removes one.
//
// # Who may call it
//
// The doors that admins use, from any goroutine of any replica. The order is:
// [Book.Witness], act unless it says that this was done already, [Book.Done].
//
// # When it is slow or stops
//
// A record costs two writes, and a repeated action one more read. When the store is
// away nothing can be witnessed, so nothing may be done either. An error may mean
// that the record was written; asking again with the same id finds out.
//
// # What it refuses
//
// Records without an id, a person, an action or a reason, reasons over
// [MaxReason] characters, and an id that stands for another action already.
package audit
