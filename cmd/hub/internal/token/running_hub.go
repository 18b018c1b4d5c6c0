package token

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// runningHub creates and revokes credentials through a running hub. It implements credentials.
type runningHub struct{ *remote.Hub }

// NewTicket implements credentials.
func (r runningHub) NewTicket(ctx context.Context, who auth.Identity, session wire.SessionID) (string, error) {
	in := struct {
		User    string         `json:"user"`
		Roles   []auth.Role    `json:"roles"`
		Session wire.SessionID `json:"session,omitempty"`
	}{who.User, who.Roles, session}
	var out struct {
		Ticket string `json:"ticket"`
	}
	err := r.Ask(ctx, http.MethodPost, r.URL.JoinPath("api", "tokens", "tickets"), in, &out)
	return out.Ticket, err
}

// NewKey implements credentials.
func (r runningHub) NewKey(ctx context.Context, who auth.Identity, name string) (string, error) {
	in := struct {
		User      string      `json:"user"`
		Roles     []auth.Role `json:"roles"`
		Name      string      `json:"name,omitempty"`
		ExpiresIn int         `json:"expires_in,omitempty"` // seconds
	}{User: who.User, Roles: who.Roles, Name: name}
	if !who.Expires.IsZero() {
		in.ExpiresIn = max(1, int(time.Until(who.Expires).Round(time.Second).Seconds()))
	}
	var out struct {
		Key string `json:"key"`
	}
	err := r.Ask(ctx, http.MethodPost, r.URL.JoinPath("api", "tokens", "keys"), in, &out)
	return out.Key, err
}

// Keys implements credentials.
func (r runningHub) Keys(ctx context.Context, after string, limit int) (store.Page[auth.Key], error) {
	u := r.URL.JoinPath("api", "tokens", "keys")
	u.RawQuery = url.Values{"after": {after}, "limit": {strconv.Itoa(min(limit, 100))}}.Encode()
	var out struct {
		Keys []struct {
			ID        string      `json:"id"`
			Name      string      `json:"name"`
			User      string      `json:"user"`
			Roles     []auth.Role `json:"roles"`
			CreatedAt time.Time   `json:"createdAt"`
			ExpiresAt time.Time   `json:"expiresAt"`
		} `json:"keys"`
		Next string `json:"next"`
	}
	if err := r.Ask(ctx, http.MethodGet, u, nil, &out); err != nil {
		return store.Page[auth.Key]{}, err
	}
	page := store.Page[auth.Key]{Next: out.Next}
	for _, k := range out.Keys {
		page.Items = append(page.Items, auth.Key{
			ID: k.ID, Name: k.Name, User: k.User, Roles: k.Roles, Created: k.CreatedAt, Expires: k.ExpiresAt,
		})
	}
	return page, nil
}

// RevokeKey implements credentials.
func (r runningHub) RevokeKey(ctx context.Context, id string) error {
	return r.Ask(ctx, http.MethodDelete, r.URL.JoinPath("api", "tokens", "keys", id), nil, nil)
}
