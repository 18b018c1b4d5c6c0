package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func TestTypedErrorsMatchTheirSentinel(t *testing.T) {
	t.Parallel()
	sentinels := []error{
		store.ErrNotFound, store.ErrExists, store.ErrOwned, store.ErrFenced, store.ErrGap, store.ErrTrimmed,
		store.ErrUnknownPosition, store.ErrAhead, store.ErrConflict, store.ErrFull, store.ErrTooLarge, store.ErrInvalid,
		store.ErrQuarantined, store.ErrCorrupt, store.ErrNewerSchema, store.ErrNoSpace, store.ErrUnavailable, store.ErrOtherFiles, store.ErrClosed,
	}
	for _, c := range []struct {
		err  error
		is   error
		says []string
	}{
		{&store.OwnedError{By: "replica-1", For: 3 * time.Second}, store.ErrOwned, []string{"replica-1", "3s"}},
		{&store.GapError{Top: wire.Position{Epoch: 7, Seq: 9}, Number: 4}, store.ErrGap, []string{"7-9", "4"}},
		{&store.QuarantinedError{Session: "s", Reason: "disk"}, store.ErrQuarantined, []string{"s", "disk"}},
		{&store.CorruptError{Where: "field t/f", Reason: "checksum"}, store.ErrCorrupt, []string{"field t/f", "checksum"}},
	} {
		wrapped := fmt.Errorf("committing: %w", c.err)
		for _, s := range sentinels {
			if got, want := errors.Is(wrapped, s), s == c.is; got != want { //nolint:errorlint // which of them it is
				t.Errorf("%T matches %q: %t, want %t", c.err, s, got, want)
			}
		}
		for _, part := range append(c.says, c.is.Error()) {
			if !strings.Contains(c.err.Error(), part) {
				t.Errorf("error %q, want %q in it", c.err, part)
			}
		}
	}
	for i, s := range sentinels {
		for j, o := range sentinels {
			if errors.Is(s, o) != (i == j) {
				t.Errorf("%q matches %q: %v, want %v", s, o, i != j, i == j)
			}
		}
	}
}
