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

// maxSnapshots is how many different selections of monitors are kept.
const maxSnapshots = 8

// snapshots are those of the state as it is now, so that a storm of tabs costs
// one of each.
type snapshots struct {
	some atomic.Bool // spares those who clear it the lock when there is nothing

	mu sync.Mutex // guards the following
	by map[string]wire.SessionState
}

// clear says that the state is no longer the same.
func (s *snapshots) clear() {
	if !s.some.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.by)
	s.some.Store(false)
}

func (s *snapshots) get(key string) (wire.SessionState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok := s.by[key]
	return state, ok
}

func (s *snapshots) put(key string, state wire.SessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil || len(s.by) >= maxSnapshots {
		s.by = map[string]wire.SessionState{}
	}
	s.by[key] = state
	s.some.Store(true)
}

// selection names a set of monitors.
func selection(monitors []wire.MonitorID) string {
	if len(monitors) == 0 {
		return ""
	}
	names := make([]string, len(monitors))
	for i, m := range monitors {
		names[i] = string(m)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ") // no id has a space
}

// Snapshot implements [broadcast.Source]. The state is taken by the goroutine
// that owns it, between two steps.
func (k *liveSession) Snapshot(ctx context.Context, monitors []wire.MonitorID) (wire.SessionState, error) {
	if s, ok := k.snapshots.get(selection(monitors)); ok {
		return s, nil
	}
	reply := make(chan wire.SessionState, 1)
	p := peek{monitors: monitors, reply: reply}
	if err := k.box.ask(p); err != nil {
		return wire.SessionState{}, err
	}
	select {
	case s := <-reply:
		return s, nil
	case <-k.done:
		return wire.SessionState{}, errGone
	case <-ctx.Done():
		k.box.unask(p)
		return wire.SessionState{}, ctx.Err()
	}
}

// Read implements [broadcast.Source].
func (k *liveSession) Read(ctx context.Context, after wire.Position, limit int) ([]store.Event, error) {
	return k.hub.store.Read(ctx, k.id, after, limit)
}

// Oldest implements [broadcast.Source].
func (k *liveSession) Oldest(ctx context.Context) (wire.Position, error) {
	s, err := k.hub.store.Session(ctx, k.id)
	return s.Oldest, err
}

// serve answers requests for snapshots from a state that is in the log.
func (k *liveSession) serve(peeks []peek, state *desktop.State) {
	for _, p := range peeks {
		key := selection(p.monitors)
		s, ok := k.snapshots.get(key)
		if !ok {
			s = state.Snapshot(p.monitors...)
			k.snapshots.put(key, s)
		}
		p.reply <- s
	}
}
