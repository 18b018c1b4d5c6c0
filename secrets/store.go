package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
)

// Bounds of secrets.
const (
	MaxBytes   = 8 << 10 // of one secret
	MaxSecrets = 64      // of one owner
)

// Errors of the store.
var (
	// ErrNoKey means that the hub has no key to encrypt with.
	ErrNoKey = errors.New("secrets cannot be stored: the hub has no key to encrypt them with; the operator sets one with --secret-key-file or HUB_SECRET_KEY")
	// ErrInvalid means that a name or a secret cannot be stored.
	ErrInvalid = errors.New("want a name of letters, digits and any of ._-, at most 64, and a secret of 1 to 8,192 bytes without line breaks")
	// ErrFull means that the owner has MaxSecrets secrets.
	ErrFull = fmt.Errorf("there are %d secrets already", MaxSecrets)
	// ErrNotSet means that there is no such secret.
	ErrNotSet = errors.New("the secret is not set")
	// ErrRotating means that a rotation is running.
	ErrRotating = errors.New("a rotation of the keys is running")
	// ErrUnreadable means that a secret is stored but cannot be opened.
	ErrUnreadable = errors.New("the secret cannot be read")
)

// Documents is the part of the store that a [Store] uses.
type Documents interface {
	// Get returns a document with its version, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else the error is
	// [store.ErrConflict]. It returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	// Documents returns a page of a collection in the order of names, beginning after a name.
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// Owner is who secrets belong to: a user, or the hub if it has no name.
type Owner struct{ User string }

const (
	userCollection = "secrets"
	hubCollection  = "hub-secrets"
	hubDocument    = "hub"
)

func (o Owner) collection() string {
	if o.User == "" {
		return hubCollection
	}
	return userCollection
}

func (o Owner) document() string {
	if o.User == "" {
		return hubDocument
	}
	return o.User
}

// Store stores secrets.
type Store struct {
	docs Documents
	ring *Keyring
	// changed is called after secrets of an owner have changed.
	changed func(ctx context.Context, of Owner, names []string)
	// rotating is full while a rotation runs.
	rotating chan struct{}
}

// New returns a store of secrets that are encrypted with the keys of ring. It calls changed after
// secrets of an owner have changed.
func New(docs Documents, ring *Keyring, changed func(ctx context.Context, of Owner, names []string)) *Store {
	return &Store{docs: docs, ring: ring, changed: changed, rotating: make(chan struct{}, 1)}
}

// Storable returns nil, or [ErrNoKey].
func (s *Store) Storable() error {
	if _, ok := s.ring.first(); !ok {
		return ErrNoKey
	}
	return nil
}

// Status is what clients may know about a secret.
type Status struct {
	Name string
	// LastFour are the last characters of a secret that is long enough; else it is empty.
	LastFour string
	Changed  time.Time
	// Unreadable says why the secret cannot be opened; empty if it can.
	Unreadable string
}

// List returns the secrets of an owner, ordered by name.
func (s *Store) List(ctx context.Context, of Owner) ([]Status, error) {
	for {
		all, version, err := s.read(ctx, of)
		if err != nil {
			return nil, err
		}
		list := make([]Status, 0, len(all))
		missing := false // a key
		for _, name := range slices.Sorted(maps.Keys(all)) {
			status := Status{Name: name, Changed: all[name].Changed}
			v, err := all[name].open(s.ring, of, name)
			if err != nil {
				status.Unreadable = err.Error()
				missing = missing || errors.Is(err, errOtherKey)
			}
			status.LastFour = v.lastFour()
			list = append(list, status)
		}
		if !missing || !s.hasChanged(ctx, of, version) {
			return list, nil
		}
	}
}

// Reveal returns a secret, or an error that is [ErrNotSet] or [ErrUnreadable] if it is not the
// store's.
func (s *Store) Reveal(ctx context.Context, of Owner, name string) (Value, error) {
	for {
		all, version, err := s.read(ctx, of)
		if err != nil {
			return Value{}, err
		}
		one, ok := all[name]
		if !ok {
			return Value{}, ErrNotSet
		}
		v, err := one.open(s.ring, of, name)
		if err == nil {
			return v, nil
		}
		if !errors.Is(err, errOtherKey) || !s.hasChanged(ctx, of, version) {
			return Value{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}
}

// hasChanged reports whether the secrets of an owner have another version: a rotation may have sealed
// them again, and deleted the old key, after they were read.
func (s *Store) hasChanged(ctx context.Context, of Owner, version uint64) bool {
	_, now, err := s.read(ctx, of)
	return err == nil && now != version
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// controls matches what no key or password has and headers cannot carry.
var controls = regexp.MustCompile(`[\x00-\x1f\x7f]`)

// Set stores a secret. The error is [ErrNoKey], [ErrInvalid] or [ErrFull] if it is not the store's.
func (s *Store) Set(ctx context.Context, of Owner, name string, v Value) error {
	if !nameForm.MatchString(name) || v.text == "" || len(v.text) > MaxBytes || controls.MatchString(v.text) {
		return ErrInvalid
	}
	for {
		k, ok := s.ring.newest()
		if !ok {
			return ErrNoKey
		}
		err := s.change(ctx, of, name, func(all map[string]sealed) error {
			if _, there := all[name]; !there && len(all) >= MaxSecrets {
				return ErrFull
			}
			all[name] = seal(k, of, name, v, time.Now().UTC().Truncate(time.Millisecond))
			return nil
		})
		if err != nil {
			return err
		}
		if now, _ := s.ring.newest(); now.id == k.id {
			return nil
		}
		// A rotation has replaced the key meanwhile and may not have seen this secret.
	}
}

// Remove deletes a secret. One that is not set is no error.
func (s *Store) Remove(ctx context.Context, of Owner, name string) error {
	err := s.change(ctx, of, name, func(all map[string]sealed) error {
		if _, there := all[name]; !there {
			return ErrNotSet
		}
		delete(all, name)
		return nil
	})
	if errors.Is(err, ErrNotSet) {
		return nil
	}
	return err
}

// change changes the secrets of an owner and publishes that the named one has changed.
func (s *Store) change(ctx context.Context, of Owner, name string, edit func(map[string]sealed) error) error {
	for {
		all, version, err := s.read(ctx, of)
		if err != nil {
			return err
		}
		if err := edit(all); err != nil {
			return err
		}
		err = s.write(ctx, of, all, version)
		if err == nil {
			s.changed(ctx, of, []string{name})
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("store the secret: %w", err)
		}
		// Each conflict is a change of the same owner; the caller's context bounds the retries.
	}
}

func (s *Store) read(ctx context.Context, of Owner) (map[string]sealed, uint64, error) {
	d, err := s.docs.Get(ctx, of.collection(), of.document())
	if errors.Is(err, store.ErrNotFound) {
		return map[string]sealed{}, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read secrets: %w", err)
	}
	all, err := decode(d.Data)
	if err != nil {
		return nil, 0, &store.CorruptError{Where: "document of " + of.collection(), Reason: err.Error()}
	}
	return all, d.Version, nil
}

func (s *Store) write(ctx context.Context, of Owner, all map[string]sealed, version uint64) error {
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	_, err = s.docs.Put(ctx, store.Document{Collection: of.collection(), Name: of.document(), Version: version, Data: data})
	return err
}

// decode decodes the secrets of one owner.
func decode(data []byte) (map[string]sealed, error) {
	all := map[string]sealed{}
	if json.Unmarshal(data, &all) != nil || all == nil {
		return nil, errors.New("no object of secrets")
	}
	return all, nil
}
