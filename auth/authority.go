package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Mode is the way users authenticate.
type Mode string

// The modes.
const (
	ModeNone  Mode = "none"  // every request is the local user; loopback only
	ModeToken Mode = "token" // one random token per installation
	ModeJWT   Mode = "jwt"   // signed tokens of a trusted issuer
)

// Documents is the part of the store that holds keys, tickets, cookies and revocations.
type Documents interface {
	// Get returns a document with its remaining TTL, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else
	// [store.ErrConflict], and returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	// Remove deletes a document with that version, else, and if there is none,
	// [store.ErrConflict].
	Remove(ctx context.Context, collection, name string, version uint64) error
	// Documents lists a collection by page, in the order of names.
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// Config tunes an [Authority].
type Config struct {
	Mode Mode
	// KeyFile holds the keys for signed tokens: a PEM public key, a JWKS, or a shared secret (see
	// keyfile.go).
	KeyFile string
	// Issuer and Audience must be in every signed token, unless empty. With OIDC set, the keys come
	// from the issuer's discovery document instead of a file, and both are required.
	Issuer   string
	Audience string
	OIDC     bool
	Logger   *slog.Logger // nil discards
}

// LocalUser is the only user in the modes none and token.
const LocalUser = "local"

// Authority authenticates credentials.
type Authority struct {
	// Links and MCPTokens hold the credentials that are valid for one session.
	Links     *Links
	MCPTokens *MCPTokens

	mode   Mode
	docs   Documents
	token  string
	signed *verifier
	log    *slog.Logger
}

// New returns an authority. It reads the keys, and creates the installation's token when there is
// none.
func New(ctx context.Context, cfg Config, docs Documents) (*Authority, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Authority{
		Links: newLinks(docs), MCPTokens: newMCPTokens(docs, cfg.Logger),
		mode: cfg.Mode, docs: docs, log: cfg.Logger,
	}
	var err error
	switch cfg.Mode {
	case ModeNone:
	case ModeToken:
		a.token, err = a.installationToken(ctx)
	case ModeJWT:
		a.signed, err = newVerifier(cfg)
	default:
		err = fmt.Errorf("auth mode %q is none of %s, %s and %s", cfg.Mode, ModeNone, ModeToken, ModeJWT)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Mode returns the mode it was made with.
func (a *Authority) Mode() Mode { return a.mode }

// Anonymous returns the identity of all requests in mode none; it reports false in other modes.
func (a *Authority) Anonymous() (Identity, bool) {
	if a.mode != ModeNone {
		return Identity{}, false
	}
	return localIdentity(), true
}

func localIdentity() Identity { return Identity{User: LocalUser, Roles: []Role{RoleAdmin}} }

// Bearer authenticates a bearer token: the installation's token, a signed token or an API key. In
// mode none everything but an API key is the local user. The error is an [*Error], [ErrIssuer] or
// the store's.
func (a *Authority) Bearer(ctx context.Context, token string) (Identity, error) {
	switch {
	case token == "":
		return Identity{}, errMissing
	case len(token) > maxToken:
		return Identity{}, errRefused
	case strings.HasPrefix(token, keyPrefix):
		return a.APIKey(ctx, token)
	case a.mode == ModeNone:
		return localIdentity(), nil
	case a.mode == ModeToken:
		if !a.IsInstallationToken(token) {
			return Identity{}, errRefused
		}
		return localIdentity(), nil
	}
	who, err := a.signed.verify(ctx, token)
	if errors.Is(err, ErrIssuer) {
		return Identity{}, err
	}
	if err != nil {
		a.logRefusal(ctx, err)
		return Identity{}, refusalFor(err)
	}
	if err := a.checkNotSignedOut(ctx, who); err != nil {
		return Identity{}, err
	}
	return who, nil
}

// IsInstallationToken reports whether a text is the token of mode token.
func (a *Authority) IsInstallationToken(text string) bool {
	return a.mode == ModeToken && len(text) <= maxToken && equalHashes(hash(text), hash(a.token))
}

// InstallationToken returns the token of mode token, for the URL that the hub prints. It is empty
// in other modes.
func (a *Authority) InstallationToken() string { return a.token }

// installationToken reads the token that all replicas share, or creates it.
func (a *Authority) installationToken(ctx context.Context) (string, error) {
	const name = "installation"
	for {
		d, err := a.docs.Get(ctx, tokenCollection, name)
		if err == nil {
			if len(d.Data) != secretLength {
				return "", &store.CorruptError{Where: tokenCollection + "/" + name, Reason: "not a token"}
			}
			return string(d.Data), nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return "", fmt.Errorf("read the installation's token: %w", err)
		}
		token := newSecret()
		_, err = a.docs.Put(ctx, store.Document{Collection: tokenCollection, Name: name, Data: []byte(token)})
		if err == nil {
			return token, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return "", fmt.Errorf("store the installation's token: %w", err)
		}
		// Another replica was faster: use its token.
	}
}

// The errors for credentials that are not accepted.
var (
	errMissing   = &Error{Code: wire.CodeAuthRequired, Reason: "sign in first"}
	errRefused   = &Error{Code: wire.CodeAuthFailed, Reason: "the credentials were not accepted"}
	errExpired   = &Error{Code: wire.CodeTokenExpired, Reason: "the token has expired"}
	errSignedOut = &Error{Code: wire.CodeAuthFailed, Reason: "signed out"}
)
