// Package audit is the chained log of admin actions: it records who requested what before it
// is executed, and how it ended.
//
// # State
//
// The package owns two collections of documents. audit-chain has one record per action that
// begins and one per ending of it, under names that sort the newest first. audit-actions
// holds the state of each action id for a week. Records are only added; the package never
// changes or removes one, and each sequence number is used once.
//
// Each record has the hash of the previous one and its own hash: SHA-256 over "everdesk audit
// 1", seq, prev, id, time in ms since 1970, who, address, action, target, reason, replica,
// result and detail, each as its length in bytes, a colon and the value. A record can
// therefore not be changed, removed or inserted without rewriting all later records, whose
// hashes were logged when they were added.
//
// # Use
//
// The admin API calls [Log.Begin], executes the action unless Begin reports that it was done
// already, and calls [Log.End]. An action with a begin record only was interrupted by a crash
// or is in progress. All methods are safe for concurrent use, also by several replicas.
//
// # Cost and failures
//
// A record costs two writes and three reads, and more under contention: concurrent writers
// compete for the next sequence number and all but one retry. While the store is unavailable
// no record can be written, so no action may be executed. After an error the record may have
// been written; a call with the same id finds out.
//
// # Refusals
//
// Records without an id, a user, an action or a reason, reasons over [MaxReason] characters,
// and an id that was used for another action.
package audit
