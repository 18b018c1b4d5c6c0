package ws

import (
	"maps"
	"sync"
	"time"

	"github.com/everdesk/everdesk/auth"
)

// revokedKey names the credentials that a revocation ends: one API key or link of a user, or all of
// them if key is empty.
type revokedKey struct{ user, key string }

// revocationTime is the time of a revocation.
type revocationTime struct {
	at       time.Time // by the clock of the replica where it was made
	received time.Time // when this replica received it
}

// revocationTTL is how long revocations are kept: longer than a client can take from the check of
// its credentials to its attached session.
const revocationTTL = 5 * time.Minute

// revocations are the recent revocations of credentials, for connections that are not attached yet.
type revocations struct {
	mu    sync.Mutex // guards the following
	byKey map[revokedKey]revocationTime
}

// record stores a revocation for connections that are not attached yet.
func (rv *revocations) record(r auth.Revocation) {
	rv.mu.Lock()
	defer rv.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(rv.byKey, func(_ revokedKey, l revocationTime) bool { return now.Sub(l.received) > revocationTTL })
	what := revokedKey{r.User, r.Key}
	if last := rv.byKey[what].at; last.After(r.At) { // another replica's clock may be ahead
		r.At = last
	}
	rv.byKey[what] = revocationTime{at: r.At, received: now}
}

// since reports whether a credential that was checked at the time checked has been revoked
// since, as far as this replica knows. It is called after the connection was added: a later
// revocation finds the connection in the registry.
func (rv *revocations) since(who *auth.Identity, checked time.Time) bool {
	rv.mu.Lock()
	defer rv.mu.Unlock()
	for _, what := range []revokedKey{{user: who.User}, {who.User, who.Key}} {
		l, ok := rv.byKey[what]
		if ok && !l.received.Before(checked) && (auth.Revocation{User: what.user, Key: what.key, At: l.at}).Ends(*who) {
			return true
		}
	}
	return false
}
