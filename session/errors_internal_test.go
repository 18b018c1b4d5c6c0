package session

import (
	"errors"
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Clients get different reasons for a full store, an unavailable store, and errors that the store
// did not cause.
func TestAsErrorNamesTheCause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		code   wire.Code
		reason string
	}{
		{store.ErrNoSpace, wire.CodeStoreUnavailable, reasonFull},
		{store.ErrUnavailable, wire.CodeStoreUnavailable, reasonUnavailable},
		{store.ErrClosed, wire.CodeStoreUnavailable, reasonUnavailable},
		{errStale, wire.CodeStoreUnavailable, reasonUnavailable},
		{errLost, wire.CodeStoreUnavailable, reasonMoving},
		{&store.OwnedError{By: "b"}, wire.CodeStoreUnavailable, reasonMoving},
		{&store.GapError{}, wire.CodeStoreUnavailable, reasonMoving},
		{&panicError{"of a test"}, wire.CodeExecutionFailed, reasonUnknown},
		{errors.New("ERR unknown command"), wire.CodeExecutionFailed, reasonUnknown},
	} {
		wrapped := fmt.Errorf("claim session: %w", c.err)
		got, ok := errors.AsType[*Error](asError(wrapped))
		if !ok || got.Code != c.code || got.Reason != c.reason || !errors.Is(got, c.err) {
			t.Errorf("%v is %+v, want code %d and %q", wrapped, got, c.code, c.reason)
		}
	}
}
