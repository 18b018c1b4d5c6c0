package profiles

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/store"
)

// collection holds the documents, by user.
const collection = "model-profiles"

// SettingName is the name under which changes of profiles are published, as those of settings are.
const SettingName = "modelProfiles"

// Errors of the store.
var (
	// ErrNotFound means that the user has no such profile.
	ErrNotFound = errors.New("there is no such profile")
	// ErrPinned means that the operator's flags make the profile.
	ErrPinned = errors.New("the operator has set the profile, it cannot be changed")
	// ErrFull means that the user has [MaxProfiles].
	ErrFull = fmt.Errorf("there are %d profiles already", MaxProfiles)
	// ErrConflict means that the profiles have another version than the caller saw.
	ErrConflict = errors.New("the profiles were changed meanwhile")
)

// Documents is the part of the store of a hub that a [Store] uses.
type Documents interface {
	// Get returns a document with its version, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else the error is
	// [store.ErrConflict]. It returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
}

// Config configures a [Store].
type Config struct {
	// Pinned are the profiles that the operator's flags make.
	Pinned []Profile
	// Backends are the names of the backends that a profile may have.
	Backends []string
	// Reserved are further names that no profile of a user may have as its id, because they mean
	// something else.
	Reserved []string
	// CheckProfile returns why a user may not have a profile, such as a base URL that is not allowed;
	// nil allows every profile.
	CheckProfile func(Profile) error
	// Changed is called after the profiles or roles of a user have changed.
	Changed func(ctx context.Context, user string)
}

// Store stores the model profiles of users.
type Store struct {
	docs Documents
	cfg  Config
}

// New returns a store of profiles.
func New(docs Documents, cfg Config) *Store { return &Store{docs: docs, cfg: cfg} }

// Read returns the profiles and roles of a user.
func (s *Store) Read(ctx context.Context, user string) (Set, error) {
	d, version, err := s.load(ctx, user)
	if err != nil {
		return Set{}, err
	}
	return d.view(s.cfg.Pinned, version), nil
}

// ReadStored returns the profiles that a user has stored, without those of the hub, and all known roles, also
// those whose profile does not exist on this hub.
func (s *Store) ReadStored(ctx context.Context, user string) (Set, error) {
	d, version, err := s.load(ctx, user)
	if err != nil {
		return Set{}, err
	}
	set := d.view(nil, version)
	for _, role := range Roles() {
		if id := d.roles[role]; id != "" {
			set.Roles[role] = id
		}
	}
	return set, nil
}

// Put adds or replaces a profile of a user and returns what the user has then. If version is not nil
// and not the stored one, the error is [ErrConflict] and the set is the stored one. Other errors are a
// [*FieldError], [ErrPinned], [ErrFull] or the store's.
func (s *Store) Put(ctx context.Context, user string, p Profile, version *uint64) (Set, error) {
	p.Pinned = ""
	if s.isPinned(p.ID) {
		return Set{}, ErrPinned
	}
	if err := s.check(p); err != nil {
		return Set{}, err
	}
	return s.change(ctx, user, version, func(d *document) error {
		if d.index(p.ID) < 0 && len(d.entries) >= MaxProfiles {
			return ErrFull
		}
		d.put(p)
		return nil
	})
}

// Remove removes a profile of a user, and the roles that have it. Its results are those of [Store.Put];
// [ErrNotFound] means that there is none.
func (s *Store) Remove(ctx context.Context, user, id string, version *uint64) (Set, error) {
	if s.isPinned(id) {
		return Set{}, ErrPinned
	}
	return s.change(ctx, user, version, func(d *document) error {
		if !d.remove(id) {
			return ErrNotFound
		}
		return nil
	})
}

// SetRoles sets the default profiles of roles; an empty id removes one, and roles that are not named
// stay. Its results are those of [Store.Put].
func (s *Store) SetRoles(ctx context.Context, user string, roles map[Role]string, version *uint64) (Set, error) {
	return s.change(ctx, user, version, func(d *document) error {
		now := d.view(s.cfg.Pinned, 0)
		for _, role := range slices.Sorted(maps.Keys(roles)) {
			id := roles[role]
			switch {
			case !slices.Contains(Roles(), role):
				return wrong("roles."+string(role), "there is no such role")
			case id == "":
				delete(d.roles, role)
			case !slices.ContainsFunc(now.Profiles, func(p Profile) bool { return p.ID == id }):
				return wrong("roles."+string(role), "there is no profile with this id")
			default:
				d.roles[role] = id
			}
		}
		return nil
	})
}

func (s *Store) isPinned(id string) bool {
	return slices.ContainsFunc(s.cfg.Pinned, func(p Profile) bool { return p.ID == id })
}

// check returns why a user may not have a profile.
func (s *Store) check(p Profile) error {
	if err := p.Check(); err != nil {
		return err
	}
	if p.ID == "roles" {
		return wrong("id", "the API has it for the roles")
	}
	if slices.Contains(s.cfg.Backends, p.ID) || slices.Contains(s.cfg.Reserved, p.ID) {
		return wrong("id", "%s is the name of a backend", p.ID)
	}
	if !slices.Contains(s.cfg.Backends, p.Backend) {
		return wrong("backend", "want one of %s", strings.Join(s.cfg.Backends, ", "))
	}
	if s.cfg.CheckProfile != nil {
		return s.cfg.CheckProfile(p)
	}
	return nil
}

// change changes the document of a user.
func (s *Store) change(ctx context.Context, user string, version *uint64, edit func(*document) error) (Set, error) {
	for {
		d, stored, err := s.load(ctx, user)
		if err != nil {
			return Set{}, err
		}
		if version != nil && *version != stored {
			return d.view(s.cfg.Pinned, stored), ErrConflict
		}
		if err := edit(&d); err != nil {
			return Set{}, err
		}
		data, err := d.encode()
		if err != nil {
			return Set{}, fmt.Errorf("encode profiles: %w", err)
		}
		written, err := s.docs.Put(ctx, store.Document{Collection: collection, Name: user, Version: stored, Data: data})
		if err == nil {
			if s.cfg.Changed != nil {
				s.cfg.Changed(ctx, user)
			}
			return d.view(s.cfg.Pinned, written), nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return Set{}, fmt.Errorf("store profiles: %w", err)
		}
		// Each conflict is a change of the same user; the caller's context bounds the retries.
	}
}

func (s *Store) load(ctx context.Context, user string) (document, uint64, error) {
	stored, err := s.docs.Get(ctx, collection, user)
	if errors.Is(err, store.ErrNotFound) {
		return document{roles: map[Role]string{}}, 0, nil
	}
	if err != nil {
		return document{}, 0, fmt.Errorf("read profiles: %w", err)
	}
	d, err := decode(stored.Data)
	if err != nil {
		return document{}, 0, &store.CorruptError{Where: "document of " + collection, Reason: err.Error()}
	}
	return d, stored.Version, nil
}
