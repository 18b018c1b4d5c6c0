package session

import (
	"context"
	"testing"
)

// An item is refused only after it failed in a step of its own: before, another part of the step
// may have failed.
func TestItemIsRefusedOnlyAfterItFailedAlone(t *testing.T) {
	t.Parallel()
	cm := &committer{items: make([]item, 3), committed: 1, handled: 2}
	cm.blamePanic()
	if !cm.stepState.isBroken() || cm.items[1].poison != nil || !cm.items[1].alone || cm.items[0].alone || cm.items[2].alone {
		t.Errorf("after the first panic the items are %+v, want only the second alone, not yet poisoned", cm.items)
	}
	cm.blamePanic()
	if cm.items[1].poison == nil || cm.items[2].alone {
		t.Errorf("after the second panic the items are %+v, want the second poisoned, the third not alone", cm.items)
	}
	cm.stepState = stepHandling
	cm.blamePanic()
	if cm.items[2].poison == nil || cm.items[0].poison != nil {
		t.Errorf("after a panic in the last item the items are %+v, want it poisoned, the first not", cm.items)
	}
}

// A cancelled snapshot request is removed from the mailbox.
func TestCancelledSnapshotRequests(t *testing.T) {
	t.Parallel()
	source := &tabSource{mailbox: newMailbox(), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if _, err := source.Snapshot(ctx, nil); err == nil {
			t.Error("got a snapshot for a cancelled request, want an error")
		}
	}
	if n := len(source.mailbox.snapshotRequests); n != 0 {
		t.Errorf("%d cancelled requests are left, want 0", n)
	}
}
