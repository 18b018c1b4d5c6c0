package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// Who waits for room in the mailbox of a session does so no longer than it has an
// owner here.
func TestNobodyWaitsForAnOwnerThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		l := &live{ctx: ctx, k: &keeper{box: newMailbox()}}
		for range boxItems {
			if err := (port{l}).put(t.Context(), item{}); err != nil {
				t.Fatal(err)
			}
		}
		result := make(chan error, 1)
		go func() { result <- port{l}.put(t.Context(), item{}) }()
		synctest.Wait()
		if len(result) > 0 {
			t.Fatal("there was room")
		}
		cancel(errLost)
		synctest.Wait()
		select {
		case err := <-result:
			if !errors.Is(err, errLost) {
				t.Errorf("it ends with %v", err)
			}
		default:
			t.Error("it still waits")
		}
		if err := (port{l}).put(t.Context(), item{}); !errors.Is(err, errLost) {
			t.Errorf("the next one ends with %v", err)
		}
	})
}
