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
func (m *mailbox) tryPutCommands(commands []Command) (added int) {
	m.mu.Lock()
	for m.mode != modeClosed && added < len(commands) && m.addCommandLocked(&commands[added]) {
		added++
	}
	m.mu.Unlock()
	if added > 0 {
		m.signal()
	}
	return added
}

// put adds an item and blocks while the mailbox is full, until ctx ends.
func (m *mailbox) put(ctx context.Context, it item) error {
	for {
		m.mu.Lock()
		if m.mode == modeClosed {
			m.mu.Unlock()
			return m.closed
		}
		added := m.addLocked(&it)
		if !added && m.spaceFreed == nil {
			m.spaceFreed = make(chan struct{})
		}
		space := m.spaceFreed
		m.mu.Unlock()
		m.signal()
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
// holds m.mu.
func (m *mailbox) addLocked(it *item) bool {
	switch {
	case it.deliveryID != "":
		if len(m.items) >= mailboxLimit {
			return false
		}
		m.items = append(m.items, *it)
	case len(m.items)+len(m.heldLocal) >= mailboxLimit:
		return false
	case m.mode == modeHold:
		m.heldLocal = append(m.heldLocal, *it)
	default:
		m.items = append(m.items, *it)
	}
	return true
}

// addCommandLocked adds a command of this replica and reports whether there was space. Commands are
// most of the items, and items are large, so it fills the slice element in place instead of copying
// an item. The caller holds m.mu.
func (m *mailbox) addCommandLocked(c *Command) bool {
	if m.mode == modeHold || len(m.items) >= mailboxLimit || len(m.items) == cap(m.items) {
		return m.addLocked(&item{cmd: *c})
	}
	m.items = m.items[:len(m.items)+1]
	it := &m.items[len(m.items)-1]
	*it = item{}
	it.cmd = *c
	return true
}

// holdLocalItems begins modeHold and moves the local items to heldLocal. It removes and returns the
// items that were already sent to the inbox, or may have been; items from the inbox stay.
func (m *mailbox) holdLocalItems() (sent []item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mode.apply(mailHold)
	var came []item
	for _, it := range m.items {
		switch {
		case it.deliveryID != "":
			came = append(came, it)
		case it.sentAs != "":
			sent = append(sent, it)
		default:
			m.heldLocal = append(m.heldLocal, it)
		}
	}
	m.items = came
	return sent
}

// releaseLocalItems ends holdLocalItems: the held items follow what is in the mailbox.
func (m *mailbox) releaseLocalItems() {
	m.mu.Lock()
	m.items = append(m.items, m.heldLocal...)
	m.heldLocal = nil
	m.mode.apply(mailRelease)
	m.mu.Unlock()
	m.signal()
}

// isIdle reports whether there are no items and none are held.
func (m *mailbox) isIdle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.items) == 0 && m.mode != modeHold
}

// requeue puts items that were taken and not executed in front of all others.
func (m *mailbox) requeue(items []item) {
	if len(items) == 0 {
		return
	}
	m.mu.Lock()
	m.items = slices.Concat(items, m.items)
	m.mu.Unlock()
	m.signal()
}

// removeItems deletes the items that match and reports whether there were any.
func (m *mailbox) removeItems(unwanted func(*item) bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.items)
	m.items = slices.DeleteFunc(m.items, func(it item) bool { return unwanted(&it) })
	return len(m.items) < before
}

// deliveryIDs returns the ids of the items that came through the inbox.
func (m *mailbox) deliveryIDs() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names map[string]bool
	for _, it := range m.items {
		if it.deliveryID != "" {
			if names == nil {
				names = map[string]bool{}
			}
			names[it.deliveryID] = true
		}
	}
	return names
}

func (m *mailbox) requestSnapshot(p snapshotRequest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mode == modeClosed {
		return m.closed
	}
	m.snapshotRequests = append(m.snapshotRequests, p)
	m.signal()
	return nil
}

// cancelSnapshot removes a request whose caller has stopped waiting, so that requests cannot
// accumulate.
func (m *mailbox) cancelSnapshot(p snapshotRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snapshotRequests = slices.DeleteFunc(m.snapshotRequests, func(o snapshotRequest) bool { return o.reply == p.reply })
}

// signal wakes the session's goroutine. It never blocks.
func (m *mailbox) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// takeAll returns all items and snapshot requests. The mailbox reuses the slices passed in, which
// takeAll clears.
func (m *mailbox) takeAll(items []item, requests []snapshotRequest) ([]item, []snapshotRequest) {
	clear(items)
	clear(requests)
	m.mu.Lock()
	defer m.mu.Unlock()
	items, m.items = m.items, items[:0]
	requests, m.snapshotRequests = m.snapshotRequests, requests[:0]
	if m.spaceFreed != nil {
		close(m.spaceFreed)
		m.spaceFreed = nil
	}
	return items, requests
}

// close refuses further items with why, and returns the items that were not taken.
func (m *mailbox) close(why error) []item {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mode.apply(mailClose)
	m.closed = why
	items := slices.Concat(m.items, m.heldLocal)
	m.items, m.heldLocal, m.snapshotRequests = nil, nil, nil
	if m.spaceFreed != nil {
		close(m.spaceFreed)
		m.spaceFreed = nil
	}
	return items
}

// takeSnapshotRequests takes the snapshot requests and leaves the items.
func (m *mailbox) takeSnapshotRequests() []snapshotRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	peeks := slices.Clone(m.snapshotRequests)
	clear(m.snapshotRequests)
	m.snapshotRequests = m.snapshotRequests[:0]
	return peeks
}

// size is the number of items in the mailbox, held ones included.
func (m *mailbox) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.items) + len(m.heldLocal)
}
