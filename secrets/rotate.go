package secrets

import (
	"context"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/store"
)

// Rotation is the result of [Store.Rotate].
type Rotation struct {
	// Sealed counts the secrets that were encrypted again, Unreadable those that no key opens.
	Sealed, Unreadable int
	// Key is the id of the key that all others are encrypted with now.
	Key string
	// needed has the ids of the keys that unreadable secrets name. It is nil if a document cannot be
	// decoded, which may name any key.
	needed map[string]bool
}

// Rotate encrypts all secrets with the first key. If the hub manages its keys, that is a new one, and
// the keys that no secret needs any more are deleted then. Secrets can be set and used meanwhile. If it
// fails, some secrets have the new key and some an old one, all can be read, and it can be repeated.
func (s *Store) Rotate(ctx context.Context) (Rotation, error) {
	// Of two rotations one would delete the key of the other.
	select {
	case s.rotating <- struct{}{}:
		defer func() { <-s.rotating }()
	default:
		return Rotation{}, ErrRotating
	}
	renew := s.ring.reload
	if s.ring.Own() {
		renew = s.ring.Renew
	}
	if err := renew(); err != nil {
		return Rotation{}, err
	}
	k, ok := s.ring.first()
	if !ok {
		return Rotation{}, ErrNoKey
	}
	r := Rotation{Key: k.id, needed: map[string]bool{k.id: true}}
	for _, collection := range []string{hubCollection, userCollection} {
		if err := s.rotateAll(ctx, collection, k, &r); err != nil {
			return r, fmt.Errorf("rotate secrets: %w", err)
		}
	}
	if s.ring.Own() && r.needed != nil {
		return r, s.ring.dropAllBut(r.needed)
	}
	return r, nil
}

// rotateAll encrypts the secrets of a collection with k.
func (s *Store) rotateAll(ctx context.Context, collection string, k key, r *Rotation) error {
	const pageSize = 100
	for after := ""; ; {
		page, err := s.docs.Documents(ctx, collection, after, pageSize)
		if err != nil {
			return err
		}
		for _, d := range page.Items {
			of := Owner{User: d.Name}
			if collection == hubCollection {
				of = Owner{}
			}
			if err := s.rotateOwner(ctx, of, k, r); err != nil {
				return err
			}
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// rotateOwner encrypts the secrets of an owner with k.
func (s *Store) rotateOwner(ctx context.Context, of Owner, k key, r *Rotation) error {
	for {
		all, version, err := s.read(ctx, of)
		if errors.Is(err, store.ErrCorrupt) {
			r.Unreadable++
			r.needed = nil
			return nil
		}
		if err != nil {
			return err
		}
		count, unreadable := 0, []string(nil) // key ids
		for name, one := range all {
			v, err := one.open(s.ring, of, name)
			switch {
			case err != nil:
				unreadable = append(unreadable, one.Key)
			case one.Key != k.id:
				all[name] = seal(k, of, name, v, one.Changed)
				count++
			}
		}
		if count > 0 {
			err = s.write(ctx, of, all, version)
		}
		if errors.Is(err, store.ErrConflict) {
			continue // a secret was set meanwhile
		}
		r.Sealed, r.Unreadable = r.Sealed+count, r.Unreadable+len(unreadable)
		for _, id := range unreadable {
			if r.needed != nil {
				r.needed[id] = true
			}
		}
		return err
	}
}
