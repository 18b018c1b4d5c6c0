package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	// issuerTimeout is how long an issuer may take to answer.
	issuerTimeout = 5 * time.Second
	// issuerInterval is the least time between two questions to an issuer. Every
	// token that does not fit makes the library ask for new keys; without a
	// pause strangers could make the hub ask as often as they like.
	issuerInterval = time.Second
	// maxIssuerResponse bounds what is read of an issuer's answer.
	maxIssuerResponse = 1 << 20
)

// issuerMethods are the algorithms that an issuer's tokens may be signed with.
func issuerMethods() []string { return []string{"RS256", "ES256", "EdDSA"} }

// ErrIssuer means that a token could not be checked because the keys of its OpenID
// issuer could not be had, or are too old to have that of the token. It says nothing of
// the token: the same may be good in a moment.
var ErrIssuer = errors.New("issuer of tokens cannot be asked now")

// errTooSoon is what the library hears when it asks too often.
var errTooSoon = errors.New("issuer was asked a moment ago")

// errNewKey refuses a token of a key that the issuer did not have a moment ago. It may
// have it by now.
var errNewKey = &issuerError{"the issuer was asked a moment ago and did not have the key of the token"}

// issuerError says why an issuer's keys could not be had.
type issuerError struct{ reason string }

func (e *issuerError) Error() string { return "keys of the issuer: " + e.reason }

// Is makes the error match [ErrIssuer].
func (e *issuerError) Is(target error) bool { return target == ErrIssuer }

// issuer is an OpenID provider and its keys. It is first asked when the first
// token comes, so that the hub starts without it.
type issuer struct {
	url         string
	client      *http.Client
	log         *slog.Logger
	discovering chan struct{} // held by who asks where the keys are
	unavailable atomic.Bool   // it was not there the last time

	mu        sync.Mutex // guards the following, never while asking
	keys      *oidc.RemoteKeySet
	transport *limitedTransport // that fetches them
	// nextDiscovery is when the issuer may be asked where its keys are again.
	nextDiscovery time.Time
}

func newIssuer(address string, log *slog.Logger) (*issuer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !isSecureURL(u) {
		return nil, fmt.Errorf("an OpenID issuer is an https URL, or http on this machine; got %q", address)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: issuerTimeout, DisableKeepAlives: true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	client := &http.Client{Transport: &limitedTransport{inner: transport}, Timeout: issuerTimeout}
	return &issuer{url: address, client: client, log: log, discovering: make(chan struct{}, 1)}, nil
}

// isSecureURL reports whether nobody between here and there can change an answer.
func isSecureURL(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// verify checks the signature of a token with a key id and returns its claims.
func (i *issuer) verify(ctx context.Context, token, key string) ([]byte, error) {
	asking, cancel := context.WithTimeout(ctx, issuerTimeout)
	defer cancel()
	keys, err := i.keySet(asking)
	var payload []byte
	if err == nil {
		payload, err = keys.VerifySignature(asking, token)
	}
	if err != nil && asking.Err() != nil {
		err = &issuerError{"no answer in time"}
	}
	away, is := errors.AsType[*issuerError](err)
	switch {
	case is && ctx.Err() == nil && i.unavailable.CompareAndSwap(false, true):
		i.log.WarnContext(ctx, "issuer of tokens is away", "issuer", i.url, "err", away)
	case err == nil && i.unavailable.CompareAndSwap(true, false):
		i.log.InfoContext(ctx, "issuer of tokens is back", "issuer", i.url)
	}
	switch {
	case is:
		return nil, away
	case errors.Is(err, errTooSoon) && !i.has(key):
		return nil, errNewKey
	case err != nil:
		return nil, errKey
	}
	return payload, nil
}

// keySet is the issuer's keys; where they are is asked once.
func (i *issuer) keySet(ctx context.Context) (*oidc.RemoteKeySet, error) {
	if keys, _ := i.cachedKeys(); keys != nil {
		return keys, nil
	}
	select {
	case i.discovering <- struct{}{}:
		defer func() { <-i.discovering }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	keys, next := i.cachedKeys() // whoever had the turn may have asked
	if keys != nil {
		return keys, nil
	}
	if time.Now().Before(next) {
		return nil, &issuerError{"did not answer a moment ago"}
	}
	keys, fetched, err := i.discover(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys, i.transport, i.nextDiscovery = keys, fetched, time.Now().Add(issuerInterval)
	return keys, err
}

// has reports whether the keys that were fetched last have one of that id. Without an
// id every key was tried.
func (i *issuer) has(key string) bool {
	i.mu.Lock()
	c := i.transport
	i.mu.Unlock()
	return key == "" || c == nil || c.has(key)
}

func (i *issuer) cachedKeys() (*oidc.RemoteKeySet, time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys, i.nextDiscovery
}

func (i *issuer) discover(ctx context.Context) (*oidc.RemoteKeySet, *limitedTransport, error) {
	ctx = oidc.ClientContext(ctx, i.client)
	provider, err := oidc.NewProvider(ctx, i.url)
	if away, ok := errors.AsType[*issuerError](err); ok {
		return nil, nil, away
	}
	if err != nil {
		return nil, nil, &issuerError{"its discovery document is not that of " + i.url}
	}
	var found struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&found); err != nil {
		return nil, nil, &issuerError{"its discovery document cannot be read"}
	}
	u, err := url.Parse(found.Keys)
	if err != nil || !isSecureURL(u) {
		return nil, nil, &issuerError{"it keeps them where they could be changed on the way"}
	}
	// The pause is about the keys only: the first fetch follows at once.
	client := *i.client
	fetcher := &limitedTransport{inner: i.client.Transport, minInterval: issuerInterval}
	client.Transport = fetcher
	return oidc.NewRemoteKeySet(oidc.ClientContext(ctx, &client), found.Keys), fetcher, nil
}

// limitedTransport fetches answers that are small, JSON, and neither an error page nor
// elsewhere, and not more often than allowed. Everything else is an
// [*issuerError] or errTooSoon, which the library passes on, while it would hide
// what is wrong with an answer.
type limitedTransport struct {
	inner       http.RoundTripper
	minInterval time.Duration

	mu   sync.Mutex // guards the following
	last time.Time
	err  error           // of the last time
	keys map[string]bool // ids of the keys in the last good answer
}

// has reports whether the last good answer has a key of that id.
func (c *limitedTransport) has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys[key]
}

// RoundTrip implements http.RoundTripper.
func (c *limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := c.checkInterval(); err != nil {
		return nil, err
	}
	res, keys, err := c.fetch(req)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err = err; err == nil {
		c.keys = keys
	}
	return res, err
}

// checkInterval refuses to ask too often. As long as the last answer was a bad one,
// that is how it stands with the issuer.
func (c *limitedTransport) checkInterval() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.minInterval == 0 || c.last.IsZero() || now.Sub(c.last) >= c.minInterval {
		c.last = now
		return nil
	}
	if c.err != nil {
		return c.err
	}
	return errTooSoon
}

func (c *limitedTransport) fetch(req *http.Request) (res *http.Response, keys map[string]bool, err error) {
	res, err = c.inner.RoundTrip(req)
	if err != nil {
		return nil, nil, &issuerError{err.Error()}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxIssuerResponse+1))
	switch {
	case err != nil:
		return nil, nil, &issuerError{err.Error()}
	case res.StatusCode != http.StatusOK:
		return nil, nil, &issuerError{req.URL.Path + " answered " + res.Status}
	case len(body) > maxIssuerResponse || !json.Valid(body):
		return nil, nil, &issuerError{req.URL.Path + " is no JSON or too long"}
	}
	var set struct {
		Keys []struct {
			ID string `json:"kid"`
		} `json:"keys"`
	}
	keys = map[string]bool{}
	if json.Unmarshal(body, &set) == nil { // else it is not about keys
		for _, k := range set.Keys {
			keys[k.ID] = true
		}
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, keys, nil
}
