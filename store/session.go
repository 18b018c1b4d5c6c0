package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Lease proves ownership of a session. Every claim has a greater Epoch, and the store
// refuses writes with an older one.
type Lease struct {
	Session wire.SessionID
	Replica wire.ReplicaID
	Epoch   uint64
	// Incarnation is the number of the [Incarnation] whose shared lease keeps the session; 0
	// if the session has a lease of its own.
	Incarnation uint64
	// TTL is the time after the last claim or renewal for which the store refuses claims by
	// other replicas.
	TTL time.Duration
	// Prev is the end of the log before this claim; zero for a new session.
	Prev wire.Position
	// Heir is read by Release only: the replica for which the session is reserved for one
	// TTL. If empty, any replica can claim the session.
	Heir wire.ReplicaID
}

// CheckHeir refuses an heir that is the owner itself or has an invalid id, and an heir with
// a TTL that is not positive.
func (l Lease) CheckHeir() error {
	switch l.Heir {
	case "":
		return nil
	case l.Replica:
		return fmt.Errorf("%w: %s cannot be its own heir", ErrInvalid, l.Replica)
	}
	return errors.Join(l.Heir.Validate(), CheckTTL(l.TTL))
}

// Top returns the position of the claim's own event, which is the Prev of the first batch
// under this lease.
func (l Lease) Top() wire.Position { return wire.Position{Epoch: l.Epoch} }

// Event is one entry of a session's log: the committed bytes, which are also the bytes sent
// to every tab. Readers must not modify Frame.
type Event struct {
	At    wire.Position
	Frame []byte
}

// News is one item of Tail: events that continue the log without a gap, or no events and
// Vacant.
type News struct {
	Events []Event
	// Vacant reports that the owner released the session, so that another replica can claim
	// it at once. After a release to an heir an engine may report it, too.
	Vacant bool
}

// Batch is one step of a session's owner. It is applied atomically.
type Batch struct {
	// Number counts the batches of a lease from 1.
	Number uint64
	// Prev is the end of the log before this batch.
	Prev wire.Position
	// Events are the frames to append. The first gets Prev.Seq+1 in the lease's epoch, the
	// others follow.
	Events [][]byte
	// Ops change tables and lists, in this order.
	Ops []Op
	// Consumed are the ids of the commands to remove from the inbox.
	Consumed []string
	// Card, unless nil, replaces the card of the session.
	Card []byte
	// User, unless empty, is the user to whom the session belongs from now on. Listings of users
	// change with the batch.
	User string
	// Working, unless nil, records whether the session has unfinished work and so needs an
	// owner.
	Working *bool
	// Durable requests more than the default durability of the engine: a second Redis node
	// has the batch, or it is on disk.
	Durable bool
}

// Receipt is the result of a commit.
type Receipt struct {
	// Top is the position of the log's newest event.
	Top wire.Position
	// Durable reports that the durability requested by [Batch.Durable] was reached. It may
	// be false although the batch is committed, if no second node replied.
	Durable bool
}

// State is the stored content of a session at one position, except the log and the lists
// whose names begin with [ColdPrefix].
type State struct {
	At     wire.Position
	Tables map[string]map[string][]byte
	Lists  map[string][][]byte
}

// ColdPrefix begins the names of lists that Load leaves out because they are long and
// rarely read, such as archives. ReadList reads them page by page.
const ColdPrefix = "cold:"

// LossTable is a table written by the engine itself when committed data of a session may be
// lost: one field per damage, whose value is a sentence for users. The next owner shows the
// sentence and removes the field.
const LossTable = "engine-loss"

// ListPage is a part of a list.
type ListPage struct {
	// From is the index of the first item, computed by [ListStart].
	From  int
	Items [][]byte
	// Total is the length of the whole list.
	Total int
}

// ListStart returns the index of the first item of a page in a list of total items: from,
// or -from items before the end if from is negative, clamped to the list.
func ListStart(from, total int) int {
	if from < 0 {
		return max(from+total, 0)
	}
	return min(from, total)
}

// Command is a message to the owner of a session.
type Command struct {
	// ID makes Send idempotent. It identifies this delivery; the session itself detects two
	// deliveries of the same user message.
	ID   string
	Data []byte
}

// NewSession is the argument of Create and Recreate.
type NewSession struct {
	ID   wire.SessionID
	User string
	Card []byte
}

// CheckLeaseOf refuses a lease without an epoch or of another session than the one to
// recreate.
func CheckLeaseOf(l Lease, n NewSession) error {
	if l.Session != n.ID || l.Epoch == 0 {
		return fmt.Errorf("%w: a lease of session %q with epoch %d for session %q", ErrInvalid, l.Session, l.Epoch, n.ID)
	}
	return nil
}

// Info is the directory entry of a session.
type Info struct {
	ID   wire.SessionID
	User string
	// Card is the summary of the session for listings; the store does not interpret it.
	Card    []byte
	Created time.Time
	// Updated is the time of the last claim or commit.
	Updated time.Time
	// Working is the last [Batch.Working].
	Working bool
	// Owner is the replica that holds the lease, even if the lease has expired. It is empty
	// after a release and before the first claim.
	Owner wire.ReplicaID
	Epoch uint64
	// Until is the time at which the lease expires unless it is renewed.
	Until time.Time
	// Top is the position of the newest event, Oldest that of the oldest event still in the
	// log. Both are zero before the first claim.
	Top    wire.Position
	Oldest wire.Position
	// Quarantined is the reason for the quarantine, or empty.
	Quarantined string
}

// Query selects sessions. The zero Query selects the first page of all sessions.
type Query struct {
	// User, unless empty, restricts the listing to one user.
	User string
	// After is the Next of the previous page.
	After string
	// Limit is the page size; 0 means 100, more than 1,000 means 1,000.
	Limit int
	// Recent orders the listing by last change, see [RecentCursor].
	Recent bool
	// Quarantined restricts the listing to quarantined sessions. It excludes User and Recent.
	Quarantined bool
}

// Check refuses a query with fields that exclude each other or an invalid user.
func (q Query) Check() error {
	if q.Quarantined && (q.Recent || q.User != "") {
		return fmt.Errorf("%w: quarantined sessions are listed by id and for all users", ErrInvalid)
	}
	if q.User == "" {
		return nil
	}
	return CheckName("user", q.User)
}

// Page is a part of a listing. The order is undefined unless the query defines one, but
// reading all pages yields every item that existed during the whole listing exactly once.
// With [Query.Recent] that holds for sessions that did not change meanwhile.
type Page[T any] struct {
	Items []T
	// Next is the After of the next page; empty on the last one.
	Next string
	// Total is the number of sessions of the whole listing, set with [Query.Recent] only.
	Total int
}

// PageLimit returns the page size for n by the rule of [Query.Limit].
func PageLimit(n int) int {
	if n <= 0 {
		return 100
	}
	return min(n, 1000)
}

// Replica is a live hub process.
type Replica struct {
	ID wire.ReplicaID
	// Card is the hub's description of itself; the store does not interpret it.
	Card []byte
	// Until is the time at which the replica counts as dead unless it is announced again.
	Until time.Time
}
