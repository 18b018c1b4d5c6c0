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

// Config is how a server is spoken to.
type Config struct {
	// Base is where it is, without the path of a request.
	Base string
	// Header is sent with every request.
	Header http.Header
	// Secret is what must not appear in an error.
	Secret string
	// HTTP sends the requests; nil means a client of its own, with no proxy.
	HTTP *http.Client
	// Idle is how long the server may be silent; 0 means [DefaultIdle].
	Idle time.Duration
}

// DefaultIdle is how long a server may be silent. A model on one's own machine
// is loaded from disk in that time.
const DefaultIdle = 5 * time.Minute

// maxAnswer bounds what is read of an answer that is no stream.
const maxAnswer = 1 << 20

// Server is a model server. It may be used by many goroutines.
type Server struct {
	cfg   Config
	http  http.Client
	owned *http.Transport // nil if the client was passed in
}

// New returns a server, or says what is wrong with its address or key.
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
			Proxy:               http.ProxyFromEnvironment, // as everybody behind one expects
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        64,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true, // a compressed stream comes in lumps
		}
		s.http = http.Client{Transport: s.owned}
	}
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s, nil
}

// Close gives back connections.
func (s *Server) Close() {
	if s.owned != nil {
		s.owned.CloseIdleConnections()
	}
}

// Stream posts a request as JSON and calls each with the events of the answer,
// until each is done or returns an error, or the stream ends. Every error is a
// [*providers.Failure]; those of each are passed on as they are.
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
	in := alive{res.Body, func() { silence.Reset(s.cfg.Idle) }}
	for e, err := range Events(in) {
		if err != nil {
			return s.broken(ctx, "read the stream", err)
		}
		silence.Stop() // how long we take is not the server's silence
		if done, err := each(e); done || err != nil {
			return err
		}
		silence.Reset(s.cfg.Idle)
	}
	return &providers.Failure{Class: providers.Transport, Err: errors.New("the stream ended before the reply did")}
}

// Get asks for something small.
func (s *Server) Get(ctx context.Context, path string) ([]byte, error) {
	res, err := s.send(ctx, http.MethodGet, path, "application/json", nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, s.broken(ctx, "read the answer", err)
	}
	return text, nil
}

// send sends a request and returns the answer if it is a success.
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
		return nil, s.broken(ctx, "reach the model server", err)
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

// broken is the failure of a connection.
func (s *Server) broken(ctx context.Context, doing string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the rest of it is the address, which may hold secrets
	}
	return &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("%s: %w", doing, err)}
}

// alive is a body that tells whenever something came.
type alive struct {
	io.Reader
	tell func()
}

func (a alive) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 {
		a.tell()
	}
	return n, err
}
