package modes

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Reader reads the modes of a user; [Store] implements it.
type Reader interface {
	// Read returns the modes of a user, those of the hub included. The error is that of the store.
	Read(ctx context.Context, user string) (Set, error)
}

// Bounds of what is cached.
const (
	// maxAge is the age up to which the modes of a user are used without reading them again.
	maxAge = time.Second
	// readTimeout bounds reading them.
	readTimeout = time.Second
	maxUsers    = 1000
)

// Finder finds modes for actors, which must not wait long: it caches the modes of users.
type Finder struct {
	reader Reader
	log    *slog.Logger

	mu    sync.Mutex // guards the following
	users map[string]*userEntry
}

// NewFinder returns a finder.
func NewFinder(r Reader, log *slog.Logger) *Finder {
	return &Finder{reader: r, log: log, users: map[string]*userEntry{}}
}

// userEntry holds the cached modes of a user.
type userEntry struct {
	mu   sync.Mutex // guards the following, and is held while reading
	set  Set
	read bool
	at   time.Time // of the last attempt
	err  error     // of the last attempt
}

// read returns the modes of a user, at most maxAge old. If they cannot be read, the cached ones count;
// the error means that there are none.
func (f *Finder) read(user string) (Set, error) {
	f.mu.Lock()
	e := f.users[user]
	if e == nil {
		for other := range f.users { // in random order
			if len(f.users) < maxUsers {
				break
			}
			delete(f.users, other)
		}
		e = &userEntry{}
		f.users[user] = e
	}
	f.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at.IsZero() || time.Since(e.at) >= maxAge {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		set, err := f.reader.Read(ctx, user)
		e.at, e.err = time.Now(), err
		if err != nil {
			f.log.WarnContext(ctx, "reading modes failed", "err", err)
		} else {
			e.set, e.read = set, true
		}
	}
	if !e.read {
		return Set{}, e.err
	}
	return e.set, nil
}

// Invalidate makes the next calls read the modes of a user again.
func (f *Finder) Invalidate(user string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.users, user)
}

// Of returns the modes of a user.
func (f *Finder) Of(user string) UserModes { return UserModes{finder: f, user: user} }

// UserModes finds the modes of one user.
type UserModes struct {
	finder *Finder
	user   string
}

// FindMode returns the mode that the user means by an id or a name. The error is [ErrNotFound], or that of
// the store if the modes cannot be read.
func (u UserModes) FindMode(idOrName string) (Mode, error) {
	set, err := u.finder.read(u.user)
	if err != nil {
		return Mode{}, err
	}
	m, ok := set.Find(idOrName)
	if !ok {
		return Mode{}, fmt.Errorf("%w: %q", ErrNotFound, idOrName)
	}
	return m, nil
}

// DefaultApproval returns the auto-approval rules of sessions without rules of their own. If they cannot be
// read, they allow nothing.
func (u UserModes) DefaultApproval() wire.AutoApproval {
	set, err := u.finder.read(u.user)
	if err != nil || set.Approval == nil {
		return wire.AutoApproval{}
	}
	return *set.Approval
}

// ModeIDs returns the ids of the user's modes; those that the hub ships if they cannot be read.
func (u UserModes) ModeIDs() []string {
	set, err := u.finder.read(u.user)
	if err != nil {
		set.Modes = Shipped()
	}
	ids := make([]string, len(set.Modes))
	for i, m := range set.Modes {
		ids[i] = m.ID
	}
	return ids
}
