package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// remote sends REST requests to a running hub. It implements credentials.
type remote struct {
	server *url.URL
	token  string
	key    string // idempotency key of requests with a body, unless empty
}

// NewTicket implements credentials.
func (r *remote) NewTicket(ctx context.Context, who auth.Identity, session wire.SessionID) (string, error) {
	in := struct {
		User    string         `json:"user"`
		Roles   []auth.Role    `json:"roles"`
		Session wire.SessionID `json:"session,omitempty"`
	}{who.User, who.Roles, session}
	var out struct {
		Ticket string `json:"ticket"`
	}
	err := r.ask(ctx, http.MethodPost, r.server.JoinPath("api", "tokens", "tickets"), in, &out)
	return out.Ticket, err
}

// NewKey implements credentials.
func (r *remote) NewKey(ctx context.Context, who auth.Identity, name string) (string, error) {
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
	err := r.ask(ctx, http.MethodPost, r.server.JoinPath("api", "tokens", "keys"), in, &out)
	return out.Key, err
}

// Keys implements credentials.
func (r *remote) Keys(ctx context.Context, after string, limit int) (store.Page[auth.Key], error) {
	u := r.server.JoinPath("api", "tokens", "keys")
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
	if err := r.ask(ctx, http.MethodGet, u, nil, &out); err != nil {
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
func (r *remote) RevokeKey(ctx context.Context, id string) error {
	return r.ask(ctx, http.MethodDelete, r.server.JoinPath("api", "tokens", "keys", id), nil, nil)
}

// transfer sends a request, with a file unless body is nil, and returns the answer, whose body
// the caller must close. A status that is not a success is an error.
func (r *remote) transfer(ctx context.Context, method string, target *url.URL, body io.Reader, size int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.ContentLength = size
		req.Header.Set("Content-Type", "application/zip")
	}
	res, err := r.do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		defer res.Body.Close()
		answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		if err != nil {
			return nil, fmt.Errorf("read answer of %s: %w", r.server.Host, err)
		}
		return nil, refusedBy(res, answer, r.token == "")
	}
	return res, nil
}

// do sends a request with the token, and follows no redirects.
func (r *remote) do(req *http.Request) (*http.Response, error) {
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	hub := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		// The token must not be sent to another host by a redirect.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := hub.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", r.server.Host, innermost(err))
	}
	return res, nil
}

// ask sends a request, with in as JSON unless it is nil, and decodes the answer into out, unless
// that is nil.
func (r *remote) ask(ctx context.Context, method string, target *url.URL, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" && in != nil {
		req.Header.Set("Idempotency-Key", r.key)
	}
	res, err := r.do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	switch {
	case err != nil:
		return fmt.Errorf("read answer of %s: %w", r.server.Host, err)
	case res.StatusCode >= http.StatusMultipleChoices:
		return refusedBy(res, answer, r.token == "")
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s did not answer like a hub", r.server.Host) // the cause could quote a secret
	}
	return nil
}
