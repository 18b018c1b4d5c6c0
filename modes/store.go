package modes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// collection holds the documents, by user.
const collection = "modes"

// SettingName is the name under which changes of modes are published, as those of settings are.
const SettingName = "modes"

// Errors of the store.
var (
	// ErrNotFound means that the user has no such mode.
	ErrNotFound = errors.New("there is no such mode")
	// ErrShipped means that a mode of the hub, which the user has not changed, was to be removed.
	ErrShipped = errors.New("the hub ships the mode, it can be changed but not deleted")
	// ErrFull means that the user has [MaxModes], or that they are too large together.
	ErrFull = fmt.Errorf("there are %d modes already, or they are too large together", MaxModes)
	// ErrConflict means that the modes have another version than the caller saw.
	ErrConflict = errors.New("the modes were changed meanwhile")
)

// Documents is the part of the store of a hub that a [Store] uses.
type Documents interface {
	// Get returns a document with its version, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else the error is
	// [store.ErrConflict]. It returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
}

// Set holds the modes that a user has: those that the hub ships, then those of the user.
type Set struct {
	Modes []Mode
	// Approval holds the auto-approval rules of sessions without rules of their own; nil if the user has
	// none.
	Approval *wire.AutoApproval
	// Version changes with every change of the user's modes; 0 if there was none.
	Version uint64
}

// Find returns the mode with an id or, if there is none, the only one with a name. Upper and lower case
// of a name do not matter.
func (s Set) Find(idOrName string) (Mode, bool) {
	var found []Mode
	for _, m := range s.Modes {
		if m.ID == idOrName {
			return m, true
		}
		if strings.EqualFold(m.Name, idOrName) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return Mode{}, false
	}
	return found[0], true
}

// Store stores the modes of users.
type Store struct {
	docs    Documents
	changed func(ctx context.Context, user string)
}

// New returns a store of modes. changed, unless nil, is called after the modes of a user have changed.
func New(docs Documents, changed func(ctx context.Context, user string)) *Store {
	return &Store{docs: docs, changed: changed}
}

// Read returns the modes of a user.
func (s *Store) Read(ctx context.Context, user string) (Set, error) {
	d, version, err := s.load(ctx, user)
	if err != nil {
		return Set{}, err
	}
	return d.view(version), nil
}

// Put adds, overrides or replaces a mode of a user and returns what the user has then. If version is not
// nil and not the stored one, the error is [ErrConflict] and the set is the stored one. Other errors are
// a [*FieldError], [ErrFull] or the store's.
func (s *Store) Put(ctx context.Context, user string, m Mode, version *uint64) (Set, error) {
	if err := m.Check(); err != nil {
		return Set{}, err
	}
	return s.change(ctx, user, version, func(d *document) error {
		if d.index(m.ID) < 0 && len(d.entries) >= MaxModes {
			return ErrFull
		}
		d.put(m)
		return nil
	})
}

// Remove removes a mode that a user has added, or the changes of a shipped one. Its results are those of
// [Store.Put]; [ErrNotFound] means that there is none, and [ErrShipped] that it is not changed.
func (s *Store) Remove(ctx context.Context, user, id string, version *uint64) (Set, error) {
	return s.change(ctx, user, version, func(d *document) error {
		switch {
		case d.remove(id):
			return nil
		case isShipped(id):
			return ErrShipped
		}
		return ErrNotFound
	})
}

// SetApproval replaces the default approval rules of a user; nil removes them. Its results are those of
// [Store.Put].
func (s *Store) SetApproval(ctx context.Context, user string, rules *wire.AutoApproval, version *uint64) (Set, error) {
	if err := checkRules(rules); err != nil {
		return Set{}, err
	}
	return s.change(ctx, user, version, func(d *document) error {
		d.approval = rules
		delete(d.rest, approvalField)
		return nil
	})
}

// change changes the document of a user.
func (s *Store) change(ctx context.Context, user string, version *uint64, edit func(*document) error) (Set, error) {
	for {
		d, stored, err := s.load(ctx, user)
		if err != nil {
			return Set{}, err
		}
		if version != nil && *version != stored {
			return d.view(stored), ErrConflict
		}
		if err := edit(&d); err != nil {
			return Set{}, err
		}
		data, err := d.encode()
		if err != nil {
			return Set{}, fmt.Errorf("encode modes: %w", err)
		}
		if len(data) > maxDocument {
			return Set{}, ErrFull
		}
		written, err := s.docs.Put(ctx, store.Document{Collection: collection, Name: user, Version: stored, Data: data})
		if err == nil {
			if s.changed != nil {
				s.changed(ctx, user)
			}
			return d.view(written), nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return Set{}, fmt.Errorf("store modes: %w", err)
		}
		// Each conflict is a change of the same user; the caller's context bounds the retries.
	}
}

func (s *Store) load(ctx context.Context, user string) (document, uint64, error) {
	stored, err := s.docs.Get(ctx, collection, user)
	if errors.Is(err, store.ErrNotFound) {
		return document{}, 0, nil
	}
	if err != nil {
		return document{}, 0, fmt.Errorf("read modes: %w", err)
	}
	d, err := decode(stored.Data)
	if err != nil {
		return document{}, 0, &store.CorruptError{Where: "document of " + collection, Reason: err.Error()}
	}
	return d, stored.Version, nil
}
