package session

import (
	"context"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// mailboxLimit is the number of items from which on put blocks.
const mailboxLimit = 1024

// item is one unit of work for the owner of a session: a client's command, an order of a hub, or a
// function of an agent. At most one of cmd, order, work and queuedMessage is set.
type item struct {
	cmd   Command
	order *order
	// work runs in a step on behalf of an agent of this owner. startsTool says that a tool call
	// starts with it, so that it is held back while the session is being handed over. origin is the
	// id of the run or agent.
	work       func()
	startsTool bool
	origin     string
	// queuedMessage names a message that waited in a queue and whose turn made a step too large. It
	// is set only in committer.oversized.
	queuedMessage wire.MessageID
	// deliveryID is the id of the delivery if the item came through the store's inbox. sentAs is
	// the id under which this replica sent the item to the inbox.
	deliveryID, sentAs string
	// alone commits the item in a step of its own, because a step with it was too large or
	// panicked.
	alone bool
	// poison is the refusal with which the item is answered instead of being executed again.
	poison *Error
	// done, unless nil, receives the result of the item. It is buffered, so sending never blocks.
	done chan error
}

// finish sends the result to the waiting caller, if there is one, at most once.
func (it *item) finish(err error) {
	if it.done != nil {
		it.done <- err
		it.done = nil
	}
}

// snapshotRequest asks the session's goroutine for the state of some monitors, or of all.
type snapshotRequest struct {
	monitors []wire.MonitorID
	reply    chan<- wire.SessionState // buffered
}

// mailbox collects the items and snapshot requests of a session. Any goroutine adds to it, the
// session's goroutine takes from it. Use newMailbox: the zero value has no wake channel.
type mailbox struct {
	wake chan struct{} // holds one token while there may be something to take

	mu               sync.Mutex // guards the following
	items            []item
	snapshotRequests []snapshotRequest
	spaceFreed       chan struct{} // closed when there is space again; nil while no caller waits
	mode             mailboxMode
	heldLocal        []item // the local items of modeHold
	closed           error  // why the mailbox accepts nothing any more, in modeClosed
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// tryPutCommands adds commands in order until the mailbox is full and returns the number added. It
// never blocks.
func (b *mailbox) tryPutCommands(commands []Command) (added int) {
	b.mu.Lock()
	for b.mode != modeClosed && added < len(commands) && b.addCommandLocked(&commands[added]) {
		added++
	}
	b.mu.Unlock()
	if added > 0 {
		b.signal()
	}
	return added
}

// put adds an item and blocks while the mailbox is full, until ctx ends.
func (b *mailbox) put(ctx context.Context, it item) error {
	for {
		b.mu.Lock()
		if b.mode == modeClosed {
			b.mu.Unlock()
			return b.closed
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

// addLocked adds an item and reports whether there was space. An item from the inbox needs space in
// items only: held local items wait for items from the inbox and must not block them. The caller
// holds b.mu.
func (b *mailbox) addLocked(it *item) bool {
	switch {
	case it.deliveryID != "":
		if len(b.items) >= mailboxLimit {
			return false
		}
		b.items = append(b.items, *it)
	case len(b.items)+len(b.heldLocal) >= mailboxLimit:
		return false
	case b.mode == modeHold:
		b.heldLocal = append(b.heldLocal, *it)
	default:
		b.items = append(b.items, *it)
	}
	return true
}

// addCommandLocked adds a command of this replica and reports whether there was space. Commands are
// most of the items, and items are large, so it fills the slice element in place instead of copying
// an item. The caller holds b.mu.
func (b *mailbox) addCommandLocked(c *Command) bool {
	if b.mode == modeHold || len(b.items) >= mailboxLimit || len(b.items) == cap(b.items) {
		return b.addLocked(&item{cmd: *c})
	}
	b.items = b.items[:len(b.items)+1]
	it := &b.items[len(b.items)-1]
	*it = item{}
	it.cmd = *c
	return true
}

// holdLocalItems begins modeHold and moves the local items to heldLocal. It removes and returns the
// items that were already sent to the inbox, or may have been; items from the inbox stay.
func (b *mailbox) holdLocalItems() (sent []item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mode.apply(mailHold)
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

// releaseLocalItems ends holdLocalItems: the held items follow what is in the mailbox.
func (b *mailbox) releaseLocalItems() {
	b.mu.Lock()
	b.items = append(b.items, b.heldLocal...)
	b.heldLocal = nil
	b.mode.apply(mailRelease)
	b.mu.Unlock()
	b.signal()
}

// isIdle reports whether there are no items and none are held.
func (b *mailbox) isIdle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items) == 0 && b.mode != modeHold
}

// requeue puts items that were taken and not executed in front of all others.
func (b *mailbox) requeue(items []item) {
	if len(items) == 0 {
		return
	}
	b.mu.Lock()
	b.items = slices.Concat(items, b.items)
	b.mu.Unlock()
	b.signal()
}

// removeItems deletes the items that match and reports whether there were any.
func (b *mailbox) removeItems(unwanted func(*item) bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.items)
	b.items = slices.DeleteFunc(b.items, func(it item) bool { return unwanted(&it) })
	return len(b.items) < before
}

// deliveryIDs returns the ids of the items that came through the inbox.
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

func (b *mailbox) requestSnapshot(p snapshotRequest) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mode == modeClosed {
		return b.closed
	}
	b.snapshotRequests = append(b.snapshotRequests, p)
	b.signal()
	return nil
}

// cancelSnapshot removes a request whose caller has stopped waiting, so that requests cannot
// accumulate.
func (b *mailbox) cancelSnapshot(p snapshotRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.snapshotRequests = slices.DeleteFunc(b.snapshotRequests, func(o snapshotRequest) bool { return o.reply == p.reply })
}

// signal wakes the session's goroutine. It never blocks.
func (b *mailbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// takeAll returns all items and snapshot requests. The mailbox reuses the slices passed in, which
// takeAll clears.
func (b *mailbox) takeAll(items []item, peeks []snapshotRequest) ([]item, []snapshotRequest) {
	clear(items)
	clear(peeks)
	b.mu.Lock()
	defer b.mu.Unlock()
	items, b.items = b.items, items[:0]
	peeks, b.snapshotRequests = b.snapshotRequests, peeks[:0]
	if b.spaceFreed != nil {
		close(b.spaceFreed)
		b.spaceFreed = nil
	}
	return items, peeks
}

// close refuses further items with why, and returns the items that were not taken.
func (b *mailbox) close(why error) []item {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mode.apply(mailClose)
	b.closed = why
	items := slices.Concat(b.items, b.heldLocal)
	b.items, b.heldLocal, b.snapshotRequests = nil, nil, nil
	if b.spaceFreed != nil {
		close(b.spaceFreed)
		b.spaceFreed = nil
	}
	return items
}

// takeSnapshotRequests takes the snapshot requests and leaves the items.
func (b *mailbox) takeSnapshotRequests() []snapshotRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	peeks := slices.Clone(b.snapshotRequests)
	clear(b.snapshotRequests)
	b.snapshotRequests = b.snapshotRequests[:0]
	return peeks
}

// size is the number of items in the mailbox, held ones included.
func (b *mailbox) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items) + len(b.heldLocal)
}
