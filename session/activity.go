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
	activityNone activity = iota
	activityLoad
	activityCommit
	activityEffects
	activityDue
	activityRelease
	activityAgent
	activityUnknown
	activitySnapshot
	activityStatus
)

// activityNames are the names of all actions, and the actions of orders and messages.
type activityNames struct {
	names    []string
	orders   map[orderKind]activity
	messages map[string]activity
}

var activityTable = sync.OnceValue(func() activityNames {
	d := activityNames{
		names:  []string{"", "load", "commit", "effects", "timers", "release", "agent", "message", "snapshot", "look"},
		orders: map[orderKind]activity{}, messages: map[string]activity{},
	}
	for _, kind := range []orderKind{orderRename, orderShare, orderDelete, orderAct, orderYield, orderPresence, orderBarrier} {
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

// activityTracker is what a session is in, for those who wonder why it does not answer. The
// goroutine of the session writes it and anybody reads it.
type activityTracker struct {
	// now is a action and, above its 16 bits, when it began, in ms of the hub's life.
	now atomic.Uint64
	// message is that of messages of a type, which often follow each other.
	message activity
	ofType  reflect.Type
}

// ofItem is what doing one is.
func (d *activityTracker) ofItem(it *item) activity {
	switch {
	case it.order != nil:
		return activityTable().orders[it.order.Kind]
	case it.work != nil:
		return activityAgent
	}
	if t := reflect.TypeOf(it.cmd.Message.Data); t != d.ofType {
		d.ofType, d.message = t, activityUnknown
		if e, ok := wire.Events().Of(it.cmd.Message.Data); ok {
			d.message = activityTable().messages[e.Type]
		}
	}
	return d.message
}

// begin notes what begins and at which age of the hub, and returns what that is part of.
func (d *activityTracker) begin(what activity, since time.Duration) (before uint64) {
	before = d.now.Load()
	if next := uint64(since.Milliseconds())<<16 | uint64(what); next != before { //nolint:gosec // since then
		d.now.Store(next)
	}
	return before
}

// restore says that what began last has ended, and not what that was part of.
func (d *activityTracker) restore(before uint64) { d.now.Store(before) }

// end says that the session does nothing.
func (d *activityTracker) end() { d.now.Store(uint64(activityNone)) }

// current says what the session is in and for how long, at an age of the hub.
func (d *activityTracker) current(age time.Duration) (string, time.Duration) {
	now := d.now.Load()
	what := activityTable().names[now&0xffff]
	if what == "" {
		return "", 0
	}
	return what, max(age-time.Duration(now>>16)*time.Millisecond, 0)
}

// statusRequest is something that the goroutine of a session does between two steps for
// those who look after sessions. It changes nothing.
type statusRequest struct{ run func(*owner) }

// statusRequests are those that are asked for.
type statusRequests struct {
	pending atomic.Bool // there is something to serve
	// last is what the session said of itself last, and fresh that nothing has
	// happened since.
	last        atomic.Pointer[Status]
	lastIsFresh atomic.Bool

	mu    sync.Mutex // guards the following
	queue []*statusRequest
}

// markStale says that something happens.
func (s *statusRequests) markStale() {
	if s.lastIsFresh.Load() {
		s.lastIsFresh.Store(false)
	}
}

// requestStatus wants a look.
func (l *owner) requestStatus(k *statusRequest) {
	s := &l.statusRequests
	s.mu.Lock()
	s.queue = append(s.queue, k)
	s.pending.Store(true)
	s.mu.Unlock()
	l.live.mailbox.signal()
}

// cancel takes that back, so that there are not more looks than those who wait.
func (s *statusRequests) cancel(k *statusRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = slices.DeleteFunc(s.queue, func(o *statusRequest) bool { return o == k })
}

// serveStatusRequests does what is asked for. It changes nothing, so what the session says of
// itself then stays true.
func (l *owner) serveStatusRequests() {
	s := &l.statusRequests
	if !s.pending.Load() {
		return
	}
	s.mu.Lock()
	list := s.queue
	s.queue = nil
	s.pending.Store(false)
	s.mu.Unlock()
	l.activity.begin(activityStatus, l.live.hub.uptime())
	defer l.activity.end()
	l.advanceClock(time.Now())
	for _, k := range list {
		k.run(l)
	}
}
