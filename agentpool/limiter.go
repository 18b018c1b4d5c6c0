package agentpool

import (
	"context"

	"github.com/everdesk/everdesk/store"
)

// Semaphores is what the limiter needs of a store.
type Semaphores interface {
	Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error)
	RenewSlot(ctx context.Context, s store.Slot) error
	ReleaseSlot(ctx context.Context, s store.Slot) error
	Slots(ctx context.Context, semaphore string) (store.SlotUse, error)
}

// Slot is the right to run one agent.
type Slot struct{}
