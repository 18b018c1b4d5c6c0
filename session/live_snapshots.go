package session

import (
	"context"
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

// Snapshot implements [broadcast.Source]. The session's goroutine takes the snapshot between two
// steps.
func (ls *liveSession) Snapshot(ctx context.Context, monitors []wire.MonitorID) (wire.SessionState, error) {
	if s, ok := ls.snapshotCache.get(monitorsKey(monitors)); ok {
		return s, nil
	}
	reply := make(chan wire.SessionState, 1)
	p := snapshotRequest{monitors: monitors, reply: reply}
	if err := ls.mailbox.requestSnapshot(p); err != nil {
		return wire.SessionState{}, err
	}
	select {
	case s := <-reply:
		return s, nil
	case <-ls.done:
		return wire.SessionState{}, errUnloaded
	case <-ctx.Done():
		ls.mailbox.cancelSnapshot(p)
		return wire.SessionState{}, ctx.Err()
	}
}

// Read implements [broadcast.Source].
func (ls *liveSession) Read(ctx context.Context, after wire.Position, limit int) ([]store.Event, error) {
	return ls.env.store.Read(ctx, ls.id, after, limit)
}

// Oldest implements [broadcast.Source].
func (ls *liveSession) Oldest(ctx context.Context) (wire.Position, error) {
	s, err := ls.env.store.Session(ctx, ls.id)
	return s.Oldest, err
}

// answerSnapshots answers snapshot requests from a committed state.
func (ls *liveSession) answerSnapshots(peeks []snapshotRequest, state *desktop.State) {
	for _, p := range peeks {
		key := monitorsKey(p.monitors)
		s, ok := ls.snapshotCache.get(key)
		if !ok {
			s = state.Snapshot(p.monitors...)
			ls.snapshotCache.put(key, s)
		}
		p.reply <- s
	}
}
