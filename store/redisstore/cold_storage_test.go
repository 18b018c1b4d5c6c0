package redisstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// idPath is the file with the id of the folder, beside it.
func (f *folder) idPath() string { return f.dir + ".id" }

func (f *folder) Identify(_ context.Context, id string) (string, error) {
	path := f.idPath()
	if _, err := os.Stat(path); id != "" && errors.Is(err, fs.ErrNotExist) {
		// Written under its own name first: another process reads it, and this one may be killed.
		temp := path + "." + rand.Text()
		if err := os.WriteFile(temp, []byte(id), 0o600); err != nil {
			return "", err
		}
		if err := os.Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// moveTimes moves the session out and back some times, which leaves an object each time.
func (r *coldRig) moveTimes(t *testing.T, times int) {
	t.Helper()
	for range times {
		r.cool(t, true)
		r.ok(t, r.store.Sessions.Pack(t.Context(), r.claim(t)))
	}
}

// An object that cannot be removed does not keep the others. A storage that removes nothing is not asked for each.
func TestObjectThatStaysDoesNotKeepOthers(t *testing.T) {
	t.Parallel()
	r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
	r.moveTimes(t, 5)
	bad, asked, broken := "", 0, errors.New("broken")
	r.objects.removing = func(name string) error {
		if asked++; bad == "" {
			bad = name
		}
		if name == bad {
			return broken
		}
		return nil
	}
	if n, err := r.store.Cold.RemoveUnneeded(t.Context(), 0); n != 4 || !errors.Is(err, broken) {
		t.Errorf("remove with one bad object: %d, error %v, want 4 and %v", n, err, broken)
	}
	r.moveTimes(t, 5)
	asked = 0
	r.objects.removing = func(string) error { asked++; return broken }
	if n, err := r.store.Cold.RemoveUnneeded(t.Context(), 0); n != 0 || !errors.Is(err, broken) || asked != 3 {
		t.Errorf("remove without a storage: %d after %d tries, error %v, want 0 after 3 and %v", n, asked, err, broken)
	}
	r.objects.removing = nil
	r.sweep(t, 6)
	r.wantObjects(t, "after a sweep", 0)
}

// A full Redis moves sessions out, which makes room, and removes objects.
func TestFullMemoryCoolsSessions(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	limit := func(maxmemory string) {
		t.Helper()
		if err := server.Client(t).ConfigSet(t.Context(), "maxmemory", maxmemory).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r := newColdRig(t, deploy(t, server.URL()))
	limit("1") // byte
	r.cool(t, true)
	limit("0")
	r.claim(t)
	limit("1")
	r.sweep(t, 1)
	limit("0")
	r.author.verify(t)
}

// A session that was cold once is deleted while the storage does not answer. Its object goes later. A discard waits: the
// session may still be cold, and then nothing but its reference knows the object.
func TestDeletionNeedsNoStorage(t *testing.T) {
	t.Parallel()
	d, broken := deploy(t, redistest.Standalone(t).URL()), errors.New("no answer")
	r := newColdRig(t, d)
	r.cool(t, true)
	lease := r.claim(t)
	r.objects.listing = func() error { return broken }
	r.ok(t, r.store.Sessions.Delete(t.Context(), lease))
	r.wantObjects(t, "after a deletion without the storage", 1)
	r.sweep(t, 1)

	r = newColdRig(t, d)
	r.cool(t, true)
	r.ok(t, r.store.Sessions.Quarantine(t.Context(), "s", "for the test"))
	r.objects.listing = func() error { return broken }
	if err := r.store.Sessions.Discard(t.Context(), "s"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("discard without the storage: error %v, want %v", err, store.ErrUnavailable)
	}
	r.wantQuarantine(t, "after that", true)
}

// A folder that is not mounted is empty. That does not damage the cold sessions: they are unavailable until the folder is
// there, nothing is moved to the empty folder, and no note is lost.
func TestOtherStorageQuarantinesNothing(t *testing.T) {
	t.Parallel()
	r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
	r.moveTimes(t, 1) // leaves an object to remove
	r.cool(t, true)
	r.wantReady(t, nil)
	other := newAuthor(t, r.store, "other")
	other.mustWrite(t, coldEvents)
	r.ok(t, r.store.Sessions.Pack(t.Context(), other.lease))

	mounted, s := r.objects.dir, r.open(t)
	r.objects.dir = t.TempDir()
	for range 2 {
		_, err := s.Sessions.Claim(t.Context(), "s", "b", time.Hour)
		r.wantOtherFiles(t, "claim", err)
		_, err = s.Sessions.Read(t.Context(), "s", wire.Position{}, 10)
		r.wantOtherFiles(t, "read", err)
		_, err = s.Cold.Cool(t.Context(), "other", later())
		r.wantOtherFiles(t, "cool", err)
		_, err = s.Cold.RemoveUnneeded(t.Context(), 0)
		r.wantOtherFiles(t, "remove", err)
		if err := s.Ready(t.Context()); !errors.Is(err, store.ErrOtherFiles) {
			t.Errorf("ready: error %v, want %v", err, store.ErrOtherFiles)
		}
		// Another storage with an id of its own is no better.
		r.ok(t, os.WriteFile(r.objects.idPath(), []byte("another"), 0o600))
	}
	r.wantQuarantine(t, "without the folder", false)
	r.wantObjects(t, "in the other folder", 0)

	r.objects.dir = mounted
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("ready with the folder: error %v, want none", err)
	}
	r.sweep(t, 1)
	r.claim(t)
	r.author.verify(t)
}

func (*coldRig) wantOtherFiles(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrOtherFiles) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%s: error %v, want %v and %v", what, err, store.ErrUnavailable, store.ErrOtherFiles)
	}
}

func (r *coldRig) wantReady(t *testing.T, want error) {
	t.Helper()
	if err := r.store.Ready(t.Context()); !errors.Is(err, want) {
		t.Errorf("ready: error %v, want %v", err, want)
	}
}

// A quarantined session is not discarded while its object is in another storage: nothing else knows the object.
func TestDiscardNeedsTheStorageOfTheObject(t *testing.T) {
	t.Parallel()
	r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
	r.cool(t, true)
	r.ok(t, r.store.Sessions.Quarantine(t.Context(), "s", "for the test"))
	mounted := r.objects.dir
	r.objects.dir = t.TempDir()
	r.wantOtherFiles(t, "discard", r.store.Sessions.Discard(t.Context(), "s"))
	r.wantQuarantine(t, "after that", true)
	r.objects.dir = mounted
	r.ok(t, r.store.Sessions.Discard(t.Context(), "s"))
	r.wantObjects(t, "after a discard", 0)
}

// Redis learns the storage from sessions that were moved before it recorded one.
func TestStorageOfOlderColdSessionsIsLearnt(t *testing.T) {
	t.Parallel()
	r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
	r.cool(t, true)
	r.forgetStorage(t)
	s := r.open(t)
	if _, err := s.Sessions.Read(t.Context(), "s", wire.Position{}, 10); err != nil {
		t.Fatal(err)
	}
	r.objects.dir = t.TempDir()
	_, err := s.Sessions.Claim(t.Context(), "s", "b", time.Hour)
	r.wantOtherFiles(t, "claim", err)
	r.wantQuarantine(t, "after that", false)
}

// forgetStorage makes Redis and the folder look as a version without ids has left them.
func (r *coldRig) forgetStorage(t *testing.T) {
	t.Helper()
	redis := r.d.client
	keys, err := redis.Keys(t.Context(), r.prefix+"*:storage").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys of the storage: %q, error %v, want one", keys, err)
	}
	r.ok(t, errors.Join(redis.Del(t.Context(), keys...).Err(), os.Remove(r.objects.idPath())))
}

// A hub of a version with ids that starts for the first time while the folder is not mounted does not take the empty
// folder for the storage of the sessions that an older version has moved, whatever it does first.
func TestEmptyFolderIsNotRecordedForOlderColdSessions(t *testing.T) {
	t.Parallel()
	for name, older := range map[string]func(*testing.T, *coldRig){
		"a cold session": func(t *testing.T, r *coldRig) { t.Helper(); r.moveTimes(t, 1); r.cool(t, true) },
		"a noted object": func(t *testing.T, r *coldRig) { t.Helper(); r.moveTimes(t, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newColdRig(t, deploy(t, redistest.Standalone(t).URL()))
			older(t, r)
			other := newAuthor(t, r.store, "other")
			other.mustWrite(t, coldEvents)
			r.ok(t, r.store.Sessions.Pack(t.Context(), other.lease))
			r.forgetStorage(t)

			mounted, s := r.objects.dir, r.open(t)
			r.objects.dir = t.TempDir()
			_, err := s.Cold.Cool(t.Context(), "other", later())
			r.wantOtherFiles(t, "cool", err)
			if name == "a cold session" {
				_, err = s.Cold.RemoveUnneeded(t.Context(), 0)
				r.wantOtherFiles(t, "remove", err)
				_, err = s.Sessions.Claim(t.Context(), "s", "b", time.Hour)
				r.wantOtherFiles(t, "claim", err)
			}
			r.wantQuarantine(t, "without the folder", false)
			r.wantObjects(t, "in the empty folder", 0)
			if _, err := os.Stat(r.objects.idPath()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("id of the empty folder: error %v, want %v", err, fs.ErrNotExist)
			}

			r.objects.dir = mounted
			if done, err := s.Cold.Cool(t.Context(), "other", later()); err != nil || !done {
				t.Fatalf("cool with the folder: %v, error %v, want true", done, err)
			}
			r.claim(t)
			r.author.verify(t)
			r.objects.dir = t.TempDir()
			_, err = s.Sessions.Claim(t.Context(), "other", "b", time.Hour)
			r.wantOtherFiles(t, "claim without the folder, which is recorded now", err)
		})
	}
}

// Packing makes room, so a full Redis packs the sessions that become dormant, also for a hub that started just now.
func TestFullMemoryPacksSessions(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	d := deploy(t, server.URL())
	prefix := d.prefix()
	s := open(t, d.client, config(prefix))
	first := newAuthor(t, s, "first")
	first.mustWrite(t, 1)
	if err := s.Sessions.Pack(t.Context(), first.lease); err != nil {
		t.Fatal(err)
	}
	a := newAuthor(t, s, "s")
	a.mustWrite(t, 300)
	redis := server.Client(t)
	if err := redis.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, d.client, config(prefix)).Sessions.Pack(t.Context(), a.lease); err != nil {
		t.Fatal(err)
	}
	if got, want := ownKeys(t, d, prefix), []string{"meta", "pack"}; !slices.Equal(got, want) {
		t.Errorf("keys: got %v, want %v", got, want)
	}
	if err := redis.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	a.verify(t)
}
