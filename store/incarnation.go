package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// minIncarnation and maxIncarnation bound the numbers of incarnations. They are above every
// time in ms, so that an engine can sort both in one index, and exact as floating-point
// numbers.
const (
	minIncarnation = 1 << 52
	maxIncarnation = 1<<53 - 1
)

// Incarnation is one process of a replica. All sessions that it claims with ClaimShared in
// a partition are kept by one lease, which it renews with RenewShared.
type Incarnation struct {
	Replica wire.ReplicaID
	// Number distinguishes the processes of all replicas.
	Number uint64
}

// NewIncarnation returns an incarnation with a random number.
func NewIncarnation(replica wire.ReplicaID) Incarnation {
	return Incarnation{replica, minIncarnation + rand.Uint64N(maxIncarnation-minIncarnation+1)} //nolint:gosec // unique, not secret
}

// Check refuses an incarnation with an invalid replica or number, and a TTL that is not
// positive.
func (i Incarnation) Check(ttl time.Duration) error {
	var number error
	if i.Number < minIncarnation || i.Number > maxIncarnation {
		number = fmt.Errorf("%w: %d is not the number of an incarnation", ErrInvalid, i.Number)
	}
	return errors.Join(i.Replica.Validate(), number, CheckTTL(ttl))
}

// Renewal is the result of RenewShared.
type Renewal struct {
	// Known reports that the store had the lease. If it had not, it has lost data, or the lease
	// expired long ago: the owner must claim its sessions again.
	Known bool
	// Live are the live leases of other incarnations in the partition, by their numbers, with
	// their remaining time.
	Live map[uint64]time.Duration
}

// CheckOwnLease refuses a lease that [Incarnation] shares, for Renew.
func (l Lease) CheckOwnLease() error {
	if l.Incarnation != 0 {
		return fmt.Errorf("%w: session %s shares the lease of incarnation %d", ErrInvalid, l.Session, l.Incarnation)
	}
	return nil
}
