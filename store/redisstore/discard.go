package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Discard removes a quarantined session, even if its data is unreadable. It finds the
// session's keys by name, which scans all keys of a server; no writer can add a key
// meanwhile, because the session is quarantined. [store.ErrConflict] if it is not.
func (s *Sessions) Discard(ctx context.Context, session wire.SessionID) error {
	if err := session.Validate(); err != nil {
		return fmt.Errorf("discard session: %w", err)
	}
	k := s.keys.session(session)
	lists := []string{k.meta(), k.quarantine(), k.floor(), k.working(), s.keys.sessions(k.partition)}
	others, own := 0, []string{}
	begin, user, recent := s.keys.at(k.partition, ""), s.keys.userSessions(k.partition, ""), s.keys.recent(k.partition)
	err := s.scan(ctx, "scan keys of session "+string(session), begin, "", func(rest string) error {
		switch key := begin + rest; {
		case strings.HasPrefix(key, user), key == recent, strings.HasPrefix(key, recent+":"):
			lists = append(lists, key)
			others++
		case strings.HasPrefix(key, k.base):
			own = append(own, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	objects, err := s.cold.noteAll(ctx, session, 0)
	if err != nil {
		return fmt.Errorf("discard session: %w", err)
	}
	r, err := s.calls.callSession(ctx, "discard session", notRetryable, session, s.scripts.discard, append(lists, own...), string(session), others)
	if err == nil && r.word == "CONFLICT" {
		err = fmt.Errorf("discard session %s: it is not quarantined: %w", session, store.ErrConflict)
	}
	if err == nil {
		s.cold.removeAll(ctx, session, objects)
	}
	return err
}
