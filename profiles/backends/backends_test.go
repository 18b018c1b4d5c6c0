package backends_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/profiles/backends"
	"github.com/everdesk/everdesk/providers"
)

// fake is a backend that records the specs of its sessions.
type fake struct {
	name   string
	caps   providers.Caps
	mu     sync.Mutex
	specs  []providers.Spec
	closed int
}

func (f *fake) Name() string         { return f.name }
func (f *fake) Caps() providers.Caps { return f.caps }

func (f *fake) Open(_ context.Context, s providers.Spec) (providers.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.specs = append(f.specs, s)
	return fakeSession{}, nil
}

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}

func (f *fake) last() providers.Spec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.specs[len(f.specs)-1]
}

type fakeSession struct{ providers.Session }

func (fakeSession) Close() error { return nil }

// rig is a [backends.Backends] with fake dependencies.
type rig struct {
	*backends.Backends
	mu    sync.Mutex
	set   profiles.Set
	err   error
	reads int
	// hanging is not nil while reads hang; closing it lets them go on.
	hanging chan struct{}
	keys    map[string]string
	table   fake
	opened  []*fake
	with    []string // the keys
}

// hang makes reads hang until they are cancelled, or lets all go on.
func (r *rig) hang(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hanging != nil {
		close(r.hanging)
		r.hanging = nil
	}
	if on {
		r.hanging = make(chan struct{})
	}
}

func (r *rig) Read(ctx context.Context, user string) (profiles.Set, error) {
	r.mu.Lock()
	set, hanging := r.set, r.hanging
	r.mu.Unlock()
	if hanging != nil {
		select {
		case <-hanging:
			return set, nil // what it was when the read began
		case <-ctx.Done():
			return profiles.Set{}, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	if user != "ada" {
		return profiles.Set{}, r.err
	}
	return r.set, r.err
}

// change replaces the profiles of ada.
func (r *rig) change(all ...profiles.Profile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set = profiles.Set{Version: r.set.Version + 1, Roles: map[profiles.Role]string{"summary": "mine"}, Profiles: append(all, profiles.Profile{
		ID: "shared", Name: "Of the hub", Backend: "shared", Pinned: "flag",
	})}
}

func (r *rig) Get(name string) (providers.Provider, bool) {
	if name == "shared" || name == "alias" {
		return &r.table, true
	}
	return nil, false
}

func newRig(t *testing.T, window int) *rig {
	t.Helper()
	r := &rig{keys: map[string]string{"k": "sk-1"}, table: fake{name: "shared", caps: providers.Caps{Window: 7, Steer: true}}}
	r.change(mine())
	r.Backends = backends.New(backends.Config{
		Table: r, Profiles: r, Window: window, Logger: slog.New(slog.DiscardHandler),
		Key: func(_ context.Context, user, name string) (string, error) {
			if key, ok := r.keys[name]; ok && user == "ada" {
				return key, nil
			}
			return "", errors.New("not set")
		},
		Open: func(p profiles.Profile, key string) (providers.Provider, bool, error) {
			if p.Backend == "shared" {
				return &r.table, false, nil
			}
			f := &fake{name: p.Backend, caps: providers.Caps{Window: 1000}}
			if key != "" {
				r.opened, r.with = append(r.opened, f), append(r.with, key)
			}
			return f, true, nil
		},
	})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func mine() profiles.Profile {
	return profiles.Profile{
		ID: "mine", Name: "My model", Backend: "made", Model: "m-1", Secret: "k", ContextWindow: 500, Effort: "low",
		Prices: &profiles.Prices{Input: new(2.0), Output: new(10.0), Currency: profiles.USD},
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0)
		named := mine()
		named.ID, named.Name = "other", "shared" // the name of a backend
		r.change(mine(), named)
		for name, want := range map[string]string{
			"mine": "mine", "my MODEL": "mine", "shared": "shared", "alias": "alias", "Of the hub": "shared", "other": "other", "gone": "none", "": "none",
		} {
			id, ok := r.Find("ada", name)
			if !ok {
				id = "none"
			}
			if id != want {
				t.Errorf("%q means %q, want %q", name, id, want)
			}
		}
		if _, ok := r.Find("bob", "mine"); ok {
			t.Error("bob has the profile of ada")
		}
		if got := r.Default("ada", profiles.RoleSummary) + r.Default("ada", profiles.RoleMain) + r.Default("bob", profiles.RoleSummary); got != "mine" {
			t.Errorf("the defaults are %q, want mine for the summaries of ada only", got)
		}
	})
}

// A session gets the model, key, effort, prices and window of its profile.
func TestSessionsUseTheirProfile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0)
		p, ok := r.Backends.Get("ada", "mine")
		if !ok || p.Caps().Window != 500 {
			t.Fatalf("there is a provider: %v, with a window of %d; want 500", ok, p.Caps().Window)
		}
		var usage providers.Usage
		s, err := p.Open(t.Context(), providers.Spec{
			Model: "default", OnEvent: func(e providers.Event) { usage = e.Usage }, From: providers.Thread{ID: "t", Provider: "mine"},
		})
		if err != nil {
			t.Fatal(err)
		}
		spec := r.opened[0].last()
		if spec.Model != "m-1" || spec.Effort != "low" || r.with[0] != "sk-1" || spec.From.ID != "t" || spec.From.Provider != "made" {
			t.Errorf("opened with %+v and the key %s, want those of the profile", spec, r.with[0])
		}
		spec.OnEvent(providers.Event{Kind: providers.EventUsage, Usage: providers.Usage{Input: 500_000, Output: 100_000, USD: 99}})
		if usage.USD != 2 || usage.Input != 500_000 {
			t.Errorf("the usage is %+v, want a cost of 2", usage)
		}
		spec.OnEvent(providers.Event{Kind: providers.EventUsage, Usage: providers.Usage{Input: 1, CacheRead: 1, USD: 99}})
		if usage.USD != 0 || !usage.Unpriced {
			t.Errorf("with an unknown price the usage is %+v, want an unknown cost", usage)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		// The same settings share a backend, a conversation of another provider has no id here.
		if _, err := p.Open(t.Context(), providers.Spec{From: providers.Thread{ID: "t", Provider: "shared"}}); err != nil {
			t.Fatal(err)
		}
		if len(r.opened) != 1 || r.opened[0].last().From.ID != "" {
			t.Errorf("%d backends are open, the conversation is %q; want one, and none", len(r.opened), r.opened[0].last().From.ID)
		}
	})
}

// A changed profile or key counts from the next session on, and says so by another revision.
func TestChangedProfiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0)
		revision := func() string {
			p, _ := r.Backends.Get("ada", "mine")
			if _, err := p.Open(t.Context(), providers.Spec{}); err != nil {
				t.Fatal(err)
			}
			return p.(interface{ Revision() string }).Revision()
		}
		first := revision()
		if again := revision(); again != first {
			t.Error("the revision changed without a change")
		}
		changed := mine()
		changed.Model = "m-2"
		r.change(changed)
		time.Sleep(2 * time.Second)
		second := revision()
		if second == first || r.opened[1].last().Model != "m-2" {
			t.Errorf("the revisions are %s and %s, the model is %s; want another revision and m-2", first, second, r.opened[1].last().Model)
		}
		r.keys["k"] = "sk-2"
		r.Invalidate("ada")
		if third := revision(); third == second || r.with[2] != "sk-2" {
			t.Errorf("with a new key the revision is %s after %s, the key is %s; want another one and sk-2", third, second, r.with[2])
		}
		delete(r.keys, "k")
		p, _ := r.Backends.Get("ada", "mine")
		_, err := p.Open(t.Context(), providers.Spec{})
		if f, ok := errors.AsType[*providers.Failure](err); !ok || f.Class != providers.Invalid {
			t.Errorf("without the key the error is %v, want a failure that says so", err)
		}
		r.change()
		if _, err = p.Open(t.Context(), providers.Spec{}); err == nil {
			t.Error("a deleted profile can be opened")
		}
		time.Sleep(2 * time.Second)
		if _, ok := r.Backends.Get("ada", "mine"); ok {
			t.Error("there is a provider for a deleted profile")
		}
	})
}

// Profiles are read once a second at most. If the store fails, the last ones count; if there are none, a
// name counts as a profile until it is opened.
func TestReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0)
		r.err = errors.New("store is down")
		if id, ok := r.Find("ada", "mine"); !ok || id != "mine" {
			t.Errorf("mine is %q, %v; want it to count as a profile", id, ok)
		}
		p, ok := r.Backends.Get("ada", "mine")
		if !ok {
			t.Fatal("there is no provider for what may be a profile")
		}
		if _, err := p.Open(t.Context(), providers.Spec{}); !errors.Is(err, r.err) {
			t.Errorf("the error is %v, want %v", err, r.err)
		}
		r.err = nil
		if _, err := p.Open(t.Context(), providers.Spec{}); err != nil {
			t.Errorf("the error is %v once the store works, want none", err)
		}
		time.Sleep(11 * time.Second) // the pause after a read that failed
		r.reads = 0
		for range 100 {
			r.Find("ada", "mine")
			r.Backends.Get("ada", "mine")
			r.Default("ada", profiles.RoleMain)
		}
		if r.reads != 1 {
			t.Errorf("the profiles were read %d times, want once", r.reads)
		}
		r.err = errors.New("store is down")
		time.Sleep(2 * time.Second)
		if _, ok := r.Find("ada", "mine"); !ok {
			t.Error("the profile is unknown while the store is down")
		}
		if _, ok := r.Find("ada", "gone"); ok {
			t.Error("an unknown name is a profile")
		}
	})
}

// A store that hangs delays callers for a moment only, and not again while it hangs.
func TestHangingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0)
		lookUp := func() time.Duration {
			start := time.Now()
			r.Find("ada", "mine")
			r.Backends.Get("ada", "mine")
			r.Default("ada", profiles.RoleMain)
			return time.Since(start)
		}
		r.hang(true)
		if took := lookUp(); took > 500*time.Millisecond {
			t.Errorf("the first calls took %v, want at most 500ms", took)
		}
		time.Sleep(20 * time.Second)
		r.hang(false)
		if took := lookUp(); took != 0 || r.Default("ada", profiles.RoleSummary) != "mine" {
			t.Errorf("once the store works the calls took %v, the default is %q; want 0s, mine", took, r.Default("ada", profiles.RoleSummary))
		}
		r.hang(true)
		time.Sleep(2 * time.Second)
		var total time.Duration
		for range 100 {
			total += lookUp()
			time.Sleep(100 * time.Millisecond)
		}
		if total == 0 || total > 100*time.Millisecond {
			t.Errorf("in 10 seconds the calls took %v, want some, at most 100ms", total)
		}
		if _, ok := r.Find("ada", "mine"); !ok {
			t.Error("the cached profile is unknown while the store hangs")
		}
		r.Invalidate("ada") // does not wait
		r.hang(false)
	})
}

// A change while a read is running is not lost.
func TestChangeDuringRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0)
		r.Find("ada", "mine")
		time.Sleep(2 * time.Second)
		r.hang(true)
		r.Find("ada", "mine") // its read goes on
		other := mine()
		other.ID = "other"
		r.change(other)
		r.Invalidate("ada")
		r.hang(false)
		synctest.Wait()
		if _, ok := r.Backends.Get("ada", "other"); !ok {
			t.Error("the new profile is unknown")
		}
		if _, ok := r.Backends.Get("ada", "mine"); ok {
			t.Error("the removed profile is known")
		}
	})
}

// The operator's window counts for the backends of the hub.
func TestBackendsOfTheHub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for window, want := range map[int]int{0: 7, 90: 90} {
			r := newRig(t, window)
			for _, user := range []string{"ada", "bob", ""} {
				p, ok := r.Backends.Get(user, "shared")
				if !ok || p.Caps().Window != want || !p.Caps().Steer {
					t.Errorf("user %q: there is a provider: %v with %+v, want a window of %d", user, ok, p.Caps(), want)
				}
			}
			if _, ok := r.Backends.Get("ada", "gone"); ok {
				t.Error("there is a provider without a name")
			}
		}
	})
}

// Backends without sessions are closed when there are too many, and all at the end.
func TestIdleBackends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0)
		p, _ := r.Backends.Get("ada", "mine")
		for n := range 40 {
			r.keys["k"] = fmt.Sprintf("sk-%d", n)
			s, err := p.Open(t.Context(), providers.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 { // the first one stays open
				_ = s.Close()
				_ = s.Close()
			}
			time.Sleep(time.Millisecond)
		}
		closed := func() (n int) {
			for _, f := range r.opened {
				n += f.closed
			}
			return n
		}
		if closed() != 7 || r.opened[0].closed != 0 || r.opened[1].closed != 1 {
			t.Errorf("%d backends are closed, the first one %d times; want the 7 oldest idle ones", closed(), r.opened[0].closed)
		}
		if err := r.Close(); err != nil || closed() != 40 {
			t.Errorf("%d backends are closed in the end, %v; want 40", closed(), err)
		}
		if _, err := p.Open(t.Context(), providers.Spec{}); !errors.Is(err, providers.ErrClosed) {
			t.Errorf("after the end the error is %v, want %v", err, providers.ErrClosed)
		}
	})
}
