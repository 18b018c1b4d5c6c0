// Package auth authenticates requests and connections.
//
// # What it owns
//
// Credentials and their end: the installation's token, signed tokens (JWT), API keys,
// one-time tickets and invitations, the browser's cookie, and signing out. It knows neither
// sessions nor routes: package gateway decides what a user may do in a session. Its data
// are documents in the store, so that all replicas agree, one collection per kind:
//
//	auth-token        the installation's token, in plain text
//	auth-keys         API keys by their id, with the hash of the secret
//	auth-tickets      tickets by their hash, 30 s
//	auth-invitations  tickets for another device by their hash, 2 min
//	auth-cookies      cookies by their hash, a week after the last day of use
//	auth-revocations  when a user last signed out, by the hash of the name
//	auth-signouts     revocations of the last two minutes, for [Authority.Watch]
//	auth-mcp-tokens   the MCP tokens of a session by its id, with the hashes of their secrets
//	auth-links        the read-only links of a session by its id, with the hashes of their secrets
//	auth-moment-links the same for links to one moment
//	auth-link-moments the states that those show, by the session and the id of the link
//	auth-link-tokens  tokens that pages got for links by their hash, an hour
//	auth-app-pages    tokens that pages of apps got for the data of their app by their hash, 12 h
//
// The installation's token is the only secret that is stored in plain text: the hub prints
// it in a URL at each start, which a hash does not allow. Whoever can read the store can
// read every session anyway.
//
// # Signing out
//
// [Authority.SignOut] ends the cookies, tickets and signed tokens of a user that are older:
// each use compares the time of issue with that of the last sign-out. It does not end API keys, MCP
// tokens and the installation's token, since these belong to programs and to the machine;
// [Authority.RevokeKey] ends a key and the tickets that were made with it. No cookie is
// made for a key, so that nothing outlives it. [Authority.EndCookie] ends a single cookie,
// and [Authority.RevokeLink] a link with the tokens and connections that it gave.
// A sign-out closes all connections of the user, also those of keys; revoking a key closes
// those of the key. Watch reports both to every replica.
//
// # Concurrency
//
// Package gateway and cmd/hub call it, from any goroutine.
//
// # Slow or unavailable dependencies
//
// It waits for the store as long as the caller's context allows, and for an OpenID issuer
// at most 5 s. An unavailable store is [store.ErrUnavailable] and an unavailable issuer
// [ErrIssuer], never a refusal, so that an outage signs no user out. A token with an
// unknown key makes it fetch the issuer's keys, at most once a second; in between the
// error is [ErrIssuer] too, since the key may be new. It starts no goroutine, but for an
// OpenID issuer go-oidc starts one per fetch of keys, which ends within the same 5 s.
//
// # What it refuses
//
// Every unknown credential, with an [*Error] that does not reveal the reason. It does not
// parse signed tokens over 8 KiB. The keys determine the algorithms, a key id is looked up
// only among the configured keys, and URLs or keys in a token's header are ignored. No
// secret is in an error or in the log.
package auth
