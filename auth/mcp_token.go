package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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

	Session wire.SessionID `json:"-"`
}

// storedMCPToken is an MCP token in the document of its session.
type storedMCPToken struct {
	MCPToken
	Hash []byte `json:"hash"`
}

func (t storedMCPToken) expired() bool { return !time.Now().Before(t.Expires) }

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

// NewMCPToken creates an MCP token for t.Session, valid for ttl, or for t.Lease after its last use if
// that is earlier. It has the form edm_SESSION_ID_SECRET. Only the hash of the secret is stored.
func (a *Authority) NewMCPToken(ctx context.Context, t MCPToken, ttl time.Duration) (token string, _ MCPToken, err error) {
	if err := t.Session.Validate(); err != nil {
		return "", t, fmt.Errorf("MCP token: %w", err)
	}
	if ttl <= 0 || ttl > maxLife || t.Lease < 0 {
		return "", t, fmt.Errorf("%w: an MCP token that is valid for %v, want up to %v", store.ErrInvalid, ttl, maxLife)
	}
	var random [keyIDLength / 2]byte
	_, _ = rand.Read(random[:]) // never fails: it aborts the program instead
	secret := newSecret()
	sum := hash(secret)
	t.ID, t.Tail, t.Created = hex.EncodeToString(random[:]), secret[len(secret)-mcpTokenTail:], time.Now()
	t.Expires, t.Until = t.Created.Add(ttl), time.Time{}
	if t.Lease > 0 {
		t.Until = t.Expires
		t.Expires = earlier(t.Created.Add(t.Lease), t.Until)
	}
	err = a.editMCPTokens(ctx, t.Session, func(all []storedMCPToken) ([]storedMCPToken, error) {
		if len(all) >= MaxMCPTokens {
			return nil, ErrTooManyMCPTokens
		}
		return append(all, storedMCPToken{t, sum[:]}), nil
	})
	if err != nil {
		return "", t, fmt.Errorf("store MCP token: %w", err)
	}
	return mcpTokenPrefix + string(t.Session) + "_" + t.ID + "_" + secret, t, nil
}

// MCPTokenID returns the id of an MCP token, or false if the text is none.
func MCPTokenID(token string) (id string, ok bool) {
	_, id, _, ok = cutMCPToken(token)
	return id, ok
}

// cutMCPToken returns the parts of an MCP token.
func cutMCPToken(token string) (session wire.SessionID, id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(token, mcpTokenPrefix)
	end := len(rest) - secretLength - keyIDLength - 2
	if !ok || end < 1 || rest[end] != '_' || rest[end+1+keyIDLength] != '_' {
		return "", "", "", false
	}
	session, id, secret = wire.SessionID(rest[:end]), rest[end+1:end+1+keyIDLength], rest[end+2+keyIDLength:]
	return session, id, secret, isKeyID(id) && session.Validate() == nil
}

// MCPToken authenticates an MCP token and records its use. The error is an [Error] unless the store is
// unavailable.
func (a *Authority) MCPToken(ctx context.Context, token string) (MCPToken, error) {
	t, err := a.findMCPToken(ctx, token)
	if err != nil {
		return MCPToken{}, err
	}
	used, changed := t.used(time.Now())
	if !changed {
		return t.MCPToken, nil
	}
	err = a.editMCPTokens(ctx, t.Session, func(all []storedMCPToken) ([]storedMCPToken, error) {
		i := slices.IndexFunc(all, func(other storedMCPToken) bool { return other.ID == t.ID })
		if i < 0 {
			return nil, errRefused // revoked meanwhile
		}
		all[i] = used
		return all, nil
	})
	switch {
	case errors.Is(err, errRefused):
		return MCPToken{}, err
	case err != nil:
		a.log.WarnContext(ctx, "use of an MCP token not stored", "session", t.Session, "token", t.ID, "err", err)
		return t.MCPToken, nil
	}
	return used.MCPToken, nil
}

// MCPTokenExpires returns when an MCP token expires, as far as its uses have moved that. Unlike
// [Authority.MCPToken] it is no use itself.
func (a *Authority) MCPTokenExpires(ctx context.Context, token string) (time.Time, error) {
	t, err := a.findMCPToken(ctx, token)
	return t.Expires, err
}

// findMCPToken returns a valid MCP token.
func (a *Authority) findMCPToken(ctx context.Context, token string) (storedMCPToken, error) {
	session, id, secret, ok := cutMCPToken(token)
	if !ok {
		return storedMCPToken{}, errRefused
	}
	all, _, err := a.mcpTokens(ctx, session)
	if err != nil {
		return storedMCPToken{}, err
	}
	i := slices.IndexFunc(all, func(t storedMCPToken) bool { return t.ID == id })
	if i < 0 || len(all[i].Hash) != sha256.Size || !equalHashes([sha256.Size]byte(all[i].Hash), hash(secret)) {
		return storedMCPToken{}, errRefused
	}
	return all[i], nil
}

// MCPTokens returns the valid MCP tokens of a session, the oldest first.
func (a *Authority) MCPTokens(ctx context.Context, session wire.SessionID) ([]MCPToken, error) {
	all, _, err := a.mcpTokens(ctx, session)
	out := make([]MCPToken, len(all))
	for i, t := range all {
		out[i] = t.MCPToken
	}
	return out, err
}

// RevokeMCPToken deletes an MCP token and makes all replicas end its requests. An unknown token is
// [store.ErrNotFound].
func (a *Authority) RevokeMCPToken(ctx context.Context, session wire.SessionID, user, id string) error {
	err := a.editMCPTokens(ctx, session, func(all []storedMCPToken) ([]storedMCPToken, error) {
		rest := slices.DeleteFunc(slices.Clone(all), func(t storedMCPToken) bool { return t.ID == id })
		if len(rest) == len(all) {
			return nil, store.ErrNotFound
		}
		return rest, nil
	})
	if err != nil {
		return fmt.Errorf("remove MCP token: %w", err)
	}
	return a.publishRevocation(ctx, Revocation{User: user, At: time.Now(), Key: id})
}

// RemoveMCPTokens deletes all MCP tokens of a session that is deleted.
func (a *Authority) RemoveMCPTokens(ctx context.Context, session wire.SessionID) error {
	return a.editMCPTokens(ctx, session, func([]storedMCPToken) ([]storedMCPToken, error) { return nil, nil })
}

// mcpTokens reads the valid MCP tokens of a session, and their document.
func (a *Authority) mcpTokens(ctx context.Context, session wire.SessionID) ([]storedMCPToken, store.Document, error) {
	d, err := a.docs.Get(ctx, mcpTokenCollection, string(session))
	if errors.Is(err, store.ErrNotFound) {
		return nil, store.Document{Collection: mcpTokenCollection, Name: string(session)}, nil
	}
	if err != nil {
		return nil, d, err
	}
	all, err := decode[[]storedMCPToken](d)
	all = slices.DeleteFunc(all, storedMCPToken.expired)
	for i := range all {
		all[i].Session = session
	}
	return all, d, err
}

// putMCPTokens stores the MCP tokens of a session in place of d, until the last of them expires.
func (a *Authority) putMCPTokens(ctx context.Context, d store.Document, all []storedMCPToken) error {
	if len(all) == 0 {
		if d.Version == 0 {
			return nil
		}
		return a.docs.Remove(ctx, d.Collection, d.Name, d.Version)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode MCP tokens: %w", err)
	}
	last := slices.MaxFunc(all, func(x, y storedMCPToken) int { return x.Expires.Compare(y.Expires) })
	d.Data, d.TTL = data, time.Until(last.Expires)+time.Minute
	_, err = a.docs.Put(ctx, d)
	return err
}

// editMCPTokens changes the MCP tokens of a session, whatever other replicas do meanwhile.
func (a *Authority) editMCPTokens(ctx context.Context, session wire.SessionID, edit func([]storedMCPToken) ([]storedMCPToken, error)) error {
	for {
		all, d, err := a.mcpTokens(ctx, session)
		if err != nil {
			return err
		}
		if all, err = edit(all); err != nil {
			return err
		}
		if err = a.putMCPTokens(ctx, d, all); !errors.Is(err, store.ErrConflict) {
			return err
		}
		// Each conflict is a change by another request; the caller's context bounds the retries.
	}
}
