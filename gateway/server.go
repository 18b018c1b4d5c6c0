package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// The patience of the server. Doors that stream lift the read and write
// deadlines of their own connection with [http.ResponseController].
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Store is what the gateway needs of the store.
type Store interface {
	// Ready says why the store cannot be used, or nil.
	Ready(ctx context.Context) error
}

// Config tunes a [Server].
type Config struct {
	// Version is what the status page shows.
	Version string
	// ReadyTimeout is how long the store may take to say that it is ready.
	// Defaults to 2 s, less than what load balancers commonly wait.
	ReadyTimeout time.Duration
}

// Server answers HTTP requests. Make it with [New].
type Server struct {
	cfg   Config
	log   *slog.Logger
	store Store
	echo  *echo.Echo
	http  *http.Server

	draining atomic.Bool
	away     atomic.Bool // the store did not answer when last asked
}

// New makes a server that answers for store. It does not listen yet.
func New(cfg Config, log *slog.Logger, store Store) *Server {
	cfg.ReadyTimeout = cmp.Or(cfg.ReadyTimeout, 2*time.Second)
	s := &Server{cfg: cfg, log: log, store: store, echo: echo.New()}
	s.echo.HTTPErrorHandler = s.fail
	s.echo.Use(s.watch, secure)
	s.routes()
	s.http = &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s
}

func (s *Server) routes() {
	for path, handler := range map[string]echo.HandlerFunc{
		"/":        s.page,
		"/health":  s.health,
		"/healthz": s.health,
		"/readyz":  s.readyz,
	} {
		s.echo.GET(path, handler)
		s.echo.HEAD(path, handler) // load balancers like to ask this way
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// Serve answers requests that come to ln until [Server.Shutdown], after which
// it returns nil. It closes ln.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %v: %w", ln.Addr(), err)
	}
	return nil
}

// Drain makes /readyz say 503 from now on, so that load balancers look
// elsewhere before Shutdown closes the door.
func (s *Server) Drain() { s.draining.Store(true) }

// Shutdown stops listening and waits for running requests. Those still running
// when ctx ends are cut, and the error says so.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	err := s.http.Shutdown(ctx)
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("wait for running requests: %w", err), s.http.Close())
}
