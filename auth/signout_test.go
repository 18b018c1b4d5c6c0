package auth_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func TestSignOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
		ctx := t.Context()
		bob := auth.Identity{User: "bob"}
		issue := func(who auth.Identity) (cookie, ticket, key string) {
			t.Helper()
			cookie, _, err1 := a.NewCookie(ctx, who)
			ticket, err2 := a.NewTicket(ctx, who, "")
			key, err3 := a.NewKey(ctx, who, "")
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatalf("signing in before the sign-out: got errors %v, %v, %v, want none", err1, err2, err3)
			}
			return cookie, ticket, key
		}
		cookie, ticket, key := issue(ann)
		bobs, _, _ := issue(bob)
		time.Sleep(time.Second)
		if err := a.SignOut(ctx, "ann"); err != nil {
			t.Fatal(err)
		}
		_, err := a.Cookie(ctx, cookie)
		wantCode(t, err, wire.CodeAuthFailed)
		_, err = a.Ticket(ctx, ticket)
		wantCode(t, err, wire.CodeAuthFailed)
		who, err := a.APIKey(ctx, key) // belongs to a program
		wantUser(t, who, err, "ann")
		who, err = a.Cookie(ctx, bobs)
		wantUser(t, who, err, "bob")

		time.Sleep(time.Millisecond)
		cookie, ticket, _ = issue(ann)
		who, err = a.Cookie(ctx, cookie)
		wantUser(t, who, err, "ann")
		who, err = a.Ticket(ctx, ticket)
		wantUser(t, who, err, "ann")
		if err := a.SignOut(ctx, "ann"); err != nil { // the second time
			t.Fatal(err)
		}
		_, err = a.Cookie(ctx, cookie)
		wantCode(t, err, wire.CodeAuthFailed)
		if err := a.SignOut(ctx, "a\nb"); err == nil {
			t.Error("sign-out of an invalid user: got no error, want one")
		}
	})
}

// revocationLog collects the calls of Watch.
type revocationLog struct {
	mu    sync.Mutex
	users []string
}

func (h *revocationLog) gone(r auth.Revocation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users = append(h.users, strings.TrimSpace(r.User+" "+r.At.UTC().Format(time.TimeOnly)+" "+r.Key))
}

func (h *revocationLog) want(t *testing.T, users ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if diff := cmp.Diff(users, h.users); diff != "" {
		t.Errorf("users told to sign out (-want +got):\n%s", diff)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := newAuthority(t, auth.Config{}, s, t.Output()), newAuthority(t, auth.Config{}, s, t.Output())
		if err := a.SignOut(t.Context(), "earlier"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		var here, there revocationLog
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		wg.Go(func() { a.Watch(ctx, here.gone) })
		wg.Go(func() { b.Watch(ctx, there.gone) })
		time.Sleep(3 * time.Second)
		here.want(t)

		if err := a.SignOut(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the documented bound
		here.want(t, "ann 00:00:13")
		there.want(t, "ann 00:00:13")

		if err := b.SignOut(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		key, err := b.NewKey(t.Context(), auth.Identity{User: "bob"}, "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		id := strings.Split(key, "_")[1]
		if err := b.RevokeKey(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute) // each once, also when it leaves the list
		here.want(t, "ann 00:00:13", "ann 00:00:14", "bob 00:00:15 "+id)
		there.want(t, "ann 00:00:13", "ann 00:00:14", "bob 00:00:15 "+id)
		page, err := s.Documents(t.Context(), "auth-signouts", "", 10)
		if err != nil || len(page.Items) != 0 {
			t.Errorf("stored sign-outs: got %v, error %v, want none", page.Items, err)
		}
	})
}

func TestWatchOverOutages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		var away atomic.Bool
		var log bytes.Buffer
		watcher := newAuthority(t, auth.Config{}, broken{docs: s, away: away.Load}, &log)
		other := newAuthority(t, auth.Config{}, s, t.Output())
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var h revocationLog
		wg.Go(func() { watcher.Watch(ctx, h.gone) })
		time.Sleep(time.Second)
		for range 2 {
			away.Store(true)
			time.Sleep(10 * time.Second)
			if err := other.SignOut(t.Context(), "ann"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			away.Store(false)
			time.Sleep(time.Second)
		}
		_, err := s.Put(t.Context(), store.Document{Collection: "auth-signouts", Name: "x", Data: []byte("not json")})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		stop()
		wg.Wait()
		h.want(t, "ann 00:00:11", "ann 00:00:32")
		for text, n := range map[string]int{"watching sign-outs failed": 2, "watching sign-outs resumed": 2, "unreadable": 1} {
			if got := strings.Count(log.String(), text); got != n {
				t.Errorf("%q is logged %d times, want %d:\n%s", text, got, n, log.String())
			}
		}
	})
}
