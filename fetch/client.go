package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/everdesk/everdesk/providers/outbound"
)

// Bounds of a request.
const (
	// MaxBody bounds the body of an answer in bytes; the rest is cut off.
	MaxBody = 5 << 20
	// MaxRequestBody bounds the body of a request in bytes.
	MaxRequestBody = 1 << 20
	// Timeout bounds a request with its redirects.
	Timeout      = 30 * time.Second
	maxRedirects = 5
	maxHeaders   = 40
)

// userAgent names the program to servers.
const userAgent = "Everdesk/1.0 (agent)"

// Errors of requests.
var (
	// ErrURL means that a text is no URL of a page.
	ErrURL = errors.New("want a URL, as in https://example.org/page")
	// ErrMethod means that a method is not one of [Methods].
	ErrMethod = errors.New("the method is none of GET, HEAD, POST, PUT, PATCH and DELETE")
	// ErrHeader means that a header is invalid, or one that callers may not set.
	ErrHeader = errors.New("the header cannot be set")
	// ErrRequestTooLarge means that the body of a request has more than [MaxRequestBody] bytes.
	ErrRequestTooLarge = fmt.Errorf("the body has more than %d bytes", MaxRequestBody)
	// ErrRedirects means that a server redirects too often.
	ErrRedirects = fmt.Errorf("the server redirects more than %d times", maxRedirects)
	// ErrTimeout means that the server did not answer within [Timeout].
	ErrTimeout = errors.New("the server did not answer in time")
	// ErrUnreachable means that the connection could not be made, or broke.
	ErrUnreachable = errors.New("the server cannot be reached")
)

// DomainError means that the user has not allowed a domain.
type DomainError struct {
	Domain string
	// Redirect says that another server led there.
	Redirect bool
}

// Error implements error.
func (e *DomainError) Error() string {
	if e.Redirect {
		return fmt.Sprintf("the server redirects to %.253s, which the user has not allowed", e.Domain)
	}
	return fmt.Sprintf("the user has not allowed the domain %.253s", e.Domain)
}

// AddressError means that a domain has an address that is not public.
type AddressError struct {
	Domain string
	Class  outbound.Class
}

// Error implements error. The text does not contain the address: the answers of an internal name server are
// not for users.
func (e *AddressError) Error() string {
	return fmt.Sprintf("the address of %.253s is %s; an operator can list it in --web-hosts", e.Domain, e.Class)
}

// Request is a request for a page.
type Request struct {
	URL    string
	Method string // GET if empty
	Header map[string]string
	Body   []byte
	// StayPut makes a redirect the answer instead of following it.
	StayPut bool
}

// Response is the answer of a server, whatever its status.
type Response struct {
	// URL is that of the page, after redirects.
	URL    string
	Status int
	Header http.Header
	Body   []byte
	// Cut says that the body was longer.
	Cut bool
}

// Client makes requests. Create it with [New].
type Client struct {
	domains *Domains
	http    *outbound.Client
}

// New returns a client that reaches public addresses and the hosts in the list, on domains that the
// user has allowed.
func New(domains *Domains, hosts outbound.Hosts) *Client {
	return &Client{domains, hosts.Client(MaxBody + 1)}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.Close() }

// Domains returns the domains that users have allowed.
func (c *Client) Domains() *Domains { return c.domains }

// Do makes a request for a user.
func (c *Client) Do(ctx context.Context, user string, r Request) (Response, error) {
	allowed, err := c.domains.Of(ctx, user)
	if err != nil {
		return Response{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, ErrTimeout)
	defer cancel()
	req, err := build(ctx, r)
	if err != nil {
		return Response{}, err
	}
	if err := checkURL(req.URL, allowed, false); err != nil {
		return Response{}, err
	}
	client := *c.http.Client
	client.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		switch {
		case r.StayPut:
			return http.ErrUseLastResponse
		case len(before) > maxRedirects:
			return ErrRedirects
		}
		return checkURL(next.URL, allowed, true)
	}
	res, err := client.Do(req)
	if err != nil {
		return Response{}, plainError(ctx, err)
	}
	defer func() { _ = res.Body.Close() }() // read as far as it is wanted
	body, err := io.ReadAll(io.LimitReader(res.Body, MaxBody+1))
	if err != nil {
		return Response{}, plainError(ctx, err)
	}
	cut := len(body) > MaxBody
	return Response{res.Request.URL.String(), res.StatusCode, res.Header, body[:min(len(body), MaxBody)], cut}, nil
}

// Methods returns the methods of requests.
func Methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

// build returns the request for the server.
func build(ctx context.Context, r Request) (*http.Request, error) {
	method := strings.ToUpper(r.Method)
	if method == "" {
		method = http.MethodGet
	}
	switch {
	case !slices.Contains(Methods(), method):
		return nil, ErrMethod
	case len(r.Body) > MaxRequestBody:
		return nil, ErrRequestTooLarge
	case len(r.Header) > maxHeaders:
		return nil, fmt.Errorf("%w: there are more than %d", ErrHeader, maxHeaders)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, ErrURL
	}
	req.Header.Set("User-Agent", userAgent)
	for name, value := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) || reserved(name) {
			return nil, fmt.Errorf("%w: %.100q", ErrHeader, name)
		}
		req.Header.Set(name, value)
	}
	return req, nil
}

// reserved reports whether a header is about the connection, or would carry cookies.
func reserved(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Keep-Alive", "Accept-Encoding", "Cookie", "Expect":
		return true
	}
	return strings.HasPrefix(http.CanonicalHeaderKey(name), "Proxy-")
}

// checkURL returns why a URL may not be requested, or nil.
func checkURL(u *url.URL, allowed List, redirect bool) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return ErrURL
	}
	name, err := Name(u.Hostname())
	if err != nil {
		return ErrURL
	}
	if !allowed.Allows(name) {
		return &DomainError{name, redirect}
	}
	return nil
}

// plainError returns the error of a request without addresses of the network of the hub.
func plainError(ctx context.Context, err error) error {
	domain, isDomain := errors.AsType[*DomainError](err)
	address, isAddress := errors.AsType[*outbound.AddressError](err)
	switch {
	case isDomain:
		return domain
	case isAddress:
		return &AddressError{address.Host, address.Class}
	case errors.Is(err, ErrURL):
		return ErrURL
	case errors.Is(err, ErrRedirects):
		return ErrRedirects
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return ErrUnreachable
}
