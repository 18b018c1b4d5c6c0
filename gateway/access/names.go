package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// nameCollection is the collection of the names that users gave their sessions: a document per user
// and name that contains the session id. The session's own record has the name as well, for
// listings.
const nameCollection = "names"

// nameDocument returns the document name for a user's session name. It contains a hash of the user,
// so that it reveals no user and is valid whatever characters the user name has.
func nameDocument(user string, name wire.SessionID) string {
	sum := sha256.Sum256([]byte(user))
	return hex.EncodeToString(sum[:]) + "." + string(name)
}

// lookUpName returns the id of the session that has a user's name, or "" if there is none, and the
// version of the name's document.
func (s *Sessions) lookUpName(ctx context.Context, user string, name wire.SessionID) (id wire.SessionID, version uint64, err error) {
	doc, err := s.store.Get(ctx, nameCollection, nameDocument(user, name))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", 0, nil
	case err != nil:
		return "", 0, fmt.Errorf("look up the session %s: %w", name, err)
	}
	return wire.SessionID(doc.Data), doc.Version, nil
}

// MayNameSessions reports whether a caller may create sessions under names.
func MayNameSessions(who auth.Identity) bool { return who.Has(auth.RoleUser) && who.Session == "" }

// OpenNamed finds the user's session of a name or creates it, and reports whether it was created.
// Replicas that do so at the same moment agree: each creates a session, and the one whose id is
// stored in the name's document first stays. A session exists before its name does, so a name
// without a session is that of a deleted one, and its id is never used again.
func (s *Sessions) OpenNamed(ctx context.Context, n session.NewSession) (info session.Info, made bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, OpenTimeout)
	defer cancel()
	end, err := s.createLocks.acquire(ctx, n.User)
	if err != nil {
		return session.Info{}, false, err
	}
	defer end()
	for {
		info, version, err := s.findNamed(ctx, n)
		if err != nil || info.ID != "" {
			return info, false, err
		}
		// A session with that name in its record but without the document is left by a crash or by
		// a store that lost its newest writes.
		info, err = s.findByRecord(ctx, n)
		made := err == nil && info.ID == ""
		if made {
			info, err = s.createLocked(ctx, n)
		}
		if err != nil {
			// Another replica may just have created the user's last allowed session.
			if info, _, _ := s.findNamed(ctx, n); info.ID != "" {
				return info, false, nil
			}
			return session.Info{}, false, err
		}
		_, err = s.store.Put(ctx, store.Document{
			Collection: nameCollection, Name: nameDocument(n.User, n.Name), Version: version, Data: []byte(info.ID),
		})
		switch {
		case err == nil:
			return info, made, nil
		case !errors.Is(err, store.ErrConflict):
			return session.Info{}, false, fmt.Errorf("name a session: %w", err)
		}
		if first, _, err := s.findNamed(ctx, n); made && err == nil && first.ID != info.ID {
			if err := s.hub.Delete(ctx, info.ID); err != nil {
				s.log.WarnContext(ctx, "deleting duplicate named session failed", "session", info.ID, "name", n.Name, "err", err)
			}
		}
	}
}

// findNamed returns the session that has the name, or none, and the version of the name's document.
func (s *Sessions) findNamed(ctx context.Context, n session.NewSession) (session.Info, uint64, error) {
	id, version, err := s.lookUpName(ctx, n.User, n.Name)
	if err != nil || id == "" {
		return session.Info{}, version, err
	}
	info, err := s.hub.Info(ctx, id)
	if IsNotFound(err) || err == nil && info.User != n.User {
		return session.Info{}, version, nil
	}
	return info, version, err
}

// findByRecord returns the user's oldest session that has the name in its record, or none.
func (s *Sessions) findByRecord(ctx context.Context, n session.NewSession) (first session.Info, err error) {
	for q := (store.Query{User: n.User, Limit: 1000}); ; {
		page, err := s.hub.List(ctx, q)
		if err != nil {
			return session.Info{}, err
		}
		for _, i := range page.Items {
			if i.Name == n.Name && i.User == n.User && i.Quarantined == "" && (first.ID == "" || isOlder(i, first)) {
				first = i
			}
		}
		if q.After = page.Next; q.After == "" {
			return first, nil
		}
	}
}

// deleteName deletes the name of a deleted session. If that fails, the next session of that name
// overwrites it.
func (s *Sessions) deleteName(ctx context.Context, info session.Info) {
	if info.Name == "" {
		return
	}
	id, version, err := s.lookUpName(ctx, info.User, info.Name)
	if err == nil && id == info.ID {
		err = s.store.Remove(ctx, nameCollection, nameDocument(info.User, info.Name), version)
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		s.log.WarnContext(ctx, "deleting session name failed", "session", info.ID, "name", info.Name, "err", err)
	}
}

// IsNotFound reports whether an error means that a session does not exist.
func IsNotFound(err error) bool {
	refused, ok := errors.AsType[*session.Error](err)
	return errors.Is(err, store.ErrNotFound) || ok && refused.Code == wire.CodeSessionNotFound
}
