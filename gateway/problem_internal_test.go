package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Requests and WebSockets use the same table: an error outside it is internal and reveals nothing
// about the store.
func TestOneTableOfErrors(t *testing.T) {
	t.Parallel()
	s := &Server{log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		err    error
		code   wire.Code
		detail string // empty means that of the code
	}{
		{errors.New("a defect"), wire.CodeExecutionFailed, ""},
		{store.ErrUnavailable, wire.CodeStoreUnavailable, ""},
		{store.ErrClosed, wire.CodeStoreUnavailable, ""},
		{store.ErrNoSpace, wire.CodeStoreUnavailable, storeFull},
		{auth.ErrIssuer, wire.CodeIssuerUnavailable, ""},
		{store.ErrQuarantined, wire.CodeSessionInvalidState, "What is stored of it cannot be read; an operator has to look at it."},
		{files.ErrTooLarge, wire.CodeMessageTooLarge, "The file is too large."},
		{&session.Error{Code: wire.CodeQueueFull, Reason: "later"}, wire.CodeQueueFull, "later"},
		{&auth.Error{Code: wire.CodeAuthFailed, Reason: "no"}, wire.CodeAuthFailed, "no"},
	} {
		err := fmt.Errorf("open session: %w", c.err)
		want := c.code.Problem(c.detail).Detail
		if got := problemOf(err, &http.Request{}); got.Code != c.code || got.Detail != want {
			t.Errorf("a request that fails with %v gets %d %q, want %d %q", err, got.Code, got.Detail, c.code, want)
		}
		if got := s.refusalOf(t.Context(), err); got.code != c.code || got.notice().Message != want {
			t.Errorf("a socket that fails with %v gets %d %q, want %d %q", err, got.code, got.notice().Message, c.code, want)
		}
	}
	// A timeout of a request counts as an unavailable store on a WebSocket.
	if got := s.refusalOf(t.Context(), context.DeadlineExceeded); got.code != wire.CodeStoreUnavailable {
		t.Errorf("a socket that is too late gets %d, want %d", got.code, wire.CodeStoreUnavailable)
	}
}
