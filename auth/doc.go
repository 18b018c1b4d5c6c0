// Package auth recognises: it says who stands at the door.
//
// It owns credentials: the installation's token, signed tokens (JWT), API keys,
// one-time tickets and the cookie of the browser, and their revocation. It does
// not know sessions or routes: what somebody may do with a session is decided by
// the door.
package auth
