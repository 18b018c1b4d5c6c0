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

// rebuilder repairs keys that many sessions share and that have a wrong type: it moves them
// aside and lists the sessions of the partition again.
type rebuilder struct {
	*caller
	rebuilds rebuilds
}

// rebuildLists rebuilds the lists of a partition in the background, because one of them is
// broken. If user is not empty, that user's list is checked as well.
func (r *rebuilder) rebuildLists(p uint16, user string) {
	if !r.rebuilds.begin(p) {
		return
	}
	r.start(func() {
		defer r.rebuilds.end(p)
		ctx, cancel := context.WithTimeout(r.runCtx, rebuildTimeout)
		defer cancel()
		if err := r.rebuildPartition(ctx, p, user); err != nil {
			r.log.ErrorContext(ctx, "cannot rebuild partition lists", "partition", p, "err", err)
		}
	})
}

// rebuildPartition moves broken lists of a partition aside and lists all its sessions
// again.
func (r *rebuilder) rebuildPartition(ctx context.Context, p uint16, user string) error {
	if err := r.moveBrokenListsAside(ctx, p, user); err != nil {
		return err
	}
	var mark string
	err := r.runOnServer(ctx, "read rebuild mark", retryable, r.keys.rebuildMark(p), func(ctx context.Context, server *redis.Client) error {
		var err error
		mark, err = server.Get(ctx, r.keys.rebuildMark(p)).Result()
		return err
	})
	if err != nil || mark == "" { // another replica has done it
		return err
	}
	begin, end := r.keys.at(p, "s", ""), ":meta"
	var entered int
	err = r.scan(ctx, "scan sessions", begin, end, func(name string) error {
		if wire.SessionID(name).Validate() == nil && partition(name) == p {
			entered++
			return r.listSession(ctx, wire.SessionID(name))
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.log.WarnContext(ctx, "partition lists rebuilt", "partition", p, "sessions", entered)
	_, err = r.call(ctx, "remove rebuild mark", retryable, r.scripts.endRebuild, []string{r.keys.rebuildMark(p)}, mark)
	return err
}

// moveBrokenListsAside moves those lists of a partition, and of a user in it, that have a
// wrong type aside, and sets the mark that they must be rebuilt.
func (r *rebuilder) moveBrokenListsAside(ctx context.Context, p uint16, user string) error {
	k := sessionKeys{space: r.keys, partition: p}
	lists := map[string]string{
		r.keys.sessions(p): "zset", k.working(): "zset", k.quarantine(): "hash", k.rebuildMark(): "string",
		r.keys.recent(p): "zset", r.keys.sharedLeases(r.leasePartition(p)): "hash",
	}
	if user != "" {
		lists[r.keys.userRecent(p, user)] = "zset"
		lists[r.keys.userSessions(p, user)] = "zset"
	}
	for key, kind := range lists {
		if err := r.moveAside(ctx, []string{key}, []string{kind}, false, k.rebuildMark()); err != nil {
			return err
		}
	}
	return nil
}

// listSession adds a session to the lists of its partition. It moves lists of a wrong type
// aside and tries once more.
func (r *rebuilder) listSession(ctx context.Context, id wire.SessionID) error {
	k := r.keys.session(id)
	what := "list session " + string(id)
	var user string
	err := r.runOnServer(ctx, what, retryable, k.meta(), func(ctx context.Context, server *redis.Client) error {
		var err error
		user, err = server.HGet(ctx, k.meta(), "user").Result()
		return err
	})
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	for range 2 {
		keys, args := r.listSessionCall(id, user)
		v, err := r.call(ctx, what, retryable, r.scripts.listSession, keys, args...)
		if _, done := v.(int64); done || err != nil {
			return err
		}
		if err := r.moveBrokenListsAside(ctx, k.partition, user); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w: lists are overwritten by another program", what, store.ErrUnavailable)
}

// listSessionCall returns the keys and arguments of listsession.lua.
func (r *rebuilder) listSessionCall(id wire.SessionID, user string) (keys []string, args []any) {
	k := r.keys.session(id)
	keys = []string{k.meta(), r.keys.sessions(k.partition), r.keys.userSessions(k.partition, user), k.working(), k.quarantine()}
	return keys, []any{string(id), user, unknownReason}
}

// moveAside renames keys that belong together if one of them has a wrong type, or in any
// case if always is set. If it renamed them and note is given, it sets the rebuild mark at
// that key.
func (r *rebuilder) moveAside(ctx context.Context, keys, kinds []string, always bool, note ...string) error {
	args := make([]any, 0, len(kinds)+2)
	for _, kind := range kinds {
		args = append(args, kind)
	}
	all := slices.Clone(keys)
	for _, key := range keys {
		tag, rest, _ := strings.Cut(key, "}:")
		all = append(all, tag+"}:aside:"+rest)
	}
	moved, err := r.call(ctx, "move aside "+keys[0], retryable, r.scripts.moveAside,
		append(all, note...), append(args, always, rand.Text())...)
	if err != nil {
		return err
	}
	if n, _ := moved.(int64); n > 0 {
		r.log.ErrorContext(ctx, "unusable keys moved aside", "keys", keys, "as", all[len(keys):])
	}
	return nil
}

// callShared is call for keys that all sessions share and that may start empty: if they are
// broken, it moves them aside and runs the script once more.
func (r *rebuilder) callShared(
	ctx context.Context, what string, sc *script, keys, kinds []string, args ...any,
) (any, error) {
	v, err := r.call(ctx, what, retryable, sc, keys, args...)
	foreign := errors.Is(err, store.ErrCorrupt)
	if !foreign && !failedInside(err) {
		return v, err
	}
	if failed := r.moveAside(ctx, keys, kinds, !foreign); failed != nil {
		return nil, fmt.Errorf("%w; move aside: %w", err, failed)
	}
	return r.call(ctx, what, retryable, sc, keys, args...)
}

// failedInside reports whether a script aborted with an error of its own, for instance
// because a value is not a number.
func failedInside(err error) bool {
	answer, ok := redisReply(err)
	return ok && strings.HasPrefix(answer, "ERR") && strings.Contains(answer, "user_script") &&
		!strings.Contains(answer, "SCRIPT KILL")
}
