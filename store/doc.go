// Package store is the vocabulary of everything that is kept: leases, batches,
// events, commands, slots, documents, and the errors all engines answer with.
//
// It owns no engine and no interface. Engines live in store/redisstore and
// store/filestore and have the methods listed below; whoever uses an engine
// declares the few methods it needs as an interface of its own. store/storetest
// is the executable form of the contract: an engine is whatever passes it.
//
// # Contract
//
// A session has a log of events, tables (field → bytes), lists, an inbox of
// commands and a lease. Exactly one replica at a time holds the lease and only
// it may write; the store itself refuses everybody else, whatever they believe.
//
//	Create(ctx, NewSession) error                     [ErrExists]
//	Recreate(ctx, Lease, NewSession) error            [ErrExists], [ErrNotFound] if it was deleted
//	Deleted(ctx, session, epoch) (bool, error)
//	Claim(ctx, session, replica, ttl) (Lease, error)  [*OwnedError], [ErrNotFound], [*QuarantinedError]
//	Renew(ctx, Lease) error                           [ErrFenced]
//	Release(ctx, Lease) error                         [ErrFenced]
//	Commit(ctx, Lease, Batch) (Receipt, error)        [ErrFenced], [*GapError], [ErrTooLarge], [ErrNoSpace]
//	Delete(ctx, Lease) error                          [ErrFenced]
//	Discard(ctx, session) error                       [ErrConflict] unless it is quarantined
//	Load(ctx, session) (State, error)
//	Read(ctx, session, after, limit) ([]Event, error) [ErrTrimmed], [ErrUnknownPosition], [ErrAhead]
//	ReadList(ctx, session, list, from, limit) (ListPage, error)
//	Tail(ctx, session, after) iter.Seq2[News, error]  the errors of Read
//	Send(ctx, session, Command) (duplicate bool, err error)  [ErrFull], [ErrConflict]
//	Receive(ctx, Lease) iter.Seq2[[]Command, error]   [ErrFenced]
//
// Beside sessions there are a directory, semaphores and documents:
//
//	Session(ctx, session) (Info, error)
//	Sessions(ctx, Query) (Page[Info], error)
//	Unattended(ctx, limit) ([]wire.SessionID, error)
//	Quarantine(ctx, session, reason) error            an empty reason lifts it
//	Partition(session) int                            sessions of one are unavailable together
//	Announce(ctx, Replica, ttl) error
//	Withdraw(ctx, replica) error
//	Replicas(ctx, after, limit) (Page[Replica], error)
//	Acquire(ctx, SlotRequest) (Slot, error)           [ErrFull] when it may not wait
//	RenewSlot(ctx, Slot) error                        [ErrFenced]
//	ReleaseSlot(ctx, Slot) error
//	Slots(ctx, semaphore) (SlotUse, error)
//	Get(ctx, collection, name) (Document, error)      [ErrNotFound]
//	Put(ctx, Document) (version, error)               [ErrConflict]
//	Remove(ctx, collection, name, version) error      [ErrConflict]
//	Documents(ctx, collection, after, limit) (Page[Document], error)
//	Ready(ctx) error                                  [ErrNoSpace] when it takes no writes for lack of room
//	Close() error
//
// # Rules every engine keeps
//
//   - A session nobody created is [ErrNotFound] to whoever names it and
//     [ErrFenced] to whoever has a lease of it. Deleting removes everything.
//   - Claim gives the session a new epoch, max(previous + 1, the store's clock
//     in ms), fences every earlier lease and appends the OWNER_CHANGED event of
//     [ClaimEvent] at `<epoch>-0`. Epochs of an id grow even over its deletion.
//     The replica that holds a session may claim it again; others get
//     *OwnedError until the lease has run out or was released. A lease that was
//     released or followed by another claim is fenced for every use. An expired
//     lease nobody took over is still good for every use. A lease that is released
//     to an heir is that replica's as if it had claimed the session: it alone can
//     claim it, at once, and others when the time to live has run out.
//   - A session that is not found and was not Deleted since an epoch it had is one
//     that the store forgot. Recreate makes it again, empty, for whoever had the
//     lease: nobody else can claim it meanwhile, and the next epoch is above that
//     of the lease. Deleted may say yes of a forgotten session when others were
//     deleted later, and for days never says no of a deleted one that had the epoch.
//   - Commit applies a batch whole or not at all and answers only when it is as
//     durable as asked. Batches of a lease are numbered from 1 without gaps. The
//     newest number sent again is a retry: nothing is applied, the receipt is
//     that of the first time. Any other number, or a Prev that is not the log's
//     top, is a *GapError: the store has forgotten something, and the owner must
//     claim again and write what it knows.
//   - A log keeps at most its bounds (a single larger batch excepted). Trimming
//     drops whole batches, oldest first, and never the newest; a claim's event
//     counts as a batch. A batch is dropped only if the log is over its bounds
//     with it, or still seven eighths full without it.
//   - A cursor is good if and only if the log holds an event at that very
//     position, or it is the zero position and nothing was ever trimmed. Others
//     are [ErrTrimmed] before the oldest event, [ErrAhead] after the newest, and
//     [ErrUnknownPosition] in between.
//   - Limits of reads and listings follow [PageLimit]. Read and ReadList answer
//     with less only when there is no more.
//   - A negative from of ReadList counts from the end: the page begins -from items
//     before it, or where a shorter list begins, and From says where that was. The
//     limit counts from there on, so the newest n items are a page from -n with a
//     limit of n. An engine reads no more of a list than it answers with.
//   - Tail shows every event once and in order, whichever replica committed it.
//     A slow reader costs a bounded buffer and nobody's time but its own: it
//     reads on where it was, or gets [ErrTrimmed] when the log has moved on.
//   - Tail and Receive wait for more until they show an error, and end there:
//     that of the context, [ErrClosed], or after a deletion [ErrNotFound] from
//     Tail and [ErrFenced] from Receive.
//   - Commands are received in the order they were sent, stay in the inbox until
//     a batch consumes them, and are shown again by every later Receive of
//     whoever is the owner then. A command sent again is a duplicate while it is
//     in the inbox ([ErrConflict] if its data differs) and, whatever its data,
//     as long as it is among the last [Limits.InboxCommands] consumed ones.
//   - A slot goes to the waiting request whose key holds the fewest slots, the
//     oldest first. A holder that does not renew loses it, needed or not.
//   - Removing a document that is not there is [ErrConflict]. A Put without a
//     TTL ends an earlier one.
//   - Unattended lists sessions that are working, not quarantined, and whose
//     lease was released or has run out.
//   - A quarantined session refuses Claim, Commit, Delete and Send with
//     *QuarantinedError until an operator lifts it; reads, Renew and Release go
//     on. Who has lost its lease may be told either that or [ErrFenced]. Discard
//     deletes one, whoever has the lease and whatever of it cannot be read.
//   - Data that cannot be read is *CorruptError and quarantines its session; a
//     card is left out of listings instead of breaking them. Other sessions run
//     on. Data of a newer schema is [ErrNewerSchema] and no quarantine.
//   - An engine that finds its newest data missing, and cannot tell whose it was, says
//     so in [LossTable] of every session that it may have been of.
//   - Values are sealed with a schema version and a checksum (see [Schema]).
//   - Times to live are positive; ids that are not valid are [wire.ErrID].
//
// Who may call: any goroutine; engines are safe for concurrent use. Commits of
// one lease come from one goroutine, one at a time. When a store is slow the
// caller's context decides how long to wait; when it is away calls answer
// [ErrUnavailable], and a Commit that ended so may be retried unchanged. After
// Close everything answers [ErrClosed].
//
// The package refuses, before any engine is asked, batches over [Limits], frames
// with line breaks, and names outside the alphabet.
package store
