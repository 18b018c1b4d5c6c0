package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// maxRelisted bounds the sessions that one listing adds to the lists by last change. Sessions
// of an earlier version are not in these lists; each listing adds some until all are.
const maxRelisted = 10_000

// recentPart is the part of a listing by last change that is in one partition.
type recentPart struct {
	partition    uint16
	total, known int // sessions in the list by last change and by id
	places       []store.RecentCursor
	full         bool // there may be more places
}

// recent lists sessions by last change. It merges the lists of all partitions: it reads a
// little more than the expected share of each, and the page size of those that had more.
func (d *directory) recent(ctx context.Context, q store.Query) (store.Page[store.Info], error) {
	const what = "list recent sessions"
	var page store.Page[store.Info]
	var after *store.RecentCursor
	if q.After != "" {
		at, err := store.ParseRecentCursor(q.After)
		if err != nil {
			return page, fmt.Errorf("%s: %w", what, err)
		}
		after = &at
	}
	places, total, err := d.recentPlaces(ctx, what, q.User, after, store.PageLimit(q.Limit)+1)
	if err != nil {
		return page, err
	}
	page.Total = total
	if limit := store.PageLimit(q.Limit); len(places) > limit {
		places = places[:limit]
		page.Next = places[limit-1].String()
	}
	ids := make([]wire.SessionID, len(places))
	for i := range places {
		ids[i] = places[i].ID
	}
	if page.Items, err = d.infos(ctx, what, ids); err != nil {
		return page, err
	}
	return page, d.relistMoved(ctx, what, q.User, places, page.Items)
}

// recentPlaces returns the first n places after a cursor, and the number of all.
func (d *directory) recentPlaces(
	ctx context.Context, what, user string, after *store.RecentCursor, n int,
) (places []store.RecentCursor, total int, err error) {
	parts := make([]recentPart, partitions)
	all := make([]uint16, partitions)
	for p := range all {
		all[p] = uint16(p)
	}
	share := min(n, n*2/partitions+4)
	if err := d.readRecent(ctx, what, user, after, share, all, parts); err != nil {
		return nil, 0, err
	}
	relisted := 0
	var again []uint16
	for p := range parts {
		if part := &parts[p]; part.total != part.known && relisted < maxRelisted {
			added, err := d.relist(ctx, what, user, part.partition, maxRelisted-relisted)
			if err != nil {
				return nil, 0, err
			}
			relisted += added
			again = append(again, part.partition)
		}
	}
	if err := d.readRecent(ctx, what, user, after, share, again, parts); err != nil {
		return nil, 0, err
	}
	places = mergeRecent(parts, n)
	again = again[:0]
	for p := range parts {
		if part := &parts[p]; part.full && share < n && (len(places) < n || part.places[len(part.places)-1].Before(places[n-1])) {
			again = append(again, part.partition)
		}
	}
	if err := d.readRecent(ctx, what, user, after, n, again, parts); err != nil {
		return nil, 0, err
	}
	for p := range parts {
		total += parts[p].total
	}
	return mergeRecent(parts, n), total, nil
}

// mergeRecent returns the first n places of all parts.
func mergeRecent(parts []recentPart, n int) []store.RecentCursor {
	var all []store.RecentCursor
	for p := range parts {
		all = append(all, parts[p].places...)
	}
	slices.SortFunc(all, func(a, b store.RecentCursor) int {
		return cmp.Or(cmp.Compare(b.Second, a.Second), cmp.Compare(b.ID, a.ID))
	})
	return all[:min(n, len(all))]
}

// readRecent reads n places after a cursor from each of some partitions into parts.
func (d *directory) readRecent(
	ctx context.Context, what, user string, after *store.RecentCursor, n int, which []uint16, parts []recentPart,
) error {
	args := []any{n, "", ""}
	if after != nil {
		args[1], args[2] = after.Second, string(after.ID)
	}
	replies, err := d.eachPartition(ctx, what, d.scripts.listRecent, which, func(p uint16) []string {
		if user == "" {
			return []string{d.keys.recent(p), d.keys.sessions(p)}
		}
		return []string{d.keys.userRecent(p, user), d.keys.userSessions(p, user)}
	}, args...)
	if err != nil {
		return err
	}
	for i, p := range which {
		v, err := replies[i].Result()
		if isRedisError(err, "WRONGTYPE") {
			d.rebuilder.rebuildLists(p, user)
			parts[p] = recentPart{partition: p}
			continue // the other partitions can be listed
		}
		if err != nil {
			return d.contractError(ctx, what, err)
		}
		r, err := parseReply(v)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if parts[p], err = decodeRecent(p, r, n); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

func decodeRecent(p uint16, r reply, n int) (recentPart, error) {
	part := recentPart{partition: p}
	var errs [2]error
	part.total, errs[0] = strconv.Atoi(r.text(0))
	part.known, errs[1] = strconv.Atoi(r.text(1))
	if err := errors.Join(errs[:]...); err != nil {
		return part, errors.Join(errReply, err)
	}
	for i := 2; i+1 < len(r.args); i += 2 {
		second, err := strconv.ParseInt(r.text(i+1), 10, 64)
		if err != nil {
			return part, errors.Join(errReply, err)
		}
		part.places = append(part.places, store.RecentCursor{Second: second, ID: wire.SessionID(r.text(i))})
	}
	part.full = len(part.places) == n
	return part, nil
}

// eachPartition runs a script that only reads in some partitions, in one pipeline per server.
func (d *directory) eachPartition(
	ctx context.Context, what string, sc *script, which []uint16, keys func(uint16) []string, args ...any,
) ([]*redis.Cmd, error) {
	if len(which) == 0 {
		return nil, nil
	}
	replies := make([]*redis.Cmd, len(which))
	for _, byText := range []bool{false, true} {
		err := d.pipelineReads(ctx, what, func(add func(string, func(redis.Pipeliner))) {
			for i, p := range which {
				k := keys(p)
				add(k[0], func(pipe redis.Pipeliner) { replies[i] = pipe.Do(ctx, sc.command(byText, k, args)...) })
			}
		})
		if err != nil || !slices.ContainsFunc(replies, func(c *redis.Cmd) bool { return isRedisError(c.Err(), "NOSCRIPT") }) {
			return replies, err
		}
	}
	return replies, nil
}

// relist adds at most n sessions of a partition that are missing in its list by last change,
// and removes those that are deleted: an earlier version, which does not know the list,
// created or deleted them. Every session is a step of its own, so a listing that ends in
// between is continued by the next one.
func (d *directory) relist(ctx context.Context, what, user string, p uint16, n int) (int, error) {
	byID, recent := d.keys.sessions(p), d.keys.recent(p)
	if user != "" {
		byID, recent = d.keys.userSessions(p, user), d.keys.userRecent(p, user)
	}
	var known, listed []string
	err := d.runOnServer(ctx, what, retryable, byID, func(ctx context.Context, server *redis.Client) error {
		var err error
		if known, err = server.ZRange(ctx, byID, 0, -1).Result(); err != nil {
			return err
		}
		listed, err = server.ZRange(ctx, recent, 0, -1).Result()
		return err
	})
	if err != nil {
		if errors.Is(err, store.ErrCorrupt) {
			d.rebuilder.rebuildLists(p, user)
			return 0, nil
		}
		return 0, err
	}
	wrong := difference(known, listed)
	wrong = wrong[:min(len(wrong), n)]
	return len(wrong), d.relistSessions(ctx, what, user, wrong)
}

// difference returns the ids that are in one of two lists only.
func difference(a, b []string) (out []wire.SessionID) {
	count := make(map[string]int, len(a))
	for _, id := range a {
		count[id]++
	}
	for _, id := range b {
		count[id]--
	}
	for id, n := range count {
		if n != 0 {
			out = append(out, wire.SessionID(id))
		}
	}
	return out
}

// relistMoved corrects the places of sessions that were not where their last change is: an
// earlier version changed or deleted them.
func (d *directory) relistMoved(ctx context.Context, what, user string, places []store.RecentCursor, infos []store.Info) error {
	var wrong []wire.SessionID
	i := 0
	for _, at := range places {
		if i == len(infos) || infos[i].ID != at.ID {
			wrong = append(wrong, at.ID)
			continue
		}
		if updated := infos[i].Updated; !updated.IsZero() && updated.Unix() != at.Second {
			wrong = append(wrong, at.ID)
		}
		i++
	}
	return d.relistSessions(ctx, what, user, wrong)
}

// relistPipeline is the number of sessions that are listed in one pipeline.
const relistPipeline = 500

// relistSessions lists sessions where they belong. A deleted session is removed from the list
// of the user.
func (d *directory) relistSessions(ctx context.Context, what, user string, ids []wire.SessionID) error {
	for chunk := range slices.Chunk(ids, relistPipeline) {
		users := make([]*redis.StringCmd, len(chunk))
		err := d.pipelineReads(ctx, what, func(add func(string, func(redis.Pipeliner))) {
			for i, id := range chunk {
				meta := d.keys.session(id).meta()
				add(meta, func(pipe redis.Pipeliner) { users[i] = pipe.HGet(ctx, meta, "user") })
			}
		})
		if err != nil {
			return err
		}
		for _, byText := range []bool{false, true} {
			done := make([]*redis.Cmd, len(chunk))
			err := d.pipelineReads(ctx, what, func(add func(string, func(redis.Pipeliner))) {
				for i, id := range chunk {
					keys, args := d.rebuilder.listSessionCall(id, cmp.Or(users[i].Val(), user))
					add(keys[0], func(pipe redis.Pipeliner) {
						done[i] = pipe.Do(ctx, d.scripts.listSession.command(byText, keys, args)...)
					})
				}
			})
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(done, func(c *redis.Cmd) bool { return isRedisError(c.Err(), "NOSCRIPT") }) {
				break
			}
		}
	}
	return nil
}

// quarantined lists the sessions in quarantine in the order of ids.
func (d *directory) quarantined(ctx context.Context, q store.Query) (store.Page[store.Info], error) {
	const what = "list quarantined sessions"
	var page store.Page[store.Info]
	lists := make([]*redis.StringSliceCmd, partitions)
	err := d.pipelineReads(ctx, what, func(add func(string, func(redis.Pipeliner))) {
		for p := range uint16(partitions) {
			key := d.keys.quarantine(p)
			add(key, func(pipe redis.Pipeliner) { lists[p] = pipe.HKeys(ctx, key) })
		}
	})
	if err != nil {
		return page, err
	}
	var ids []wire.SessionID
	for p, list := range lists {
		found, err := list.Result()
		if isRedisError(err, "WRONGTYPE") {
			d.rebuilder.rebuildLists(uint16(p), "")
			continue
		}
		if err != nil {
			return page, d.contractError(ctx, what, err)
		}
		for _, id := range found {
			if id > q.After {
				ids = append(ids, wire.SessionID(id))
			}
		}
	}
	slices.Sort(ids)
	if limit := store.PageLimit(q.Limit); len(ids) > limit {
		ids = ids[:limit]
		page.Next = string(ids[limit-1])
	}
	page.Items, err = d.infos(ctx, what, ids)
	return page, err
}
