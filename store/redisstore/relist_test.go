package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// neighbours are sessions of one partition.
func neighbours(n int) []wire.SessionID {
	list := func(id wire.SessionID) string { return redisstore.SharedKeys("", id, "user")["sessions"] }
	var ids []wire.SessionID
	for i := 0; len(ids) < n; i++ {
		if id := wire.SessionID(fmt.Sprint("s-", i)); list(id) == list("s-0") {
			ids = append(ids, id)
		}
	}
	return ids
}

// deaf answers the questions for a session's user up to a number of them.
type deaf struct {
	mu      sync.Mutex
	answers int
	silent  chan struct{} // closed at the first that gets no answer
}

func (*deaf) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*deaf) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d *deaf) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); cmd.Name() == "hget" && args[2] == "user" {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.answers--; d.answers == -1 {
				close(d.silent)
			}
			if d.answers < 0 {
				cmd.SetErr(io.ErrUnexpectedEOF)
				return cmd.Err()
			}
		}
		return next(ctx, cmd)
	}
}

// TestRelistGoesOn ends a hub while it makes the list of working sessions anew.
// Another one finds them all.
func TestRelistGoesOn(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	d := deploy(t, server.URL())
	prefix, ids := d.prefix(), neighbours(20)
	first := open(t, d.client, config(prefix))
	for _, id := range ids {
		a := newAuthor(t, first, id)
		if _, err := a.try(t.Context(), store.Batch{Working: new(true)}); err != nil {
			t.Fatal(err)
		}
		if err := first.Sessions.Release(t.Context(), a.lease); err != nil {
			t.Fatal(err)
		}
	}
	other := deploy(t, server.URL())
	hook := &deaf{answers: 7, silent: make(chan struct{})}
	other.client.AddHook(hook)
	cut := open(t, other.client, config(prefix))
	if err := d.client.Set(t.Context(), redisstore.SharedKeys(prefix, ids[0], "user")["working"], "not ours", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := cut.Sessions.Unattended(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	select {
	case <-hook.silent:
	case <-t.Context().Done():
		t.Fatal("the list is not rebuilt, want a replica that does it")
	}
	if err := cut.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "list of those that wait for an owner", func() error {
		found, err := first.Sessions.Unattended(t.Context(), 100)
		if err == nil && len(found) != len(ids) {
			err = fmt.Errorf("%d of %d are there", len(found), len(ids))
		}
		return err
	})
	// When all is listed no hub begins again, not even if another hub wrote the marker.
	mending := redisstore.SharedKeys(prefix, ids[0], "user")["mending"]
	if err := d.client.Del(t.Context(), mending).Err(); err != nil {
		t.Fatal(err)
	}
	if err := d.client.LPush(t.Context(), mending, "not ours").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "end", func() error {
		if _, err := first.Sessions.Unattended(t.Context(), 100); err != nil {
			return err
		}
		n, err := d.client.Exists(t.Context(), mending).Result()
		if err == nil && n != 0 {
			err = errors.New("it is not over")
		}
		return err
	})
}

// TestRelistWithSeveralBroken breaks a user's list beside that of all sessions.
func TestRelistWithSeveralBroken(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	prefix, ids := d.prefix(), neighbours(20)
	s := open(t, d.client, config(prefix))
	for i, id := range ids {
		if err := s.Sessions.Create(t.Context(), store.NewSession{ID: id, User: fmt.Sprint("user-", i%2)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{
		redisstore.SharedKeys(prefix, ids[0], "")["sessions"], redisstore.SharedKeys(prefix, ids[0], "user-0")["sessions of a user"],
		redisstore.SharedKeys(prefix, ids[0], "user-1")["sessions of a user"],
	} {
		if err := d.client.Set(t.Context(), key, "not ours", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for q, want := range map[store.Query]int{{}: 20, {User: "user-0"}: 10, {User: "user-1"}: 10} {
		eventually(t, "list of sessions", func() error {
			page, err := s.Sessions.Sessions(t.Context(), q)
			if err != nil || len(page.Items) != want {
				return fmt.Errorf("%d of %d are there, error %w", len(page.Items), want, err)
			}
			return nil
		})
	}
}

// TestForeignFloor asks about deletions where what is remembered of them is not ours.
func TestForeignFloor(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	prefix := d.prefix()
	s := open(t, d.client, config(prefix))
	floor := redisstore.SharedKeys(prefix, "s", "user")["floor"]
	for name, spoil := range map[string]func() error{
		"no number":  func() error { return d.client.Set(t.Context(), floor, "not ours", 0).Err() },
		"wrong type": func() error { return d.client.LPush(t.Context(), floor, "not ours").Err() },
	} {
		if err := errors.Join(d.client.Del(t.Context(), floor).Err(), spoil()); err != nil {
			t.Fatal(name, err)
		}
		if gone, err := s.Sessions.Deleted(t.Context(), "s", 1); err != nil || gone {
			t.Errorf("%s: deleted is %v, error %v, want false", name, gone, err)
		}
	}
}

// TestSetAsideWithoutReason loses the list that says why sessions are set aside.
// They are so all the same.
func TestSetAsideWithoutReason(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	prefix := d.prefix()
	s := open(t, d.client, config(prefix))
	a := newAuthor(t, s, "s")
	if err := s.Sessions.Quarantine(t.Context(), "s", "bad"); err != nil {
		t.Fatal(err)
	}
	if err := d.client.Del(t.Context(), redisstore.KeysOf(prefix, "s").Quarantine).Err(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"claim":  second(s.Sessions.Claim(t.Context(), "s", "author", time.Hour)),
		"send":   second(s.Sessions.Send(t.Context(), "s", store.Command{ID: "c"})),
		"commit": second(a.try(t.Context(), store.Batch{Events: [][]byte{[]byte("e")}})),
		"delete": s.Sessions.Delete(t.Context(), a.lease),
	} {
		if q, ok := errors.AsType[*store.QuarantinedError](err); !ok || q.Reason == "" {
			t.Errorf("%s is %v, want a QuarantinedError with a reason", name, err)
		}
	}
	if i, err := s.Sessions.Session(t.Context(), "s"); err != nil || i.Quarantined == "" {
		t.Errorf("the session is %+v, error %v, want it quarantined", i, err)
	}
	if err := s.Sessions.Quarantine(t.Context(), "s", ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Sessions.Delete(t.Context(), a.lease); err != nil {
		t.Errorf("delete after it was taken back: %v", err)
	}
}
