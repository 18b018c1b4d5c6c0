package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// What engines answer with. Compare with errors.Is; the typed errors below
// match the sentinel of their name and carry more.
var (
	ErrNotFound        = errors.New("not found")
	ErrExists          = errors.New("exists already")
	ErrOwned           = errors.New("owned by another replica")
	ErrFenced          = errors.New("lease is no longer ours")
	ErrGap             = errors.New("store does not have what the owner believes it has")
	ErrTrimmed         = errors.New("position is older than the log")
	ErrUnknownPosition = errors.New("position was never in the log or was lost")
	ErrAhead           = errors.New("position is ahead of the log")
	ErrConflict        = errors.New("something else is there")
	ErrFull            = errors.New("full")
	ErrTooLarge        = errors.New("too large")
	ErrInvalid         = errors.New("invalid")
	ErrQuarantined     = errors.New("session is quarantined")
	ErrCorrupt         = errors.New("stored data cannot be read")
	ErrNewerSchema     = errors.New("stored data is of a newer version than this program")
	ErrNoSpace         = errors.New("store is out of space")
	ErrUnavailable     = errors.New("store is unavailable")
	ErrClosed          = errors.New("store is closed")
)

// OwnedError says who holds the session one wanted to claim.
type OwnedError struct {
	By wire.ReplicaID
	// For is how much longer the lease lasts unless it is renewed.
	For time.Duration
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("%v %s for %v", ErrOwned, e.By, e.For)
}

// Is makes the error match [ErrOwned].
func (e *OwnedError) Is(target error) bool { return target == ErrOwned }

// GapError says where the log really ends.
type GapError struct {
	Top wire.Position
	// Number is that of the last batch the store has of this lease.
	Number uint64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("%v: log ends at %v after batch %d", ErrGap, e.Top, e.Number)
}

// Is makes the error match [ErrGap].
func (e *GapError) Is(target error) bool { return target == ErrGap }

// QuarantinedError says why a session takes no writes.
type QuarantinedError struct {
	Session wire.SessionID
	Reason  string
}

func (e *QuarantinedError) Error() string {
	return fmt.Sprintf("%v: %s: %s", ErrQuarantined, e.Session, e.Reason)
}

// Is makes the error match [ErrQuarantined].
func (e *QuarantinedError) Is(target error) bool { return target == ErrQuarantined }

// CorruptError says what could not be read.
type CorruptError struct {
	// Where names the value, for an operator to find it.
	Where  string
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s: %s", ErrCorrupt, e.Where, e.Reason)
}

// Is makes the error match [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }
