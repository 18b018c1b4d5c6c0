package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// Bounds of connections and responses.
const (
	dialTimeout    = 10 * time.Second
	maxHeaderBytes = 64 << 10
	maxRedirects   = 3
)

// DefaultMaxBody bounds the body of a response. A reply of a model is much smaller.
const DefaultMaxBody = 64 << 20

// Client is an HTTP client for addresses that users choose.
type Client struct {
	*http.Client
	transport *http.Transport
}

// Client returns a client that reaches public addresses and those in the list. maxBody bounds the
// body of a response in bytes; 0 means [DefaultMaxBody].
func (h Hosts) Client(maxBody int64) *Client {
	if maxBody <= 0 {
		maxBody = DefaultMaxBody
	}
	t := &http.Transport{
		Proxy:                  nil,
		DialContext:            h.Dial,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true, // a small compressed body can become a huge one
	}
	return &Client{&http.Client{Transport: bounded{t, maxBody}, CheckRedirect: checkRedirect}, t}
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Dial connects to address, which has the host of the URL, and checks each address that the host
// resolves to before the connection is made.
func (h Hosts) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &providers.Failure{Class: providers.Invalid, Err: err}
	}
	d := net.Dialer{Resolver: h.resolver, Timeout: dialTimeout, KeepAlive: 30 * time.Second, Control: func(_, resolved string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return &providers.Failure{Class: providers.Invalid, Err: errors.New("the server has no internet address")}
		}
		if refusal := h.check(host, at); refusal != nil {
			return &providers.Failure{Class: providers.Invalid, Err: refusal}
		}
		return nil
	}}
	return d.DialContext(ctx, network, address)
}

// CheckURL returns why a base URL cannot be used, or nil. It resolves no name: the client checks the
// address of each connection.
func (h Hosts) CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return &providers.Failure{Class: providers.Invalid, Err: errors.New("want a URL, as in https://models.example.org/v1")}
	}
	a, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return nil //nolint:nilerr // a name, which is checked when it is resolved
	}
	at, err := netip.ParseAddrPort(net.JoinHostPort(a.Unmap().String(), portOf(u)))
	if err != nil {
		return &providers.Failure{Class: providers.Invalid, Err: errors.New("the port of the URL is no number from 1 to 65535")}
	}
	if refusal := h.check(u.Hostname(), at); refusal != nil {
		return &providers.Failure{Class: providers.Invalid, Err: refusal}
	}
	return nil
}

// checkRedirect follows a few redirects within one server.
func checkRedirect(r *http.Request, before []*http.Request) error {
	first := before[0].URL
	if len(before) > maxRedirects || r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
		return &providers.Failure{Class: providers.Invalid, Err: ErrRedirect}
	}
	return nil
}

// bounded bounds the bodies of responses.
type bounded struct {
	next    http.RoundTripper
	maxBody int64
}

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = Bound(res.Body, b.maxBody)
	return res, nil
}

// Bound returns a body that fails with [ErrTooLarge] after a number of bytes.
func Bound(body io.ReadCloser, maxBody int64) io.ReadCloser { return &boundedBody{body, maxBody} }

// boundedBody fails with [ErrTooLarge] after its last allowed byte.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
