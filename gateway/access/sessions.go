package access

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Documents is the part of the store that holds the names of sessions.
type Documents interface {
	// Get returns a document, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put stores a document unless its version is no longer d.Version: then it returns
	// [store.ErrConflict]. Version 0 means that there is none yet.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	// Remove deletes a document of that version, or returns [store.ErrConflict].
	Remove(ctx context.Context, collection, name string, version uint64) error
}

// OpenTimeout bounds the store calls that open or create a session for a client.
const OpenTimeout = 30 * time.Second

// Sessions finds, creates and deletes the sessions of users, and decides what a user may do in one.
type Sessions struct {
	hub   *session.Hub
	store Documents
	files *files.Store
	log   *slog.Logger
	// limit is the number of sessions a user may have; negative means no limit. limited is called
	// when a user has reached it.
	limit   int
	limited func()

	mcpTokens, links Credentials
	createLocks      createLocks
}

// Credentials is the part of package auth that stores the MCP tokens, or the links, of sessions.
type Credentials interface {
	// RemoveAll deletes those of a session. Clients that use them are refused from then on.
	RemoveAll(ctx context.Context, id wire.SessionID) error
}

// NewSessions returns a Sessions that creates at most limit sessions per user, or any number if limit
// is negative, and calls limited when a user has reached the limit.
func NewSessions(hub *session.Hub, names Documents, uploads *files.Store, log *slog.Logger, limit int, limited func(), mcpTokens, links Credentials) *Sessions {
	return &Sessions{hub: hub, store: names, files: uploads, log: log, limit: limit, limited: limited, mcpTokens: mcpTokens, links: links}
}

// Remove deletes a session and its files.
func (s *Sessions) Remove(ctx context.Context, id wire.SessionID) error {
	info, _ := s.hub.Info(ctx, id) // a name that stays does no harm
	// The files first: after a crash there may be a session without files, but never files without
	// a session.
	if err := s.files.RemoveAll(ctx, id); err != nil {
		return err
	}
	// The links, too: those to a moment hold what the session has shown.
	if err := s.links.RemoveAll(ctx, id); err != nil {
		return err
	}
	if err := s.hub.Delete(ctx, id); err != nil {
		return err
	}
	s.deleteName(ctx, info)
	if err := s.mcpTokens.RemoveAll(ctx, id); err != nil { // they are of no use any more, and expire
		s.log.WarnContext(ctx, "deleting MCP tokens of a deleted session failed", "session", id, "err", err)
	}
	if err := s.links.RemoveAll(ctx, id); err != nil { // made meanwhile
		s.log.WarnContext(ctx, "deleting links of a deleted session failed", "session", id, "err", err)
	}
	// A file may have been uploaded meanwhile. The session is deleted now, whether or not this
	// fails.
	if err := s.files.RemoveAll(ctx, id); err != nil {
		s.log.WarnContext(ctx, "deleting files of a deleted session failed", "session", id, "err", err)
	}
	return nil
}

// Access returns the access of a user to a session. A missing session and one that the user may
// not see give the same error, [wire.CodeSessionNotFound]. A name is resolved to the session that
// the user gave it to. The error is a [*session.Error] or the store's.
func (s *Sessions) Access(ctx context.Context, who auth.Identity, id wire.SessionID) (Level, session.Info, error) {
	// The same text for both cases, or it would reveal which of them it is.
	hidden := &session.Error{Code: wire.CodeSessionNotFound, Reason: wire.CodeSessionNotFound.Info().Message}
	if session.IsName(id) {
		called, _, err := s.lookUpName(ctx, who.User, id)
		if err != nil {
			return None, session.Info{}, err
		}
		id = cmp.Or(called, id)
	}
	if id.Validate() != nil || who.Session != "" && who.Session != id {
		return None, session.Info{}, hidden
	}
	info, err := s.hub.Info(ctx, id)
	if err != nil {
		if IsNotFound(err) {
			err = hidden
		}
		return None, session.Info{}, err
	}
	granted := LevelOf(who, info)
	if granted == None && info.Stale {
		return None, session.Info{}, store.ErrUnavailable // the session may be shared with the user
	}
	if granted == None || info.Importing {
		return None, session.Info{}, hidden
	}
	if info.Quarantined != "" {
		return granted, info, &session.Error{
			Code: wire.CodeSessionInvalidState, Reason: "The session is quarantined because its data cannot be read; an operator has to look at it.",
		}
	}
	return granted, info, nil
}

// Latest returns the most recently updated session of a user, or "".
func (s *Sessions) Latest(ctx context.Context, user string) (wire.SessionID, error) {
	var best session.Info
	for q := (store.Query{User: user, Recent: true, Limit: 20}); ; {
		page, err := s.hub.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, info := range page.Items {
			// The listing is by second.
			if best.ID != "" && info.Updated.Unix() != best.Updated.Unix() {
				return best.ID, nil
			}
			if info.User == user && info.Quarantined == "" && (best.ID == "" || info.Updated.After(best.Updated)) {
				best = info
			}
		}
		if q.After = page.Next; q.After == "" {
			return best.ID, nil
		}
	}
}
