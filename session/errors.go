package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Error is a refusal with a code for the client.
type Error struct {
	Code   wire.Code
	Reason string
	Err    error // the cause, if there is one
}

func (e *Error) Error() string { return e.Reason }

func (e *Error) Unwrap() error { return e.Err }

// Errors with which a session or its owner ends.
var (
	// errUserChanged ends an owner, so that the next one has the tools, models and limits of the new user.
	errUserChanged  = fmt.Errorf("%w: the session belongs to another user", errReload)
	errOtherSession = errors.New("the id belongs to another session now")
	errUnloaded     = errors.New("the session was unloaded")
	errLost         = errors.New("the lease was lost")
	errStale        = errors.New("the lease was not renewed in time")
	errDraining     = errors.New("the replica is draining")
	errStopping     = errors.New("the hub is stopping")
)

// Reasons of CodeStoreUnavailable and of defects, for clients.
const (
	reasonFull        = "the store is full; try again in a moment"
	reasonUnavailable = "the store does not answer"
	reasonMoving      = "the session is changing its owner; try again"
	reasonUnknown     = "internal error"
)

// errFull refuses a write for which the store has no space. The command may still be executed,
// once, when there is space again.
var errFull = &Error{Code: wire.CodeStoreUnavailable, Reason: reasonFull, Err: store.ErrNoSpace}

// refusal makes an [*Error] with a formatted reason.
func refusal(code wire.Code, format string, args ...any) *Error {
	return &Error{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// asError gives an error the code and the reason for clients. Errors of contexts stay as they are.
// An error that is not in the table is a defect of the hub; its text is not shown.
func asError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	for _, known := range []struct {
		is     error
		code   wire.Code
		reason string
	}{
		{store.ErrNotFound, wire.CodeSessionNotFound, "there is no such session"},
		{store.ErrExists, wire.CodeSessionInvalidState, "a session with that id exists already"},
		{store.ErrQuarantined, wire.CodeSessionInvalidState, "the session is quarantined until an operator releases it"},
		{store.ErrCorrupt, wire.CodeSessionInvalidState, "the stored session cannot be read"},
		{store.ErrNewerSchema, wire.CodeSessionInvalidState, "the stored session needs a newer version of the hub"},
		{store.ErrNoSpace, wire.CodeStoreUnavailable, reasonFull},
		{store.ErrOtherFiles, wire.CodeStoreUnavailable, store.ErrOtherFiles.Error()},
		{store.ErrUnavailable, wire.CodeStoreUnavailable, reasonUnavailable},
		{store.ErrClosed, wire.CodeStoreUnavailable, reasonUnavailable},
		{errStale, wire.CodeStoreUnavailable, reasonUnavailable},
		{errLost, wire.CodeStoreUnavailable, reasonMoving},
		{errReload, wire.CodeStoreUnavailable, reasonMoving},
		{store.ErrOwned, wire.CodeStoreUnavailable, reasonMoving},
		{store.ErrFenced, wire.CodeStoreUnavailable, reasonMoving},
		{store.ErrGap, wire.CodeStoreUnavailable, reasonMoving},
		{store.ErrFull, wire.CodeQueueFull, "the session has too much to do"},
		{store.ErrTooLarge, wire.CodeMessageTooLarge, "too large to be stored"},
		{store.ErrInvalid, wire.CodeInvalidMessage, "invalid data for the store"},
		{wire.ErrID, wire.CodeInvalidMessage, "not a valid id"},
		{broadcast.ErrClosed, wire.CodeStoreUnavailable, "the session was unloaded; try again"},
		{errUnloaded, wire.CodeStoreUnavailable, "the session was unloaded; try again"},
		{errStopping, wire.CodeStoreUnavailable, "this replica is shutting down"},
		{errDraining, wire.CodeStoreUnavailable, "this replica is draining; connect to another one"},
	} {
		if errors.Is(err, known.is) {
			return &Error{Code: known.code, Reason: known.reason, Err: err}
		}
	}
	return &Error{Code: wire.CodeExecutionFailed, Reason: reasonUnknown, Err: err}
}

// isPermanent reports whether retrying the same operation cannot succeed.
func isPermanent(err error) bool {
	for _, is := range []error{store.ErrNotFound, store.ErrQuarantined, store.ErrCorrupt, store.ErrNewerSchema, store.ErrClosed} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}
