package session

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// activity is what the goroutine of a session executes, for diagnostics. It is a number, so that
// recording it costs almost nothing.
type activity uint16

// Activities besides orders and messages, which activityTable adds.
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

// activityNames maps activities to names, and orders and messages to activities.
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
	for _, kind := range []orderKind{
		orderRename, orderShare, orderDelete, orderAct, orderYield, orderPresence, orderBarrier, orderRestore,
	} {
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

// activityTracker holds the current activity of a session. The session's goroutine writes it, any
// goroutine reads it.
type activityTracker struct {
	// now is the activity in the low 16 bits and its start above them, in ms of the hub's uptime.
	now atomic.Uint64
	// message caches the activity of messages of type ofType: messages of one type often follow
	// each other.
	message activity
	ofType  reflect.Type
}

// ofItem returns the activity of executing an item.
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

// begin records an activity that starts at an uptime of the hub, and returns the enclosing one for
// restore.
func (d *activityTracker) begin(what activity, since time.Duration) (before uint64) {
	before = d.now.Load()
	if next := uint64(since.Milliseconds())<<16 | uint64(what); next != before { //nolint:gosec // since then
		d.now.Store(next)
	}
	return before
}

// restore ends the activity that began last and continues the enclosing one.
func (d *activityTracker) restore(before uint64) { d.now.Store(before) }

// end records that the session is idle.
func (d *activityTracker) end() { d.now.Store(uint64(activityNone)) }

// current returns the name of the activity and its duration, at an uptime of the hub.
func (d *activityTracker) current(age time.Duration) (string, time.Duration) {
	now := d.now.Load()
	what := activityTable().names[now&0xffff]
	if what == "" {
		return "", 0
	}
	return what, max(age-time.Duration(now>>16)*time.Millisecond, 0)
}

// statusRequest is a function that the session's goroutine runs between two steps for the admin
// view. It must not change the session.
type statusRequest struct{ run func(*introspection) }

// statusRequests are the pending requests of the admin view.
type statusRequests struct {
	pending atomic.Bool // queue is not empty
	// last is the last Status of the session, and lastIsFresh says that nothing has happened since.
	last        atomic.Pointer[Status]
	lastIsFresh atomic.Bool

	mu    sync.Mutex // guards the following
	queue []*statusRequest
}

// markStale records that the session changes, so that last is not fresh any more.
func (s *statusRequests) markStale() {
	if s.lastIsFresh.Load() {
		s.lastIsFresh.Store(false)
	}
}

// introspection describes an owned session for the admin view and for the gauges. Any goroutine may
// use requestStatus, stuck, activity and gauge; the rest belongs to the session's goroutine.
type introspection struct {
	live     *liveSession
	held     *heldLease
	w        *stepWriter
	agents   *agents
	replies  *replies
	presence *presence

	activity activityTracker
	gauge    gauges
	requests statusRequests
}

// requestStatus queues a request and wakes the session.
func (v *introspection) requestStatus(k *statusRequest) {
	s := &v.requests
	s.mu.Lock()
	s.queue = append(s.queue, k)
	s.pending.Store(true)
	s.mu.Unlock()
	v.live.mailbox.signal()
}

// cancel removes a request whose caller has stopped waiting, so that requests cannot accumulate.
func (s *statusRequests) cancel(k *statusRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = slices.DeleteFunc(s.queue, func(o *statusRequest) bool { return o == k })
}

// serveStatusRequests runs the pending requests. They change nothing, so the last Status stays
// fresh.
func (v *introspection) serveStatusRequests() {
	s := &v.requests
	if !s.pending.Load() {
		return
	}
	s.mu.Lock()
	list := s.queue
	s.queue = nil
	s.pending.Store(false)
	s.mu.Unlock()
	v.activity.begin(activityStatus, v.live.env.uptime())
	defer v.activity.end()
	v.w.advanceClock(time.Now())
	for _, k := range list {
		k.run(v)
	}
}
