package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// folder keeps objects in a folder, as files with the name of their session before.
type folder struct {
	dir string
	// putting and getting, unless nil, are called after an object was written and before it is read, listing before
	// a list, and removing before an object is removed.
	putting, getting, listing func() error
	removing                  func(name string) error
}

func (f *folder) path(session wire.SessionID, name string) string {
	return filepath.Join(f.dir, string(session)+" "+name)
}

func (f *folder) Put(_ context.Context, session wire.SessionID, name string, data []byte) error {
	temp := filepath.Join(f.dir, "temp-"+name)
	if err := errors.Join(os.WriteFile(temp, data, 0o600), os.Rename(temp, f.path(session, name))); err != nil {
		return err
	}
	if f.putting != nil {
		return f.putting()
	}
	return nil
}

func (f *folder) Get(_ context.Context, session wire.SessionID, name string, limit int64) ([]byte, error) {
	if f.getting != nil {
		if err := f.getting(); err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(f.path(session, name))
	return data[:min(int64(len(data)), limit)], err
}

func (f *folder) Remove(_ context.Context, session wire.SessionID, name string) error {
	if f.removing != nil {
		if err := f.removing(name); err != nil {
			return err
		}
	}
	if err := os.Remove(f.path(session, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *folder) Names(_ context.Context, session wire.SessionID) ([]string, error) {
	if f.listing != nil {
		if err := f.listing(); err != nil {
			return nil, err
		}
	}
	all, err := os.ReadDir(f.dir)
	var names []string
	for _, e := range all {
		if name, ok := strings.CutPrefix(e.Name(), string(session)+" "); ok {
			names = append(names, name)
		}
	}
	return names, err
}

// coldCounts counts what an observer learns of cold sessions.
type coldCounts struct {
	cooled, warmed atomic.Int64
	mu             sync.Mutex
	failed         []string
}

func (*coldCounts) Failed(string)                 {}
func (c *coldCounts) SessionCooled()              { c.cooled.Add(1) }
func (c *coldCounts) SessionWarmed(time.Duration) { c.warmed.Add(1) }
func (c *coldCounts) ColdFailed(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = append(c.failed, kind)
}

// coldRig is a store with objects, and the session "s", which is packed.
type coldRig struct {
	d       *deployment
	prefix  string
	store   *redisstore.Store
	objects *folder
	counts  *coldCounts
	author  *author
}

const coldEvents = 30

func newColdRig(t *testing.T, d *deployment) *coldRig {
	t.Helper()
	r := &coldRig{d: d, prefix: d.prefix(), objects: &folder{dir: t.TempDir()}, counts: &coldCounts{}}
	r.store = r.open(t)
	r.author = newAuthor(t, r.store, "s")
	r.author.mustWrite(t, coldEvents)
	r.ok(t, r.store.Sessions.Pack(t.Context(), r.author.lease))
	return r
}

// open opens another store with the same objects.
func (r *coldRig) open(t *testing.T) *redisstore.Store {
	t.Helper()
	cfg := config(r.prefix)
	cfg.Objects, cfg.Observer = r.objects, r.counts
	return open(t, r.d.client, cfg)
}

func (*coldRig) ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// later is a time since which no session of a test has changed. Leases of an hour are still valid then.
func later() time.Time { return time.Now().Add(30 * time.Minute) }

func (r *coldRig) cool(t *testing.T, want bool) {
	t.Helper()
	if done, err := r.store.Cold.Cool(t.Context(), "s", later()); err != nil || done != want {
		t.Fatalf("cool: %v, error %v, want %v", done, err, want)
	}
}

func (r *coldRig) claim(t *testing.T) store.Lease {
	t.Helper()
	l, err := r.store.Sessions.Claim(t.Context(), "s", "b", time.Hour)
	r.ok(t, err)
	return l
}

func (r *coldRig) wantObjects(t *testing.T, when string, want int) {
	t.Helper()
	if all, err := os.ReadDir(r.objects.dir); err != nil || len(all) != want {
		t.Errorf("%s: %d objects %v, error %v, want %d", when, len(all), all, err, want)
	}
}

// sweep removes what is not needed and reports the number.
func (r *coldRig) sweep(t *testing.T, want int) {
	t.Helper()
	if n, err := r.store.Cold.RemoveUnneeded(t.Context(), 0); err != nil || n != want {
		t.Errorf("remove unneeded objects: %d, error %v, want %d", n, err, want)
	}
}

func (r *coldRig) wantQuarantine(t *testing.T, when string, want bool) {
	t.Helper()
	if i, err := r.store.Sessions.Session(t.Context(), "s"); err != nil || i.Quarantined != "" != want {
		t.Errorf("%s: quarantined is %q, error %v, want %v", when, i.Quarantined, err, want)
	}
}

// A cold session is listed, and all reads work while Redis has only its entry and a reference. A claim
// brings everything back.
func TestColdSessionIsWhole(t *testing.T) {
	t.Parallel()
	for kind, url := range map[string]func() string{
		"standalone": func() string { return redistest.Standalone(t).URL() },
		"cluster": func() string {
			c := redistest.Cluster(t, 0)
			c.DownAfter(t, time.Minute)
			return c.URL()
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newColdRig(t, deploy(t, url()))
			before, err := r.store.Sessions.Session(t.Context(), "s")
			r.ok(t, err)
			r.cool(t, true)
			r.cool(t, false)
			key := redisstore.KeysOf(r.prefix, "s").Base + "pack"
			if got := r.d.client.StrLen(t.Context(), key).Val(); got == 0 || got > 200 {
				t.Errorf("redis has %d bytes of a cold session, want a reference of at most 200", got)
			}
			if got := r.d.client.GetRange(t.Context(), key, 0, 0).Val(); got != "\x03" {
				t.Errorf("reference begins with %q, want version 3, which earlier programs refuse", got)
			}
			page, err := r.store.Sessions.Sessions(t.Context(), store.Query{User: "user", Recent: true})
			if err != nil || len(page.Items) != 1 || fmt.Sprint(page.Items[0]) != fmt.Sprint(before) {
				t.Errorf("list with a cold session is %v, error %v, want %v", page.Items, err, before)
			}
			r.author.verify(t)
			if l, err := r.store.Sessions.ReadList(t.Context(), "s", "events", -2, 2); err != nil || len(l.Items) != 2 || l.Total != coldEvents {
				t.Errorf("page of a list: %v, error %v, want 2 of %d items", l, err, coldEvents)
			}
			if n := r.counts.warmed.Load(); n != 0 {
				t.Errorf("reads have moved %d sessions back, want none", n)
			}
			r.sweep(t, 0)
			r.author.lease = r.claim(t)
			r.author.verify(t)
			if n := r.counts.warmed.Load(); n != 1 {
				t.Errorf("claim has moved %d sessions back, want 1", n)
			}
			r.wantObjects(t, "after the claim", 1) // for a Redis that loses its last writes
			r.sweep(t, 1)
			r.wantObjects(t, "after a sweep", 0)
			r.sweep(t, 0)
		})
	}
}

// A command for a cold session brings it back.
func TestSendWarmsASession(t *testing.T) {
	t.Parallel()
	r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
	r.cool(t, true)
	_, err := r.store.Sessions.Send(t.Context(), "s", store.Command{ID: "c", Data: []byte("x")})
	r.ok(t, err)
	if n := r.counts.warmed.Load(); n != 1 {
		t.Errorf("send has moved %d sessions back, want 1", n)
	}
	r.author.verify(t)
}

// Sessions in use, changed ones, small ones and quarantined ones stay. One that was only released is
// packed first.
func TestOnlyUnusedSessionsAreCooled(t *testing.T) {
	t.Parallel()
	r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
	small := newAuthor(t, r.store, "small")
	r.ok(t, r.store.Sessions.Pack(t.Context(), small.lease))
	owned := newAuthor(t, r.store, "owned")
	owned.mustWrite(t, coldEvents)
	released := newAuthor(t, r.store, "released")
	released.mustWrite(t, coldEvents)
	r.ok(t, r.store.Sessions.Release(t.Context(), released.lease))
	dead := newAuthor(t, r.store, "dead")
	dead.mustWrite(t, coldEvents)
	_, err := r.store.Sessions.Claim(t.Context(), "dead", "author", time.Millisecond)
	r.ok(t, err)
	bad := newAuthor(t, r.store, "bad")
	bad.mustWrite(t, coldEvents)
	r.ok(t, r.store.Sessions.Pack(t.Context(), bad.lease))
	r.ok(t, r.store.Sessions.Quarantine(t.Context(), "bad", "for the test"))
	working := newAuthor(t, r.store, "working")
	working.mustWrite(t, coldEvents)
	_, err = working.try(t.Context(), store.Batch{Events: [][]byte{[]byte("x")}, Working: new(true)})
	r.ok(t, err)
	r.ok(t, r.store.Sessions.Release(t.Context(), working.lease))

	coolAll := func(since time.Time) (cooled []string) {
		pages := 0
		for cursor := ""; pages == 0 || cursor != ""; pages++ {
			var ids []wire.SessionID
			var err error
			ids, cursor, err = r.store.Cold.Unused(t.Context(), cursor, since)
			r.ok(t, err)
			for _, id := range ids {
				done, err := r.store.Cold.Cool(t.Context(), id, since)
				r.ok(t, err)
				if done {
					cooled = append(cooled, string(id))
				}
			}
		}
		slices.Sort(cooled)
		return cooled
	}
	if got := coolAll(time.Now().Add(-time.Hour)); len(got) > 0 {
		t.Errorf("cooled %v, which have changed, want none", got)
	}
	want := []string{"dead", "released", "s"}
	for { // the lease of the dead replica ends
		i, err := r.store.Sessions.Session(t.Context(), "dead")
		r.ok(t, err)
		if i.Until.Before(time.Now()) {
			if done, err := r.store.Cold.Cool(t.Context(), "dead", i.Until); err != nil || done {
				t.Errorf("cool a session whose lease was valid at that time: %v, error %v, want false", done, err)
			}
			break
		}
	}
	if got := coolAll(later()); !slices.Equal(got, want) {
		t.Errorf("cooled %v, want %v", got, want)
	}
	if got := coolAll(later()); len(got) > 0 {
		t.Errorf("cooled %v again, want none", got)
	}
	if _, _, err := r.store.Cold.Unused(t.Context(), "x.y", later()); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("list with an invalid cursor: error %v, want %v", err, store.ErrInvalid)
	}
	released.verify(t)
	r.ok(t, owned.write(t.Context()))
	dead.verify(t)
}

// Two replicas open a cold session at once: one owns it, and it is whole.
func TestTwoReplicasOpenAColdSession(t *testing.T) {
	t.Parallel()
	r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
	other := r.open(t)
	for range 10 {
		r.cool(t, true)
		var wg sync.WaitGroup
		leases, errs := make([]store.Lease, 2), make([]error, 2)
		for i, s := range []*redisstore.Store{r.store, other} {
			wg.Go(func() {
				leases[i], errs[i] = s.Sessions.Claim(t.Context(), "s", wire.ReplicaID(fmt.Sprint("r", i)), time.Hour)
			})
		}
		wg.Wait()
		owner := slices.Index(errs, nil)
		if owner < 0 || !errors.Is(errs[1-owner], store.ErrOwned) {
			t.Fatalf("two claims: errors %v, want one %v", errs, store.ErrOwned)
		}
		r.author.verify(t)
		r.ok(t, r.store.Sessions.Pack(t.Context(), leases[owner]))
	}
	r.sweep(t, 10)
	r.wantObjects(t, "after a sweep", 0)
}

// A session that is opened while it is being moved out, or moved back by another replica meanwhile, is whole.
func TestOpeningWhileASessionMoves(t *testing.T) {
	t.Parallel()
	r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
	other := r.open(t)
	var lease store.Lease
	r.objects.putting = func() (err error) {
		lease, err = other.Sessions.Claim(t.Context(), "s", "c", time.Hour)
		return err
	}
	r.cool(t, false)
	r.author.verify(t)
	r.wantObjects(t, "after a claim during the move", 0)
	r.ok(t, r.store.Sessions.Pack(t.Context(), lease))

	r.objects.putting = nil
	r.cool(t, true)
	r.objects.getting = func() (err error) {
		r.objects.getting = nil
		lease, err = other.Sessions.Claim(t.Context(), "s", "c", time.Hour)
		return err
	}
	if _, err := r.store.Sessions.Claim(t.Context(), "s", "b", time.Hour); !errors.Is(err, store.ErrOwned) {
		t.Errorf("claim during the claim of another replica: error %v, want %v", err, store.ErrOwned)
	}
	r.author.verify(t)
	r.ok(t, r.store.Sessions.Pack(t.Context(), lease))

	// The object disappears between the reference and the read: the session is not damaged.
	r.cool(t, true)
	r.objects.getting = func() (err error) {
		r.objects.getting = nil
		if _, err = other.Sessions.Claim(t.Context(), "s", "c", time.Hour); err == nil {
			_, err = other.Cold.RemoveUnneeded(t.Context(), 0)
		}
		return err
	}
	if _, err := r.store.Sessions.Load(t.Context(), "s"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("load of a session that comes back meanwhile: error %v, want %v", err, store.ErrUnavailable)
	}
	r.wantQuarantine(t, "after that", false)
	r.author.verify(t)
}

// An object whose process was killed before the reference was stored is removed, and a process that is
// only slow cannot refer to it afterwards.
func TestUnfinishedMoveLeavesThePack(t *testing.T) {
	t.Parallel()
	r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
	other := r.open(t)
	killed := errors.New("killed")
	r.objects.putting = func() error { return killed }
	if _, err := r.store.Cold.Cool(t.Context(), "s", later()); !errors.Is(err, killed) {
		t.Fatalf("cool: error %v, want %v", err, killed)
	}
	r.wantObjects(t, "after a failed move", 1)
	if n, err := r.store.Cold.RemoveUnneeded(t.Context(), time.Hour); err != nil || n != 0 {
		t.Errorf("remove objects that are an hour old: %d, error %v, want none", n, err)
	}
	r.sweep(t, 1)
	r.wantObjects(t, "after a sweep", 0)

	r.objects.putting = func() error {
		_, err := other.Cold.RemoveUnneeded(t.Context(), 0)
		return err
	}
	r.cool(t, false)
	r.wantObjects(t, "after a sweep during the move", 0)
	r.author.verify(t)
	if got := r.counts.failed; !slices.Equal(got, []string{"cool"}) {
		t.Errorf("failures are %v, want one", got)
	}
}

// Without its object a session is quarantined with the reason. With the object it works again.
func TestMissingOrDamagedObjectQuarantinesItsSession(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	for kind, data := range map[string]func([]byte) []byte{
		"missing": nil,
		"damaged": func(b []byte) []byte { b = slices.Clone(b); b[len(b)/2] ^= 1; return b },
		"short":   func(b []byte) []byte { return b[:len(b)-1] },
		"long":    func(b []byte) []byte { return append(slices.Clone(b), 'x') },
		"empty":   func([]byte) []byte { return nil },
	} {
		r := newColdRig(t, d)
		r.cool(t, true)
		names, err := r.objects.Names(t.Context(), "s")
		r.ok(t, err)
		path := r.objects.path("s", names[0])
		good, err := os.ReadFile(path)
		r.ok(t, err)
		if data == nil {
			r.ok(t, os.Remove(path))
		} else {
			r.ok(t, os.WriteFile(path, data(good), 0o600))
		}
		if _, err := r.store.Sessions.Claim(t.Context(), "s", "b", time.Hour); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), names[0]) {
			t.Errorf("%s: claim: error %v, want %v and the name of the object", kind, err, store.ErrCorrupt)
		}
		if _, err := r.store.Sessions.Load(t.Context(), "s"); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: load: error %v, want %v", kind, err, store.ErrCorrupt)
		}
		r.wantQuarantine(t, kind, true)
		r.sweep(t, 0)
		r.ok(t, os.WriteFile(path, good, 0o600))
		r.ok(t, r.store.Sessions.Quarantine(t.Context(), "s", ""))
		r.claim(t)
		r.author.verify(t)
	}
}

// A storage that does not answer makes a session unavailable. It does not quarantine it.
func TestUnavailableObjectsKeepTheSession(t *testing.T) {
	t.Parallel()
	r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
	r.cool(t, true)
	r.objects.getting = func() error { return errors.New("no answer") }
	if _, err := r.store.Sessions.Claim(t.Context(), "s", "b", time.Hour); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("claim: error %v, want %v", err, store.ErrUnavailable)
	}
	none := open(t, r.d.client, config(r.prefix))
	if _, err := none.Sessions.Claim(t.Context(), "s", "b", time.Hour); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("claim without a storage: error %v, want %v", err, store.ErrUnavailable)
	}
	r.wantQuarantine(t, "after that", false)
	r.objects.getting = nil
	r.claim(t)
	r.author.verify(t)
}

// The objects of a deleted session are removed with it.
func TestDeletionRemovesObjects(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	r := newColdRig(t, d)
	r.cool(t, true)
	r.ok(t, r.store.Sessions.Delete(t.Context(), r.claim(t)))
	r.wantObjects(t, "after a deletion", 0)
	r.sweep(t, 0)

	r = newColdRig(t, d)
	r.cool(t, true)
	if err := r.store.Sessions.Discard(t.Context(), "s"); !errors.Is(err, store.ErrConflict) {
		t.Errorf("discard of a session that is not quarantined: error %v, want %v", err, store.ErrConflict)
	}
	r.sweep(t, 0)
	r.wantObjects(t, "after a refused discard", 1)
	r.ok(t, r.store.Sessions.Quarantine(t.Context(), "s", "for the test"))
	r.ok(t, r.store.Sessions.Discard(t.Context(), "s"))
	r.wantObjects(t, "after a discard", 0)
	r.sweep(t, 0)
}
