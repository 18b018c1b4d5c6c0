package filestore

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// replicas holds the live hubs that use this store: one process, so usually one.
type replicas struct {
	mu    sync.Mutex
	known map[wire.ReplicaID]store.Replica
}

// Announce lists a replica as alive for ttl. The entry is kept in memory only.
func (s *Store) Announce(ctx context.Context, r store.Replica, ttl time.Duration) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if err := r.ID.Validate(); err != nil {
		return err
	}
	if err := store.CheckTTL(ttl); err != nil {
		return err
	}
	r.Card, r.Until = bytes.Clone(r.Card), time.Now().Add(ttl)
	s.replicas.mu.Lock()
	defer s.replicas.mu.Unlock()
	s.replicas.known[r.ID] = r
	return nil
}

// Withdraw removes a replica from the listing at once. An unknown replica is not an error.
func (s *Store) Withdraw(ctx context.Context, replica wire.ReplicaID) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	s.replicas.mu.Lock()
	defer s.replicas.mu.Unlock()
	delete(s.replicas.known, replica)
	return nil
}

// Replicas lists the live replicas in the order of their ids.
func (s *Store) Replicas(ctx context.Context, after string, limit int) (store.Page[store.Replica], error) {
	if err := s.checkOpen(ctx); err != nil {
		return store.Page[store.Replica]{}, err
	}
	now := time.Now()
	s.replicas.mu.Lock()
	maps.DeleteFunc(s.replicas.known, func(_ wire.ReplicaID, r store.Replica) bool { return !r.Until.After(now) })
	all := slices.Collect(maps.Values(s.replicas.known))
	s.replicas.mu.Unlock()
	all = slices.DeleteFunc(all, func(r store.Replica) bool { return string(r.ID) <= after })
	slices.SortFunc(all, func(a, b store.Replica) int { return strings.Compare(string(a.ID), string(b.ID)) })
	page := store.Page[store.Replica]{Items: all}
	if limit = store.PageLimit(limit); len(all) > limit {
		page.Items = all[:limit]
		page.Next = string(all[limit-1].ID)
	}
	for i := range page.Items {
		page.Items[i].Card = bytes.Clone(page.Items[i].Card)
	}
	return page, nil
}
