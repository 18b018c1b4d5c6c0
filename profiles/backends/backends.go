package backends

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
)

// Table holds the backends of the hub.
type Table interface {
	// Get returns the backend of that name, and whether there is one.
	Get(name string) (providers.Provider, bool)
}

// Profiles reads the profiles of a user.
type Profiles interface {
	// Read returns the profiles and roles of a user. The error is that of the store.
	Read(ctx context.Context, user string) (profiles.Set, error)
}

// Config holds the dependencies of a [Backends].
type Config struct {
	Table    Table
	Profiles Profiles
	// Key returns a secret of a user.
	Key func(ctx context.Context, user, name string) (string, error)
	// Open returns the backend of a profile of a user with that key. own says that it was made for the
	// profile, so that it has to be closed; otherwise it is one of the table.
	Open func(p profiles.Profile, key string) (backend providers.Provider, own bool, err error)
	// Window is the context window of the backends of the table in tokens; 0 means what they know.
	Window int
	Logger *slog.Logger
}

// Bounds of what is cached.
const (
	// maxAge is the age up to which the profiles of a user are used without reading them again.
	maxAge = time.Second
	// readTimeout bounds reading them; retryPause is the pause after a read that failed.
	readTimeout = 5 * time.Second
	retryPause  = 10 * time.Second
	// maxWait bounds how long a caller waits for a read, maxFirstWait if nothing was read before, or
	// what was read is known to have changed.
	maxWait      = 50 * time.Millisecond
	maxFirstWait = 500 * time.Millisecond
	// maxUsers bounds the cached users, maxIdle the open backends without a session.
	maxUsers = 1000
	maxIdle  = 32
)

// Backends finds and opens the models of profiles.
//
// Ownership: it starts a goroutine for each read of profiles. Close cancels them and waits for them.
type Backends struct {
	cfg  Config
	ctx  context.Context //nolint:containedctx // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup // reads

	mu        sync.Mutex // guards the following
	users     map[string]*userEntry
	instances map[string]*instance
	closed    bool
}

// New returns the backends of profiles.
func New(cfg Config) *Backends {
	b := &Backends{cfg: cfg, users: map[string]*userEntry{}, instances: map[string]*instance{}}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// userEntry holds the cached profiles of a user.
type userEntry struct {
	mu sync.Mutex // guards the following; it is not held while reading
	// set is the last one that was read; read is false if none was.
	set  profiles.Set
	read bool
	// current is false if nothing was read since the last call of Invalidate.
	current bool
	next    time.Time // from when on the set is read again
	// reading is closed at the end of the read that is running, if one is; slow says that a caller has
	// waited for it in vain.
	reading chan struct{}
	slow    bool
	// changes counts the calls of Invalidate.
	changes int
	caps    map[string]providers.Caps // by revision
}

// entry returns the cached profiles of a user, and reads them if they are too old. Its mutex is held. A
// read that takes longer than a moment goes on without the caller, which gets what is cached.
func (b *Backends) entry(user string) *userEntry {
	b.mu.Lock()
	e := b.users[user]
	if e == nil {
		b.evictUsers()
		e = &userEntry{caps: map[string]providers.Caps{}}
		b.users[user] = e
	}
	b.mu.Unlock()
	e.mu.Lock()
	if user == "" { // sessions without a user have no profiles
		e.read = true
		return e
	}
	if e.reading == nil && !time.Now().Before(e.next) {
		b.startRead(user, e)
	}
	if e.reading == nil || e.slow {
		return e
	}
	reading, wait := e.reading, maxWait
	if !e.current {
		wait = maxFirstWait
	}
	e.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-reading:
		e.mu.Lock()
	case <-timer.C:
		e.mu.Lock()
		e.slow = e.reading == reading
	}
	return e
}

// startRead reads the profiles of a user in a goroutine that Close waits for. e.mu is held.
func (b *Backends) startRead(user string, e *userEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed { // Close may be waiting already
		return
	}
	done, changes := make(chan struct{}), e.changes
	e.reading, e.slow = done, false
	b.wg.Go(func() {
		ctx, cancel := context.WithTimeout(b.ctx, readTimeout)
		defer cancel()
		set, err := b.cfg.Profiles.Read(ctx, user)
		e.mu.Lock()
		defer e.mu.Unlock()
		defer close(done)
		e.reading, e.slow = nil, false
		if err != nil {
			e.next = time.Now().Add(retryPause)
			b.cfg.Logger.WarnContext(ctx, "reading model profiles failed", "err", err)
			return
		}
		e.next = time.Now().Add(maxAge)
		if e.changes != changes { // the read may have begun before the change
			e.next = time.Time{}
		}
		if set.Version != e.set.Version {
			clear(e.caps)
		}
		e.set, e.read, e.current = set, true, e.changes == changes
	})
}

// evictUsers makes room for another user. b.mu is held.
func (b *Backends) evictUsers() {
	for user := range b.users { // in random order
		if len(b.users) < maxUsers {
			return
		}
		delete(b.users, user)
	}
}

// Invalidate makes the next calls read the profiles of a user again, and sessions with changed keys not be
// reused.
func (b *Backends) Invalidate(user string) {
	b.mu.Lock()
	e := b.users[user]
	b.mu.Unlock()
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next, e.current = time.Time{}, false
	e.changes++
}

// Find returns the name under which a session of a user stores what the user means by a name, and
// whether there is such a thing. Ids of profiles count first, then backends, then names of profiles.
func (b *Backends) Find(user, name string) (string, bool) {
	e := b.entry(user)
	defer e.mu.Unlock()
	_, isBackend := b.cfg.Table.Get(name)
	p, found := e.set.Find(name)
	switch {
	case found && p.ID == name && p.Pinned == "", isBackend:
		return name, true
	case found && p.Pinned == "":
		return p.ID, true
	case found:
		_, isBackend = b.cfg.Table.Get(p.ID)
		return p.ID, isBackend
	}
	return name, !e.read
}

// Default returns the id of a user's own default of a role, or "".
func (b *Backends) Default(user string, r profiles.Role) string {
	e := b.entry(user)
	defer e.mu.Unlock()
	return e.set.Roles[r]
}

// Get returns the provider that a user means by the id of a profile or the name of a backend.
func (b *Backends) Get(user, name string) (providers.Provider, bool) {
	e := b.entry(user)
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.set.Profiles, func(p profiles.Profile) bool { return p.ID == name && p.Pinned == "" })
	if i < 0 {
		p, ok := b.cfg.Table.Get(name)
		switch {
		case ok && b.cfg.Window > 0:
			return windowed{p, b.cfg.Window}, true
		case ok || e.read:
			return p, ok
		}
		return &provider{backends: b, user: user, id: name}, true // not known yet
	}
	p := &provider{backends: b, user: user, id: name, name: e.set.Profiles[i].Backend, revision: revision(e.set.Profiles[i], e.changes)}
	caps, ok := e.caps[p.revision]
	if !ok {
		var err error
		if caps, err = b.capsOf(e.set.Profiles[i]); err != nil {
			// Opening a session fails with the reason.
			b.cfg.Logger.Warn("model profile cannot be used", "profile", name, "err", err)
		}
		e.caps[p.revision] = caps
	}
	p.caps = caps
	return p, true
}

// capsOf returns the capabilities of a profile's backend, which do not depend on the key.
func (b *Backends) capsOf(p profiles.Profile) (providers.Caps, error) {
	backend, own, err := b.cfg.Open(p, "")
	if err != nil {
		return providers.Caps{}, err
	}
	caps := backend.Caps()
	if p.ContextWindow > 0 {
		caps.Window = p.ContextWindow
	}
	if own {
		err = backend.Close()
	}
	return caps, err
}

// windowed is a backend of the table whose context window the operator has set.
type windowed struct {
	providers.Provider
	window int
}

// Caps implements [providers.Provider].
func (w windowed) Caps() providers.Caps {
	caps := w.Provider.Caps()
	caps.Window = w.window
	return caps
}
