package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// mcpTokenPrefix begins every MCP token, for the same reason as [keyPrefix].
	mcpTokenPrefix = "edm_"
	// MaxMCPTokens bounds the valid MCP tokens of a session.
	MaxMCPTokens = 16
	// usedInterval is how often the time of the last use of an MCP token is stored.
	usedInterval = time.Minute
	// usesPerLease is how often in a lease uses of its token are stored, at most.
	usesPerLease = 6
	// mcpTokenTail is how many characters of a token stay known, for people to recognize it.
	mcpTokenTail = 4
)

// ErrTooManyMCPTokens means that a session has [MaxMCPTokens] valid MCP tokens.
var ErrTooManyMCPTokens = fmt.Errorf("a session has at most %d MCP tokens", MaxMCPTokens)

// MCPToken describes an MCP token of a session, without its secret: a program that has it calls tools
// in the session on behalf of the session's user.
type MCPToken struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Profile determines the tools, and Monitor is where they act.
	Profile string         `json:"profile"`
	Monitor wire.MonitorID `json:"monitor"`
	// Tail is the last characters of the token.
	Tail    string    `json:"tail"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	// Used is the time of the last use, at most a minute old; zero if there was none.
	Used time.Time `json:"used,omitzero"`
	// Lease, unless 0, is how long the token stays valid without use. Each use moves Expires, up to
	// Until.
	Lease time.Duration `json:"lease,omitzero"`
	Until time.Time     `json:"until,omitzero"`

	// User is whose session it was when the token was created. Tokens of earlier versions lack it.
	User string `json:"user,omitempty"`
	// UserChanges is how often the session had been given to another user when the token was created.
	UserChanges int `json:"userChanges,omitempty"`

	Session wire.SessionID `json:"-"`
}

// ValidFor reports whether the token was created for the user of a session that was given to another user
// this often. A token does not become valid again when the session comes back.
func (t MCPToken) ValidFor(user string, changes int) bool {
	return t.UserChanges == changes && (t.User == user || t.User == "" && changes == 0)
}

// storedMCPToken is an MCP token in the document of its session.
type storedMCPToken struct {
	MCPToken
	Hash []byte `json:"hash"`
}

func (t storedMCPToken) credentialID() string { return t.ID }
func (t storedMCPToken) expires() time.Time   { return t.Expires }
func (t storedMCPToken) secretHash() []byte   { return t.Hash }

func (t storedMCPToken) of(session wire.SessionID) storedMCPToken {
	t.Session = session
	return t
}

// used returns the token after a use at now, and whether that has to be stored.
func (t storedMCPToken) used(now time.Time) (storedMCPToken, bool) {
	interval := usedInterval
	if t.Lease > 0 {
		interval = min(interval, t.Lease/usesPerLease)
	}
	if now.Sub(t.Used) < interval {
		return t, false
	}
	t.Used = now
	if t.Lease > 0 {
		t.Expires = earlier(now.Add(t.Lease), t.Until)
	}
	return t, true
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// MCPTokens creates, checks and revokes the MCP tokens of sessions.
type MCPTokens struct {
	docs   Documents
	stored sessionCredentials[storedMCPToken]
	log    *slog.Logger
}

func newMCPTokens(docs Documents, log *slog.Logger) *MCPTokens {
	return &MCPTokens{docs, sessionCredentials[storedMCPToken]{
		docs: docs, collection: mcpTokenCollection, prefix: mcpTokenPrefix, limit: MaxMCPTokens, errLimit: ErrTooManyMCPTokens,
	}, log}
}

// Create creates an MCP token for t.Session, valid for ttl, or for t.Lease after its last use if
// that is earlier. It has the form edm_SESSION_ID_SECRET. Only the hash of the secret is stored.
func (m *MCPTokens) Create(ctx context.Context, t MCPToken, ttl time.Duration) (token string, _ MCPToken, err error) {
	if err := t.Session.Validate(); err != nil {
		return "", t, fmt.Errorf("MCP token: %w", err)
	}
	if ttl <= 0 || ttl > maxLife || t.Lease < 0 {
		return "", t, fmt.Errorf("%w: an MCP token that is valid for %v, want up to %v", store.ErrInvalid, ttl, maxLife)
	}
	secret := newSecret()
	sum := hash(secret)
	t.ID, t.Tail, t.Created = newCredentialID(), secret[len(secret)-mcpTokenTail:], time.Now()
	t.Expires, t.Until = t.Created.Add(ttl), time.Time{}
	if t.Lease > 0 {
		t.Until = t.Expires
		t.Expires = earlier(t.Created.Add(t.Lease), t.Until)
	}
	if err := m.stored.add(ctx, t.Session, storedMCPToken{t, sum[:]}); err != nil {
		return "", t, fmt.Errorf("store MCP token: %w", err)
	}
	return m.stored.text(t.Session, t.ID, secret), t, nil
}

// MCPTokenID returns the id of an MCP token, or false if the text is none.
func MCPTokenID(token string) (id string, ok bool) {
	_, id, _, ok = cutCredential(mcpTokenPrefix, token)
	return id, ok
}

// Authenticate authenticates an MCP token and records its use. The error is an [Error] unless the store is
// unavailable.
func (m *MCPTokens) Authenticate(ctx context.Context, token string) (MCPToken, error) {
	t, err := m.stored.find(ctx, token)
	if err != nil {
		return MCPToken{}, err
	}
	used, changed := t.used(time.Now())
	if !changed {
		return t.MCPToken, nil
	}
	err = m.stored.replace(ctx, t.Session, used)
	switch {
	case errors.Is(err, errRefused): // revoked meanwhile
		return MCPToken{}, err
	case err != nil:
		m.log.WarnContext(ctx, "use of an MCP token not stored", "session", t.Session, "token", t.ID, "err", err)
		return t.MCPToken, nil
	}
	return used.MCPToken, nil
}

// Expires returns when an MCP token expires, as far as its uses have moved that. Unlike
// [MCPTokens.Authenticate] it is no use itself.
func (m *MCPTokens) Expires(ctx context.Context, token string) (time.Time, error) {
	t, err := m.stored.find(ctx, token)
	return t.Expires, err
}

// List returns the valid MCP tokens of a session, the oldest first.
func (m *MCPTokens) List(ctx context.Context, session wire.SessionID) ([]MCPToken, error) {
	all, err := m.stored.list(ctx, session)
	out := make([]MCPToken, len(all))
	for i, t := range all {
		out[i] = t.MCPToken
	}
	return out, err
}

// Revoke deletes an MCP token and makes all replicas end its requests. user is the session's user. An
// unknown token is [store.ErrNotFound].
func (m *MCPTokens) Revoke(ctx context.Context, session wire.SessionID, user, id string) error {
	if _, err := m.stored.remove(ctx, session, id); err != nil {
		return fmt.Errorf("remove MCP token: %w", err)
	}
	return publishRevocation(ctx, m.docs, Revocation{User: user, At: time.Now(), Key: id})
}

// RemoveAll deletes all MCP tokens of a session that is deleted or given to another user.
func (m *MCPTokens) RemoveAll(ctx context.Context, session wire.SessionID) error {
	return m.stored.removeAll(ctx, session)
}
