package session

import (
	"context"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// mailboxLimit is how many items a mailbox holds before those who bring more have to
// wait.
const mailboxLimit = 1024

// item is one thing for the owner of a session to do: a client's command, or an
// order of a hub.
type item struct {
	cmd   Command
	order *order
	// work is what an agent of this owner wants to be done in a step; begins
	// says that a tool begins with it, and by names the run or the agent.
	work       func()
	startsTool bool
	origin     string
	// queuedMessage is instead of all that a message which waited and began.
	queuedMessage wire.MessageID
	// deliveryID is the name of the delivery, when it came through the store, sent
	// the name under which it was sent there.
	deliveryID, sentAs string
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

// snapshotRequest is a request for a snapshot.
type snapshotRequest struct {
	monitors []wire.MonitorID
	reply    chan<- wire.SessionState // with room for it
}

// mailbox collects what a session has to do while it is busy. Its zero value
// is not ready; see newMailbox.
type mailbox struct {
	wake chan struct{} // has one token when there is something to take

	mu               sync.Mutex // guards the following
	items            []item
	snapshotRequests []snapshotRequest
	spaceFreed       chan struct{} // closed when there is room again; nil while nobody waits
	closed           error         // why nothing is taken any more

	// holdLocal keeps what is said here behind what was sent before and is still
	// on its way through the store; later is what waits.
	holdLocal bool
	heldLocal []item
	// directSend says that what is said here may go to the store at once, because
	// nothing that was said before waits; sending is how many do, and calm is
	// closed when none does. It is nil while nobody waits for that.
	directSend      bool
	directSends     int
	directSendsDone chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// tryPutCommands adds commands after each other as long as there is room and none of them
// may go to the store instead, and returns how many it has added.
func (b *mailbox) tryPutCommands(commands []Command) (added int) {
	b.mu.Lock()
	if b.closed == nil && (!b.directSend || len(b.items) > 0) {
		for added < len(commands) && b.addCommandLocked(&commands[added]) {
			added++
		}
	}
	b.mu.Unlock()
	if added > 0 {
		b.signal()
	}
	return added
}

// put adds an item, waiting for room until ctx ends.
func (b *mailbox) put(ctx context.Context, it item) error {
	for {
		b.mu.Lock()
		if err := b.closed; err != nil {
			b.mu.Unlock()
			return err
		}
		added := b.addLocked(&it)
		if !added && b.spaceFreed == nil {
			b.spaceFreed = make(chan struct{})
		}
		space := b.spaceFreed
		b.mu.Unlock()
		b.signal()
		if added {
			return nil
		}
		select {
		case <-space:
		case <-ctx.Done():
			return &Error{Code: wire.CodeQueueFull, Reason: "the session has too much to do", Err: ctx.Err()}
		}
	}
}

// addLocked adds an item if there is room for it. What comes through the store has room
// however much waits for it. The caller has the lock.
func (b *mailbox) addLocked(it *item) bool {
	switch {
	case it.deliveryID != "":
		if len(b.items) >= mailboxLimit {
			return false
		}
		b.items = append(b.items, *it)
	case len(b.items)+len(b.heldLocal) >= mailboxLimit:
		return false
	case b.holdLocal:
		b.heldLocal = append(b.heldLocal, *it)
	default:
		b.items = append(b.items, *it)
	}
	return true
}

// addCommandLocked is add for a command that was said here. Most items are, and they are
// large, so it is written where it belongs at once. The caller has the lock.
func (b *mailbox) addCommandLocked(c *Command) bool {
	if b.holdLocal || len(b.items) >= mailboxLimit || len(b.items) == cap(b.items) {
		return b.addLocked(&item{cmd: *c})
	}
	b.items = b.items[:len(b.items)+1]
	it := &b.items[len(b.items)-1]
	*it = item{}
	it.cmd = *c
	return true
}

// holdLocalItems makes everything that is said here wait until open, but for what came
// through the store. It returns what was sent to the store already, perhaps.
func (b *mailbox) holdLocalItems() (sent []item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holdLocal = true
	var came []item
	for _, it := range b.items {
		switch {
		case it.deliveryID != "":
			came = append(came, it)
		case it.sentAs != "":
			sent = append(sent, it)
		default:
			b.heldLocal = append(b.heldLocal, it)
		}
	}
	b.items = came
	return sent
}

// releaseLocalItems ends shut.
func (b *mailbox) releaseLocalItems() {
	b.mu.Lock()
	b.items = append(b.items, b.heldLocal...)
	b.holdLocal, b.heldLocal = false, nil
	b.mu.Unlock()
	b.signal()
}

// isIdle reports whether nothing is there or waits to be.
func (b *mailbox) isIdle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items) == 0 && !b.holdLocal
}

// allowDirectSend says whether what is said here may go to the store at once.
func (b *mailbox) allowDirectSend(may bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.directSend = may
}

// beginDirectSend reports whether an item may go to the store at once; leave says that it
// has got there, or not.
func (b *mailbox) beginDirectSend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.directSend || len(b.items) > 0 || b.closed != nil {
		return false
	}
	b.directSends++
	return true
}

func (b *mailbox) endDirectSend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.directSends--; b.directSends == 0 && b.directSendsDone != nil {
		close(b.directSendsDone)
		b.directSendsDone = nil
	}
}

// waitDirectSends waits until nothing is between enter and leave, or ctx ends.
func (b *mailbox) waitDirectSends(ctx context.Context) {
	b.mu.Lock()
	if b.directSends == 0 {
		b.mu.Unlock()
		return
	}
	if b.directSendsDone == nil {
		b.directSendsDone = make(chan struct{})
	}
	calm := b.directSendsDone
	b.mu.Unlock()
	select {
	case <-calm:
	case <-ctx.Done():
	}
}

// release puts items that were taken and not done in front of all others.
func (b *mailbox) requeue(items []item) {
	if len(items) == 0 {
		return
	}
	b.mu.Lock()
	b.items = slices.Concat(items, b.items)
	b.mu.Unlock()
	b.signal()
}

// removeItems forgets items, and reports whether there were any.
func (b *mailbox) removeItems(unwanted func(*item) bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.items)
	b.items = slices.DeleteFunc(b.items, func(it item) bool { return unwanted(&it) })
	return len(b.items) < before
}

// deliveryIDs returns the names of those items that came through the store.
func (b *mailbox) deliveryIDs() map[string]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := map[string]bool{}
	for _, it := range b.items {
		if it.deliveryID != "" {
			names[it.deliveryID] = true
		}
	}
	return names
}

// requestSnapshot adds a request for a snapshot.
func (b *mailbox) requestSnapshot(p snapshotRequest) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != nil {
		return b.closed
	}
	b.snapshotRequests = append(b.snapshotRequests, p)
	b.signal()
	return nil
}

// cancelSnapshot takes a request for a snapshot back. So there are not more requests than
// those who wait.
func (b *mailbox) cancelSnapshot(p snapshotRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.snapshotRequests = slices.DeleteFunc(b.snapshotRequests, func(o snapshotRequest) bool { return o.reply == p.reply })
}

// signal wakes whoever takes.
func (b *mailbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// takeAll returns everything in the box and leaves it the emptied slices to fill.
func (b *mailbox) takeAll(items []item, peeks []snapshotRequest) ([]item, []snapshotRequest) {
	clear(items)
	clear(peeks)
	b.mu.Lock()
	defer b.mu.Unlock()
	items, b.items = b.items, items[:0]
	peeks, b.snapshotRequests = b.snapshotRequests, peeks[:0]
	b.directSend = b.directSend && len(items) == 0 // until they are where they belong
	if b.spaceFreed != nil {
		close(b.spaceFreed)
		b.spaceFreed = nil
	}
	return items, peeks
}

// close refuses everything from now on and returns what nobody took.
func (b *mailbox) close(why error) []item {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = why
	items := slices.Concat(b.items, b.heldLocal)
	b.items, b.heldLocal, b.snapshotRequests = nil, nil, nil
	if b.spaceFreed != nil {
		close(b.spaceFreed)
		b.spaceFreed = nil
	}
	return items
}
