package session

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// deed is something that a session can be in, as a number: noting it costs nothing
// that matters.
type deed uint16

// What a session can be in, besides an order or a message.
const (
	doingNothing deed = iota
	doingLoad
	doingCommit
	doingEffects
	doingDue
	doingRelease
	doingWork
	doingUnknown
	doingSnapshot
	doingLook
)

// deeds are the names of all deeds, and the deeds of orders and messages.
type deeds struct {
	names    []string
	orders   map[orderKind]deed
	messages map[string]deed
}

var allDeeds = sync.OnceValue(func() deeds {
	d := deeds{
		names:  []string{"", "load", "commit", "effects", "timers", "release", "agent", "message", "snapshot", "look"},
		orders: map[orderKind]deed{}, messages: map[string]deed{},
	}
	for _, kind := range []orderKind{orderRename, orderShare, orderDelete, orderAct, orderYield, orderPresence, orderMark} {
		d.orders[kind] = deed(len(d.names))
		d.names = append(d.names, string(kind))
	}
	for _, e := range wire.Events().All() {
		if e.Direction == wire.FromClient {
			d.messages[e.Type] = deed(len(d.names))
			d.names = append(d.names, e.Type)
		}
	}
	return d
})

// deedOf is what doing an item is.
func deedOf(it *item) deed {
	switch {
	case it.order != nil:
		return allDeeds().orders[it.order.Kind]
	case it.work != nil:
		return doingWork
	}
	if e, ok := wire.Events().Of(it.cmd.Message.Data); ok {
		return allDeeds().messages[e.Type]
	}
	return doingUnknown
}

// doing is what a session is in, for those who wonder why it does not answer. The
// goroutine of the session writes it and anybody reads it.
type doing struct {
	born time.Time
	// now is a deed and, above its 16 bits, when it began, in ms after born.
	now atomic.Uint64
}

// begin notes what begins, and returns what that is part of.
func (d *doing) begin(what deed) (before uint64) {
	return d.now.Swap(uint64(time.Since(d.born).Milliseconds())<<16 | uint64(what)) //nolint:gosec // since then
}

// resume says that what began last has ended, and not what that was part of.
func (d *doing) resume(before uint64) { d.now.Store(before) }

// end says that the session does nothing.
func (d *doing) end() { d.now.Store(uint64(doingNothing)) }

// tell says what the session is in and for how long.
func (d *doing) tell() (string, time.Duration) {
	now := d.now.Load()
	what := allDeeds().names[now&0xffff]
	if what == "" {
		return "", 0
	}
	return what, max(time.Since(d.born)-time.Duration(now>>16)*time.Millisecond, 0)
}

// look is something that the goroutine of a session does between two steps for
// those who look after sessions. It changes nothing.
type look struct{ at func(*live) }

// looks are those that are asked for. They have a signal of their own: a session
// that is only looked at does not notice, and stays as idle as it is.
type looks struct {
	wake chan struct{} // has one token when there is something to serve
	// seen is what the session said of itself last, and fresh that nothing has
	// happened since.
	seen  atomic.Pointer[Status]
	fresh atomic.Bool

	mu   sync.Mutex // guards the following
	list []*look
}

func newLooks() *looks { return &looks{wake: make(chan struct{}, 1)} }

// stale says that something happens.
func (s *looks) stale() { s.fresh.Store(false) }

// ask wants a look.
func (s *looks) ask(k *look) {
	s.mu.Lock()
	s.list = append(s.list, k)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// unask takes that back, so that there are not more looks than those who wait.
func (s *looks) unask(k *look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(o *look) bool { return o == k })
}

// serve does what is asked for.
func (s *looks) serve(l *live) {
	s.mu.Lock()
	list := s.list
	s.list = nil
	s.mu.Unlock()
	l.begin(time.Now())
	for _, k := range list {
		k.at(l)
	}
}
