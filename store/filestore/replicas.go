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

// Replicas implements the list of live replicas of the contract, in memory: one process uses
// the store, so it is usually the only one.
type Replicas struct {
	*folder
	mu    sync.Mutex
	known map[wire.ReplicaID]store.Replica
}

func newReplicas(f *folder) *Replicas {
	return &Replicas{folder: f, known: map[wire.ReplicaID]store.Replica{}}
}

// Announce lists a replica as alive for ttl. The entry is kept in memory only.
func (s *Replicas) Announce(ctx context.Context, r store.Replica, ttl time.Duration) error {
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[r.ID] = r
	return nil
}

// Withdraw removes a replica from the listing at once. An unknown replica is not an error.
func (s *Replicas) Withdraw(ctx context.Context, replica wire.ReplicaID) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, replica)
	return nil
}

// Replicas lists the live replicas in the order of their ids.
func (s *Replicas) Replicas(ctx context.Context, after string, limit int) (store.Page[store.Replica], error) {
	if err := s.checkOpen(ctx); err != nil {
		return store.Page[store.Replica]{}, err
	}
	now := time.Now()
	s.mu.Lock()
	maps.DeleteFunc(s.known, func(_ wire.ReplicaID, r store.Replica) bool { return !r.Until.After(now) })
	all := slices.Collect(maps.Values(s.known))
	s.mu.Unlock()
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
