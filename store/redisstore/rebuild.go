package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// What many sessions share must not end them all when it is broken. None of it is
// the only copy of anything: lists of sessions are made anew from the sessions,
// slots and replicas are asked for and announced again. What was in the way is kept
// under another name, for an operator to look at. That lists have to be made anew
// is written down together with that, so that whoever lives does it: Unattended,
// which every hub asks all the time, begins what nobody has finished.

// rebuildTimeout bounds making the lists of a partition anew, which looks at all keys of
// a server.
const rebuildTimeout = 5 * time.Minute

// unknownReason is what is known of a session that is set aside when the list that
// said why is lost.
const unknownReason = "it was set aside before; why is not known any more"

// rebuilds are the partitions whose lists are being made anew.
type rebuilds struct {
	mu      sync.Mutex
	running map[uint16]bool
}

// begin is false if somebody does that already.
func (m *rebuilds) begin(p uint16) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running[p] {
		return false
	}
	if m.running == nil {
		m.running = map[uint16]bool{}
	}
	m.running[p] = true
	return true
}

func (m *rebuilds) end(p uint16) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.running, p)
}

// rebuildLists makes the lists of a partition anew, in the background, because one of them
// cannot be used. The user is whose list is to be looked at as well, or empty.
func (s *Store) rebuildLists(p uint16, user string) {
	if !s.rebuilds.begin(p) {
		return
	}
	s.start(func() {
		defer s.rebuilds.end(p)
		ctx, cancel := context.WithTimeout(s.runCtx, rebuildTimeout)
		defer cancel()
		if err := s.rebuildPartition(ctx, p, user); err != nil {
			s.log.ErrorContext(ctx, "lists of a partition are broken", "partition", p, "err", err)
		}
	})
}

// rebuildPartition sets aside those lists of a partition that are none, and enters all its
// sessions again.
func (s *Store) rebuildPartition(ctx context.Context, p uint16, user string) error {
	if err := s.moveBrokenListsAside(ctx, p, user); err != nil {
		return err
	}
	var mark string
	err := s.runOnServer(ctx, "ask about lists", retryable, s.keys.rebuildMark(p), func(ctx context.Context, server *redis.Client) error {
		var err error
		mark, err = server.Get(ctx, s.keys.rebuildMark(p)).Result()
		return err
	})
	if err != nil || mark == "" { // somebody else has done it
		return err
	}
	begin, end := s.keys.at(p, "s", ""), ":meta"
	var entered int
	err = s.scan(ctx, "look for sessions", begin, end, func(name string) error {
		if wire.SessionID(name).Validate() == nil && partition(name) == p {
			entered++
			return s.listSession(ctx, wire.SessionID(name))
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.log.WarnContext(ctx, "lists of a partition were made anew", "partition", p, "sessions", entered)
	_, err = s.call(ctx, "end making lists", retryable, s.scripts.endRebuild, []string{s.keys.rebuildMark(p)}, mark)
	return err
}

// moveBrokenListsAside sets aside those lists of a partition, and that of a user in it, that
// are none, and leaves a note that they are to be made anew.
func (s *Store) moveBrokenListsAside(ctx context.Context, p uint16, user string) error {
	k := sessionKeys{space: s.keys, partition: p}
	lists := map[string]string{
		s.keys.sessions(p): "zset", k.working(): "zset", k.quarantine(): "hash", k.rebuildMark(): "string",
	}
	if user != "" {
		lists[s.keys.userSessions(p, user)] = "zset"
	}
	for key, kind := range lists {
		if err := s.moveAside(ctx, []string{key}, []string{kind}, false, k.rebuildMark()); err != nil {
			return err
		}
	}
	return nil
}

// listSession enters a session in the lists of its partition. One that is found to be none
// is put away on the way.
func (s *Store) listSession(ctx context.Context, id wire.SessionID) error {
	k := s.keys.session(id)
	what := "enter session " + string(id)
	var user string
	err := s.runOnServer(ctx, what, retryable, k.meta(), func(ctx context.Context, server *redis.Client) error {
		var err error
		user, err = server.HGet(ctx, k.meta(), "user").Result()
		return err
	})
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	for range 2 {
		v, err := s.call(ctx, what, retryable, s.scripts.listSession,
			[]string{k.meta(), s.keys.sessions(k.partition), s.keys.userSessions(k.partition, user), k.working(), k.quarantine()},
			string(id), user, unknownReason)
		if _, done := v.(int64); done || err != nil {
			return err
		}
		if err := s.moveBrokenListsAside(ctx, k.partition, user); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w: somebody breaks the lists again and again", what, store.ErrUnavailable)
}

// moveAside moves keys that belong together to other names if one of them is not of
// its kind, or in any case. If it did, a note is left at a key unless there is none.
func (s *Store) moveAside(ctx context.Context, keys, kinds []string, always bool, note ...string) error {
	args := make([]any, 0, len(kinds)+2)
	for _, kind := range kinds {
		args = append(args, kind)
	}
	all := slices.Clone(keys)
	for _, key := range keys {
		tag, rest, _ := strings.Cut(key, "}:")
		all = append(all, tag+"}:aside:"+rest)
	}
	moved, err := s.call(ctx, "put away "+keys[0], retryable, s.scripts.moveAside,
		append(all, note...), append(args, always, rand.Text())...)
	if err != nil {
		return err
	}
	if n, _ := moved.(int64); n > 0 {
		s.log.ErrorContext(ctx, "keys that cannot be used are put away", "keys", keys, "as", all[len(keys):])
	}
	return nil
}

// callShared is call for what all sessions share and what can begin anew: when it
// cannot be used it is put away, and the script runs once more.
func (s *Store) callShared(
	ctx context.Context, what string, sc *script, keys, kinds []string, args ...any,
) (any, error) {
	v, err := s.call(ctx, what, retryable, sc, keys, args...)
	foreign := errors.Is(err, store.ErrCorrupt)
	if !foreign && !failedInside(err) {
		return v, err
	}
	if failed := s.moveAside(ctx, keys, kinds, !foreign); failed != nil {
		return nil, fmt.Errorf("%w; and %w", err, failed)
	}
	return s.call(ctx, what, retryable, sc, keys, args...)
}

// failedInside reports whether a script ended in the middle by itself, as it does
// when a number is none.
func failedInside(err error) bool {
	answer, ok := redisReply(err)
	return ok && strings.HasPrefix(answer, "ERR") && strings.Contains(answer, "user_script") &&
		!strings.Contains(answer, "SCRIPT KILL")
}
