package gateway_test

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
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// storeFunc is a store that consists of its Ready method.
type storeFunc func(context.Context) error

func (f storeFunc) Ready(ctx context.Context) error { return f(ctx) }

func (f storeFunc) Read(context.Context, wire.SessionID, wire.Position, int) ([]store.Event, error) {
	return nil, store.ErrNotFound
}

func (f storeFunc) Get(context.Context, string, string) (store.Document, error) {
	return store.Document{}, store.ErrNotFound
}

func (f storeFunc) Put(context.Context, store.Document) (uint64, error) {
	return 0, store.ErrUnavailable
}

func (f storeFunc) Remove(context.Context, string, string, uint64) error {
	return store.ErrUnavailable
}

func alwaysReady(context.Context) error { return nil }

// newServer returns a server with a store and mode none only.
func newServer(t *testing.T, ready storeFunc) *gateway.Server {
	t.Helper()
	return newServerWith(t, slog.NewTextHandler(t.Output(), nil), ready)
}

func newServerWith(t *testing.T, log slog.Handler, ready storeFunc) *gateway.Server {
	t.Helper()
	people, err := auth.New(t.Context(), auth.Config{Mode: auth.ModeNone, Logger: slog.New(log)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return gateway.New(gateway.Config{Version: "v1.2.3"}, slog.New(log), gateway.Deps{
		Store: gateway.Store{Readiness: ready, Events: ready, Documents: ready}, Auth: people,
	})
}

func serveRequest(t *testing.T, h http.Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, nil))
	return rec
}

// wantProblem checks for a complete problem document.
func wantProblem(t *testing.T, rec *httptest.ResponseRecorder, want wire.Problem) {
	t.Helper()
	if rec.Code != want.Status {
		t.Errorf("status %d, want %d", rec.Code, want.Status)
	}
	if got := rec.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type: got %q, want application/problem+json", got)
	}
	var got wire.Problem
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
		t.Fatalf("body %q: %v", rec.Body, err)
	}
	if got != want {
		t.Errorf("problem %+v, want %+v", got, want)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/health":  `{"status":"ok"}`,
		"/healthz": `{"status":"ok"}`,
		"/readyz":  `{"status":"ready"}`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			rec := serveRequest(t, newServer(t, alwaysReady), http.MethodGet, path)
			if rec.Code != http.StatusOK || rec.Body.String() != want {
				t.Errorf("%d %q, want 200 %q", rec.Code, rec.Body, want)
			}
			if got := rec.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type: got %q, want application/json", got)
			}
			if got := rec.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control: got %q, want no-store", got)
			}
			if head := serveRequest(t, newServer(t, alwaysReady), http.MethodHead, path); head.Code != http.StatusOK {
				t.Errorf("HEAD: got %d, want %d", head.Code, http.StatusOK)
			}
		})
	}
}

func TestUnknownPathAndMethod(t *testing.T) {
	t.Parallel()
	s := newServer(t, alwaysReady)
	want := wire.Problem{
		Type: "about:blank", Title: "Not Found", Status: http.StatusNotFound, Detail: "Nothing is at /no/such.",
		Code: wire.CodeInvalidMessage, Name: "WS_INVALID_MESSAGE", Recoverable: true, SuggestedAction: wire.ActionFixMessage,
	}
	wantProblem(t, serveRequest(t, s, http.MethodGet, "/no/such"), want)

	// A long path is not echoed completely.
	if rec := serveRequest(t, s, http.MethodGet, "/"+strings.Repeat("x", 5000)); rec.Body.Len() > 500 {
		t.Errorf("answer to a long path: got %d bytes, want at most 500", rec.Body.Len())
	}

	rec := serveRequest(t, s, http.MethodDelete, "/readyz")
	want.Title, want.Status, want.Detail = "Method Not Allowed", http.StatusMethodNotAllowed, "DELETE is not possible at /readyz."
	wantProblem(t, rec, want)
	if allow := rec.Header().Get("Allow"); !strings.Contains(allow, http.MethodGet) || !strings.Contains(allow, http.MethodHead) {
		t.Errorf("Allow: got %q, want GET and HEAD", allow)
	}
}

func TestHealthDoesNotAskTheStore(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(context.Context) error { return errors.New("gone") })
	for _, path := range []string{"/health", "/healthz"} {
		if rec := serveRequest(t, s, http.MethodGet, path); rec.Code != http.StatusOK {
			t.Errorf("%s while the store is away: got %d, want %d", path, rec.Code, http.StatusOK)
		}
	}
}

func TestReadinessFollowsTheStore(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	var logged bytes.Buffer
	s := newServerWith(t, slog.NewTextHandler(&logged, nil), func(context.Context) error {
		if away.Load() {
			return errors.New("dial 10.1.2.3: refused")
		}
		return nil
	})
	for range 3 { // unavailable and back more than once
		away.Store(true)
		for range 2 {
			rec := serveRequest(t, s, http.MethodGet, "/readyz")
			wantProblem(t, rec, wire.CodeStoreUnavailable.Problem(""))
		}
		away.Store(false)
		if rec := serveRequest(t, s, http.MethodGet, "/readyz"); rec.Code != http.StatusOK {
			t.Errorf("/readyz after the store came back: got %d, want %d", rec.Code, http.StatusOK)
		}
	}
	// The reason is logged once per change and not per probe.
	if n := strings.Count(logged.String(), "dial 10.1.2.3: refused"); n != 3 {
		t.Errorf("reason logged %d times, want 3:\n%s", n, &logged)
	}
	if n := strings.Count(logged.String(), "store is ready again"); n != 3 {
		t.Errorf("return logged %d times, want 3:\n%s", n, &logged)
	}
}

func TestReadinessDoesNotWaitForASlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		start := time.Now()
		wantProblem(t, serveRequest(t, s, http.MethodGet, "/readyz"), wire.CodeStoreUnavailable.Problem(""))
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("waited %v, want 2s", took)
		}
	})
}

func TestProberDisconnects(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(ctx context.Context) error { return ctx.Err() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz", nil))
	if rec.Code != http.StatusOK {
		t.Errorf("/readyz: got %d, want %d", rec.Code, http.StatusOK)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	s := newServer(t, alwaysReady)
	s.Drain()
	wantProblem(t, serveRequest(t, s, http.MethodGet, "/readyz"), wire.CodeConnectionFailed.Problem("This hub is shutting down."))
	if rec := serveRequest(t, s, http.MethodGet, "/healthz"); rec.Code != http.StatusOK {
		t.Errorf("/healthz while draining: got %d, want %d", rec.Code, http.StatusOK)
	}
}

func TestStatusPage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		store storeFunc
		want  string
	}{
		"ready":      {alwaysReady, "This hub is ready."},
		"store away": {func(context.Context) error { return errors.New("secret reason") }, wire.CodeStoreUnavailable.Info().Message},
		"store full": {func(context.Context) error { return fmt.Errorf("secret reason: %w", store.ErrNoSpace) }, "The store is full; try again in a moment."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := serveRequest(t, newServer(t, tt.store), http.MethodGet, "/")
			if got := rec.Header().Get("Content-Type"); rec.Code != http.StatusOK || got != "text/html; charset=UTF-8" {
				t.Errorf("page: got %d %q, want %d as HTML", rec.Code, got, http.StatusOK)
			}
			for _, want := range []string{tt.want, "v1.2.3", `href="/healthz"`, `href="/readyz"`} {
				if !strings.Contains(rec.Body.String(), want) {
					t.Errorf("page: got\n%s\nwant it to contain %q", rec.Body, want)
				}
			}
			if strings.Contains(rec.Body.String(), "secret reason") {
				t.Errorf("page: got\n%s\nwant it without the reason", rec.Body)
			}
		})
	}
}

// /readyz distinguishes a full store from an unavailable one.
func TestReadyzOfAFullStore(t *testing.T) {
	t.Parallel()
	for _, err := range []error{store.ErrUnavailable, errors.New("some cause")} {
		s := newServer(t, func(context.Context) error { return err })
		wantProblem(t, serveRequest(t, s, http.MethodGet, "/readyz"), wire.CodeStoreUnavailable.Problem(""))
	}
	full := fmt.Errorf("ask redis: %w: OOM", store.ErrNoSpace)
	s := newServer(t, func(context.Context) error { return full })
	rec := serveRequest(t, s, http.MethodGet, "/readyz")
	if got, want := rec.Body.String(), `{"status":"full"}`; rec.Code != http.StatusOK || strings.TrimSpace(got) != want {
		t.Errorf("a full store: got %d %s, want 200 %s: what is there can be read", rec.Code, got, want)
	}
}

func TestPanicEndsOneRequest(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	s := newServerWith(t, slog.NewTextHandler(&logged, nil), func(context.Context) error { panic("boom") })
	wantProblem(t, serveRequest(t, s, http.MethodGet, "/readyz"), wire.CodeExecutionFailed.Problem(""))
	for _, want := range []string{"boom", "server_test.go", "/readyz"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("log: got\n%s\nwant it to contain %q", &logged, want)
		}
	}
	if rec := serveRequest(t, s, http.MethodGet, "/healthz"); rec.Code != http.StatusOK {
		t.Errorf("next request: got %d, want %d", rec.Code, http.StatusOK)
	}
}

// serve starts s on a free port and returns its URL, a client for it and a channel with the result
// of Serve.
func serve(t *testing.T, s *gateway.Server) (string, *http.Client, <-chan error) {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return "http://" + ln.Addr().String(), &http.Client{Transport: transport}, served
}

func TestShutdownWaitsForRunningRequests(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	s := newServer(t, func(context.Context) error {
		close(entered)
		<-leave
		return nil
	})
	url, client, served := serve(t, s)
	got := make(chan string, 1)
	go func() { got <- get(t, client, url+"/readyz") }()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	select {
	case err := <-stopped:
		t.Fatalf("Shutdown returned %v while a request was running", err)
	default:
	}
	close(leave)
	if body := <-got; body != `{"status":"ready"}` {
		t.Errorf("running request: got %q, want it ready", body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	s := newServer(t, func(context.Context) error {
		close(entered)
		<-leave
		return nil
	})
	url, client, served := serve(t, s)
	got := make(chan string, 1)
	go func() { got <- get(t, client, url+"/readyz") }()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v, want the context's end", err)
	}
	if body := <-got; !strings.HasPrefix(body, "error: ") {
		t.Errorf("request that was cut: got %q, want an error", body)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	close(leave)
}

// A drain that is undone before the clients are disconnected leaves them connected.
func TestDisconnectAllIsCancelled(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	x := h.mustDial("/ws/"+string(h.newSession("ann")), as(h.userToken("ann")))
	x.wantAlive()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.server.DisconnectAll(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Dismiss: %v, want the context's end", err)
	}
	x.wantAlive()
}

// Tabs are disconnected when their session is handed over, not when the last one is.
func TestDisconnectReleased(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	stays, goes := h.newSession("ann"), h.newSession("ann")
	x := h.mustDial("/ws/"+string(stays), as(h.userToken("ann")))
	x.wantAlive()
	y := h.mustDial("/ws/"+string(goes), as(h.userToken("ann")))
	y.wantAlive()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { h.server.DisconnectReleased(ctx, func(id wire.SessionID) bool { return id == stays }) })
	next[wire.GoElsewhere](y)
	y.wantClosed(wire.CloseDraining)
	x.wantAlive()
}

func TestServeReturnsListenerErrors(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	if err := newServer(t, alwaysReady).Serve(ln); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v, want net.ErrClosed", err)
	}
}

// get returns the body, or "error: …" when there was no response.
func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "error: " + err.Error()
	}
	res, err := client.Do(req)
	if err != nil {
		return "error: " + err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(body)
}
