package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// The errors that engines return. Compare with errors.Is; each typed error below matches
// the sentinel of its name and adds details.
var (
	ErrNotFound        = errors.New("not found")
	ErrExists          = errors.New("exists already")
	ErrOwned           = errors.New("owned by another replica")
	ErrFenced          = errors.New("lease is stale")
	ErrGap             = errors.New("store lacks data that the owner committed")
	ErrTrimmed         = errors.New("position is older than the log")
	ErrUnknownPosition = errors.New("position was never in the log or was lost")
	ErrAhead           = errors.New("position is ahead of the log")
	ErrConflict        = errors.New("conflicts with what is stored")
	ErrFull            = errors.New("full")
	ErrTooLarge        = errors.New("too large")
	ErrInvalid         = errors.New("invalid")
	ErrQuarantined     = errors.New("session is quarantined")
	ErrCorrupt         = errors.New("stored data cannot be read")
	ErrNewerSchema     = errors.New("stored data is of a newer version than this program")
	ErrNoSpace         = errors.New("store is out of space")
	ErrUnavailable     = errors.New("store is unavailable")
	ErrOtherFiles      = errors.New("the storage of files is not the one that has the cold sessions")
	ErrClosed          = errors.New("store is closed")
)

// OwnedError names the replica that holds the session a claim asked for.
type OwnedError struct {
	By wire.ReplicaID
	// For is the remaining time of the lease unless it is renewed.
	For time.Duration
	// Incarnation is the number of the [Incarnation] whose shared lease keeps the session; 0
	// if the session has a lease of its own.
	Incarnation uint64
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("%v %s for %v", ErrOwned, e.By, e.For)
}

// Is makes the error match [ErrOwned].
func (e *OwnedError) Is(target error) bool { return target == ErrOwned }

// GapError reports where the log actually ends.
type GapError struct {
	Top wire.Position
	// Number is the number of the last batch that the store has of this lease.
	Number uint64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("%v: log ends at %v after batch %d", ErrGap, e.Top, e.Number)
}

// Is makes the error match [ErrGap].
func (e *GapError) Is(target error) bool { return target == ErrGap }

// QuarantinedError reports why a session refuses writes.
type QuarantinedError struct {
	Session wire.SessionID
	Reason  string
}

func (e *QuarantinedError) Error() string {
	return fmt.Sprintf("%v: %s: %s", ErrQuarantined, e.Session, e.Reason)
}

// Is makes the error match [ErrQuarantined].
func (e *QuarantinedError) Is(target error) bool { return target == ErrQuarantined }

// CorruptError reports which stored value is unreadable and why.
type CorruptError struct {
	// Where names the value, so that an operator can find it.
	Where  string
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s: %s", ErrCorrupt, e.Where, e.Reason)
}

// Is makes the error match [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }
