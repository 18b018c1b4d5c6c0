package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
)

const (
	// collection is where connects and requests are counted.
	collection = "quota"
	// storeWait is how long one of them waits for the store.
	storeWait = time.Second
	// countLife is a little longer than a window.
	countLife = 90 * time.Second
)

// shared counts over all replicas.
type shared struct {
	docs Documents

	// turns make requests to this replica that are about the same document
	// wait for each other here, which is cheaper than in the store.
	turns [64]chan struct{}
	seed  maphash.Seed

	mu  *sync.Mutex // guards own, never while waiting
	own *recent[string, window]
}

func newShared(docs Documents) shared {
	own := newRecent[string, window](remembered)
	s := shared{docs: docs, seed: maphash.MakeSeed(), mu: new(sync.Mutex), own: &own}
	for i := range s.turns {
		s.turns[i] = make(chan struct{}, 1)
	}
	return s
}

// take counts one of at most n in a minute and reports how long to wait if that
// was too many. This replica's own count is kept beside, so that the store's
// going away gives nobody a fresh start.
func (s *shared) take(ctx context.Context, user, kind string, n int) time.Duration {
	sum := sha256.Sum256([]byte(user)) // any name makes a document's name
	name := hex.EncodeToString(sum[:]) + "-" + kind
	wait, err := s.together(ctx, name, n)
	if err != nil {
		return s.alone(name, n)
	}
	if wait == 0 {
		s.note(name)
	}
	return wait
}

// alone counts with what this replica has seen.
func (s *shared) alone(name string, n int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, wait := s.own.get(name, func() window { return nil }).take(time.Now(), n)
	s.own.set(name, w)
	return wait
}

// note counts what the store has counted already.
func (s *shared) note(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.own.set(name, s.own.get(name, func() window { return nil }).recent(now).count(now))
}

var errContended = errors.New("others keep changing the count")

// together counts in the store.
func (s *shared) together(ctx context.Context, name string, n int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	turn := s.turns[maphash.String(s.seed, name)%uint64(len(s.turns))]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	// Each conflict is somebody who was counted, and after n of those this one
	// is too many: one more try is enough for an exact answer.
	for range n + 1 {
		wait, err := s.try(ctx, name, n)
		if !errors.Is(err, store.ErrConflict) {
			return wait, err
		}
	}
	return 0, errContended
}

func (s *shared) try(ctx context.Context, name string, n int) (time.Duration, error) {
	d, err := s.docs.Get(ctx, collection, name)
	var w window
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return 0, err
	default:
		if err := json.Unmarshal(d.Data, &w); err != nil {
			return 0, err // it goes away by itself
		}
	}
	w, wait := w.take(time.Now(), n)
	if wait > 0 {
		return wait, nil
	}
	data, err := json.Marshal(w)
	if err != nil {
		return 0, err
	}
	_, err = s.docs.Put(ctx, store.Document{
		Collection: collection, Name: name, Data: data, Version: d.Version, TTL: countLife,
	})
	return 0, err
}
