package fakemodel

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxRequests bounds the recorded requests.
const maxRequests = 1000

// Request is a recorded request.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// Server is a model server. Create one with [New].
//
// It owns the goroutines of its listeners and responses; Close ends them and waits.
type Server struct {
	// Key, unless empty, is required in requests. Set it before the first request.
	Key string
	// Window, unless 0, is the context window in tokens of four bytes; longer requests are
	// refused. Set it before the first request.
	Window int
	// Caching makes the server count the beginnings of requests that it has seen before, as the
	// vendors do. Set it before the first request.
	Caching bool
	// Models are the listed names. Set them before the first request.
	Models []string

	http    http.Server
	wg      sync.WaitGroup
	closing chan struct{} // closed by Close
	cache   prefixCache

	mu       sync.Mutex
	closed   bool
	requests []Request
	uses     []Use
	next     []http.HandlerFunc
}

// New returns a server that does not listen yet. It can also be used as an [http.Handler].
func New() *Server {
	s := &Server{Models: []string{"fake"}, closing: make(chan struct{})}
	s.cache.known = map[[sha256.Size]byte]bool{}
	s.http = http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	return s
}

// test is the part of testing.TB that Start uses.
type test interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Cleanup(f func())
}

// Start serves on loopback until the test ends, and returns the URL.
func Start(t test) string {
	t.Helper()
	s := New()
	url, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return url
}

// Listen serves on a TCP address, such as 127.0.0.1:0, and returns its URL.
func (s *Server) Listen(ctx context.Context, addr string) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	s.wg.Go(func() { _ = s.http.Serve(l) }) // returns an error after Close
	return "http://" + l.Addr().String(), nil
}

// Pipe serves in memory and returns a client that reaches the server under any
// http URL. It works in a synctest bubble.
func (s *Server) Pipe() *http.Client {
	l := &pipes{conns: make(chan net.Conn), closing: s.closing}
	s.wg.Go(func() { _ = s.http.Serve(l) }) // returns an error after Close
	return &http.Client{Transport: &http.Transport{DialContext: l.dial}}
}

// Close ends all listeners and responses, and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	s.mu.Unlock()
	_ = s.http.Close() // closed connections are no error
	s.wg.Wait()
}

// Next makes these handlers answer the next requests, one each, instead of directives. A nil one leaves
// its request to the directives.
func (s *Server) Next(answers ...http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, answers...)
}

// Uses returns the input tokens of the requests so far, with Caching.
func (s *Server) Uses() []Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.uses)
}

// Status returns a handler that responds with a status, a body and headers given as "Name:
// value".
func Status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body) // the client may be gone
	}
}

// Raw returns a handler that sends a stream of exactly these bytes and ends it cleanly.
func Raw(stream string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream) // the client may be gone
	}
}

// Reset returns a handler that resets the connection without a response.
func Reset() http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // makes Close send a reset
		}
		_ = conn.Close()
	}
}

// Requests returns the recorded requests, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.wg.Add(1)
	s.mu.Unlock()
	defer s.wg.Done()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		s.list(w, r)
		return
	}
	if r.Method == http.MethodGet && r.URL.Path == "/api/tags" {
		s.listTags(w)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{r.URL.Path, r.Header.Clone(), body})
	s.requests = s.requests[max(0, len(s.requests)-maxRequests):]
	var answer http.HandlerFunc
	if len(s.next) > 0 {
		answer, s.next = s.next[0], s.next[1:]
	}
	s.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	for _, d := range dialects {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, d.path) {
			s.reply(w, r, d, body)
			return
		}
	}
	http.NotFound(w, r)
}

// allowed reports whether a request has the key, if one is required.
func (s *Server) allowed(r *http.Request) bool {
	return s.Key == "" || r.Header.Get("X-Api-Key") == s.Key || r.Header.Get("Authorization") == "Bearer "+s.Key || r.Header.Get("X-Goog-Api-Key") == s.Key
}

// pipes is a listener in memory.
type pipes struct {
	conns   chan net.Conn
	closing chan struct{}
}

var errClosed = errors.New("the server is closed")

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closing:
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements [net.Listener].
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closing:
		return nil, errClosed
	}
}

// Close implements [net.Listener].
func (p *pipes) Close() error { return nil }

// Addr implements [net.Listener].
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
