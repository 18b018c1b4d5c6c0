package auth_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const invitedTo = wire.SessionID("ses-12345678")

func TestInvitationIsUsedOnce(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	ticket, err := a.NewInvitation(t.Context(), ann, invitedTo)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Ticket(t.Context(), ticket) // it opens no WebSocket
	wantCode(t, err, wire.CodeAuthFailed)
	var winners atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			who, err := a.Invitation(t.Context(), ticket)
			if err != nil {
				wantCode(t, err, wire.CodeAuthFailed)
				return
			}
			winners.Add(1)
			if who.User != "ann" || who.Session != invitedTo {
				t.Errorf("identity of the invitation: got %+v, want ann in %s", who, invitedTo)
			}
		})
	}
	wg.Wait()
	if n := winners.Load(); n != 1 {
		t.Errorf("successful uses of an invitation: got %d, want 1", n)
	}
	socket, err := a.NewTicket(t.Context(), ann, invitedTo)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Invitation(t.Context(), socket) // nor does a WebSocket ticket invite
	wantCode(t, err, wire.CodeAuthFailed)
}

// The cookie of an invited device stays limited to its session, however often it is extended.
func TestCookieForOneSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
		ticket, err := a.NewInvitation(t.Context(), ann, invitedTo)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(auth.JoinLife - time.Second)
		guest, err := a.Invitation(t.Context(), ticket)
		wantUser(t, guest, err, "ann")
		value, _, err := a.NewCookie(t.Context(), guest)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			time.Sleep(48 * time.Hour)
			who, err := a.Cookie(t.Context(), value)
			wantUser(t, who, err, "ann")
			if who.Session != invitedTo || !who.Cookie || !who.Prolonged {
				t.Errorf("identity of the cookie: got %+v, want a prolonged cookie for %s", who, invitedTo)
			}
		}
		if err := a.EndCookie(t.Context(), value); err != nil {
			t.Fatal(err)
		}
		_, err = a.Cookie(t.Context(), value)
		wantCode(t, err, wire.CodeAuthFailed)
	})
}

func TestInvitationRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
		for name, who := range map[string]auth.Identity{
			"a key's": {User: "ann", Key: "0123456789abcdef"}, "one session's": {User: "ann", Session: invitedTo}, "no user's": {},
		} {
			if _, err := a.NewInvitation(t.Context(), who, invitedTo); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("invitation from %s credential: got error %v, want %v", name, err, store.ErrInvalid)
			}
		}
		if _, err := a.NewInvitation(t.Context(), ann, ""); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("invitation to no session: got error %v, want %v", err, store.ErrInvalid)
		}
		late, err := a.NewInvitation(t.Context(), ann, invitedTo)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(auth.JoinLife)
		_, err = a.Invitation(t.Context(), late)
		wantCode(t, err, wire.CodeAuthFailed)
		early, err := a.NewInvitation(t.Context(), ann, invitedTo)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := a.SignOut(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		_, err = a.Invitation(t.Context(), early)
		wantCode(t, err, wire.CodeAuthFailed)
	})
}
