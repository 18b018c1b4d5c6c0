package auth_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const linked = wire.SessionID("ses_1-a")

// openLink exchanges the secret of a link for a token.
func openLink(t *testing.T, a *auth.Authority, secret string) (token string, _ auth.Link, err error) {
	t.Helper()
	l, err := a.Links.Find(t.Context(), secret)
	if err != nil {
		return "", l, err
	}
	token, err = a.Links.NewToken(t.Context(), l)
	return token, l, err
}

func TestLinkReadsOneSessionUntilItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := openStore(t)
		a := newAuthority(t, auth.Config{}, docs, t.Output())
		secret, made, err := a.Links.Create(t.Context(), linked, "Review", 3*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		other := newAuthority(t, auth.Config{}, docs, t.Output()) // another replica, or after a restart
		token, got, err := openLink(t, other, secret)
		if err != nil || got.ID != made.ID || got.Session != linked || got.Label != "Review" {
			t.Fatalf("opened %+v with error %v, want %+v", got, err, made)
		}
		who, err := a.Links.Authenticate(t.Context(), token)
		wantUser(t, who, err, made.User())
		if who.Session != linked || who.Link != made.ID || who.Has(auth.RoleUser) || !who.Expires.Equal(made.Expires) || !who.Cookie {
			t.Errorf("identity: got %+v, want a viewer of %s until %v", who, linked, made.Expires)
		}
		for _, collection := range []string{"auth-links", "auth-link-tokens"} {
			page, err := docs.Documents(t.Context(), collection, "", 10)
			if err != nil || len(page.Items) != 1 || strings.Contains(string(page.Items[0].Data), secret[len(secret)-20:]) || strings.Contains(string(page.Items[0].Data), token) {
				t.Errorf("%s: got %v with error %v, want one document without secrets", collection, page.Items, err)
			}
		}
		time.Sleep(auth.LinkTokenLife)
		_, err = a.Links.Authenticate(t.Context(), token)
		wantCode(t, err, wire.CodeAuthFailed) // the token ends before the link
		token, _, err = openLink(t, a, secret)
		if err != nil {
			t.Fatalf("opening the link again: got error %v, want none", err)
		}
		time.Sleep(2 * time.Hour)
		_, err = a.Links.Authenticate(t.Context(), token)
		wantCode(t, err, wire.CodeAuthFailed)
		_, _, err = openLink(t, a, secret)
		wantCode(t, err, wire.CodeAuthFailed)
		if list, err := a.Links.List(t.Context(), linked); err != nil || len(list) != 0 {
			t.Errorf("links after the end: got %+v with error %v, want none", list, err)
		}
	})
}

func TestWrongLinksAreRefused(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	secret, _, err := a.Links.Create(t.Context(), linked, "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]string{
		"empty": "", "shortened": secret[:len(secret)-1], "extended": secret + "A", "prefix only": "edl_", "other prefix": "edk_" + secret[4:],
		"other session": strings.Replace(secret, string(linked), "ses_1-b", 1), "other secret": secret[:len(secret)-1] + string(secret[len(secret)-1]^1),
		"long": secret + strings.Repeat("A", 1<<14), "underscores": "edl_" + strings.Repeat("_", 80),
	} {
		_, _, err := openLink(t, a, wrong)
		if err == nil {
			t.Errorf("%s: the link is accepted, want an error", name)
			continue
		}
		wantCode(t, err, wire.CodeAuthFailed)
	}
	_, err = a.Links.Authenticate(t.Context(), secret[len(secret)-43:])
	wantCode(t, err, wire.CodeAuthFailed) // the secret itself is no token
	_, err = a.Cookie(t.Context(), secret[len(secret)-43:])
	wantCode(t, err, wire.CodeAuthFailed)
	for name, life := range map[string]time.Duration{"short": auth.MinLinkLife - 1, "long": auth.MaxLinkLife + 1, "zero": 0, "negative": -time.Hour} {
		if _, _, err := a.Links.Create(t.Context(), linked, "", life); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s life: got error %v, want %v", name, err, store.ErrInvalid)
		}
	}
	for _, label := range []string{"a\nb", strings.Repeat("가", auth.MaxLinkLabel+1), strings.Repeat("😀", 60), "\xff"} {
		if _, _, err := a.Links.Create(t.Context(), linked, label, time.Hour); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("label %.10q: got error %v, want %v", label, err, store.ErrInvalid)
		}
	}
	if _, _, err := a.Links.Create(t.Context(), "../x", "", time.Hour); err == nil {
		t.Error("a link to an invalid session: got no error, want one")
	}
}

func TestRevokedLinkEndsItsTokensEverywhere(t *testing.T) {
	t.Parallel()
	docs := openStore(t)
	a, b := newAuthority(t, auth.Config{}, docs, t.Output()), newAuthority(t, auth.Config{}, docs, t.Output())
	secret, made, err := a.Links.Create(t.Context(), linked, "Review", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	kept, _, err := a.Links.Create(t.Context(), linked, "Review", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	tokens, identities := map[string]string{}, map[string]auth.Identity{}
	for name, s := range map[string]string{"revoked": secret, "kept": kept} {
		token, _, err := openLink(t, b, s)
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = token
		if identities[name], err = b.Links.Authenticate(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Links.Revoke(t.Context(), linked, made.ID); err != nil {
		t.Fatal(err)
	}
	_, err = b.Links.Authenticate(t.Context(), tokens["revoked"])
	wantCode(t, err, wire.CodeAuthFailed)
	_, _, err = openLink(t, b, secret)
	wantCode(t, err, wire.CodeAuthFailed)
	if _, err := b.Links.Authenticate(t.Context(), tokens["kept"]); err != nil {
		t.Errorf("the other link: got error %v, want it valid", err)
	}
	for name, want := range map[string]bool{made.ID: true, identities["kept"].Link: false} {
		if err := b.Links.Check(t.Context(), linked, name); (err != nil) != want {
			t.Errorf("check of link %s: got error %v, want one: %t", name, err, want)
		}
	}
	r := auth.Revocation{User: made.User(), At: time.Now().Add(-time.Minute), Key: made.ID} // the clocks of replicas differ
	if !r.Ends(identities["revoked"]) || r.Ends(identities["kept"]) {
		t.Errorf("the revocation ends: revoked %t, kept %t; want only the first", r.Ends(identities["revoked"]), r.Ends(identities["kept"]))
	}
	for _, id := range []string{made.ID, "", "x"} {
		if err := a.Links.Revoke(t.Context(), linked, id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("revoke %q: got error %v, want %v", id, err, store.ErrNotFound)
		}
	}
	if err := a.Links.RemoveAll(t.Context(), linked); err != nil {
		t.Fatal(err)
	}
	_, err = b.Links.Authenticate(t.Context(), tokens["kept"])
	wantCode(t, err, wire.CodeAuthFailed)
}

// The longest labels make links that can be opened.
func TestLinksWithLongLabelsOpen(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	for _, label := range []string{strings.Repeat("가", auth.MaxLinkLabel), strings.Repeat("😀", auth.MaxLinkLabelBytes/4)} {
		secret, _, err := a.Links.Create(t.Context(), linked, label, time.Hour)
		if err != nil {
			t.Errorf("label of %d bytes: got error %v, want a link", len(label), err)
			continue
		}
		if _, _, err := openLink(t, a, secret); err != nil {
			t.Errorf("label of %d bytes: got error %v, want a token", len(label), err)
		}
	}
}

// documents is an alias, because an embedded field with the name Documents would hide the method.
type documents = auth.Documents

// leavingCaller are documents whose caller disconnects as soon as a link is deleted.
type leavingCaller struct {
	documents
	leave func()
}

func (d leavingCaller) Remove(ctx context.Context, collection, name string, version uint64) error {
	defer d.leave()
	return d.documents.Remove(ctx, collection, name, version)
}

func TestRevocationIsAnnouncedWhenTheCallerDisconnects(t *testing.T) {
	t.Parallel()
	docs := openStore(t)
	ctx, leave := context.WithCancel(t.Context())
	a := newAuthority(t, auth.Config{}, leavingCaller{docs, leave}, t.Output())
	_, made, err := a.Links.Create(ctx, linked, "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Links.Revoke(ctx, linked, made.ID); err != nil {
		t.Errorf("revoke: got error %v, want none", err)
	}
	page, err := docs.Documents(t.Context(), "auth-signouts", "", 10)
	if err != nil || len(page.Items) != 1 || !strings.Contains(string(page.Items[0].Data), made.ID) {
		t.Errorf("notices: got %v with error %v, want one of link %s", page.Items, err, made.ID)
	}
}

func TestLinksOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	docs := openStore(t)
	var wg sync.WaitGroup
	errs := make(chan error, 2*auth.MaxLinks)
	for i := range 2 * auth.MaxLinks { // two replicas
		wg.Go(func() {
			_, _, err := newAuthority(t, auth.Config{}, docs, t.Output()).Links.Create(t.Context(), linked, strconv.Itoa(i), time.Hour)
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	refused := 0
	for err := range errs {
		switch {
		case errors.Is(err, auth.ErrTooManyLinks):
			refused++
		case err != nil:
			t.Errorf("got error %v, want %v or none", err, auth.ErrTooManyLinks)
		}
	}
	all, err := newAuthority(t, auth.Config{}, docs, t.Output()).Links.List(t.Context(), linked)
	if err != nil || len(all) != auth.MaxLinks || refused != auth.MaxLinks {
		t.Errorf("got %d links, %d refused, error %v; want %d of both", len(all), refused, err, auth.MaxLinks)
	}
}
