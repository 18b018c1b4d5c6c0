package session

import (
	"context"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// boxItems is how many items a mailbox holds before those who bring more have to
// wait.
const boxItems = 1024

// item is one thing for the owner of a session to do: a client's command, or an
// order of a hub.
type item struct {
	cmd   Command
	order *order
	// inbox is the name of the delivery, when it came through the store, sent
	// the name under which it was sent there.
	inbox, sent string
	// alone keeps the item in a step of its own, because a step with it was
	// too large.
	alone bool
	// poison is what the item is answered with instead of being tried again.
	poison *Error
	// done, unless nil, is told what became of an order. It has room for it.
	done chan error
}

// finish tells who waits for the item.
func (it *item) finish(err error) {
	if it.done != nil {
		it.done <- err
		it.done = nil
	}
}

// peek is a request for a snapshot.
type peek struct {
	monitors []wire.MonitorID
	reply    chan<- wire.SessionState // with room for it
}

// mailbox collects what a session has to do while it is busy. Its zero value
// is not ready; see newMailbox.
type mailbox struct {
	wake chan struct{} // has one token when there is something to take

	mu     sync.Mutex // guards the following
	items  []item
	peeks  []peek
	space  chan struct{} // closed when there is room again; nil while nobody waits
	closed error         // why nothing is taken any more
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// put adds an item, waiting for room until ctx ends.
func (b *mailbox) put(ctx context.Context, it item) error {
	for {
		b.mu.Lock()
		if err := b.closed; err != nil {
			b.mu.Unlock()
			return err
		}
		if len(b.items) < boxItems {
			b.items = append(b.items, it)
			b.mu.Unlock()
			b.nudge()
			return nil
		}
		if b.space == nil {
			b.space = make(chan struct{})
		}
		space := b.space
		b.mu.Unlock()
		select {
		case <-space:
		case <-ctx.Done():
			return &Error{Code: wire.CodeQueueFull, Reason: "the session has too much to do", Err: ctx.Err()}
		}
	}
}

// giveBack puts items that were taken and not done in front of all others.
func (b *mailbox) giveBack(items []item) {
	if len(items) == 0 {
		return
	}
	b.mu.Lock()
	b.items = slices.Concat(items, b.items)
	b.mu.Unlock()
	b.nudge()
}

// drop forgets items.
func (b *mailbox) drop(unwanted func(*item) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = slices.DeleteFunc(b.items, func(it item) bool { return unwanted(&it) })
}

// deliveries returns the names of those items that came through the store.
func (b *mailbox) deliveries() map[string]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := map[string]bool{}
	for _, it := range b.items {
		if it.inbox != "" {
			names[it.inbox] = true
		}
	}
	return names
}

// ask adds a request for a snapshot.
func (b *mailbox) ask(p peek) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != nil {
		return b.closed
	}
	b.peeks = append(b.peeks, p)
	b.nudge()
	return nil
}

// nudge wakes whoever takes.
func (b *mailbox) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take returns everything in the box and leaves it the emptied slices to fill.
func (b *mailbox) take(items []item, peeks []peek) ([]item, []peek) {
	clear(items)
	clear(peeks)
	b.mu.Lock()
	defer b.mu.Unlock()
	items, b.items = b.items, items[:0]
	peeks, b.peeks = b.peeks, peeks[:0]
	if b.space != nil {
		close(b.space)
		b.space = nil
	}
	return items, peeks
}

// close refuses everything from now on and returns what nobody took.
func (b *mailbox) close(why error) []item {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = why
	items := b.items
	b.items, b.peeks = nil, nil
	if b.space != nil {
		close(b.space)
		b.space = nil
	}
	return items
}
