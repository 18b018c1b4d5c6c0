package filestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Session returns the directory entry of a session. An unreadable card is omitted and
// quarantines the session.
func (s *Sessions) Session(ctx context.Context, id wire.SessionID) (store.Info, error) {
	e, err := s.find(ctx, id)
	if err != nil {
		return store.Info{}, err
	}
	return s.info(e)
}

// info returns the directory entry of a session as of one batch.
func (s *Sessions) info(e *session) (store.Info, error) {
	c, err := s.reader.readPinned(e.bucket)
	if err != nil {
		return store.Info{}, fmt.Errorf("read session: %w", s.quarantines.handleCorrupt(e, err))
	}
	if e.isDeleted(c.described) {
		return store.Info{}, fmt.Errorf("session %s: %w", e.id, store.ErrNotFound)
	}
	if c.damage != "" {
		s.quarantines.add(e, c.damage)
	}
	var card []byte
	if c.card != nil {
		// An unreadable card is omitted.
		card, err = s.cfg.Schema.Open(store.KindCard, string(e.id), c.card)
		_ = s.quarantines.handleCorrupt(e, err)
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
		m.until = e.leaseEndLocked()
	}
	return store.Info{
		ID: e.id, User: m.user, Card: card, Created: m.created, Updated: m.updated, Working: m.working,
		Owner: m.owner, Epoch: m.epoch, Until: m.until, Top: m.top, Oldest: m.oldest, Quarantined: e.quarantined,
	}, nil
}

// Sessions lists sessions in the order of their ids, or by last change.
func (s *Sessions) Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error) {
	var page store.Page[store.Info]
	if err := s.checkOpen(ctx); err != nil {
		return page, err
	}
	if err := q.Check(); err != nil {
		return page, fmt.Errorf("list sessions: %w", err)
	}
	ids, err := s.listIDs(q, &page)
	if err != nil {
		return page, fmt.Errorf("list sessions: %w", err)
	}
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
	return page, nil
}

// listIDs returns the ids of a page and sets its Next and Total.
func (s *Sessions) listIDs(q store.Query, page *store.Page[store.Info]) (ids []wire.SessionID, err error) {
	limit := store.PageLimit(q.Limit)
	if q.Recent {
		var after *store.RecentCursor
		if q.After != "" {
			at, err := store.ParseRecentCursor(q.After)
			if err != nil {
				return nil, err
			}
			after = &at
		}
		ids, page.Next, page.Total = s.registry.recentPage(q.User, after, limit)
		return ids, nil
	}
	var more bool
	if q.Quarantined {
		ids, more = s.registry.quarantinedPage(wire.SessionID(q.After), limit)
	} else {
		ids, more = s.registry.page(q.User, wire.SessionID(q.After), limit)
	}
	if more {
		page.Next = string(ids[len(ids)-1])
	}
	return ids, nil
}

// Unattended lists sessions that have unfinished work, are not quarantined, and whose lease
// was released or has expired.
func (s *Sessions) Unattended(ctx context.Context, limit int) ([]wire.SessionID, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	return s.registry.unattended(time.Now(), store.PageLimit(limit)), nil
}

// Partition returns 0 for all sessions: they share one folder and fail together.
func (s *Sessions) Partition(wire.SessionID) int { return 0 }

// Quarantine makes a session refuse Claim, Commit, Delete, Send and Receive. An empty reason lifts
// the quarantine.
func (s *Sessions) Quarantine(ctx context.Context, id wire.SessionID, reason string) error {
	e, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	return s.repairer.writeQuarantine(ctx, e, func() (string, bool) { return reason, true })
}
