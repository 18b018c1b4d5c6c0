package session

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// maxSnapshots is the number of monitor selections that are cached.
const maxSnapshots = 8

// snapshotCache holds snapshots of the current state by selection of monitors, so that many tabs
// that attach at once cost one snapshot per selection.
type snapshotCache struct {
	nonEmpty atomic.Bool // lets clear skip the lock

	mu sync.Mutex // guards the following
	by map[string]wire.SessionState
}

// clear drops the snapshots because the state has changed.
func (s *snapshotCache) clear() {
	if !s.nonEmpty.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.by)
	s.nonEmpty.Store(false)
}

func (s *snapshotCache) get(key string) (wire.SessionState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok := s.by[key]
	return state, ok
}

func (s *snapshotCache) put(key string, state wire.SessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil || len(s.by) >= maxSnapshots {
		s.by = map[string]wire.SessionState{}
	}
	s.by[key] = state
	s.nonEmpty.Store(true)
}

// monitorsKey is the cache key of a set of monitors.
func monitorsKey(monitors []wire.MonitorID) string {
	if len(monitors) == 0 {
		return ""
	}
	names := make([]string, len(monitors))
	for i, m := range monitors {
		names[i] = string(m)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ") // ids contain no spaces
}

// tabSource is where the Center reads what tabs lack: snapshots of the session and its log.
type tabSource struct {
	env     *environment
	id      wire.SessionID
	log     *slog.Logger
	mailbox *mailbox        // takes the requests of snapshots
	done    <-chan struct{} // closed when the live session has ended
	cache   snapshotCache
}

// Snapshot implements [broadcast.Source]. The session's goroutine takes the snapshot between two
// steps.
func (t *tabSource) Snapshot(ctx context.Context, monitors []wire.MonitorID) (wire.SessionState, error) {
	if s, ok := t.cache.get(monitorsKey(monitors)); ok {
		return s, nil
	}
	reply := make(chan wire.SessionState, 1)
	p := snapshotRequest{monitors: monitors, reply: reply}
	if err := t.mailbox.requestSnapshot(p); err != nil {
		return wire.SessionState{}, err
	}
	select {
	case s := <-reply:
		return s, nil
	case <-t.done:
		return wire.SessionState{}, errUnloaded
	case <-ctx.Done():
		t.mailbox.cancelSnapshot(p)
		return wire.SessionState{}, ctx.Err()
	}
}

// Read implements [broadcast.Source].
func (t *tabSource) Read(ctx context.Context, after wire.Position, limit int) ([]store.Event, error) {
	return t.env.store.Read(ctx, t.id, after, limit)
}

// Oldest implements [broadcast.Source].
func (t *tabSource) Oldest(ctx context.Context) (wire.Position, error) {
	s, err := t.env.store.Session(ctx, t.id)
	return s.Oldest, err
}

// answerSnapshots answers snapshot requests from a committed state.
func (t *tabSource) answerSnapshots(requests []snapshotRequest, state *desktop.State) {
	for _, p := range requests {
		key := monitorsKey(p.monitors)
		s, ok := t.cache.get(key)
		if !ok {
			s = state.Snapshot(p.monitors...)
			t.cache.put(key, s)
		}
		p.reply <- s
	}
}

// serveSnapshotsDuring runs do, which may wait for the store, and answers snapshot requests from
// state meanwhile. Without a state they wait.
func (t *tabSource) serveSnapshotsDuring(state *desktop.State, do func()) {
	if state == nil {
		do()
		return
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if v := recover(); v != nil { // the requests have to wait then
				t.log.Error("panic while answering snapshots", "panic", v, "stack", string(debug.Stack()))
			}
		}()
		for {
			t.answerSnapshots(t.mailbox.takeSnapshotRequests(), state)
			select {
			case <-t.mailbox.wake:
			case <-stop:
				return
			}
		}
	})
	do()
	close(stop)
	wg.Wait()
	t.mailbox.signal() // the goroutine may have taken the token of an item
}
