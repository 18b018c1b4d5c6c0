package session

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

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
func (in *introspection) requestStatus(k *statusRequest) {
	s := &in.requests
	s.mu.Lock()
	s.queue = append(s.queue, k)
	s.pending.Store(true)
	s.mu.Unlock()
	in.live.mailbox.signal()
}

// cancel removes a request whose caller has stopped waiting, so that requests cannot accumulate.
func (s *statusRequests) cancel(k *statusRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = slices.DeleteFunc(s.queue, func(o *statusRequest) bool { return o == k })
}

// serveStatusRequests runs the pending requests. They change nothing, so the last Status stays
// fresh.
func (in *introspection) serveStatusRequests() {
	s := &in.requests
	if !s.pending.Load() {
		return
	}
	s.mu.Lock()
	list := s.queue
	s.queue = nil
	s.pending.Store(false)
	s.mu.Unlock()
	in.activity.begin(activityStatus, in.live.env.uptime())
	defer in.activity.end()
	in.w.advanceClock(time.Now())
	for _, k := range list {
		k.run(in)
	}
}
