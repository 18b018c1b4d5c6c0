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
	// work is what an agent of this owner wants to be done in a step; begins
	// says that a tool begins with it, and by names the run or the agent.
	work   func()
	begins bool
	by     string
	// waited is instead of all that a message which waited and began.
	waited wire.MessageID
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

	// gated keeps what is said here behind what was sent before and is still
	// on its way through the store; later is what waits.
	gated bool
	later []item
	// direct says that what is said here may go to the store at once, because
	// nothing that was said before waits; sending is how many do, and calm is
	// closed when none does. It is nil while nobody waits for that.
	direct  bool
	sending int
	calm    chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// fillNow adds commands after each other as long as there is room and none of them
// may go to the store instead, and returns how many it has added.
func (b *mailbox) fillNow(commands []Command) (added int) {
	b.mu.Lock()
	if b.closed == nil && (!b.direct || len(b.items) > 0) {
		for added < len(commands) && b.addCommand(&commands[added]) {
			added++
		}
	}
	b.mu.Unlock()
	if added > 0 {
		b.nudge()
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
		added := b.add(&it)
		if !added && b.space == nil {
			b.space = make(chan struct{})
		}
		space := b.space
		b.mu.Unlock()
		b.nudge()
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

// add adds an item if there is room for it. What comes through the store has room
// however much waits for it. The caller has the lock.
func (b *mailbox) add(it *item) bool {
	switch {
	case it.inbox != "":
		if len(b.items) >= boxItems {
			return false
		}
		b.items = append(b.items, *it)
	case len(b.items)+len(b.later) >= boxItems:
		return false
	case b.gated:
		b.later = append(b.later, *it)
	default:
		b.items = append(b.items, *it)
	}
	return true
}

// addCommand is add for a command that was said here. Most items are, and they are
// large, so it is written where it belongs at once. The caller has the lock.
func (b *mailbox) addCommand(c *Command) bool {
	if b.gated || len(b.items) >= boxItems || len(b.items) == cap(b.items) {
		return b.add(&item{cmd: *c})
	}
	b.items = b.items[:len(b.items)+1]
	it := &b.items[len(b.items)-1]
	*it = item{}
	it.cmd = *c
	return true
}

// shut makes everything that is said here wait until open, but for what came
// through the store. It returns what was sent to the store already, perhaps.
func (b *mailbox) shut() (sent []item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gated = true
	var came []item
	for _, it := range b.items {
		switch {
		case it.inbox != "":
			came = append(came, it)
		case it.sent != "":
			sent = append(sent, it)
		default:
			b.later = append(b.later, it)
		}
	}
	b.items = came
	return sent
}

// open ends shut.
func (b *mailbox) open() {
	b.mu.Lock()
	b.items = append(b.items, b.later...)
	b.gated, b.later = false, nil
	b.mu.Unlock()
	b.nudge()
}

// idle reports whether nothing is there or waits to be.
func (b *mailbox) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items) == 0 && !b.gated
}

// setDirect says whether what is said here may go to the store at once.
func (b *mailbox) setDirect(may bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.direct = may
}

// enter reports whether an item may go to the store at once; leave says that it
// has got there, or not.
func (b *mailbox) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.direct || len(b.items) > 0 || b.closed != nil {
		return false
	}
	b.sending++
	return true
}

func (b *mailbox) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sending--; b.sending == 0 && b.calm != nil {
		close(b.calm)
		b.calm = nil
	}
}

// arrived waits until nothing is between enter and leave, or ctx ends.
func (b *mailbox) arrived(ctx context.Context) {
	b.mu.Lock()
	if b.sending == 0 {
		b.mu.Unlock()
		return
	}
	if b.calm == nil {
		b.calm = make(chan struct{})
	}
	calm := b.calm
	b.mu.Unlock()
	select {
	case <-calm:
	case <-ctx.Done():
	}
}

// release puts items that were taken and not done in front of all others.
func (b *mailbox) giveBack(items []item) {
	if len(items) == 0 {
		return
	}
	b.mu.Lock()
	b.items = slices.Concat(items, b.items)
	b.mu.Unlock()
	b.nudge()
}

// drop forgets items, and reports whether there were any.
func (b *mailbox) drop(unwanted func(*item) bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.items)
	b.items = slices.DeleteFunc(b.items, func(it item) bool { return unwanted(&it) })
	return len(b.items) < before
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

// unask takes a request for a snapshot back. So there are not more requests than
// those who wait.
func (b *mailbox) unask(p peek) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.peeks = slices.DeleteFunc(b.peeks, func(o peek) bool { return o.reply == p.reply })
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
	b.direct = b.direct && len(items) == 0 // until they are where they belong
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
	items := slices.Concat(b.items, b.later)
	b.items, b.later, b.peeks = nil, nil, nil
	if b.space != nil {
		close(b.space)
		b.space = nil
	}
	return items
}
