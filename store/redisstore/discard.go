package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Discard removes a quarantined session, even if its data is unreadable. It finds the
// session's keys by name, which scans all keys of a server; no writer can add a key
// meanwhile, because the session is quarantined. [store.ErrConflict] if it is not.
func (s *Store) Discard(ctx context.Context, session wire.SessionID) error {
	if err := session.Validate(); err != nil {
		return fmt.Errorf("discard session: %w", err)
	}
	k := s.keys.session(session)
	lists := []string{k.meta(), k.quarantine(), k.floor(), k.working(), s.keys.sessions(k.partition)}
	users, own := 0, []string{}
	begin, user := s.keys.at(k.partition, ""), s.keys.userSessions(k.partition, "")
	err := s.scan(ctx, "scan keys of session "+string(session), begin, "", func(rest string) error {
		switch key := begin + rest; {
		case strings.HasPrefix(key, user):
			lists = append(lists, key)
			users++
		case strings.HasPrefix(key, k.base):
			own = append(own, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r, err := s.callSession(ctx, "discard session", notRetryable, session, s.scripts.discard, append(lists, own...), string(session), users)
	if err == nil && r.word == "CONFLICT" {
		err = fmt.Errorf("discard session %s: it is not quarantined: %w", session, store.ErrConflict)
	}
	return err
}

// scan calls show with the part of each key name between begin and end, for some keys
// twice. begin contains a partition, which selects the server.
func (s *Store) scan(ctx context.Context, what, begin, end string, show func(rest string) error) error {
	for cursor := uint64(0); ; {
		var found []string
		err := s.runOnServer(ctx, what, retryable, begin, func(ctx context.Context, server *redis.Client) error {
			var err error
			found, cursor, err = server.Scan(ctx, cursor, begin+"*"+end, 1000).Result()
			return err
		})
		if err != nil {
			return err
		}
		for _, key := range found {
			if err := show(strings.TrimSuffix(strings.TrimPrefix(key, begin), end)); err != nil {
				return err
			}
		}
		if cursor == 0 {
			return nil
		}
	}
}
