package auth_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// No credential made from an API key is valid after the key was revoked.
func TestRemovedKeyEndsItsCredentials(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	key, err := a.NewKey(t.Context(), ann, "")
	if err != nil {
		t.Fatal(err)
	}
	who, err := a.APIKey(t.Context(), key)
	wantUser(t, who, err, "ann")
	if who.Key != key[4:20] {
		t.Errorf("key of the identity: got %q, want %q", who.Key, key[4:20])
	}
	if _, _, err := a.NewCookie(t.Context(), who); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("cookie for a key: got error %v, want %v", err, store.ErrInvalid)
	}
	before, err := a.NewTicket(t.Context(), who, "")
	if err != nil {
		t.Fatal(err)
	}
	after, err := a.NewTicket(t.Context(), who, "")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := a.Ticket(t.Context(), before)
	wantUser(t, opened, err, "ann")
	if opened.Key != who.Key {
		t.Errorf("key of the ticket: got %q, want %q", opened.Key, who.Key)
	}
	if err := a.RevokeKey(t.Context(), who.Key); err != nil {
		t.Fatal(err)
	}
	_, err = a.Ticket(t.Context(), after)
	wantCode(t, err, wire.CodeAuthFailed)
}

func TestEndCookie(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	var values [2]string
	for i := range values {
		var err error
		if values[i], _, err = a.NewCookie(t.Context(), ann); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second finds nothing to do
		if err := a.EndCookie(t.Context(), values[0]); err != nil {
			t.Fatal(err)
		}
	}
	_, err := a.Cookie(t.Context(), values[0])
	wantCode(t, err, wire.CodeAuthFailed)
	who, err := a.Cookie(t.Context(), values[1])
	wantUser(t, who, err, "ann")
}

func TestCookieIsProlongedOnceADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
		value, _, err := a.NewCookie(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for range 10 * 24 {
			time.Sleep(time.Hour)
			who, err := a.Cookie(t.Context(), value)
			wantUser(t, who, err, "ann")
			if who.Prolonged {
				told++
				if left := time.Until(who.Expires); left != 7*24*time.Hour {
					t.Errorf("validity of a prolonged cookie: got %v, want %v", left, 7*24*time.Hour)
				}
			}
		}
		if told < 9 || told > 10 {
			t.Errorf("times the cookie was prolonged in ten days: got %d, want 9 or 10", told)
		}
	})
}

func TestIsInstallationToken(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{Mode: auth.ModeToken}, openStore(t), t.Output())
	if !a.IsInstallationToken(a.InstallationToken()) || a.IsInstallationToken("") || a.IsInstallationToken("x") {
		t.Error("IsInstallationToken: got the token refused or another one accepted, want only the token")
	}
	none := newAuthority(t, auth.Config{Mode: auth.ModeNone}, openStore(t), t.Output())
	if none.IsInstallationToken("") {
		t.Error("empty installation token in mode none: got it accepted, want it refused")
	}
}
