package session

import (
	"reflect"
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
		orderRename, orderShare, orderUser, orderDelete, orderAct, orderYield, orderRelocate, orderPresence, orderBarrier, orderRestore, orderCall, orderStopCalls, orderFiles,
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
