package sse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// Config holds the address and settings of a server.
type Config struct {
	// Base is the base URL, without the path of a request.
	Base string
	// Header is sent with every request.
	Header http.Header
	// Secret is removed from error texts.
	Secret string
	// HTTP sends the requests; nil means a client of its own, which uses the proxy of the
	// environment.
	HTTP *http.Client
	// Idle bounds the time without data from the server; 0 means [DefaultIdle].
	Idle time.Duration
}

// DefaultIdle is the default of Config.Idle. It is long enough for a local server to load a
// model from disk.
const DefaultIdle = 5 * time.Minute

// maxAnswer bounds the response body that is read if it is no stream, and maxDocument that of a
// document: the list of a gateway has hundreds of models.
const (
	maxAnswer   = 1 << 20
	maxDocument = 8 << 20
)

// Server is a client of one model server. It is safe for concurrent use.
type Server struct {
	cfg   Config
	http  http.Client
	owned *http.Transport // nil if Config.HTTP was set
}

// New returns a server, or an error if its address or key is invalid.
func New(cfg Config) (*Server, error) {
	u, err := url.Parse(cfg.Base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the base URL of the model server must be http(s)://host[:port][/path]")
	}
	for _, values := range cfg.Header {
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
				return nil, errors.New("the key of the model server has characters that no key has")
			}
		}
	}
	cfg.Base = strings.TrimRight(cfg.Base, "/")
	if cfg.Idle <= 0 {
		cfg.Idle = DefaultIdle
	}
	s := &Server{cfg: cfg}
	if cfg.HTTP != nil {
		s.http = *cfg.HTTP
	} else {
		s.owned = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        64,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true, // a compressed stream arrives in large pieces
		}
		s.http = http.Client{Transport: s.owned}
	}
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s, nil
}

// Close closes idle connections.
func (s *Server) Close() {
	if s.owned != nil {
		s.owned.CloseIdleConnections()
	}
}

// Stream posts a request as JSON and calls each with the events of the response, until each
// returns done or an error, or the stream ends. Every error is a [*providers.Failure]; errors
// of each are returned unchanged.
func (s *Server) Stream(ctx context.Context, path string, request any, each func(Event) (done bool, err error)) error {
	body, err := json.Marshal(request)
	if err != nil {
		return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("encode the request: %w", err)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(s.cfg.Idle, func() { cancel(providers.ErrSilent) })
	defer silence.Stop()
	res, err := s.send(ctx, http.MethodPost, path, "text/event-stream", body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "application/json" || kind == "text/html" {
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // as much as there is
		f := s.failure(0, text)
		f.Err = fmt.Errorf("the server answered with %s and not with a stream: %w", kind, f.Err)
		return f
	}
	in := activityReader{res.Body, func() { silence.Reset(s.cfg.Idle) }}
	for e, err := range Events(in) {
		if err != nil {
			return s.connectionFailure(ctx, "read the stream", err)
		}
		silence.Stop() // time spent in each does not count
		if done, err := each(e); done || err != nil {
			return err
		}
		silence.Reset(s.cfg.Idle)
	}
	return &providers.Failure{Class: providers.Transport, Err: errors.New("the stream ended before the reply did")}
}

// Get requests a JSON document of up to 8 MiB.
func (s *Server) Get(ctx context.Context, path string) ([]byte, error) {
	res, err := s.send(ctx, http.MethodGet, path, "application/json", nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	if err != nil {
		return nil, s.connectionFailure(ctx, "read the answer", err)
	}
	return text, nil
}

// send sends a request and returns the response if its status is 2xx.
func (s *Server) send(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.cfg.Base+path, bytes.NewReader(body))
	if err != nil {
		return nil, &providers.Failure{Class: providers.Invalid, Err: errors.New("the address of the model server is wrong")}
	}
	maps.Copy(req.Header, s.cfg.Header)
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := s.http.Do(req)
	if err != nil {
		return nil, s.connectionFailure(ctx, "reach the model server", err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // as much as there is
	f := s.failure(res.StatusCode, text)
	f.RetryAfter = retryAfter(res.Header, time.Now())
	return nil, f
}

// connectionFailure converts a connection error to a failure.
func (s *Server) connectionFailure(ctx context.Context, doing string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the URL may contain secrets
	}
	if f, ok := errors.AsType[*providers.Failure](err); ok {
		return f // the client itself refused, as for an address that users may not reach
	}
	return &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("%s: %w", doing, err)}
}

// activityReader calls onRead whenever data arrived.
type activityReader struct {
	io.Reader
	onRead func()
}

func (a activityReader) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 {
		a.onRead()
	}
	return n, err
}
