package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Create creates a session unless its user has reached the limit. Replicas do not lock
// each other out: close to the limit it counts again after creating, and deletes the youngest
// sessions in excess.
func (s *Sessions) Create(ctx context.Context, n session.NewSession) (session.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, OpenTimeout)
	defer cancel()
	release, err := s.createLocks.acquire(ctx, n.User)
	if err != nil {
		return session.Info{}, err
	}
	defer release()
	return s.createLocked(ctx, n)
}

// createLocked is createWithinLimit for a caller that holds the user's create lock.
func (s *Sessions) createLocked(ctx context.Context, n session.NewSession) (session.Info, error) {
	most := s.limit
	if most < 0 {
		return s.hub.Create(ctx, n)
	}
	first, err := s.hub.List(ctx, store.Query{User: n.User, Recent: true, Limit: 1})
	if err != nil {
		return session.Info{}, err
	}
	if first.Total+concurrentCreates < most {
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

// Give gives a session to another user, with whom it is shared, unless that user has reached the limit. Replicas do
// not lock each other out, so a user who gets several sessions at the same moment may have a few more.
func (s *Sessions) Give(ctx context.Context, info session.Info, user string) error {
	ctx, cancel := context.WithTimeout(ctx, OpenTimeout)
	defer cancel()
	release, err := s.createLocks.acquire(ctx, user)
	if err != nil {
		return err
	}
	defer release()
	if s.limit >= 0 {
		theirs, err := s.hub.List(ctx, store.Query{User: user, Recent: true, Limit: 1})
		if err != nil {
			return err
		}
		if theirs.Total >= s.limit {
			s.limited()
			return problem.New(wire.CodeSessionInvalidState, fmt.Sprintf("%s has %d sessions, and no more are allowed.", user, theirs.Total))
		}
	}
	if err := s.hub.ChangeUser(ctx, info.ID, info.User, user); err != nil {
		return err
	}
	s.deleteName(ctx, info)                                     // it belongs to the user before
	if err := s.mcpTokens.RemoveAll(ctx, info.ID); err != nil { // they are of no use any more, and expire
		s.log.WarnContext(ctx, "deleting MCP tokens of the former user failed", "session", info.ID, "err", err)
	}
	return nil
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
func (s *Sessions) countSessions(ctx context.Context, made session.Info) (older, all int, err error) {
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

func (s *Sessions) tooManySessions(have int) error {
	s.limited()
	return problem.New(wire.CodeSessionInvalidState,
		fmt.Sprintf("You have %d sessions, and no more are allowed; delete one first.", have))
}

// ResolveDesktop returns the session of a desktop client: the one it names if the user may see it,
// or else a new one in its place; without a name the user's most recently updated session, or a
// first one. known says that it exists under that name. The client gets the id from
// CONNECTION_STATUS.
func (s *Sessions) ResolveDesktop(ctx context.Context, who auth.Identity, named wire.SessionID) (id wire.SessionID, known bool, err error) {
	if who.Session != "" {
		return who.Session, false, nil // the credential allows no other
	}
	if named != "" {
		if !s.isMissing(ctx, who, named) {
			return named, true, nil // it exists, or the error will occur again
		}
		if made, err := s.replaceMissing(ctx, who, named); err != nil || made != "" {
			return made, false, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, OpenTimeout)
	defer cancel()
	release, err := s.createLocks.acquire(ctx, who.User)
	if err != nil {
		return named, false, err
	}
	defer release()
	if !MayHaveSessions(who) {
		return named, false, problem.New(wire.CodeSessionNotFound, "")
	}
	latest, err := s.Latest(ctx, who.User)
	if err != nil || latest != "" {
		return latest, false, err
	}
	if !who.Has(auth.RoleUser) {
		return latest, false, problem.New(wire.CodeSessionNotFound, "")
	}
	info, err := s.hub.Create(ctx, session.NewSession{User: who.User})
	if err != nil {
		return "", false, err
	}
	id, err = s.keepOldest(ctx, info)
	return id, false, err
}

// isMissing reports whether a session does not exist or is not visible to the user. Callers must
// not reveal which of the two it is.
func (s *Sessions) isMissing(ctx context.Context, who auth.Identity, id wire.SessionID) bool {
	_, _, err := s.Access(ctx, who, id)
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == wire.CodeSessionNotFound
}

// replaceMissing returns the session that a user gets in place of a missing one: a new one that has
// the missing id as its name, so that all tabs that still have that id, on any replica, get the
// same session. The id itself is never used again: it may be that of a deleted session. The result
// is empty if the user may not name sessions or has reached the session limit.
func (s *Sessions) replaceMissing(ctx context.Context, who auth.Identity, missing wire.SessionID) (wire.SessionID, error) {
	if !MayNameSessions(who) {
		return "", nil
	}
	info, _, err := s.OpenNamed(ctx, session.NewSession{User: who.User, Name: missing})
	if p, ok := errors.AsType[*problem.Error](err); ok && p.Code == wire.CodeSessionInvalidState {
		return "", nil
	}
	return info.ID, err
}

// keepOldest returns the user's oldest session and deletes made if that is another: another replica
// may have created one at the same moment. When the clocks of the replicas differ by more than that
// moment both sessions stay, and the tabs get the same one with their next connection.
func (s *Sessions) keepOldest(ctx context.Context, made session.Info) (wire.SessionID, error) {
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
