package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/everdesk/everdesk/store"
)

const (
	// issuerTimeout is how long an issuer may take to answer.
	issuerTimeout = 5 * time.Second
	// issuerPause is the least time between two questions to an issuer. Every
	// token that does not fit makes the library ask for new keys; without a
	// pause strangers could make the hub ask as often as they like.
	issuerPause = time.Second
	// maxAnswer bounds what is read of an issuer's answer.
	maxAnswer = 1 << 20
)

// issuerMethods are the algorithms that an issuer's tokens may be signed with.
func issuerMethods() []string { return []string{"RS256", "ES256", "EdDSA"} }

// What can be wrong with asking an issuer.
var (
	errIssuer = fmt.Errorf("issuer of tokens: %w", store.ErrUnavailable)
	errSoon   = errors.New("issuer was asked a moment ago")
)

// issuer is an OpenID provider and its keys. It is first asked when the first
// token comes, so that the hub starts without it.
type issuer struct {
	url    string
	client *http.Client
	turn   chan struct{} // held by who asks where the keys are

	mu   sync.Mutex // guards the following, never while asking
	keys *oidc.RemoteKeySet
	// next is when the issuer may be asked where its keys are again.
	next time.Time
}

func newIssuer(address string) (*issuer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !trusted(u) {
		return nil, fmt.Errorf("an OpenID issuer is an https URL, or http on this machine; got %q", address)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: issuerTimeout, DisableKeepAlives: true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &issuer{
		url:  address,
		turn: make(chan struct{}, 1),
		client: &http.Client{
			Transport: &courier{inner: transport},
			Timeout:   issuerTimeout,
			CheckRedirect: func(req *http.Request, via []*http.Request) error {
				if len(via) > 3 || !trusted(req.URL) {
					return errIssuer
				}
				return nil
			},
		},
	}, nil
}

// trusted reports whether nobody between here and there can change an answer.
func trusted(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// verify checks a token's signature and returns its claims.
func (i *issuer) verify(ctx context.Context, token string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, issuerTimeout)
	defer cancel()
	keys, err := i.keySet(ctx)
	if err != nil {
		return nil, err
	}
	payload, err := keys.VerifySignature(ctx, token)
	if err != nil && (errors.Is(err, errIssuer) || ctx.Err() != nil) && !errors.Is(err, errSoon) {
		return nil, errIssuer
	}
	if err != nil {
		return nil, errKey
	}
	return payload, nil
}

// keySet is the issuer's keys; where they are is asked once.
func (i *issuer) keySet(ctx context.Context) (*oidc.RemoteKeySet, error) {
	if keys, _ := i.known(); keys != nil {
		return keys, nil
	}
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return nil, errIssuer
	}
	keys, next := i.known() // whoever had the turn may have asked
	if keys != nil {
		return keys, nil
	}
	if time.Now().Before(next) {
		return nil, errIssuer
	}
	keys, err := i.discover(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys, i.next = keys, time.Now().Add(issuerPause)
	return keys, err
}

func (i *issuer) known() (*oidc.RemoteKeySet, time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys, i.next
}

func (i *issuer) discover(ctx context.Context) (*oidc.RemoteKeySet, error) {
	ctx = oidc.ClientContext(ctx, i.client)
	provider, err := oidc.NewProvider(ctx, i.url)
	if err != nil {
		return nil, errIssuer
	}
	var found struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&found); err != nil {
		return nil, errIssuer
	}
	u, err := url.Parse(found.Keys)
	if err != nil || !trusted(u) {
		return nil, errIssuer
	}
	// The pause is about the keys only: the first fetch follows at once.
	client := *i.client
	client.Transport = &courier{inner: i.client.Transport, pause: issuerPause}
	return oidc.NewRemoteKeySet(oidc.ClientContext(ctx, &client), found.Keys), nil
}

// courier fetches answers that are small, JSON and not an error page, and not
// more often than allowed. Everything else is errIssuer or errSoon, which the
// library passes on, while it would hide what is wrong with an answer.
type courier struct {
	inner http.RoundTripper
	pause time.Duration

	mu   sync.Mutex // guards the following
	last time.Time
	err  error // of the last time
}

// RoundTrip implements http.RoundTripper.
func (c *courier) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := c.mayAsk(); err != nil {
		return nil, err
	}
	res, err := c.fetch(req)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	return res, err
}

// mayAsk refuses to ask too often. As long as the last answer was a bad one,
// that is how it stands with the issuer.
func (c *courier) mayAsk() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.pause == 0 || c.last.IsZero() || now.Sub(c.last) >= c.pause {
		c.last = now
		return nil
	}
	if c.err != nil {
		return c.err
	}
	return errSoon
}

func (c *courier) fetch(req *http.Request) (*http.Response, error) {
	res, err := c.inner.RoundTrip(req)
	if err != nil {
		return nil, errIssuer
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return res, nil // the client follows
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil || len(body) > maxAnswer || res.StatusCode != http.StatusOK || !json.Valid(body) {
		return nil, errIssuer
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}
