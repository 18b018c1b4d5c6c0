// Package store defines the vocabulary of the storage layer: leases, batches, events,
// commands, slots, documents, the limits and checks applied to them, and the errors that
// all engines return.
//
// The package declares no engine and no interface. The engines, store/redisstore and
// store/filestore, have the methods listed below. An open store of either has the fields
// Sessions (sessions, their contents, inbox and directory), Replicas, Semaphores, Rates and
// Documents, each a type of its own, and itself the methods of Health. A consumer gets the
// part it uses and declares an interface with the few methods it needs. store/storetest is
// the contract as executable tests: an engine is correct if it passes them.
//
// # Sessions and leases
//
// A session has a log of events, tables (field → bytes), lists, an inbox of commands and
// a lease. One replica at a time holds the lease and only that replica may write; the
// store itself refuses the writes of every other replica.
//
//	Create(ctx, NewSession) error
//
// Create makes an empty session without an owner. [ErrExists] if the id is in use.
//
//	Claim(ctx, session, replica, ttl) (Lease, error)
//
// Claim makes the replica the owner. It gives the session a new epoch, the maximum of
// the previous epoch + 1 and the store's clock in ms, fences every earlier lease and
// appends the OWNER_CHANGED event of [ClaimEvent] at `<epoch>-0`. Epochs of one id grow
// even across a deletion. The present owner may claim again. Any other replica gets
// [*OwnedError] until the lease is released or has expired. [ErrNotFound] without such a
// session, [*QuarantinedError] if it is quarantined.
//
//	Renew(ctx, Lease) error
//
// Renew extends the lease by its TTL from now. An expired lease that no other replica
// has claimed can still be renewed and used. [ErrFenced] after a release or a later
// claim. [ErrInvalid] for a lease that ClaimShared returned.
//
//	ClaimShared(ctx, session, Incarnation, ttl) (Lease, error)
//
// ClaimShared is Claim for a replica that owns many sessions: the session has no lease of
// its own but names the incarnation of the replica, which has one lease for all its sessions
// of the partition. The claim extends that lease to ttl from now at least. Another replica
// gets [*OwnedError] until the session is released or that lease has expired. Every session
// keeps an epoch of its own, so losing one session to another replica affects no other one.
//
//	RenewShared(ctx, Incarnation, partition, ttl) (Renewal, error)
//
// RenewShared extends the lease of an incarnation in a partition, and so that of all
// sessions that name it, to ttl from now, and creates it if there is none. It also returns
// the live leases of other incarnations, so that a replica which follows thousands of
// sessions gets from one call which owners are gone. An expired lease can still be renewed:
// it keeps the sessions that no other replica has claimed.
//
//	Release(ctx, Lease) error
//
// Release ends the lease, so that any replica can claim the session at once. A release
// with [Lease.Heir] reserves the session for that replica as if it had claimed it: the
// heir alone can claim it, at once, and other replicas when the TTL has expired.
// [ErrFenced] if the lease is not the current one.
//
//	Pack(ctx, Lease) error
//
// Pack ends the lease like Release without an heir, of a session that is not expected to be
// used soon. The engine may store its content in a smaller form. All reads and the inbox go
// on as before; the next Claim restores the other form. If the session cannot be packed now,
// Pack only ends the lease.
//
//	Commit(ctx, Lease, Batch) (Receipt, error)
//
// Commit applies a batch atomically and returns when it is as durable as requested.
// Batches of a lease are numbered from 1 without gaps. Sending the newest number again
// is a retry: nothing is applied and the receipt is that of the first time. Any other
// number, or a Prev that is not the end of the log, is a [*GapError]: the store has lost
// data, and the owner must claim again and write what it knows. [ErrFenced] with a stale
// lease, [ErrTooLarge] beyond [Limits], [ErrNoSpace] on a full disk.
//
//	Delete(ctx, Lease) error
//
// Delete removes the session with all its data. [ErrFenced] with a stale lease.
//
//	Discard(ctx, session) error
//
// Discard removes a quarantined session, whichever replica holds the lease and however
// much of its data is unreadable. [ErrConflict] if the session is not quarantined.
//
//	Deleted(ctx, session, epoch) (bool, error)
//
// Deleted reports whether a session that had the epoch was deleted, as opposed to lost
// by the store. It may return true for a lost session if other sessions were deleted
// later. For several days after a deletion it never returns false for it.
//
//	Recreate(ctx, Lease, NewSession) error
//
// Recreate creates a session that the store has lost, empty, for the replica that held
// its lease: no other replica can claim it meanwhile, and the next epoch is above that
// of the lease. [ErrExists] if the session exists, [ErrNotFound] if it was deleted.
//
// # Reading a session
//
//	Load(ctx, session) (State, error)
//
// Load returns the tables and lists as of one position. It leaves out the log and the
// lists that begin with [ColdPrefix].
//
//	Read(ctx, session, after, limit) ([]Event, error)
//
// Read returns the events after a cursor in order, fewer than the limit only at the end
// of the log. A cursor is valid if the log holds an event at exactly that position, or
// if it is the zero position and nothing was ever trimmed. Otherwise Read fails with
// [ErrTrimmed] before the oldest event, [ErrAhead] after the newest, and
// [ErrUnknownPosition] in between.
//
//	ReadList(ctx, session, list, from, limit) (ListPage, error)
//
// ReadList returns a page of a list, fewer items than the limit only at its end. A
// negative from counts from the end: the page begins -from items before the end, or at
// the start of a shorter list, and ListPage.From holds that index. The newest n items
// are therefore a page from -n with a limit of n. An engine reads no more of the list
// than it returns.
//
//	Tail(ctx, session, after) iter.Seq2[News, error]
//
// Tail yields every event after a cursor once and in order, whichever replica committed
// it, and waits for more. A slow consumer costs a bounded buffer and delays nothing
// else: it continues at its own position, or gets [ErrTrimmed] once the log was trimmed
// beyond it. Tail ends with the first error: one of those of Read, that of the context,
// [ErrClosed], or [ErrNotFound] after a deletion.
//
// # Inbox
//
//	Send(ctx, session, Command...) (duplicates []bool, err error)
//
// Send adds commands to the inbox of the session, in order and in one step. It stops at
// the first command that it refuses, with the reason as the error, and reports for each
// one before whether it was a duplicate. Sending a command again is a duplicate while it
// is in the inbox, where different data is an [ErrConflict], and, whatever its data,
// while it is among the last [Limits.InboxCommands] consumed commands. [ErrFull] if the
// inbox is full. After any other error none may have been added, or all.
//
//	Receive(ctx, Lease) iter.Seq2[[]Command, error]
//
// Receive yields the commands in the order in which they were sent and waits for more.
// A command stays in the inbox until a batch consumes it, and every later Receive of the
// current owner yields it again. Receive ends with the first error: that of the context,
// [ErrClosed], [ErrFenced] once the lease is stale or the session deleted, or
// [*QuarantinedError] once the session is quarantined: so an idle owner is notified of damage that
// another replica has found.
//
// # Directory
//
//	Session(ctx, session) (Info, error)
//	Sessions(ctx, Query) (Page[Info], error)
//
// Session returns the directory entry of one session; Sessions lists them by page. A
// session whose card is unreadable is left out of the listing. With [Query.Recent] the
// sessions come by last change, newest first, and a page costs no more than its size however
// many sessions there are.
//
//	Unattended(ctx, limit) ([]wire.SessionID, error)
//
// Unattended lists sessions that have unfinished work, are not quarantined, and whose
// lease was released or has expired.
//
//	Quarantine(ctx, session, reason) error
//
// Quarantine makes the session refuse Claim, Commit, Delete, Send and Receive with
// [*QuarantinedError] until it is called with an empty reason. Reads, Renew and Release
// go on. A caller with a stale lease may get either that error or [ErrFenced].
//
//	Partition(session) int
//
// Partition returns the number of the failure domain of a session: sessions with the
// same number become unavailable together, and those of one incarnation share a lease.
//
// # Replicas
//
//	Announce(ctx, Replica, ttl) error
//	Withdraw(ctx, replica) error
//	Replicas(ctx, after, limit) (Page[Replica], error)
//
// Announce lists a replica as alive for ttl, Withdraw removes it at once, Replicas lists
// those that are alive.
//
// # Semaphores
//
//	Acquire(ctx, SlotRequest) (Slot, error)
//	RenewSlot(ctx, Slot) error
//	ReleaseSlot(ctx, Slot) error
//	Slots(ctx, semaphore) (SlotUse, error)
//
// Acquire takes a slot of a semaphore. A free slot goes to the waiting request whose key
// holds the fewest slots, and among those to the oldest. [ErrFull] if the semaphore is
// full and [SlotRequest.Wait] is not set. RenewSlot extends a slot by its TTL,
// [ErrFenced] if the slot has expired. A slot that is not renewed expires whether or not
// another request waits. ReleaseSlot frees a slot; Slots counts held slots and waiting
// requests.
//
// # Rate limits
//
//	Take(ctx, key, limit, window) (wait time.Duration, err error)
//
// Take counts one event of a key, over all replicas, and returns 0, unless limit events were
// counted within the last window: then it counts nothing and returns the time to wait.
// Counts need not survive a restart of the store, and a retry after a lost reply may count
// twice. [ErrInvalid] for a limit below 1 or a window below [MinRateWindow].
//
// # Documents
//
//	Get(ctx, collection, name) (Document, error)
//	Put(ctx, Document) (version, error)
//	Remove(ctx, collection, name, version) error
//	Documents(ctx, collection, after, limit) (Page[Document], error)
//
// Get returns a document or [ErrNotFound]. With [ErrCorrupt] it returns the version that a
// Put needs to replace the unreadable document. Put writes one if the stored version is
// [Document.Version] (0: no such document), else [ErrConflict]; a Put without a TTL
// clears an earlier TTL. Remove deletes a document with that version, else, and if there
// is none, [ErrConflict]. Documents lists a collection by page.
//
// # Health
//
//	Ready(ctx) error
//	Close() error
//
// Ready returns nil if the store accepts writes, and [ErrNoSpace] if it refuses them for
// lack of space. After Close every method returns [ErrClosed].
//
// # Rules for all methods
//
//   - A session that was never created or was deleted is [ErrNotFound] for methods that
//     take its id and [ErrFenced] for methods that take a lease.
//   - A lease that was released, or that was followed by another claim, is fenced for
//     every method.
//   - A log keeps at most its bounds, except for a single larger batch. Trimming drops
//     whole batches, oldest first, and never the newest; the event of a claim counts as a
//     batch. A batch is dropped only if the log is over its bounds with it, or still seven
//     eighths full without it.
//   - Limits of reads and listings follow [PageLimit].
//   - Unreadable data is [*CorruptError] and quarantines its session; other sessions are
//     not affected. Data of a newer schema is [ErrNewerSchema] and does not quarantine.
//   - An engine that finds its newest data missing, and cannot attribute it to a session,
//     records the loss in [LossTable] of every session that may be affected.
//   - Values are sealed with a schema version and a checksum (see [Schema]).
//   - Times to live are positive; invalid ids are [wire.ErrID].
//
// Engines are safe for concurrent use, with one exception: commits of one lease come from
// one goroutine, one at a time. The caller's context bounds the wait for a slow store. If
// the store is unreachable, calls return [ErrUnavailable], and a Commit that failed so may
// be retried unchanged.
//
// The checks of this package refuse batches over [Limits], frames with line breaks, and
// invalid names before an engine does any work.
package store
