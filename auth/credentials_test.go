package auth_test

import (
	"errors"
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

func TestAPIKey(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	a := newAuthority(t, auth.Config{}, s, t.Output())
	viewer := auth.Identity{User: "bob", Roles: []auth.Role{auth.RoleViewer}}
	key, err := a.NewKey(t.Context(), viewer, "build server")
	if err != nil {
		t.Fatal(err)
	}
	for _, recognise := range []func() (auth.Identity, error){
		func() (auth.Identity, error) { return a.Bearer(t.Context(), key) },
		func() (auth.Identity, error) { return a.APIKey(t.Context(), key) },
	} {
		who, err := recognise()
		wantUser(t, who, err, "bob")
		if who.Has(auth.RoleUser) || who.Since.IsZero() || !who.Expires.IsZero() || who.Cookie {
			t.Errorf("identity of a key: got %+v, want one that is no user and no cookie, with a start and no end", who)
		}
	}
	page, err := a.Keys(t.Context(), "", 10)
	if err != nil || len(page.Items) != 1 || page.Next != "" {
		t.Fatalf("keys: got %+v, error %v, want one and no next page", page, err)
	}
	k := page.Items[0]
	id := strings.Split(key, "_")[1]
	want := auth.Key{ID: id, Name: "build server", User: "bob", Roles: viewer.Roles, Created: k.Created}
	if diff := cmp.Diff(want, k); diff != "" {
		t.Errorf("listed key (-want +got):\n%s", diff)
	}
	d, err := s.Get(t.Context(), "auth-keys", id)
	if err != nil || strings.Contains(string(d.Data), key[len("edk_")+len(id)+1:]) {
		t.Errorf("stored key: got %s, error %v, want one without the secret", d.Data, err)
	}
	if err := a.RevokeKey(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_, err = a.APIKey(t.Context(), key)
	wantCode(t, err, wire.CodeAuthFailed)
	for _, unknown := range []string{id, "", "../../etc/passwd", strings.Repeat("0", 16)} {
		if err := a.RevokeKey(t.Context(), unknown); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("revoking unknown key %q: got error %v, want %v", unknown, err, store.ErrNotFound)
		}
	}
}

func TestAPIKeyRefuses(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	key, err := a.NewKey(t.Context(), ann, "")
	if err != nil {
		t.Fatal(err)
	}
	other, err := a.NewKey(t.Context(), ann, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.APIKey(t.Context(), "")
	wantCode(t, err, wire.CodeAuthRequired)
	for _, bad := range []string{
		"edk_", key[:len(key)-1], key + "A", key[:21] + other[21:], "EDK" + key[3:], strings.ToUpper(key),
		"edk_../../../../etc_" + strings.Repeat("A", 43), "edk_" + strings.Repeat("f", 16) + key[20:],
		strings.Replace(key, "_", "-", 2), key[:20] + "." + key[21:],
	} {
		_, err := a.APIKey(t.Context(), bad)
		wantCode(t, err, wire.CodeAuthFailed)
	}
}

func TestAPIKeyExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
		who := ann
		who.Expires = time.Now().Add(time.Hour)
		key, err := a.NewKey(t.Context(), who, "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute)
		got, err := a.APIKey(t.Context(), key)
		wantUser(t, got, err, "ann")
		if !got.Expires.Equal(who.Expires) {
			t.Errorf("expires %v, want %v", got.Expires, who.Expires)
		}
		time.Sleep(2 * time.Minute)
		if _, err = a.APIKey(t.Context(), key); err == nil {
			t.Error("an expired key was accepted")
		}
		if _, err := a.NewKey(t.Context(), who, ""); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("making a key that has expired: got error %v, want %v", err, store.ErrInvalid)
		}
	})
}

func TestNewRefusesBadIdentities(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	for name, who := range map[string]auth.Identity{
		"no user":      {},
		"control":      {User: "a\nb"},
		"long":         {User: strings.Repeat("a", 300)},
		"unknown role": {User: "ann", Roles: []auth.Role{"root"}},
		"bad session":  {User: "ann", Session: "../x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, keyErr := a.NewKey(t.Context(), who, "")
			_, ticketErr := a.NewTicket(t.Context(), who, "")
			_, _, cookieErr := a.NewCookie(t.Context(), who)
			if keyErr == nil || ticketErr == nil || cookieErr == nil {
				t.Errorf("errors for a bad identity: got key %v, ticket %v, cookie %v, want all refused", keyErr, ticketErr, cookieErr)
			}
		})
	}
	if _, err := a.NewKey(t.Context(), ann, "\x1b[31m"); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a key name with control characters: got error %v, want %v", err, store.ErrInvalid)
	}
}

func TestTicketIsUsedOnce(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	replicas := []*auth.Authority{newAuthority(t, auth.Config{}, s, t.Output()), newAuthority(t, auth.Config{}, s, t.Output())}
	const session = wire.SessionID("ses-12345678")
	for range 20 {
		ticket, err := replicas[0].NewTicket(t.Context(), ann, session)
		if err != nil {
			t.Fatal(err)
		}
		var winners atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				who, err := replicas[i%2].Ticket(t.Context(), ticket)
				if err != nil {
					wantCode(t, err, wire.CodeAuthFailed)
					return
				}
				winners.Add(1)
				if who.User != "ann" || who.Session != session {
					t.Errorf("identity of the ticket: got %+v, want ann in %s", who, session)
				}
			})
		}
		wg.Wait()
		if n := winners.Load(); n != 1 {
			t.Fatalf("successful uses of a ticket: got %d, want 1", n)
		}
	}
}

func TestTicketExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a := newAuthority(t, auth.Config{}, s, t.Output())
		var tickets []string
		for range 2 {
			ticket, err := a.NewTicket(t.Context(), ann, "")
			if err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, ticket)
		}
		time.Sleep(29 * time.Second)
		who, err := a.Ticket(t.Context(), tickets[0])
		wantUser(t, who, err, "ann")
		time.Sleep(time.Second)
		_, err = a.Ticket(t.Context(), tickets[1])
		wantCode(t, err, wire.CodeAuthFailed)
		page, err := s.Documents(t.Context(), "auth-tickets", "", 10)
		if err != nil || len(page.Items) != 0 {
			t.Errorf("stored tickets: got %v, error %v, want none", page, err)
		}
	})
}

func TestTicketRefuses(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	_, err := a.Ticket(t.Context(), "")
	wantCode(t, err, wire.CodeAuthRequired)
	for _, bad := range []string{"x", strings.Repeat("A", 43), strings.Repeat("A", 1<<20)} {
		_, err := a.Ticket(t.Context(), bad)
		wantCode(t, err, wire.CodeAuthFailed)
	}
	bound := ann
	bound.Session = "ses-aaaaaaaa"
	if _, err := a.NewTicket(t.Context(), bound, "ses-bbbbbbbb"); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a ticket for another session than the credential's: got error %v, want %v", err, store.ErrInvalid)
	}
	ticket, err := a.NewTicket(t.Context(), bound, "")
	if err != nil {
		t.Fatal(err)
	}
	who, err := a.Ticket(t.Context(), ticket)
	wantUser(t, who, err, "ann")
	if who.Session != bound.Session {
		t.Errorf("identity of the ticket: got %+v, want session %s", who, bound.Session)
	}
}

func TestTicketOfExpiredUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
		who := ann
		who.Expires = time.Now().Add(10 * time.Second)
		ticket, err := a.NewTicket(t.Context(), who, "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		_, err = a.Ticket(t.Context(), ticket)
		wantCode(t, err, wire.CodeTokenExpired)
	})
}

func TestCookieSlides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a := newAuthority(t, auth.Config{}, s, t.Output())
		value, until, err := a.NewCookie(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		const day = 24 * time.Hour
		if left := time.Until(until); left != 7*day {
			t.Errorf("validity of the cookie: got %v, want %v", left, 7*day)
		}
		for range 4 { // 24 days of use
			time.Sleep(6 * day)
			who, err := a.Cookie(t.Context(), value)
			wantUser(t, who, err, "ann")
			if left := time.Until(who.Expires); !who.Cookie || left != 7*day {
				t.Errorf("identity of the cookie: got %+v with %v left, want a cookie with %v left", who, left, 7*day)
			}
		}
		time.Sleep(time.Minute)
		if _, err := a.Cookie(t.Context(), value); err != nil {
			t.Error(err)
		}
		page, err := s.Documents(t.Context(), "auth-cookies", "", 10)
		if err != nil || len(page.Items) != 1 || page.Items[0].Version != 5 {
			t.Fatalf("stored cookies: got %+v, error %v, want one of version 5 (a use right after another is not written)", page, err)
		}
		if d := page.Items[0]; strings.Contains(d.Name+string(d.Data), value) {
			t.Error("the store knows the cookie")
		}
		time.Sleep(7*day + time.Minute)
		_, err = a.Cookie(t.Context(), value)
		wantCode(t, err, wire.CodeAuthFailed)
	})
}

// A token of one hour does not give a cookie for longer.
func TestCookieEndsWithItsOrigin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
		who := ann
		who.Expires = time.Now().Add(time.Hour)
		value, until, err := a.NewCookie(t.Context(), who)
		if err != nil || !until.Equal(who.Expires) {
			t.Fatalf("until %v, %v; want %v", until, err, who.Expires)
		}
		time.Sleep(59 * time.Minute)
		got, err := a.Cookie(t.Context(), value)
		wantUser(t, got, err, "ann")
		if !got.Expires.Equal(who.Expires) {
			t.Errorf("expires %v, want %v", got.Expires, who.Expires)
		}
		time.Sleep(time.Minute)
		if _, err := a.Cookie(t.Context(), value); err == nil {
			t.Error("the cookie is still valid")
		}
		_, _, err = a.NewCookie(t.Context(), who)
		wantCode(t, err, wire.CodeTokenExpired)
	})
}

func TestCookieRefuses(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	_, err := a.Cookie(t.Context(), "")
	wantCode(t, err, wire.CodeAuthRequired)
	ticket, err := a.NewTicket(t.Context(), ann, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"x", strings.Repeat("A", 43), ticket, a.InstallationToken()} {
		_, err := a.Cookie(t.Context(), bad)
		wantCode(t, err, wire.CodeAuthFailed)
	}
}

// While the store is unavailable no credential is refused as wrong.
func TestStoreUnavailable(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	var away atomic.Bool
	a := newAuthority(t, auth.Config{}, broken{docs: s, away: away.Load}, t.Output())
	key, err := a.NewKey(t.Context(), ann, "")
	if err != nil {
		t.Fatal(err)
	}
	away.Store(true)
	some := strings.Repeat("A", 43)
	_, keyErr := a.APIKey(t.Context(), key)
	_, ticketErr := a.Ticket(t.Context(), some)
	_, cookieErr := a.Cookie(t.Context(), some)
	for _, err := range []error{keyErr, ticketErr, cookieErr, a.SignOut(t.Context(), "ann")} {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("unavailable store: got error %v, want %v", err, store.ErrUnavailable)
		}
	}
}

// Foreign data in the store is an error and no identity.
func TestStoreDamaged(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	a := newAuthority(t, auth.Config{}, s, t.Output())
	id := strings.Repeat("0", 16)
	for _, data := range []string{"not json", `{"user":"ann"}`, `{"user":"ann","hash":"AAAA"}`} {
		d, _ := s.Get(t.Context(), "auth-keys", id)
		d.Collection, d.Name, d.Data = "auth-keys", id, []byte(data)
		if _, err := s.Put(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if who, err := a.APIKey(t.Context(), "edk_"+id+"_"+strings.Repeat("A", 43)); err == nil {
			t.Errorf("key from the stored %s: got %+v, want it refused", data, who)
		}
	}
}

// A full store refuses no valid cookie.
func TestStoreFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var isFull atomic.Bool
		a := newAuthority(t, auth.Config{}, full{docs: openStore(t), yes: isFull.Load}, t.Output())
		value, until, err := a.NewCookie(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		isFull.Store(true)
		time.Sleep(24 * time.Hour)
		who, err := a.Cookie(t.Context(), value)
		wantUser(t, who, err, "ann")
		if !who.Expires.Equal(until) {
			t.Errorf("expires %v, want %v", who.Expires, until)
		}
		_, keyErr := a.NewKey(t.Context(), ann, "")
		_, ticketErr := a.NewTicket(t.Context(), ann, "")
		_, _, cookieErr := a.NewCookie(t.Context(), ann)
		for _, err := range []error{keyErr, ticketErr, cookieErr, a.SignOut(t.Context(), "ann")} {
			if !errors.Is(err, store.ErrNoSpace) {
				t.Errorf("full store: got error %v, want %v", err, store.ErrNoSpace)
			}
		}
		if _, err := auth.New(t.Context(), auth.Config{Mode: auth.ModeToken}, full{docs: openStore(t), yes: isFull.Load}); !errors.Is(err, store.ErrNoSpace) {
			t.Errorf("New with a full store: got error %v, want %v", err, store.ErrNoSpace)
		}
	})
}
