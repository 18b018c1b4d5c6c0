package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/everdesk/everdesk/tools"
)

// ErrRefused is returned by [Clients] for a token that is unknown, expired or revoked.
var ErrRefused = errors.New("the MCP token is not valid")

// Clients admits programs of users, whose tokens are stored.
type Clients interface {
	// ID returns the id of a token by its form alone, or false if it cannot be one.
	ID(token string) (id string, ok bool)
	// Admit authenticates a token. The error is [ErrRefused], or another if that cannot be decided
	// now.
	Admit(ctx context.Context, token string) (Client, error)
	// Expires returns when an admitted token expires, which may be later than when it was admitted,
	// with the errors of Admit.
	Expires(ctx context.Context, token string) (time.Time, error)
}

// Client is an admitted program.
type Client struct {
	// Caller determines the tools that the program sees.
	Caller  tools.Caller
	Execute Execute
	Expires time.Time
}

// clientUse is the requests of one program that run now. It exists before the token is checked, so
// that a revocation meanwhile ends them.
type clientUse struct {
	*gate
	requests int // guarded by Server.mu
}

// acquireUse registers a request with the token that has the id.
func (d *Server) acquireUse(id string) *clientUse {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.uses[id]
	if u == nil {
		u = &clientUse{gate: newGate(d.cfg.MaxCalls)}
		d.uses[id] = u
	}
	u.requests++
	return u
}

func (d *Server) releaseUse(id string, u *clientUse) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if u.requests--; u.requests == 0 && d.uses[id] == u {
		delete(d.uses, id)
	}
}

// Revoke ends the running requests of a stored token. It does nothing if there are none. Later requests
// are refused by [Clients].
func (d *Server) Revoke(id string) {
	d.mu.Lock()
	u := d.uses[id]
	delete(d.uses, id)
	d.mu.Unlock()
	if u != nil {
		u.end(errRevoked)
	}
}

// admit returns the token of a request and a function that ends its use. The error is [ErrRefused], or
// another if the token cannot be checked now.
func (d *Server) admit(r *http.Request) (*mcpToken, func(), error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") {
		return nil, nil, ErrRefused
	}
	if b := d.issued(token); b != nil {
		return b, func() {}, nil
	}
	if d.cfg.Clients == nil {
		return nil, nil, ErrRefused
	}
	id, ok := d.cfg.Clients.ID(token)
	if !ok {
		return nil, nil, ErrRefused
	}
	use := d.acquireUse(id)
	release := func() { d.releaseUse(id, use) }
	c, err := d.cfg.Clients.Admit(r.Context(), token)
	if err != nil {
		release()
		return nil, nil, err
	}
	return &mcpToken{
		caller: c.Caller, execute: c.Execute, gate: use.gate, expires: c.Expires,
		renewed: func(ctx context.Context) (time.Time, error) { return d.cfg.Clients.Expires(ctx, token) },
	}, release, nil
}

const (
	// checkTimeout is how long the check of a token that may have expired is repeated while the store
	// is unavailable, and checkPause the time between two checks.
	checkTimeout = 30 * time.Second
	checkPause   = time.Second
)

// awaitExpiry returns when the token has expired or ctx ends, and reports whether it has expired. Uses of
// a token with a lease move its end, so that is looked up again.
func (b *mcpToken) awaitExpiry(ctx context.Context) bool {
	timer := time.NewTimer(time.Until(b.expires))
	defer timer.Stop()
	var failing time.Time // since then the token cannot be checked
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		}
		expires, err := b.renewed(ctx)
		switch left := time.Until(expires); {
		case ctx.Err() != nil:
			return false
		case err == nil && left > 0:
			failing = time.Time{}
			timer.Reset(left)
		case err == nil, errors.Is(err, ErrRefused):
			return true
		case failing.IsZero():
			failing = time.Now()
			timer.Reset(checkPause)
		case time.Since(failing) > checkTimeout:
			return true
		default:
			timer.Reset(checkPause)
		}
	}
}
