package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// However many commits there were before, one that takes too long ends after commitTimeout, and the
// next one has the full time again.
func TestCommitTimeoutIsPerAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &environment{started: time.Now()}
		var ct commitTimer
		for range 3 {
			for range 7 { // some are pending when the timer fires
				ctx := ct.start(t.Context(), h)
				time.Sleep(commitTimeout - 2*time.Second)
				ct.stop()
				time.Sleep(time.Second)
				if ctx.Err() != nil {
					t.Fatalf("got %v for a commit that was quick enough, want no error", ctx.Err())
				}
			}
			time.Sleep(time.Hour)
			ctx, began := ct.start(t.Context(), h), time.Now()
			<-ctx.Done()
			if took := time.Since(began); took != commitTimeout || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("the commit was cancelled after %v with %v, want %v and %v", took, context.Cause(ctx), commitTimeout, context.DeadlineExceeded)
			}
			ct.stop()
		}
	})
}
