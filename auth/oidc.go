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
	// issuerTimeout bounds a request to an issuer.
	issuerTimeout = 5 * time.Second
	// issuerInterval is the least time between two requests to an issuer. Every token with an
	// unknown key makes the library fetch the keys; without the interval unauthenticated clients
	// could make the hub send any number of requests.
	issuerInterval = time.Second
	// maxIssuerResponse bounds an issuer's response, in bytes.
	maxIssuerResponse = 1 << 20
)

// issuerMethods returns the algorithms that an issuer's tokens may be signed with.
func issuerMethods() []string { return []string{"RS256", "ES256", "EdDSA"} }

// ErrIssuer means that a token could not be checked because the keys of its OpenID issuer could not
// be fetched, or may be outdated. It says nothing about the token: the same one may be valid a
// moment later.
var ErrIssuer = errors.New("token issuer unavailable")

// errTooSoon is the library's error when it fetches keys too often.
var errTooSoon = errors.New("issuer keys were fetched a moment ago")

// errNewKey refuses a token with a key that the issuer did not have a moment ago. It may have it by
// now.
var errNewKey = &issuerError{"the issuer was asked a moment ago and did not have the key of the token"}

// issuerError says why an issuer's keys could not be fetched.
type issuerError struct{ reason string }

func (e *issuerError) Error() string { return "keys of the issuer: " + e.reason }

// Is makes the error match [ErrIssuer].
func (e *issuerError) Is(target error) bool { return target == ErrIssuer }

// issuer is an OpenID provider and its keys. The first token triggers the first request, so that
// the hub starts without the issuer.
type issuer struct {
	url         string
	client      *http.Client
	log         *slog.Logger
	discovering chan struct{} // held while fetching the discovery document
	unavailable atomic.Bool   // the last request failed

	mu        sync.Mutex // guards the following, never held during a request
	keys      *oidc.RemoteKeySet
	transport *limitedTransport // of keys
	// nextDiscovery is the earliest time of the next request for the discovery document.
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

// isSecureURL reports whether responses of a URL cannot be changed on the way: https or the
// loopback.
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
		i.log.WarnContext(ctx, "token issuer unavailable", "issuer", i.url, "err", away)
	case err == nil && i.unavailable.CompareAndSwap(true, false):
		i.log.InfoContext(ctx, "token issuer available again", "issuer", i.url)
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

// keySet returns the issuer's keys; the discovery document is fetched once.
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
	keys, next := i.cachedKeys() // another goroutine may have fetched them
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

// has reports whether the keys fetched last have one with that id. Without an id every key was
// tried.
func (i *issuer) has(key string) bool {
	i.mu.Lock()
	t := i.transport
	i.mu.Unlock()
	return key == "" || t == nil || t.has(key)
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
		return nil, nil, &issuerError{"its jwks_uri is not https"}
	}
	// The interval applies to the keys only, so their first fetch follows immediately.
	client := *i.client
	fetcher := &limitedTransport{inner: i.client.Transport, minInterval: issuerInterval}
	client.Transport = fetcher
	return oidc.NewRemoteKeySet(oidc.ClientContext(ctx, &client), found.Keys), fetcher, nil
}

// limitedTransport is a transport that sends requests at a limited rate and accepts only short JSON
// responses with status 200. Every other result is an [*issuerError] or errTooSoon, which the
// library passes on, while it would hide the reason of a bad response.
type limitedTransport struct {
	inner       http.RoundTripper
	minInterval time.Duration

	mu   sync.Mutex // guards the following
	last time.Time
	err  error           // of the last request
	keys map[string]bool // ids of the keys in the last good response
}

// has reports whether the last good response has a key with that id.
func (t *limitedTransport) has(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.keys[key]
}

// RoundTrip implements http.RoundTripper.
func (t *limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.checkInterval(); err != nil {
		return nil, err
	}
	res, keys, err := t.fetch(req)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err = err; err == nil {
		t.keys = keys
	}
	return res, err
}

// checkInterval returns nil if a request is allowed now. Otherwise it returns the error of the last
// request, or errTooSoon if that succeeded.
func (t *limitedTransport) checkInterval() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.minInterval == 0 || t.last.IsZero() || now.Sub(t.last) >= t.minInterval {
		t.last = now
		return nil
	}
	if t.err != nil {
		return t.err
	}
	return errTooSoon
}

func (t *limitedTransport) fetch(req *http.Request) (res *http.Response, keys map[string]bool, err error) {
	res, err = t.inner.RoundTrip(req)
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
	if json.Unmarshal(body, &set) == nil { // else the response is not a key set
		for _, k := range set.Keys {
			keys[k.ID] = true
		}
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, keys, nil
}
