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
		m.until = e.until
	}
	return store.Info{
		ID: e.id, User: m.user, Card: card, Created: m.created, Updated: m.updated, Working: m.working,
		Owner: m.owner, Epoch: m.epoch, Until: m.until, Top: m.top, Oldest: m.oldest, Quarantined: e.quarantined,
	}, nil
}

// Sessions lists sessions in the order of their ids.
func (s *Sessions) Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error) {
	if err := s.checkOpen(ctx); err != nil {
		return store.Page[store.Info]{}, err
	}
	ids, more := s.registry.page(q.User, wire.SessionID(q.After), store.PageLimit(q.Limit))
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
func (s *Sessions) Unattended(ctx context.Context, limit int) ([]wire.SessionID, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	return s.registry.unattended(time.Now(), store.PageLimit(limit)), nil
}

// Partition returns 0 for all sessions: they share one folder and fail together.
func (s *Sessions) Partition(wire.SessionID) int { return 0 }

// Quarantine makes a session refuse Claim, Commit, Delete and Send. An empty reason lifts
// the quarantine.
func (s *Sessions) Quarantine(ctx context.Context, id wire.SessionID, reason string) error {
	e, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	return s.repairer.writeQuarantine(ctx, e, func() (string, bool) { return reason, true })
}
