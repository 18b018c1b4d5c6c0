package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// createLocks serialises session creation per user, so that two tabs of a new user get one session
// and no user gets more sessions than allowed. Different users do not wait for each other.
type createLocks struct {
	mu   sync.Mutex
	held map[string]*createLock // by user; only those held or awaited
}

type createLock struct {
	taken chan struct{}
	users int // holders and waiters; guarded by createLocks.mu
}

// acquire waits for the user's lock. The caller must call release.
func (b *createLocks) acquire(ctx context.Context, user string) (release func(), err error) {
	b.mu.Lock()
	if b.held == nil {
		b.held = map[string]*createLock{}
	}
	t := b.held[user]
	if t == nil {
		t = &createLock{taken: make(chan struct{}, 1)}
		b.held[user] = t
	}
	t.users++
	b.mu.Unlock()
	leave := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(b.held, user)
		}
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("wait for another request of the user: %w", context.Cause(ctx))
	}
}

// createWithinLimit creates a session unless its user has reached the limit. Replicas do not lock
// each other out: close to the limit it counts again after creating, and deletes the youngest
// sessions in excess.
func (s *Server) createWithinLimit(ctx context.Context, n session.NewSession) (session.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	release, err := s.createLocks.acquire(ctx, n.User)
	if err != nil {
		return session.Info{}, err
	}
	defer release()
	return s.createLocked(ctx, n)
}

// createLocked is createWithinLimit for a caller that holds the user's create lock.
func (s *Server) createLocked(ctx context.Context, n session.NewSession) (session.Info, error) {
	most := s.cfg.UserSessions
	if most < 0 {
		return s.hub.Create(ctx, n)
	}
	have := 0
	for q := (store.Query{User: n.User, Limit: most}); ; {
		page, err := s.hub.List(ctx, q)
		if err != nil {
			return session.Info{}, err
		}
		if have += len(page.Items); have >= most {
			return session.Info{}, s.tooManySessions(have)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	made, err := s.hub.Create(ctx, n)
	if err != nil || have+concurrentCreates < most {
		return made, err
	}
	for tries := 0; ; tries++ {
		older, all, err := s.countSessions(ctx, made)
		switch {
		case err != nil || all <= most:
			return made, nil //nolint:nilerr // the session exists; after an error the client would create another
		case older >= most || tries == maxRecounts:
			if err := s.hub.Delete(ctx, made.ID); err != nil {
				return session.Info{}, err
			}
			return session.Info{}, s.tooManySessions(all - 1)
		}
		// The replicas that created the younger ones delete them when they see this one. But a
		// session is dated before it is listed, so a replica may have counted too early.
		select {
		case <-time.After(recountDelay):
		case <-ctx.Done():
		}
	}
}

const (
	// concurrentCreates is how many sessions all replicas together could create for one user at the
	// same moment.
	concurrentCreates = 100
	// maxRecounts is how often a replica waits for others to delete their younger sessions, and
	// recountDelay how long each time.
	maxRecounts  = 5
	recountDelay = 50 * time.Millisecond
)

// countSessions counts the sessions of a user, and those that are older than one of them.
func (s *Server) countSessions(ctx context.Context, made session.Info) (older, all int, err error) {
	for q := (store.Query{User: made.User}); ; {
		page, err := s.hub.List(ctx, q)
		if err != nil {
			return 0, 0, err
		}
		all += len(page.Items)
		for _, i := range page.Items {
			if isOlder(i, made) {
				older++
			}
		}
		if q.After = page.Next; q.After == "" {
			return older, all, nil
		}
	}
}

// isOlder orders sessions by creation time, then by id.
func isOlder(a, b session.Info) bool {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) < 0
}

func (s *Server) tooManySessions(have int) error {
	s.observer.Limited(limitSessions)
	return problem(wire.CodeSessionInvalidState,
		fmt.Sprintf("You have %d sessions, and no more are allowed; delete one first.", have))
}

// resolveDesktopSession sets w.session to the session of a desktop client: the one it names if the
// user may see it, or else a new one in its place; without a name the user's most recently updated
// session, or a first one. The client learns the id from CONNECTION_STATUS.
func (s *Server) resolveDesktopSession(ctx context.Context, who auth.Identity, w *connectRequest) error {
	if who.Session != "" {
		w.session = who.Session // the credential allows no other
		return nil
	}
	if w.session != "" {
		if !s.isMissing(ctx, who, w.session) {
			w.knownSession = true
			return nil // it exists, or the error will occur again
		}
		if made, err := s.replaceMissing(ctx, who, w.session); err != nil || made != "" {
			w.session = made
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	release, err := s.createLocks.acquire(ctx, who.User)
	if err != nil {
		return err
	}
	defer release()
	if !mayHaveSessions(who) {
		return &refusal{code: wire.CodeSessionNotFound}
	}
	latest, err := s.latestSession(ctx, who.User)
	if err != nil || latest != "" {
		w.session = latest
		return err
	}
	if !who.Has(auth.RoleUser) {
		return &refusal{code: wire.CodeSessionNotFound}
	}
	info, err := s.hub.Create(ctx, session.NewSession{User: who.User})
	if err != nil {
		return err
	}
	w.session, err = s.keepOldest(ctx, info)
	return err
}

// isNotFoundProblem reports whether a session does not exist or is not visible to the user. Callers must
// not reveal which of the two it is.
func (s *Server) isMissing(ctx context.Context, who auth.Identity, id wire.SessionID) bool {
	_, _, err := s.accessTo(ctx, who, id)
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == wire.CodeSessionNotFound
}

// replaceMissing returns the session that a user gets in place of a missing one: a new one that has
// the missing id as its name, so that all tabs that still have that id, on any replica, get the
// same session. The id itself is never used again: it may be that of a deleted session. The result
// is empty if the user may not name sessions or has reached the session limit.
func (s *Server) replaceMissing(ctx context.Context, who auth.Identity, missing wire.SessionID) (wire.SessionID, error) {
	if !mayNameSessions(who) {
		return "", nil
	}
	info, _, err := s.openNamed(ctx, session.NewSession{User: who.User, Name: missing})
	if p, ok := errors.AsType[*problemError](err); ok && p.Code == wire.CodeSessionInvalidState {
		return "", nil
	}
	return info.ID, err
}

// keepOldest returns the user's oldest session and deletes made if that is another: another replica
// may have created one at the same moment. When the clocks of the replicas differ by more than that
// moment both sessions stay, and the tabs get the same one with their next connection.
func (s *Server) keepOldest(ctx context.Context, made session.Info) (wire.SessionID, error) {
	first := made
	for q := (store.Query{User: made.User}); ; {
		page, err := s.hub.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, i := range page.Items {
			if i.User == made.User && i.Quarantined == "" && isOlder(i, first) {
				first = i
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if first.ID != made.ID {
		if err := s.hub.Delete(ctx, made.ID); err != nil {
			s.log.WarnContext(ctx, "deleting duplicate first session failed", "session", made.ID, "err", err)
		}
	}
	return first.ID, nil
}

// latestSession returns the most recently updated session of a user, or "".
func (s *Server) latestSession(ctx context.Context, user string) (wire.SessionID, error) {
	var best session.Info
	for q := (store.Query{User: user}); ; {
		page, err := s.hub.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, info := range page.Items {
			if info.User == user && info.Quarantined == "" && (best.ID == "" || info.Updated.After(best.Updated)) {
				best = info
			}
		}
		if q.After = page.Next; q.After == "" {
			return best.ID, nil
		}
	}
}
