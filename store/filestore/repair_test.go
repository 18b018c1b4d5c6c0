package filestore_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/store/storetest"
	"github.com/everdesk/everdesk/wire"
)

// wounded is a folder with a session whose log has a hole, and the file with it.
func wounded(t *testing.T) (dir, file string) {
	t.Helper()
	dir = quickDir(t)
	_, places, file := chronicle(t, dir)
	flip(t, filepath.Join(dir, file), places[2], 3)
	return dir, file
}

// checkMended looks at what became of a wounded session.
func checkMended(t *testing.T, s *filestore.Store, file string) {
	t.Helper()
	info, err := s.Sessions.Session(t.Context(), "s")
	ok(t, err)
	if !strings.Contains(info.Quarantined, file) {
		t.Errorf("quarantine says %q, want that it names %s", info.Quarantined, file)
	}
	checkUnbroken(t, s, info)
}

// TestDamageOnAFullDisk opens a damaged store that cannot be written to. Reads
// go on, but not over the hole; nothing is forgotten; and when there is room
// the session is repaired, then or at a later Open.
func TestDamageOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir, file := wounded(t)
	synctest.Test(t, func(t *testing.T) {
		for _, spaceFreed := range []bool{false, true} {
			var d slowDisk
			d.full.Store(true)
			s := open(t, dir, filestore.Config{}.WithFiles(d.open))
			info, err := s.Sessions.Session(t.Context(), "s")
			ok(t, err)
			if !strings.Contains(info.Quarantined, file) {
				t.Errorf("quarantine says %q, want that it names %s", info.Quarantined, file)
			}
			if _, err := s.Sessions.Read(t.Context(), "s", wire.Position{}, 100); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("reading a log with a hole ended with %v, want ErrCorrupt", err)
			}
			if events, err := s.Sessions.Read(t.Context(), "other", wire.Position{}, 100); err != nil || len(events) != 18 {
				t.Errorf("the other session has %d events, error %v, want 18 and none", len(events), err)
			}
			if spaceFreed {
				d.full.Store(false)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				checkMended(t, s, file)
			}
			ok(t, s.Close())
		}
		s := open(t, dir, filestore.Config{})
		checkMended(t, s, file)
	})
}

// TestDamageFoundByAnother opens the log without the store, which knows nothing
// of sessions, and then the store.
func TestDamageFoundByAnother(t *testing.T) {
	t.Parallel()
	dir, file := wounded(t)
	l, err := kvlog.Open(dir, kvlog.Config{})
	ok(t, err)
	ok(t, l.Close())
	checkMended(t, open(t, dir, filestore.Config{}), file)
}

// TestDamageOutlivesItsSession lifts a quarantine, deletes the session and
// makes one of the same name. What the old one suffered is not its fault.
func TestDamageOutlivesItsSession(t *testing.T) {
	t.Parallel()
	dir, _ := wounded(t)
	s := open(t, dir, filestore.Config{})
	ok(t, s.Sessions.Quarantine(t.Context(), "s", ""))
	lease, err := s.Sessions.Claim(t.Context(), "s", "a", time.Hour)
	ok(t, err)
	ok(t, s.Sessions.Delete(t.Context(), lease))
	owned(t, s)
	ok(t, s.Close())
	s = open(t, dir, filestore.Config{})
	info, err := s.Sessions.Session(t.Context(), "s")
	ok(t, err)
	if info.Quarantined != "" {
		t.Errorf("the new session is quarantined because of %q, want none", info.Quarantined)
	}
	if events, err := s.Sessions.Read(t.Context(), "s", wire.Position{}, 10); err != nil || len(events) != 1 {
		t.Errorf("the new session has %d events, error %v, want 1 and none", len(events), err)
	}
}

// TestQuarantineOnAFullDisk finds damage when nothing can be written, and writes
// it down as soon as there is room.
func TestQuarantineOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		var d slowDisk
		s := open(t, dir, filestore.Config{}.WithFiles(d.open))
		lease := owned(t, s)
		_, err := s.Sessions.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Ops: []store.Op{store.Set("t", "f", []byte("value"))}})
		ok(t, err)
		file, off, size := s.Locate(storetest.Damage{Kind: store.KindField, Session: "s", Name: "t", Field: "f"})
		flip(t, filepath.Join(dir, file), off+size-1, 0)
		d.full.Store(true)
		if _, err = s.Sessions.Load(t.Context(), "s"); !errors.Is(err, store.ErrCorrupt) {
			t.Fatalf("got error %v, want ErrCorrupt", err)
		}
		time.Sleep(3 * time.Second)
		flip(t, filepath.Join(dir, file), off+size-1, 0)
		d.full.Store(false)
		time.Sleep(2 * time.Second)
		ok(t, s.Close())
		s = open(t, dir, filestore.Config{})
		if info, err := s.Sessions.Session(t.Context(), "s"); err != nil || info.Quarantined == "" {
			t.Errorf("session is %+v, error %v, want the quarantine of before", info, err)
		}
	})
}

// TestDamageAfterMending loses an entry of a session that is quarantined and
// repaired already. Its log has no hole when it is used again.
func TestDamageAfterMending(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	tops, _, _ := chronicle(t, dir)
	s := open(t, dir, filestore.Config{})
	ok(t, s.Sessions.Quarantine(t.Context(), "s", "test"))
	ok(t, s.DeleteEntry("s", tops[2]))
	ok(t, s.Sessions.Quarantine(t.Context(), "s", ""))
	info, err := s.Sessions.Session(t.Context(), "s")
	ok(t, err)
	if info.Oldest.Compare(tops[2]) <= 0 || info.Top != tops[len(tops)-1] || info.Quarantined != "" {
		t.Errorf("session is %+v, want a log after %v", info, tops[2])
	}
	checkUnbroken(t, s, info)
	ok(t, s.Sessions.Quarantine(t.Context(), "other", "test"))
	ok(t, s.Sessions.Quarantine(t.Context(), "other", ""))
	if events, err := s.Sessions.Read(t.Context(), "other", wire.Position{}, 100); err != nil || len(events) != 18 {
		t.Errorf("the other session has %d events, error %v, want all of them", len(events), err)
	}
}

// TestDamageOfADeletedSession repairs a session that is being deleted. It does not
// come back as a ghost.
func TestDamageOfADeletedSession(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		var d slowDisk
		s := open(t, dir, filestore.Config{}.WithFiles(d.open))
		lease := owned(t, s)
		resume := d.stop()
		deleted := make(chan error)
		go func() { deleted <- s.Sessions.Delete(t.Context(), lease) }()
		synctest.Wait()
		s.InjectDamage("s")
		synctest.Wait()
		resume()
		ok(t, <-deleted)
		synctest.Wait()
		ok(t, s.Close())
		s = open(t, dir, filestore.Config{})
		if info, err := s.Sessions.Session(t.Context(), "s"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("session is %+v, error %v, want ErrNotFound", info, err)
		}
	})
}

// TestVacancyDuringAClaim tails a session between the moment the log has a claim
// and the moment the store knows of it. The tail does not report it as vacant then.
func TestVacancyDuringAClaim(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		var d slowDisk
		s := open(t, dir, filestore.Config{}.WithFiles(d.open))
		lease := owned(t, s)
		ok(t, s.Sessions.Release(t.Context(), lease))
		resume := d.stop()
		release := make(chan struct{})
		s.Stall(nil) // is being written while the others gather
		synctest.Wait()
		s.Stall(release)
		claimed := make(chan error)
		go func() { claimed <- second(s.Sessions.Claim(t.Context(), "s", "b", time.Hour)) }()
		synctest.Wait()
		resume()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		events := 0
		for news, err := range s.Sessions.Tail(ctx, "s", lease.Top()) {
			if events += len(news.Events); news.Vacant {
				t.Errorf("tail says that the session is vacant after %d events, want an owner", events)
			}
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("tail ended with %v, want %v", err, context.DeadlineExceeded)
			}
		}
		if events != 1 {
			t.Errorf("tail showed %d events, want the claim", events)
		}
		close(release)
		ok(t, <-claimed)
	})
}

// TestReadsDuringADelete looks at a session between the moment the log forgets
// it and the moment the store does.
func TestReadsDuringADelete(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		var d slowDisk
		s := open(t, dir, filestore.Config{}.WithFiles(d.open))
		lease := owned(t, s)
		resume := d.stop()
		release := make(chan struct{})
		s.Stall(nil) // is being written while the others gather
		synctest.Wait()
		s.Stall(release)
		deleted := make(chan error)
		go func() { deleted <- s.Sessions.Delete(t.Context(), lease) }()
		synctest.Wait()
		resume()
		synctest.Wait()
		for what, err := range map[string]error{
			"session": second(s.Sessions.Session(t.Context(), "s")),
			"load":    second(s.Sessions.Load(t.Context(), "s")),
			"list":    second(s.Sessions.ReadList(t.Context(), "s", "l", 0, 1)),
			"read":    second(s.Sessions.Read(t.Context(), "s", lease.Top(), 1)),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s ended with %v, want ErrNotFound", what, err)
			}
		}
		for _, err := range s.Sessions.Tail(t.Context(), "s", lease.Top()) {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("tail shows error %v, want ErrNotFound", err)
			}
			break
		}
		for _, err := range s.Sessions.Receive(t.Context(), lease) {
			if !errors.Is(err, store.ErrFenced) {
				t.Errorf("receive shows error %v, want ErrFenced", err)
			}
			break
		}
		close(release)
		ok(t, <-deleted)
	})
}

func second[T any](_ T, err error) error { return err }
