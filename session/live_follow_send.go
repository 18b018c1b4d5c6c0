package session

import (
	"context"
	"errors"
	"time"

	"github.com/everdesk/everdesk/store"
)

// forwardItems sends the items that were taken from the mailbox to the store's inbox in the
// background, while events are still being published.
func (f *follower) forwardItems(ctx context.Context, now time.Time) {
	if f.sending || len(f.unsent) == 0 || now.Before(f.sendRetryAt) || !f.live.ownership.may(outputForward) {
		return
	}
	items := f.unsent
	f.unsent, f.sending = nil, true
	if f.relocation.add(len(items), now) && f.live.drainOrder.Load() == nil {
		f.sends.Go(func() { f.requestOwnership(ctx) })
	}
	f.sends.Go(func() {
		rest, err := f.live.deliveries.sendItems(ctx, items)
		f.sendResult <- sendResult{rest, err}
	})
}

// sendResult is the result of sending items: those that the store has not accepted, and why.
type sendResult struct {
	rest []item
	err  error
}

// finishSend records the result of a send. What is left is sent again after growing pauses: a full
// inbox has space again as soon as the owner has committed its next step.
func (f *follower) finishSend(result sendResult) {
	f.sending, f.unsent = false, result.rest
	full := errors.Is(result.err, store.ErrNoSpace)
	if f.live.storeFull.Store(full); full {
		f.live.replyWaiters.rejectAll(errFull)
	}
	if result.err == nil {
		f.sendPause = 0
		return
	}
	f.sendPause = min(max(2*f.sendPause, retryFirst), retryLast)
	f.sendRetryAt = time.Now().Add(f.sendPause)
}

// sendLast tries once more to send what clients have sent here, when the hub stops. Clients whose
// connection ends without an answer send again.
func (f *follower) sendLast(ctx context.Context) {
	if !errors.Is(context.Cause(ctx), errStopping) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	items, _ := f.live.mailbox.takeAll(nil, nil)
	f.unsent, _ = f.live.deliveries.sendItems(ctx, append(f.unsent, items...)) // sendItems logs the error
}
