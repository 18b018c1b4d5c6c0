package ws

import (
	"testing"
	"time"

	"github.com/everdesk/everdesk/auth"
)

// The clock of the replica that revokes may be behind that of the one that issued the credential. That matters for
// sign-outs, which end older credentials, but not for a key or link, which is gone.
func TestRevokedKeysEndWhateverTheClocksSay(t *testing.T) {
	t.Parallel()
	now := time.Now()
	who := &auth.Identity{User: "guest (link 1)", Key: "1", Link: "1", Since: now}
	for name, test := range map[string]struct {
		revoked auth.Revocation
		want    bool
	}{
		"link":              {auth.Revocation{User: who.User, Key: "1", At: now.Add(-time.Minute)}, true},
		"other link":        {auth.Revocation{User: who.User, Key: "2", At: now.Add(time.Minute)}, false},
		"earlier sign-out":  {auth.Revocation{User: who.User, At: now.Add(-time.Minute)}, false},
		"sign-out":          {auth.Revocation{User: who.User, At: now}, true},
		"key of other user": {auth.Revocation{User: "ann", Key: "1", At: now}, false},
	} {
		rv := revocations{byKey: map[revokedKey]revocationTime{}}
		rv.record(test.revoked)
		if got := rv.since(who, now); got != test.want {
			t.Errorf("%s: connecting credential revoked: got %t, want %t", name, got, test.want)
		}
		if got := test.revoked.Ends(*who); got != test.want {
			t.Errorf("%s: connected credential revoked: got %t, want %t", name, got, test.want)
		}
	}
}
