package kernels

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Errors of a server.
var (
	// ErrGone means that the kernel does not exist any more.
	ErrGone = errors.New("the kernel is gone")
	// ErrUnavailable means that the server does not answer, or answers nonsense.
	ErrUnavailable = errors.New("the Jupyter server is not available")
	// ErrRefused means that the server refuses the token.
	ErrRefused = errors.New("the Jupyter server refuses the token")
	// ErrTooMany means that all kernels that the budget allows are busy.
	ErrTooMany = errors.New("too many kernels are busy")
)

// Config describes a Jupyter server.
type Config struct {
	// URL is the address of the server, with its base path.
	URL string
	// Token authenticates the hub. It is sent in a header only.
	Token string
	// PerUser and All bound the kernels of a user and of the server that belong to notebooks of hubs. Beyond them
	// the kernel that was idle for the longest time ends. Defaults: 4 and 32.
	PerUser, All int
	// IdleAfter is how long a kernel may be idle before [Client.Cull] ends it. Default: 30 min.
	IdleAfter time.Duration
	// PlainFrames lets connections use JSON frames, which all servers have.
	PlainFrames bool
}

// Client is a client of a Jupyter server. Its methods may be called concurrently.
type Client struct {
	cfg  Config
	base *url.URL
	http *http.Client
}

// Limits of a request.
const (
	requestTimeout = 30 * time.Second
	maxBody        = 4 << 20
)

// New returns a client. It does not connect.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(cfg.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("%q is no address of a Jupyter server, such as http://127.0.0.1:8888", cfg.URL)
	}
	if base.User != nil || base.RawQuery != "" {
		return nil, errors.New("the address of a Jupyter server must have no password and no token in it")
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	cfg.PerUser, cfg.All = cmp.Or(cfg.PerUser, 4), cmp.Or(cfg.All, 32)
	cfg.IdleAfter = cmp.Or(cfg.IdleAfter, 30*time.Minute)
	return &Client{cfg: cfg, base: base, http: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: requestTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a redirect would get the token
	}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call sends a request and decodes the answer into out, unless that is nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	c.authorize(req.Header)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return fmt.Errorf("%w: %s %s: %w", ErrUnavailable, method, path, err)
	}
	if err := statusError(resp.StatusCode, data); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%w: %s %s: %w", ErrUnavailable, method, path, err)
	}
	return nil
}

func (c *Client) authorize(h http.Header) {
	if c.cfg.Token != "" {
		h.Set("Authorization", "token "+c.cfg.Token)
	}
}

// statusError returns the error that a status means.
func statusError(status int, body []byte) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusNotFound:
		return ErrGone
	case status == http.StatusForbidden || status == http.StatusUnauthorized || status >= 300 && status < 400: // to the page for the password
		return ErrRefused
	}
	var problem struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body, &problem) // a body without a message is common
	return fmt.Errorf("%w: status %d %.200s", ErrUnavailable, status, problem.Message)
}

// Specs are the kinds of kernels of a server.
type Specs struct {
	Default string          `json:"default"`
	Kernels map[string]Spec `json:"kernelspecs"`
}

// Spec is a kind of kernel.
type Spec struct {
	Name string `json:"name"`
	Spec struct {
		DisplayName string `json:"display_name"`
		Language    string `json:"language"`
	} `json:"spec"`
}

// Specs returns the kinds of kernels of the server. It fails if the token is wrong.
func (c *Client) Specs(ctx context.Context) (Specs, error) {
	var s Specs
	err := c.call(ctx, http.MethodGet, "/api/kernelspecs", nil, &s)
	return s, err
}

// Kernel is a running kernel.
type Kernel struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	State       string    `json:"execution_state"`
	Active      time.Time `json:"last_activity"`
	Connections int       `json:"connections"`
	// Language is set by [Client.Open].
	Language string `json:"-"`
	// NoFiles says that code in the kernel does not see the files of the session. The caller of [Client.Open] sets it.
	NoFiles bool `json:"-"`
}

// Kernel returns a kernel, or [ErrGone].
func (c *Client) Kernel(ctx context.Context, id string) (Kernel, error) {
	var k Kernel
	err := c.call(ctx, http.MethodGet, "/api/kernels/"+url.PathEscape(id), nil, &k)
	return k, err
}

// Interrupt interrupts what a kernel executes.
func (c *Client) Interrupt(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, "/api/kernels/"+url.PathEscape(id)+"/interrupt", nil, nil)
}

// Restart restarts a kernel. It keeps its id and loses everything else.
func (c *Client) Restart(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, "/api/kernels/"+url.PathEscape(id)+"/restart", nil, nil)
}
