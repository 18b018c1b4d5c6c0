package auth_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func TestInstallationToken(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	// Several replicas start at once without a stored token.
	tokens := make([]string, 8)
	var wg sync.WaitGroup
	for i := range tokens {
		wg.Go(func() { tokens[i] = newAuthority(t, auth.Config{}, s, t.Output()).InstallationToken() })
	}
	wg.Wait()
	for _, token := range tokens {
		if token != tokens[0] || len(token) != 43 {
			t.Fatalf("installation tokens: got %q, want the same one of 43 characters for every replica", tokens)
		}
	}
	a := newAuthority(t, auth.Config{}, s, t.Output())
	who, err := a.Bearer(t.Context(), tokens[0])
	if err != nil {
		t.Fatal(err)
	}
	want := auth.Identity{User: "local", Roles: []auth.Role{auth.RoleAdmin}}
	if diff := cmp.Diff(want, who); diff != "" {
		t.Errorf("identity of the installation token (-want +got):\n%s", diff)
	}
	if other := newAuthority(t, auth.Config{}, openStore(t), t.Output()).InstallationToken(); other == tokens[0] {
		t.Error("two installations have one token")
	}
	if _, ok := a.Anonymous(); ok || a.Mode() != auth.ModeToken {
		t.Error("mode token lets everybody in")
	}
}

func TestInstallationTokenRefuses(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	good := a.InstallationToken()
	_, err := a.Bearer(t.Context(), "")
	wantCode(t, err, wire.CodeAuthRequired)
	for name, token := range map[string]string{
		"another": strings.Repeat("A", 43), "shorter": good[:42], "longer": good + "A", "space": good + " ",
		"megabyte": strings.Repeat("A", 1<<20), "no UTF-8": "\xff\xfe", "key": "edk_", "signed": "e30.e30.e30",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := a.Bearer(t.Context(), token)
			wantCode(t, err, wire.CodeAuthFailed)
		})
	}
}

func TestModeNone(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{Mode: auth.ModeNone}, openStore(t), t.Output())
	who, ok := a.Anonymous()
	if !ok || who.User != "local" || !who.Has(auth.RoleAdmin) || !who.Has(auth.RoleViewer) {
		t.Errorf("anonymous identity: got %+v, %v, want local as admin and viewer", who, ok)
	}
	if a.InstallationToken() != "" {
		t.Error("installation token in mode none: got one, want none")
	}
	who, err := a.Bearer(t.Context(), "whatever")
	wantUser(t, who, err, "local")
	_, err = a.Bearer(t.Context(), "edk_whatever")
	wantCode(t, err, wire.CodeAuthFailed)
}

func TestModeUnknown(t *testing.T) {
	t.Parallel()
	if _, err := auth.New(t.Context(), auth.Config{Mode: "magic"}, openStore(t)); err == nil {
		t.Error("mode magic: got no error, want one")
	}
}

// A damaged token must not become a guessable one.
func TestInstallationTokenDamaged(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	_, err := s.Put(t.Context(), store.Document{Collection: "auth-token", Name: "installation"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := auth.New(t.Context(), auth.Config{Mode: auth.ModeToken}, s); err == nil {
		t.Error("empty installation token in the store: got no error, want one")
	}
}

func TestHas(t *testing.T) {
	t.Parallel()
	viewer := auth.Identity{Roles: []auth.Role{auth.RoleViewer}}
	if viewer.Has(auth.RoleUser) || viewer.Has(auth.RoleAdmin) || !viewer.Has(auth.RoleViewer) {
		t.Errorf("roles of %+v: got user %v, admin %v, viewer %v, want viewer only", viewer, viewer.Has(auth.RoleUser), viewer.Has(auth.RoleAdmin), viewer.Has(auth.RoleViewer))
	}
}
