package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Discard removes a session that is set aside. Nothing of it has to be readable:
// its keys are known by their names, which is why all keys of a server are looked
// at. Nobody writes to it meanwhile, so none is added.
func (s *Store) Discard(ctx context.Context, session wire.SessionID) error {
	if err := session.Validate(); err != nil {
		return fmt.Errorf("discard session: %w", err)
	}
	k := s.keys.session(session)
	lists := []string{k.meta(), k.quarantine(), k.floor(), k.working(), s.keys.sessions(k.partition)}
	users, own := 0, []string{}
	begin, user := s.keys.at(k.partition, ""), s.keys.userSessions(k.partition, "")
	err := s.scan(ctx, "look for keys of session "+string(session), begin, "", func(rest string) error {
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

// scan shows what is between begin and end in the names of keys, some of them
// twice. The beginning names a partition.
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
