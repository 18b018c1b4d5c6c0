package redisstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// eventually tries something until it works.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	limit, tick := time.After(2*time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: still %v at the deadline, want no error", what, err)
		}
	}
}

// TestForeignLists puts strings where lists of sessions should be. No session is
// set aside for that, and all are listed again.
func TestForeignLists(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	for name := range redisstore.SharedKeys("", "s", "user") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := d.prefix()
			s := open(t, d.client, config(prefix))
			working, a := newAuthor(t, s, "working"), newAuthor(t, s, "s")
			aside := newAuthor(t, s, "aside")
			if err := s.Sessions.Quarantine(t.Context(), "aside", "for now"); err != nil {
				t.Fatal(err)
			}
			for _, w := range []*author{working, a} {
				if _, err := w.try(t.Context(), store.Batch{Events: [][]byte{[]byte("e")}, Working: new(true)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Sessions.Release(t.Context(), working.lease); err != nil {
				t.Fatal(err)
			}
			for _, id := range []wire.SessionID{"working", "s", "aside"} {
				key := redisstore.SharedKeys(prefix, id, "user")[name]
				if err := d.client.Set(t.Context(), key, "not ours", 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "commit", func() error {
				return second(a.try(t.Context(), store.Batch{Events: [][]byte{[]byte("x")}, Working: new(true)}))
			})
			eventually(t, "send", func() error { return second(s.Sessions.Send(t.Context(), "s", store.Command{ID: "c"})) })
			eventually(t, "claim", func() error { return second(s.Sessions.Claim(t.Context(), "s", "author", time.Hour)) })
			eventually(t, "list of those that wait for an owner", func() error {
				ids, err := s.Sessions.Unattended(t.Context(), 10)
				if err == nil && !slices.Contains(ids, "working") {
					err = fmt.Errorf("it is %v", ids)
				}
				return err
			})
			for _, q := range []store.Query{{}, {User: "user"}} {
				eventually(t, "list of sessions", func() error {
					page, err := s.Sessions.Sessions(t.Context(), q)
					if err != nil || len(page.Items) != 3 {
						return fmt.Errorf("it is %+v, error %w", page, err)
					}
					for _, i := range page.Items {
						if (i.Quarantined != "") != (i.ID == "aside") {
							return fmt.Errorf("%s is set aside because of %q", i.ID, i.Quarantined)
						}
					}
					return nil
				})
			}
			eventually(t, "quarantine", func() error { return s.Sessions.Quarantine(t.Context(), "s", "now") })
			if _, err := aside.try(t.Context(), store.Batch{Events: [][]byte{[]byte("x")}}); !errors.Is(err, store.ErrQuarantined) {
				t.Errorf("commit of what is set aside is %v, want ErrQuarantined", err)
			}
			for id := range 64 {
				eventually(t, "create", func() error {
					err := s.Sessions.Create(t.Context(), store.NewSession{ID: wire.SessionID(fmt.Sprint("new-", id)), User: "user"})
					if errors.Is(err, store.ErrExists) {
						err = nil
					}
					return err
				})
			}
			eventually(t, "delete", func() error { // a new claim, since "s" is set aside
				return s.Sessions.Quarantine(t.Context(), "s", "")
			})
			lease, err := s.Sessions.Claim(t.Context(), "s", "author", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "delete", func() error { return s.Sessions.Delete(t.Context(), lease) })
		})
	}
}

// TestForeignSemaphore has slots and replicas whose keys are not ours, or hold what
// is no number. They begin anew.
func TestForeignSemaphore(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	for i := range redisstore.SemaphoreKeys("", "agents") {
		t.Run(fmt.Sprint("key ", i), func(t *testing.T) {
			t.Parallel()
			prefix := d.prefix()
			s := open(t, d.client, config(prefix))
			r := store.SlotRequest{Semaphore: "agents", Limit: 2, Holder: "h", Key: "k", TTL: time.Hour, Wait: true}
			slot, err := s.Semaphores.Acquire(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			key := redisstore.SemaphoreKeys(prefix, "agents")[i]
			if err := d.client.Set(t.Context(), key, "not ours", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if err := s.Semaphores.RenewSlot(t.Context(), slot); err != nil && !errors.Is(err, store.ErrFenced) {
				t.Errorf("renew: error %v, want none or %v", err, store.ErrFenced)
			}
			for _, holder := range []string{"h", "other"} {
				r.Holder = holder
				if _, err := s.Semaphores.Acquire(t.Context(), r); err != nil {
					t.Errorf("acquire for %s: %v", holder, err)
				}
			}
			r.Holder, r.Wait = "third", false
			if _, err := s.Semaphores.Acquire(t.Context(), r); !errors.Is(err, store.ErrFull) {
				t.Errorf("the third is told %v, want ErrFull", err)
			}
		})
	}
	t.Run("no number", func(t *testing.T) {
		t.Parallel()
		prefix := d.prefix()
		s := open(t, d.client, config(prefix))
		if err := d.client.HSet(t.Context(), redisstore.SemaphoreKeys(prefix, "agents")[3], "ticket", "x").Err(); err != nil {
			t.Fatal(err)
		}
		r := store.SlotRequest{Semaphore: "agents", Limit: 2, Holder: "h", Key: "k", TTL: time.Hour, Wait: true}
		if _, err := s.Semaphores.Acquire(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
	for i := range redisstore.ReplicaKeys("") {
		t.Run(fmt.Sprint("replicas ", i), func(t *testing.T) {
			t.Parallel()
			prefix := d.prefix()
			s := open(t, d.client, config(prefix))
			if err := d.client.Set(t.Context(), redisstore.ReplicaKeys(prefix)[i], "not ours", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if err := s.Replicas.Announce(t.Context(), store.Replica{ID: "r"}, time.Hour); err != nil {
				t.Fatal(err)
			}
			if page, err := s.Replicas.Replicas(t.Context(), "", 10); err != nil || len(page.Items) != 1 {
				t.Errorf("replicas are %+v, error %v, want one", page, err)
			}
		})
	}
	t.Run("format", func(t *testing.T) {
		t.Parallel()
		prefix := d.prefix()
		s := open(t, d.client, config(prefix))
		key := redisstore.FormatKey(prefix)
		if err := d.client.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
		if err := d.client.LPush(t.Context(), key, "not ours").Err(); err != nil {
			t.Fatal(err)
		}
		if err := s.Ready(t.Context()); err != nil {
			t.Errorf("a store that works is not ready: %v", err)
		}
	})
}
