package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// infoFields are the fields of meta that are read for an [store.Info].
var infoFields = []string{"state", "user", "card", "created", "updated", "working", "until", "oldest", "shared"}

// directory reads the entries of sessions from the lists of the partitions.
type directory struct {
	*caller
	calls     *sessionCaller
	rebuilder *rebuilder
}

// Session returns the directory entry of a session, or [store.ErrNotFound].
func (s *Sessions) Session(ctx context.Context, session wire.SessionID) (store.Info, error) {
	what := "look up session " + string(session)
	if err := session.Validate(); err != nil {
		return store.Info{}, fmt.Errorf("look up session: %w", err)
	}
	infos, err := s.directory.infos(ctx, what, []wire.SessionID{session})
	if err != nil {
		return store.Info{}, err
	}
	if len(infos) == 0 {
		return store.Info{}, fmt.Errorf("%s: %w", what, store.ErrNotFound)
	}
	return infos[0], nil
}

// Sessions lists sessions by partition and, within a partition, in the order of ids, or by
// last change. The listing may be incomplete while the lists of a partition are being rebuilt.
func (s *Sessions) Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error) {
	const what = "list sessions"
	var page store.Page[store.Info]
	if err := q.Check(); err != nil {
		return page, fmt.Errorf("%s: %w", what, err)
	}
	switch {
	case q.Recent:
		return s.directory.recent(ctx, q)
	case q.Quarantined:
		return s.directory.quarantined(ctx, q)
	}
	part, after, err := parseCursor(q.After)
	if err != nil {
		return page, fmt.Errorf("%s: %w", what, err)
	}
	index := s.keys.sessions
	if q.User != "" {
		index = func(p uint16) string { return s.keys.userSessions(p, q.User) }
	}
	ids, next, err := s.directory.listIDs(ctx, what, q.User, index, part, after, store.PageLimit(q.Limit))
	if err != nil {
		return page, err
	}
	if page.Items, err = s.directory.infos(ctx, what, ids); err != nil {
		return page, err
	}
	page.Next = next
	return page, nil
}

// listIDs returns ids from an index that has a part in every partition, beginning after an id
// of a partition, and the cursor of the next page.
func (d *directory) listIDs(
	ctx context.Context, what, user string, index func(uint16) string, part uint16, after string, limit int,
) (ids []wire.SessionID, next string, err error) {
	sizes := make([]*redis.IntCmd, partitions)
	err = d.pipelineReads(ctx, what, func(add func(string, func(redis.Pipeliner))) {
		for p := part; p < partitions; p++ {
			add(index(p), func(pipe redis.Pipeliner) { sizes[p] = pipe.ZCard(ctx, index(p)) })
		}
	})
	if err != nil {
		return nil, "", err
	}
	// As many partitions as can fill the page, and one more to see whether there is a
	// next page.
	parts, expected := []uint16{}, int64(0)
	for p := part; p < partitions && expected <= int64(limit); p++ {
		n, err := sizes[p].Result()
		if isRedisError(err, "WRONGTYPE") {
			d.rebuilder.rebuildLists(p, user)
			continue // the other partitions can be listed
		}
		if err != nil {
			return nil, "", d.contractError(ctx, what, err)
		}
		if n > 0 {
			parts = append(parts, p)
			if p > part || after == "" {
				expected += n
			}
		}
	}
	pages := make([]*redis.StringSliceCmd, partitions)
	err = d.pipelineReads(ctx, what, func(add func(string, func(redis.Pipeliner))) {
		for _, p := range parts {
			from := "-"
			if p == part && after != "" {
				from = "(" + after
			}
			by := redis.ZRangeArgs{Key: index(p), Start: from, Stop: "+", ByLex: true, Count: int64(limit) + 1}
			add(index(p), func(pipe redis.Pipeliner) { pages[p] = pipe.ZRangeArgs(ctx, by) })
		}
	})
	if err != nil {
		return nil, "", err
	}
	last := uint16(0)
	for _, p := range parts {
		page, err := pages[p].Result()
		if err != nil {
			return nil, "", d.contractError(ctx, what, err)
		}
		for _, id := range page {
			if len(ids) == limit {
				return ids, cursor(last, ids[limit-1]), nil
			}
			ids, last = append(ids, wire.SessionID(id)), p
		}
	}
	return ids, "", nil
}

// cursor and parseCursor are the format of [store.Page.Next] of sessions.
func cursor(part uint16, id wire.SessionID) string { return strconv.Itoa(int(part)) + "." + string(id) }

func parseCursor(text string) (part uint16, after string, err error) {
	if text == "" {
		return 0, "", nil
	}
	number, id, ok := strings.Cut(text, ".")
	n, err := strconv.ParseUint(number, 10, 16)
	if !ok || err != nil || n >= partitions || wire.SessionID(id).Validate() != nil || uint16(n) != partition(id) {
		return 0, "", fmt.Errorf("%w: cursor %.80q is not a cursor of this listing", store.ErrInvalid, text)
	}
	return uint16(n), id, nil
}

// infos returns the directory entries of sessions. Sessions that no longer exist are
// omitted; a corrupt one is quarantined instead of failing the listing.
func (d *directory) infos(ctx context.Context, what string, ids []wire.SessionID) ([]store.Info, error) {
	metas := make([]*redis.SliceCmd, len(ids))
	leases := map[uint16]*redis.MapStringStringCmd{}
	marks := make([]*redis.StringCmd, len(ids))
	err := d.pipelineReads(ctx, what, func(add func(string, func(redis.Pipeliner))) {
		clear(leases)
		for i, id := range ids {
			k := d.keys.session(id)
			add(k.meta(), func(p redis.Pipeliner) {
				metas[i] = p.HMGet(ctx, k.meta(), infoFields...)
				marks[i] = p.HGet(ctx, k.quarantine(), string(id))
				if n := d.leasePartition(k.partition); leases[n] == nil {
					leases[n] = p.HGetAll(ctx, d.keys.sharedLeases(n))
				}
			})
		}
	})
	if err != nil {
		return nil, err
	}
	infos := make([]store.Info, 0, len(ids))
	for i, id := range ids {
		reason, err := marks[i].Result()
		if isRedisError(err, "WRONGTYPE") {
			d.rebuilder.rebuildLists(partition(string(id)), "")
			reason, err = "", nil
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, d.contractError(ctx, what, err)
		}
		shared := leases[d.leasePartition(partition(string(id)))]
		if isRedisError(shared.Err(), "WRONGTYPE") {
			d.rebuilder.rebuildLists(partition(string(id)), "")
		}
		info, err := d.info(ctx, id, metas[i], reason, shared.Val())
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// info returns the directory entry of a session from its meta, the reason of its quarantine and
// the shared leases of its partition.
func (d *directory) info(
	ctx context.Context, id wire.SessionID, meta *redis.SliceCmd, reason string, leases map[string]string,
) (store.Info, error) {
	info := store.Info{ID: id, Quarantined: reason}
	aside := func(err error) (store.Info, error) {
		if info.Quarantined == "" {
			info.Quarantined = d.calls.handleCorrupt(ctx, id, err).Error()
		}
		return info, nil
	}
	if isRedisError(meta.Err(), "WRONGTYPE") {
		return aside(&store.CorruptError{Where: "key " + d.keys.session(id).meta(), Reason: "of a wrong type"})
	}
	if meta.Err() != nil {
		return info, d.contractError(ctx, "look up session "+string(id), meta.Err())
	}
	f := map[string]string{}
	for i, name := range infoFields {
		if text, ok := meta.Val()[i].(string); ok {
			f[name] = text
		}
	}
	if len(f) == 0 {
		return info, store.ErrNotFound
	}
	if reason == "" && strings.HasPrefix(f["state"], "!") {
		info.Quarantined = unknownReason
	}
	if err := fillInfo(&info, f, leases); err != nil {
		return aside(&store.CorruptError{Where: "key " + d.keys.session(id).meta(), Reason: err.Error()})
	}
	card, err := d.schema.Open(store.KindCard, string(id), []byte(f["card"]))
	if errors.Is(err, store.ErrNewerSchema) {
		return info, nil // unreadable for this program, but not corrupt
	}
	if err != nil {
		return aside(err)
	}
	info.Card = card
	return info, nil
}

// fillInfo sets info from the fields of meta and the shared leases.
func fillInfo(info *store.Info, f, leases map[string]string) error {
	state, err := parseState(f["state"])
	if err != nil {
		return err
	}
	info.User, info.Working = f["user"], f["working"] == "1"
	info.Owner, info.Epoch, info.Top = state.owner, state.epoch, state.top
	var errs [4]error
	info.Oldest, errs[0] = wire.ParsePosition(f["oldest"])
	info.Created, errs[1] = parseTime(f["created"])
	info.Updated, errs[2] = parseTime(f["updated"])
	until := f["until"]
	if epoch, incarnation, ok := strings.Cut(f["shared"], " "); ok && epoch == strconv.FormatUint(state.epoch, 10) {
		until = cmp.Or(leases[incarnation], "0")
	}
	info.Until, errs[3] = parseTime(until)
	return errors.Join(errs[:]...)
}

// parseTime parses a time in milliseconds; 0 means the zero time.
func parseTime(text string) (time.Time, error) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms == 0 {
		return time.Time{}, err
	}
	return time.UnixMilli(ms), nil
}

// Unattended lists sessions that have unfinished work, are not quarantined, and whose lease
// was released or has expired. It resumes an unfinished rebuild of a partition's lists.
func (s *Sessions) Unattended(ctx context.Context, limit int) ([]wire.SessionID, error) {
	const what = "list unattended sessions"
	limit = store.PageLimit(limit)
	groups, err := s.directory.unattended(ctx, what, limit, false)
	if err == nil && slices.ContainsFunc(groups, func(g partitionGroup) bool { return isRedisError(g.reply.Err(), "NOSCRIPT") }) {
		groups, err = s.directory.unattended(ctx, what, limit, true)
	}
	if err != nil {
		return nil, err
	}
	var ids []wire.SessionID
	for _, g := range groups {
		lists, err := g.reply.Slice()
		if isRedisError(err, "WRONGTYPE") { // the shared leases
			s.rebuilder.rebuildLists(g.first, "")
			continue // the other partitions can be listed
		}
		if err != nil {
			return nil, s.contractError(ctx, what, err)
		}
		for i, list := range lists {
			found, _ := list.([]any)
			if len(found) == 0 || found[0] == "1" {
				// The list is broken, or a rebuild is pending and the replica that began it may be gone.
				s.rebuilder.rebuildLists(g.first+uint16(i), "")
			}
			for _, id := range found[min(1, len(found)):] {
				if text, ok := id.(string); ok && len(ids) < limit {
					ids = append(ids, wire.SessionID(text))
				}
			}
		}
	}
	return ids, nil
}

// partitionGroup is a range of partitions that one call of a script may touch: in a Cluster one,
// otherwise all.
type partitionGroup struct {
	first uint16
	reply *redis.Cmd
}

// unattended queries all partitions.
func (d *directory) unattended(ctx context.Context, what string, limit int, byText bool) ([]partitionGroup, error) {
	size := uint16(partitions)
	if d.servers.cluster != nil {
		size = 1
	}
	groups := make([]partitionGroup, partitions/size)
	err := d.pipelineReads(ctx, what, func(add func(string, func(redis.Pipeliner))) {
		for i := range groups {
			g := &groups[i]
			g.first = uint16(i) * size
			keys := []string{d.keys.sharedLeases(g.first)}
			for p := g.first; p < g.first+size; p++ {
				keys = append(keys, d.keys.working(p), d.keys.rebuildMark(p))
			}
			add(keys[0], func(pipe redis.Pipeliner) {
				g.reply = pipe.Do(ctx, d.scripts.unattended.command(byText, keys, []any{limit})...)
			})
		}
	})
	return groups, err
}

// Quarantine makes a session refuse Claim, Commit, Delete, Send and Receive. An empty reason lifts
// the quarantine.
func (s *Sessions) Quarantine(ctx context.Context, session wire.SessionID, reason string) error {
	if err := session.Validate(); err != nil {
		return fmt.Errorf("quarantine session: %w", err)
	}
	return s.calls.storeQuarantine(ctx, session, reason, false)
}

func (c *sessionCaller) storeQuarantine(ctx context.Context, session wire.SessionID, reason string, keepOther bool) error {
	what := "quarantine session " + string(session)
	k := c.keys.session(session)
	v, err := c.call(ctx, what, retryable, c.scripts.quarantine, []string{k.meta(), k.quarantine(), k.working(), k.inbox()},
		string(session), reason, keepOther)
	if err != nil {
		return err
	}
	r, err := parseReply(v)
	if err == nil {
		err = c.refusal(ctx, session, r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
