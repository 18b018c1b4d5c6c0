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

// A broken key that many sessions share must not disable all of them. None of these keys is
// the only copy of its data: lists of sessions are rebuilt from the sessions, slots and
// replicas are requested and announced again. The broken key is kept under another name for
// the operator. The same script stores a mark that the lists must be rebuilt, so that any
// live replica does it: Unattended, which every hub calls regularly, starts a rebuild that
// was not completed.

// rebuildTimeout bounds the rebuild of a partition's lists, which scans all keys of a
// server.
const rebuildTimeout = 5 * time.Minute

// unknownReason is the reason of a quarantine whose own reason was lost with the quarantine
// list.
const unknownReason = "quarantined before; the reason was lost"

// rebuilds holds the partitions whose lists this process is rebuilding.
type rebuilds struct {
	mu      sync.Mutex
	running map[uint16]bool
}

// begin returns false if a rebuild of the partition is already running.
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

// rebuildLists rebuilds the lists of a partition in the background, because one of them is
// broken. If user is not empty, that user's list is checked as well.
func (s *Store) rebuildLists(p uint16, user string) {
	if !s.rebuilds.begin(p) {
		return
	}
	s.start(func() {
		defer s.rebuilds.end(p)
		ctx, cancel := context.WithTimeout(s.runCtx, rebuildTimeout)
		defer cancel()
		if err := s.rebuildPartition(ctx, p, user); err != nil {
			s.log.ErrorContext(ctx, "cannot rebuild partition lists", "partition", p, "err", err)
		}
	})
}

// rebuildPartition moves broken lists of a partition aside and lists all its sessions
// again.
func (s *Store) rebuildPartition(ctx context.Context, p uint16, user string) error {
	if err := s.moveBrokenListsAside(ctx, p, user); err != nil {
		return err
	}
	var mark string
	err := s.runOnServer(ctx, "read rebuild mark", retryable, s.keys.rebuildMark(p), func(ctx context.Context, server *redis.Client) error {
		var err error
		mark, err = server.Get(ctx, s.keys.rebuildMark(p)).Result()
		return err
	})
	if err != nil || mark == "" { // another replica has done it
		return err
	}
	begin, end := s.keys.at(p, "s", ""), ":meta"
	var entered int
	err = s.scan(ctx, "scan sessions", begin, end, func(name string) error {
		if wire.SessionID(name).Validate() == nil && partition(name) == p {
			entered++
			return s.listSession(ctx, wire.SessionID(name))
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.log.WarnContext(ctx, "partition lists rebuilt", "partition", p, "sessions", entered)
	_, err = s.call(ctx, "remove rebuild mark", retryable, s.scripts.endRebuild, []string{s.keys.rebuildMark(p)}, mark)
	return err
}

// moveBrokenListsAside moves those lists of a partition, and of a user in it, that have a
// wrong type aside, and sets the mark that they must be rebuilt.
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

// listSession adds a session to the lists of its partition. It moves lists of a wrong type
// aside and tries once more.
func (s *Store) listSession(ctx context.Context, id wire.SessionID) error {
	k := s.keys.session(id)
	what := "list session " + string(id)
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
	return fmt.Errorf("%s: %w: lists are overwritten by another program", what, store.ErrUnavailable)
}

// moveAside renames keys that belong together if one of them has a wrong type, or in any
// case if always is set. If it renamed them and note is given, it sets the rebuild mark at
// that key.
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
	moved, err := s.call(ctx, "move aside "+keys[0], retryable, s.scripts.moveAside,
		append(all, note...), append(args, always, rand.Text())...)
	if err != nil {
		return err
	}
	if n, _ := moved.(int64); n > 0 {
		s.log.ErrorContext(ctx, "unusable keys moved aside", "keys", keys, "as", all[len(keys):])
	}
	return nil
}

// callShared is call for keys that all sessions share and that may start empty: if they are
// broken, it moves them aside and runs the script once more.
func (s *Store) callShared(
	ctx context.Context, what string, sc *script, keys, kinds []string, args ...any,
) (any, error) {
	v, err := s.call(ctx, what, retryable, sc, keys, args...)
	foreign := errors.Is(err, store.ErrCorrupt)
	if !foreign && !failedInside(err) {
		return v, err
	}
	if failed := s.moveAside(ctx, keys, kinds, !foreign); failed != nil {
		return nil, fmt.Errorf("%w; move aside: %w", err, failed)
	}
	return s.call(ctx, what, retryable, sc, keys, args...)
}

// failedInside reports whether a script aborted with an error of its own, for instance
// because a value is not a number.
func failedInside(err error) bool {
	answer, ok := redisReply(err)
	return ok && strings.HasPrefix(answer, "ERR") && strings.Contains(answer, "user_script") &&
		!strings.Contains(answer, "SCRIPT KILL")
}
