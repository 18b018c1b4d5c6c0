package session

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// activity is something that a session can be in, as a number: noting it costs nothing
// that matters.
type activity uint16

// What a session can be in, besides an order or a message.
const (
	doingNothing activity = iota
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

// activities are the names of all actions, and the actions of orders and messages.
type activities struct {
	names    []string
	orders   map[orderKind]activity
	messages map[string]activity
}

var allActions = sync.OnceValue(func() activities {
	d := activities{
		names:  []string{"", "load", "commit", "effects", "timers", "release", "agent", "message", "snapshot", "look"},
		orders: map[orderKind]activity{}, messages: map[string]activity{},
	}
	for _, kind := range []orderKind{orderRename, orderShare, orderDelete, orderAct, orderYield, orderPresence, orderMark} {
		d.orders[kind] = activity(len(d.names))
		d.names = append(d.names, string(kind))
	}
	for _, e := range wire.Events().All() {
		if e.Direction == wire.FromClient {
			d.messages[e.Type] = activity(len(d.names))
			d.names = append(d.names, e.Type)
		}
	}
	return d
})

// doing is what a session is in, for those who wonder why it does not answer. The
// goroutine of the session writes it and anybody reads it.
type doing struct {
	// now is a action and, above its 16 bits, when it began, in ms of the hub's life.
	now atomic.Uint64
	// message is that of messages of a type, which often follow each other.
	message activity
	ofType  reflect.Type
}

// item is what doing one is.
func (d *doing) item(it *item) activity {
	switch {
	case it.order != nil:
		return allActions().orders[it.order.Kind]
	case it.work != nil:
		return doingWork
	}
	if t := reflect.TypeOf(it.cmd.Message.Data); t != d.ofType {
		d.ofType, d.message = t, doingUnknown
		if e, ok := wire.Events().Of(it.cmd.Message.Data); ok {
			d.message = allActions().messages[e.Type]
		}
	}
	return d.message
}

// begin notes what begins and at which age of the hub, and returns what that is part of.
func (d *doing) begin(what activity, since time.Duration) (before uint64) {
	before = d.now.Load()
	if next := uint64(since.Milliseconds())<<16 | uint64(what); next != before { //nolint:gosec // since then
		d.now.Store(next)
	}
	return before
}

// resume says that what began last has ended, and not what that was part of.
func (d *doing) resume(before uint64) { d.now.Store(before) }

// end says that the session does nothing.
func (d *doing) end() { d.now.Store(uint64(doingNothing)) }

// tell says what the session is in and for how long, at an age of the hub.
func (d *doing) tell(age time.Duration) (string, time.Duration) {
	now := d.now.Load()
	what := allActions().names[now&0xffff]
	if what == "" {
		return "", 0
	}
	return what, max(age-time.Duration(now>>16)*time.Millisecond, 0)
}

// look is something that the goroutine of a session does between two steps for
// those who look after sessions. It changes nothing.
type look struct{ at func(*owner) }

// looks are those that are asked for.
type looks struct {
	asked atomic.Bool // there is something to serve
	// seen is what the session said of itself last, and fresh that nothing has
	// happened since.
	seen  atomic.Pointer[Status]
	fresh atomic.Bool

	mu   sync.Mutex // guards the following
	list []*look
}

// stale says that something happens.
func (s *looks) stale() {
	if s.fresh.Load() {
		s.fresh.Store(false)
	}
}

// lookAt wants a look.
func (l *owner) lookAt(k *look) {
	s := &l.looks
	s.mu.Lock()
	s.list = append(s.list, k)
	s.asked.Store(true)
	s.mu.Unlock()
	l.k.box.nudge()
}

// unask takes that back, so that there are not more looks than those who wait.
func (s *looks) unask(k *look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(o *look) bool { return o == k })
}

// serveLooks does what is asked for. It changes nothing, so what the session says of
// itself then stays true.
func (l *owner) serveLooks() {
	s := &l.looks
	if !s.asked.Load() {
		return
	}
	s.mu.Lock()
	list := s.list
	s.list = nil
	s.asked.Store(false)
	s.mu.Unlock()
	l.doing.begin(doingLook, l.k.hub.age())
	defer l.doing.end()
	l.begin(time.Now())
	for _, k := range list {
		k.at(l)
	}
}
