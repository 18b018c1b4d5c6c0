package filestore

import (
	"slices"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// recentList holds sessions by last change, the oldest first. Sessions in use are at its end,
// so a change moves few others, and a session moves once a second at most.
type recentList []*session

// search returns the number of sessions that a listing from the newest on shows at or after
// the place.
func (l recentList) search(at store.RecentCursor) int {
	i, found := slices.BinarySearchFunc(l, at, func(e *session, at store.RecentCursor) int {
		switch place := e.recentPlace(); {
		case at.Before(place):
			return -1
		case place == at:
			return 0
		default:
			return 1
		}
	})
	if found {
		i++
	}
	return i
}

// recentPlace returns the place of a session in the listings by last change.
func (e *session) recentPlace() store.RecentCursor {
	return store.RecentCursor{Second: e.listedAt.Load(), ID: e.id}
}

// listRecentLocked adds a session to the listings by last change. The caller holds r.mu.
func (r *registry) listRecentLocked(e *session, user string, second int64) {
	e.listedAt.Store(second)
	at := e.recentPlace()
	r.recent = slices.Insert(r.recent, r.recent.search(at), e)
	mine := r.userRecent[user]
	r.userRecent[user] = slices.Insert(mine, mine.search(at), e)
}

// unlistRecentLocked removes a session from the listings by last change. The caller holds
// r.mu.
func (r *registry) unlistRecentLocked(e *session, user string) {
	at := e.recentPlace()
	r.recent = r.recent.without(e, at)
	if rest := r.userRecent[user].without(e, at); len(rest) > 0 {
		r.userRecent[user] = rest
	} else {
		delete(r.userRecent, user)
	}
}

func (l recentList) without(e *session, at store.RecentCursor) recentList {
	if i := l.search(at) - 1; i >= 0 && l[i] == e {
		return slices.Delete(l, i, i+1)
	}
	return l
}

// moveRecent moves a session to its new place in the listings by last change. The caller
// holds the session's write lock, so it is not deleted meanwhile.
func (r *registry) moveRecent(e *session, user string, second int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[e.id] == e {
		r.unlistRecentLocked(e, user)
		r.listRecentLocked(e, user, second)
	}
}

// changeUser moves a session from the listings of a user to those of another one. The caller holds
// the session's write lock.
func (r *registry) changeUser(e *session, was, user string, second int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[e.id] != e {
		return
	}
	r.unlistUserLocked(e, was)
	r.unlistRecentLocked(e, was)
	r.byUser[user] = insert(r.byUser[user], e.id)
	r.listRecentLocked(e, user, second)
}

// recentPage returns the ids of at most limit sessions by last change after a place, or from
// the newest on if after is nil, of a user unless user is empty; also the place of the last
// one if there are more, and the number of all.
func (r *registry) recentPage(user string, after *store.RecentCursor, limit int) (ids []wire.SessionID, next string, total int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := r.recent
	if user != "" {
		all = r.userRecent[user]
	}
	end := len(all)
	if after != nil {
		end = all.search(*after)
		if end > 0 && all[end-1].recentPlace() == *after {
			end--
		}
	}
	start := max(end-limit, 0)
	for i := end - 1; i >= start; i-- {
		ids = append(ids, all[i].id)
	}
	if start > 0 && len(ids) > 0 {
		next = all[start].recentPlace().String()
	}
	return ids, next, len(all)
}

// quarantinedPage returns the ids of at most limit quarantined sessions after an id, and
// whether there are more.
func (r *registry) quarantinedPage(after wire.SessionID, limit int) (ids []wire.SessionID, more bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range r.ids {
		if id <= after || !r.sessions[id].isQuarantined() {
			continue
		}
		if len(ids) == limit {
			return ids, true
		}
		ids = append(ids, id)
	}
	return ids, false
}
