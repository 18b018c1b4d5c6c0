package auth

import (
	"context"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Mode is how people are recognised.
type Mode string

// The modes.
const (
	ModeNone  Mode = "none"  // everybody is the local user; loopback only
	ModeToken Mode = "token" // one random token per installation
	ModeJWT   Mode = "jwt"   // signed tokens of somebody we trust
)

// Documents is what is kept of keys, tickets and revocations.
type Documents interface {
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	Remove(ctx context.Context, collection, name string, version uint64) error
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// Config tunes an [Authority].
type Config struct {
	Mode Mode
	// KeyFile holds the keys for signed tokens: a PEM public key, a JWKS, or
	// a shared secret (see the docs of jwt.go).
	KeyFile string
	// Issuer and Audience must be in every signed token. With OIDC set, the
	// keys come from the issuer's discovery document.
	Issuer   string
	Audience string
	OIDC     bool
	Logger   *slog.Logger
}

// Authority recognises people by their credentials.
type Authority struct{}

// New makes an authority; it reads keys and makes the installation's token when
// there is none.
func New(ctx context.Context, cfg Config, docs Documents) (*Authority, error) {
	panic("not built yet")
}

// Mode is the mode it was made with.
func (a *Authority) Mode() Mode { panic("not built yet") }

// Anonymous is who everybody is in mode none; it reports false in other modes.
func (a *Authority) Anonymous() (Identity, bool) { panic("not built yet") }

// Bearer recognises what came as a bearer token: the installation's token, a
// signed token or an API key. The error is an [*Error] or the store's.
func (a *Authority) Bearer(ctx context.Context, token string) (Identity, error) {
	panic("not built yet")
}

// APIKey recognises an API key.
func (a *Authority) APIKey(ctx context.Context, key string) (Identity, error) {
	panic("not built yet")
}

// Ticket recognises a one-time ticket and uses it up.
func (a *Authority) Ticket(ctx context.Context, ticket string) (Identity, error) {
	panic("not built yet")
}

// Cookie recognises the value of the browser's cookie.
func (a *Authority) Cookie(ctx context.Context, value string) (Identity, error) {
	panic("not built yet")
}

// NewCookie is a cookie value that stands for who, until the time returned.
func (a *Authority) NewCookie(ctx context.Context, who Identity) (string, time.Time, error) {
	panic("not built yet")
}

// NewTicket is a one-time ticket that stands for who, in session only unless
// that is empty, for the next 30 s.
func (a *Authority) NewTicket(ctx context.Context, who Identity, session wire.SessionID) (string, error) {
	panic("not built yet")
}

// NewKey is an API key that stands for who. Only its hash is kept.
func (a *Authority) NewKey(ctx context.Context, who Identity, name string) (string, error) {
	panic("not built yet")
}

// SignOut ends everything that stands for user and is older than now, on all
// replicas within a second.
func (a *Authority) SignOut(ctx context.Context, user string) error { panic("not built yet") }

// Watch calls gone with the user and the time of each sign-out, whichever
// replica it happened on, until ctx ends.
func (a *Authority) Watch(ctx context.Context, gone func(user string, at time.Time)) {
	panic("not built yet")
}

// InstallationToken is the token of mode token, for the URL that the hub prints.
func (a *Authority) InstallationToken() string { panic("not built yet") }
