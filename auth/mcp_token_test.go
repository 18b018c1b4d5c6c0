package auth_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

var editor = auth.MCPToken{Session: "ses_1-a", Name: "Editor", Profile: "default", Monitor: "monitor-0"}

func TestMCPToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := openStore(t)
		a := newAuthority(t, auth.Config{}, docs, t.Output())
		token, made, err := a.MCPTokens.Create(t.Context(), editor, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := auth.MCPTokenID(token); !ok || id != made.ID || !strings.HasSuffix(token, made.Tail) || len(made.Tail) != 4 {
			t.Errorf("the id of %s is %q, made was %+v, want the same id and the last four characters", token, id, made)
		}
		other := newAuthority(t, auth.Config{}, docs, t.Output()) // another replica, or after a restart
		got, err := other.MCPTokens.Authenticate(t.Context(), token)
		if err != nil || got.Session != editor.Session || got.Name != "Editor" || got.Profile != "default" || got.ID != made.ID {
			t.Errorf("got %+v and error %v, want the token of Editor in %s", got, err, editor.Session)
		}
		list, err := a.MCPTokens.List(t.Context(), editor.Session)
		if err != nil || len(list) != 1 || list[0].Used.IsZero() || !list[0].Expires.Equal(made.Created.Add(time.Hour)) {
			t.Errorf("the list is %+v with error %v, want one used token that expires in an hour", list, err)
		}
		d, err := docs.Get(t.Context(), "auth-mcp-tokens", string(editor.Session))
		if err != nil || strings.Contains(string(d.Data), token[len(token)-20:]) {
			t.Errorf("the document is %s with error %v, want it without the secret", d.Data, err)
		}
		for name, wrong := range map[string]string{
			"empty": "", "shortened": token[:len(token)-1], "extended": token + "A", "other session": strings.Replace(token, "ses_1-a", "ses_1-b", 1),
			"other secret": token[:len(token)-1] + string(token[len(token)-1]^1), "prefix": "edk_" + token[4:],
		} {
			if _, err := a.MCPTokens.Authenticate(t.Context(), wrong); err == nil {
				t.Errorf("%s: the token is accepted, want an error", name)
			} else {
				wantCode(t, err, wire.CodeAuthFailed)
			}
		}
		time.Sleep(time.Hour)
		_, err = other.MCPTokens.Authenticate(t.Context(), token)
		wantCode(t, err, wire.CodeAuthFailed)
		if list, err := a.MCPTokens.List(t.Context(), editor.Session); err != nil || len(list) != 0 {
			t.Errorf("the list is %+v with error %v after the end, want none", list, err)
		}
	})
}

// A revoked token ends on all replicas. A session has a bounded number of tokens.
func TestRevokedMCPToken(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
	token, made, err := a.MCPTokens.Create(t.Context(), editor, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for range auth.MaxMCPTokens - 1 {
		if _, _, err := a.MCPTokens.Create(t.Context(), editor, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := a.MCPTokens.Create(t.Context(), editor, time.Hour); !errors.Is(err, auth.ErrTooManyMCPTokens) {
		t.Errorf("one token too many: got error %v, want %v", err, auth.ErrTooManyMCPTokens)
	}
	if err := a.MCPTokens.Revoke(t.Context(), editor.Session, "ann", made.ID); err != nil {
		t.Fatal(err)
	}
	_, err = a.MCPTokens.Authenticate(t.Context(), token)
	wantCode(t, err, wire.CodeAuthFailed)
	if err := a.MCPTokens.Revoke(t.Context(), editor.Session, "ann", made.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoking again: got error %v, want %v", err, store.ErrNotFound)
	}
	if err := a.MCPTokens.RemoveAll(t.Context(), editor.Session); err != nil {
		t.Fatal(err)
	}
	if list, err := a.MCPTokens.List(t.Context(), editor.Session); err != nil || len(list) != 0 {
		t.Errorf("the list is %+v with error %v after removing all, want none", list, err)
	}
}

// A token with a lease lives while it is used, up to its ttl, and expires soon after. Looking up its end
// is no use.
func TestMCPTokenWithLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, auth.Config{}, openStore(t), t.Output())
		leased := editor
		leased.Lease = 3 * time.Minute
		token, made, err := a.MCPTokens.Create(t.Context(), leased, 10*time.Minute)
		if err != nil || !made.Expires.Equal(made.Created.Add(3*time.Minute)) {
			t.Fatalf("made %+v with error %v, want it to expire after its lease", made, err)
		}
		forgotten, _, err := a.MCPTokens.Create(t.Context(), leased, 10*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 { // for 8 minutes
			time.Sleep(2 * time.Minute)
			used, err := a.MCPTokens.Authenticate(t.Context(), token)
			want := time.Now().Add(3 * time.Minute)
			if until := made.Created.Add(10 * time.Minute); until.Before(want) {
				want = until
			}
			if err != nil || !used.Expires.Equal(want) {
				t.Fatalf("after %v the token expires at %v with error %v, want %v", time.Since(made.Created), used.Expires, err, want)
			}
			if at, err := a.MCPTokens.Expires(t.Context(), token); err != nil || !at.Equal(want) {
				t.Errorf("its end is %v with error %v, want %v", at, err, want)
			}
			_, _ = a.MCPTokens.Expires(t.Context(), forgotten)
		}
		_, err = a.MCPTokens.Authenticate(t.Context(), forgotten)
		wantCode(t, err, wire.CodeAuthFailed)
		time.Sleep(2 * time.Minute)
		_, err = a.MCPTokens.Authenticate(t.Context(), token)
		wantCode(t, err, wire.CodeAuthFailed)
	})
}

// A token is valid for the user for whom it was created, until the session is given to another user; also when it comes
// back. Tokens of earlier versions do not name a user.
func TestMCPTokenOfAFormerUser(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		token   auth.MCPToken
		user    string
		changes int
		want    bool
	}{
		"own":                       {auth.MCPToken{User: "ada"}, "ada", 0, true},
		"own, created after":        {auth.MCPToken{User: "bob", UserChanges: 1}, "bob", 1, true},
		"of the user before":        {auth.MCPToken{User: "ada"}, "bob", 1, false},
		"of a session that is back": {auth.MCPToken{User: "ada"}, "ada", 2, false},
		"without a user":            {auth.MCPToken{}, "ada", 0, true},
		"without a user, given":     {auth.MCPToken{}, "bob", 1, false},
	} {
		if got := tt.token.ValidFor(tt.user, tt.changes); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}
