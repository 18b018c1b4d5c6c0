package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Lease is proof of ownership. Epoch grows with every claim of a session, so a
// write that carries an old one is refused by the store itself.
type Lease struct {
	Session wire.SessionID
	Replica wire.ReplicaID
	Epoch   uint64
	// TTL is how long the store waits for the next Renew before others may
	// claim the session.
	TTL time.Duration
	// Prev is where the log ended before this claim; zero for a new session.
	Prev wire.Position
	// Heir is for Release only: the replica for which the session is kept for a
	// TTL, so that nobody else can claim it meanwhile. Without one it is free.
	Heir wire.ReplicaID
}

// CheckHeir refuses a release to somebody who cannot claim the session.
func (l Lease) CheckHeir() error {
	switch l.Heir {
	case "":
		return nil
	case l.Replica:
		return fmt.Errorf("%w: %s cannot be its own heir", ErrInvalid, l.Replica)
	}
	return errors.Join(l.Heir.Validate(), CheckTTL(l.TTL))
}

// Top is the position of the claim's own event, and so the Prev of the first
// batch under this lease.
func (l Lease) Top() wire.Position { return wire.Position{Epoch: l.Epoch} }

// Event is one line of a session's log: the bytes that were committed, which
// are also the bytes every tab is sent. Readers must not change Frame.
type Event struct {
	At    wire.Position
	Frame []byte
}

// News is what a tail shows: events that continue the log without a gap, or
// none when the only news is that nobody owns the session any more.
type News struct {
	Events []Event
	// Vacant says that the owner released the session, so that whoever has
	// use for it may claim it at once.
	Vacant bool
}

// Batch is one step of a session's owner, applied whole or not at all.
type Batch struct {
	// Number counts the batches of a lease from 1.
	Number uint64
	// Prev is the position the owner believes the log ends at.
	Prev wire.Position
	// Events are the frames to append. The first gets Prev.Seq+1 in the
	// lease's epoch, the others follow.
	Events [][]byte
	// Ops change tables and lists, in this order.
	Ops []Op
	// Consumed are ids of commands that leave the inbox.
	Consumed []string
	// Card, unless nil, replaces what listings show of the session.
	Card []byte
	// Working, unless nil, says whether the session has unfinished work and
	// must not be left without an owner.
	Working *bool
	// Durable asks for more than the engine's everyday promise: a second
	// Redis node has it, or it is on disk.
	Durable bool
}

// Receipt says what became of a batch.
type Receipt struct {
	// Top is the position of the log's newest event.
	Top wire.Position
	// Durable says that the order in [Batch.Durable] was granted. It may be
	// false although the batch is committed, when no second node answered.
	Durable bool
}

// State is everything kept of a session at one position, except the log and
// the lists whose names begin with [ColdPrefix].
type State struct {
	At     wire.Position
	Tables map[string]map[string][]byte
	Lists  map[string][][]byte
}

// ColdPrefix begins the names of lists that Load leaves out because they are
// long and rarely wanted, such as archives. ReadList reads them page by page.
const ColdPrefix = "cold:"

// LossTable is a table that an engine itself sets fields in, when the newest data of a
// session may be lost although it was kept: one field for each damage, with a sentence
// for people. The next owner shows it to them and removes the field.
const LossTable = "engine-loss"

// ListPage is a part of a list.
type ListPage struct {
	// From is the index of the first item, as [ListStart] has it.
	From  int
	Items [][]byte
	// Total is the length of the whole list.
	Total int
}

// ListStart is the index of the first item of a page: from, or -from items before
// the end when it is negative, within a list of that many items.
func ListStart(from, total int) int {
	if from < 0 {
		return max(from+total, 0)
	}
	return min(from, total)
}

// Command is a message for a session's owner.
type Command struct {
	// ID makes Send idempotent. It names this delivery; that two deliveries
	// carry the same user message is for the session to notice.
	ID   string
	Data []byte
}

// NewSession is a session to be created.
type NewSession struct {
	ID   wire.SessionID
	User string
	Card []byte
}

// CheckLeaseOf refuses a lease that is not one of a session to be recreated.
func CheckLeaseOf(l Lease, n NewSession) error {
	if l.Session != n.ID || l.Epoch == 0 {
		return fmt.Errorf("%w: a lease of session %q with epoch %d for session %q", ErrInvalid, l.Session, l.Epoch, n.ID)
	}
	return nil
}

// Info is what the directory knows of a session.
type Info struct {
	ID   wire.SessionID
	User string
	// Card is what listings show of the session; the store does not look
	// inside.
	Card    []byte
	Created time.Time
	// Updated is the time of the last claim or commit.
	Updated time.Time
	// Working is the last [Batch.Working].
	Working bool
	// Owner is empty when nobody holds the lease; it is not when the lease
	// has merely run out.
	Owner wire.ReplicaID
	Epoch uint64
	// Until is when the lease runs out unless renewed.
	Until time.Time
	// Top is the position of the newest event, Oldest that of the oldest one
	// still in the log. Both are zero before the first claim.
	Top    wire.Position
	Oldest wire.Position
	// Quarantined is why the session is set aside, or empty.
	Quarantined string
}

// Query selects sessions. The zero Query is the first page of all.
type Query struct {
	// User, unless empty, selects one user's sessions.
	User string
	// After is the Next of the page before.
	After string
	// Limit is the page size; 0 means 100, more than 1,000 means 1,000.
	Limit int
}

// Page is a part of a listing. No order is promised, but who walks all pages
// sees everything that was there the whole time exactly once.
type Page[T any] struct {
	Items []T
	// Next continues the listing; empty at the end.
	Next string
}

// PageLimit applies the rule of [Query.Limit].
func PageLimit(n int) int {
	if n <= 0 {
		return 100
	}
	return min(n, 1000)
}

// Replica is a hub process that is alive.
type Replica struct {
	ID wire.ReplicaID
	// Card is what the hub says of itself; the store does not look inside.
	Card []byte
	// Until is when it counts as gone unless announced again.
	Until time.Time
}
