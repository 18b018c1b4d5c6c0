package filestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// pinnedState is the content of a session's pinned keys as of one batch.
type pinnedState struct {
	meta        meta
	card        []byte // sealed
	quarantined string
	described   bool   // the meta exists
	damage      string // what is wrong with the meta, or empty
}

func (s *Store) readPinned(bucket string) (c pinnedState, err error) {
	sel, err := s.log.Pins(bucket)
	if err != nil {
		return pinnedState{}, err
	}
	defer sel.Close()
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return pinnedState{}, err
	}
	c.damage = "session metadata is missing"
	for i, e := range sel.Entries() {
		switch e.Key {
		case metaKey:
			c.described, c.damage = true, ""
			if c.meta, err = decodeMeta(values[i]); err != nil {
				file, off := sel.Location(i)
				c.damage = fmt.Sprintf("session metadata: %v (%s at %d)", err, file, off)
			}
		case cardKey:
			c.card = values[i]
		case quarantineKey:
			c.quarantined = string(values[i])
		}
	}
	return c, nil
}

// Session returns the directory entry of a session. An unreadable card is omitted and
// quarantines the session.
func (s *Store) Session(ctx context.Context, id wire.SessionID) (store.Info, error) {
	e, err := s.findSession(ctx, id)
	if err != nil {
		return store.Info{}, err
	}
	return s.info(e)
}

// info returns the directory entry of a session as of one batch.
func (s *Store) info(e *session) (store.Info, error) {
	c, err := s.readPinned(e.bucket)
	if err != nil {
		return store.Info{}, fmt.Errorf("read session: %w", s.handleCorrupt(e, err))
	}
	if e.isDeleted(c.described) {
		return store.Info{}, fmt.Errorf("session %s: %w", e.id, store.ErrNotFound)
	}
	if c.damage != "" {
		s.quarantineNow(e, c.damage)
	}
	var card []byte
	if c.card != nil {
		// An unreadable card is omitted.
		card, err = s.cfg.Schema.Open(store.KindCard, string(e.id), c.card)
		_ = s.handleCorrupt(e, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	m := c.meta
	if c.damage != "" {
		m = e.meta
	}
	if m.process != thisProcess {
		m.owner, m.until = "", time.Time{}
	}
	if m.owner != "" && m.owner == e.meta.owner && m.epoch == e.meta.epoch {
		m.until = e.until
	}
	return store.Info{
		ID: e.id, User: m.user, Card: card, Created: m.created, Updated: m.updated, Working: m.working,
		Owner: m.owner, Epoch: m.epoch, Until: m.until, Top: m.top, Oldest: m.oldest, Quarantined: e.quarantined,
	}, nil
}

// Sessions lists sessions in the order of their ids.
func (s *Store) Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error) {
	if err := s.checkOpen(ctx); err != nil {
		return store.Page[store.Info]{}, err
	}
	s.mu.RLock()
	ids := s.ids
	if q.User != "" {
		ids = s.byUser[q.User]
	}
	i, found := slices.BinarySearch(ids, wire.SessionID(q.After))
	if found {
		i++
	}
	end := min(i+store.PageLimit(q.Limit), len(ids))
	more := end < len(ids)
	ids = slices.Clone(ids[i:end])
	s.mu.RUnlock()

	var page store.Page[store.Info]
	for _, id := range ids {
		info, err := s.Session(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return store.Page[store.Info]{}, err
		}
		page.Items = append(page.Items, info)
	}
	if more {
		page.Next = string(ids[len(ids)-1])
	}
	return page, nil
}

// Unattended lists sessions that have unfinished work, are not quarantined, and whose lease
// was released or has expired.
func (s *Store) Unattended(ctx context.Context, limit int) ([]wire.SessionID, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	limit = store.PageLimit(limit)
	now := time.Now()
	var out []wire.SessionID
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, id := range s.ids {
		if len(out) == limit {
			break
		}
		e := s.sessions[id]
		e.mu.Lock()
		if e.meta.working && e.quarantined == "" && (e.meta.owner == "" || !e.until.After(now)) {
			out = append(out, id)
		}
		e.mu.Unlock()
	}
	return out, nil
}

// Partition returns 0 for all sessions: they share one folder and fail together.
func (s *Store) Partition(wire.SessionID) int { return 0 }

// Quarantine makes a session refuse Claim, Commit, Delete and Send. An empty reason lifts
// the quarantine.
func (s *Store) Quarantine(ctx context.Context, id wire.SessionID, reason string) error {
	e, err := s.findSession(ctx, id)
	if err != nil {
		return err
	}
	return s.writeQuarantine(ctx, e, func() (string, bool) { return reason, true })
}

// writeQuarantine stores the reason that decide returns, unless decide returns false;
// decide runs under the session's mutex. Lifting a quarantine rebuilds the meta if needed:
// the log reports damage before it deletes the damaged values, so an earlier repair may
// have run too soon.
func (s *Store) writeQuarantine(ctx context.Context, e *session, decide func() (reason string, ok bool)) error {
	if err := e.writeLock.lock(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	m, absent := e.meta, e.absent
	reason, ok := decide()
	e.mu.Unlock()
	if absent || !ok {
		e.writeLock.unlock()
		if absent {
			return fmt.Errorf("session %s: %w", e.id, store.ErrNotFound)
		}
		return nil
	}
	b := kvlog.NewBatch(e.bucket)
	if reason == "" {
		b.Delete(quarantineKey)
		if err := s.rebuildMetaIfNeeded(e, &m, b); err != nil {
			e.writeLock.unlock()
			return fmt.Errorf("quarantine session: %w", storeError(err))
		}
	} else {
		b.Put(quarantineKey, []byte(reason))
	}
	if err := s.submit(ctx, func(err error) {
		if err == nil {
			e.mu.Lock()
			e.quarantined, e.quarantineUnsaved = reason, false
			e.inboxChanged.notifyAll()
			e.mu.Unlock()
		}
		e.finishWrite(err, &m)
	}, b); err != nil {
		return fmt.Errorf("quarantine session: %w", err)
	}
	return nil
}
