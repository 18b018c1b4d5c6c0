package filestore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// registry holds all sessions in memory: by id, and for listings the sorted ids of all
// sessions and of each user, and both by last change.
type registry struct {
	leases *sharedLeases // of the sessions

	mu         sync.RWMutex // guards the fields below
	sessions   map[wire.SessionID]*session
	ids        []wire.SessionID
	byUser     map[string][]wire.SessionID
	recent     recentList
	userRecent map[string]recentList
}

func newRegistry(leases *sharedLeases) *registry {
	return &registry{
		leases: leases, sessions: map[wire.SessionID]*session{}, byUser: map[string][]wire.SessionID{}, userRecent: map[string]recentList{},
	}
}

// find returns the session with the id if it exists, or nil.
func (r *registry) find(id wire.SessionID) *session {
	r.mu.RLock()
	e := r.sessions[id]
	r.mu.RUnlock()
	if e == nil || e.isAbsent() {
		return nil
	}
	return e
}

// get returns the session with the id even if it is absent, or nil.
func (r *registry) get(id wire.SessionID) *session {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sessions[id]
}

// all returns all sessions, also absent ones.
func (r *registry) all() []*session {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Values(r.sessions))
}

// page returns the ids of at most limit sessions after an id, of a user unless user is empty,
// and whether there are more.
func (r *registry) page(user string, after wire.SessionID, limit int) (ids []wire.SessionID, more bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	ids = r.ids
	if user != "" {
		ids = r.byUser[user]
	}
	i, found := slices.BinarySearch(ids, after)
	if found {
		i++
	}
	end := min(i+limit, len(ids))
	return slices.Clone(ids[i:end]), end < len(ids)
}

// unattended returns at most limit sessions that have unfinished work and no live lease, and
// are not quarantined.
func (r *registry) unattended(now time.Time, limit int) (out []wire.SessionID) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range r.ids {
		if len(out) == limit {
			break
		}
		if r.sessions[id].isUnattended(now) {
			out = append(out, id)
		}
	}
	return out
}

// add makes a session present with the meta m and lists it.
func (r *registry) add(e *session, m meta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.meta, e.absent, e.until = m, false, m.until
	r.sessions[e.id] = e
	r.ids = insert(r.ids, e.id)
	r.byUser[m.user] = insert(r.byUser[m.user], e.id)
	r.listRecentLocked(e, m.user, m.updated.Unix())
}

// remove makes a session absent, removes it from the listings and wakes all goroutines that
// wait for it.
func (r *registry) remove(e *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.absent = true
	delete(r.sessions, e.id)
	r.ids = remove(r.ids, e.id)
	r.unlistUserLocked(e, e.meta.user)
	r.unlistRecentLocked(e, e.meta.user)
	e.notifyWaitersLocked()
}

// unlistUserLocked removes a session from the sorted ids of a user.
func (r *registry) unlistUserLocked(e *session, user string) {
	if rest := remove(r.byUser[user], e.id); len(rest) > 0 {
		r.byUser[user] = rest
	} else {
		delete(r.byUser, user)
	}
}

func insert(ids []wire.SessionID, id wire.SessionID) []wire.SessionID {
	i, found := slices.BinarySearch(ids, id)
	if found {
		return ids
	}
	return slices.Insert(ids, i, id)
}

func remove(ids []wire.SessionID, id wire.SessionID) []wire.SessionID {
	i, found := slices.BinarySearch(ids, id)
	if !found {
		return ids
	}
	return slices.Delete(ids, i, i+1)
}

// reserve returns an absent session with its write lock held, so that the caller can create
// it.
func (r *registry) reserve(ctx context.Context, id wire.SessionID) (*session, error) {
	for {
		r.mu.Lock()
		e := r.sessions[id]
		if e == nil {
			e = r.newSession(id)
			r.sessions[e.id] = e
		}
		r.mu.Unlock()
		if err := e.writeLock.lock(ctx); err != nil {
			return nil, err
		}
		if !e.isAbsent() {
			e.writeLock.unlock()
			return nil, fmt.Errorf("session %s: %w", id, store.ErrExists)
		}
		r.mu.RLock()
		current := r.sessions[id] == e
		r.mu.RUnlock()
		if current {
			return e, nil
		}
		e.writeLock.unlock() // deleted meanwhile
	}
}

// unreserve removes the absent session and unlocks it.
func (r *registry) unreserve(e *session) {
	r.mu.Lock()
	delete(r.sessions, e.id)
	r.mu.Unlock()
	e.writeLock.unlock()
}
