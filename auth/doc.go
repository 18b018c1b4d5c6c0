// Package auth recognises: it says who stands at the door.
//
// # What it owns
//
// Credentials and their end: the installation's token, signed tokens (JWT), API
// keys, one-time tickets and invitations, the cookie of the browser, and signing out. It does
// not know sessions or routes: what somebody may do with a session is decided
// by the door. It keeps its things as documents of the store, so that all
// replicas agree, each kind in a collection of its own:
//
//	auth-token        the installation's token, as it is
//	auth-keys         API keys by their id, with the hash of the secret
//	auth-tickets      tickets by their hash, 30 s
//	auth-invitations  tickets for another device by their hash, 2 min
//	auth-cookies      cookies by their hash, a week after the last day of use
//	auth-revocations  when a user last signed out, by the hash of the name
//	auth-signouts     sign-outs of the last two minutes, for [Authority.Watch]
//
// The installation's token is the one secret that is kept as it is: the hub
// shows it in the URL to click at each start, which a hash could not do. Who
// can read the store can read every session anyway.
//
// # Signing out
//
// [Authority.SignOut] ends the cookies, tickets and signed tokens of a user that
// are older: each is compared with the time of the last sign-out when it is
// used. API keys and the installation's token are not ended by it, for they
// belong to programs and to the machine; keys are ended by
// [Authority.RevokeKey], and with them the tickets that were made with them. No
// cookie is made for a key, so that nothing outlives it. [Authority.EndCookie]
// ends a single cookie. A sign-out closes all connections of the user, also those
// of keys; a revoked key closes its own. Watch tells every replica of both.
//
// # Who may call it
//
// The door and the hub's command line, from any goroutine.
//
// # When it is slow or stops
//
// It waits for the store as long as the caller's context allows, and for an
// OpenID issuer at most 5 s. A store that is away is [store.ErrUnavailable] and an
// issuer [ErrIssuer], never a refusal, so that an outage signs no user out. A
// token of an unknown key has the issuer asked for its keys, at most once a second; in
// between it is [ErrIssuer] too, since the key may be new. It starts no goroutine, but for an OpenID issuer go-oidc starts one
// per fetch of keys, which ends within the same 5 s.
//
// # What it refuses
//
// Everything it does not know, as an [*Error] that says nothing of why. Signed
// tokens over 8 KiB are not parsed. Algorithms are fixed by the keys, a key id
// is only looked up among the keys that are there, and URLs or keys in a token's
// header mean nothing. No secret is in an error or in the log.
package auth
