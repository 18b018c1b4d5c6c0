package bridge

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/wire"
)

const (
	// tokenLife is the lifetime of a token that the bridge makes, and defaultLease how long the token
	// outlives a bridge that is killed. The bridge uses it renewals times in that time.
	tokenLife    = 24 * time.Hour
	defaultLease = 3 * time.Minute
	renewals     = 3
	minLease     = time.Second
	// revokeTimeout bounds revoking it at the end.
	revokeTimeout = 3 * time.Second
)

// tokenSource provides the MCP token: the given one, or one that it makes.
type tokenSource struct {
	hub     *remote.Hub
	session wire.SessionID
	given   string
	name    string
	profile string
	monitor string
	lease   time.Duration

	mu    sync.Mutex // held while a token is made, so that concurrent requests share it
	token string
	id    string
}

// get returns a token other than refused, which the hub does not accept any more.
func (s *tokenSource) get(ctx context.Context, refused string) (string, error) {
	if s.given != "" {
		if s.given == refused {
			return "", errRefused
		}
		return s.given, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && s.token != refused {
		return s.token, nil
	}
	in := map[string]any{"name": s.name, "ttl": int(tokenLife.Seconds()), "lease": int(s.lease.Seconds())}
	if s.profile != "" {
		in["profile"] = s.profile
	}
	if s.monitor != "" {
		in["monitor"] = s.monitor
	}
	var out struct{ ID, Token string }
	if err := s.hub.Ask(ctx, http.MethodPost, s.hub.URL.JoinPath("api", "sessions", string(s.session), "mcp-tokens"), in, &out); err != nil {
		return "", err
	}
	s.id, s.token = out.ID, out.Token
	return s.token, nil
}

// made returns the token that the bridge has made, or an empty text if there is none.
func (s *tokenSource) made() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// revoke revokes the token that was made, if any.
func (s *tokenSource) revoke(ctx context.Context, logf func(string, ...any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTimeout)
	defer cancel()
	if err := s.hub.Ask(ctx, http.MethodDelete, s.hub.URL.JoinPath("api", "sessions", string(s.session), "mcp-tokens", s.id), nil, nil); err != nil {
		logf("MCP token not revoked, it expires in %v: %v", s.lease, err)
	}
}
