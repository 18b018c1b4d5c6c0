package rooipc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// maxClients bounds the connections.
const maxClients = 64

// Deps are the components that a [Server] uses.
type Deps struct {
	Log      *slog.Logger
	Hub      *session.Hub
	Sessions *access.Sessions
	Limits   *ratelimit.Limiter
	Pictures *pictures.Fitter
	// Modes and Profiles are those of users; nil means none.
	Modes    *modes.Store
	Profiles *profiles.Store
	// Trace starts the trace of a message.
	Trace func(id wire.SessionID, m *wire.Message, traceparent string)
	// FrameBytes bounds a message, apart from its pictures.
	FrameBytes int64
	// User is the user whose sessions clients use.
	User string
}

// Server serves the clients of a socket.
type Server struct {
	Deps
	uid int

	mu      sync.Mutex
	clients map[*client]struct{}
	kept    keptTasks
	ln      *net.UnixListener
	closed  bool
	wg      sync.WaitGroup
}

// New returns a server. It does not listen yet.
func New(d Deps) *Server {
	return &Server{Deps: d, uid: os.Geteuid(), clients: map[*client]struct{}{}}
}

// who returns the identity of all clients.
func (s *Server) who() auth.Identity {
	return auth.Identity{User: s.User, Roles: []auth.Role{auth.RoleUser}}
}

// acceptPause is the pause after an error of the listener, such as too many open files.
const acceptPause = 100 * time.Millisecond

// Serve serves the clients of a listener until [Server.Close], after which it returns nil. It closes the
// listener, and returns after all clients are gone.
func (s *Server) Serve(ln *net.UnixListener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ln.Close()
	}
	s.ln = ln
	s.mu.Unlock()
	defer s.wg.Wait()
	for {
		conn, err := ln.AcceptUnix()
		switch {
		case err == nil:
			s.accept(conn)
		case s.isClosed():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("serve %v: %w", ln.Addr(), err)
		default:
			s.Log.Warn("accepting a client of the IPC socket failed", "err", err)
			<-time.After(acceptPause)
		}
	}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// accept starts to serve a client.
func (s *Server) accept(conn *net.UnixConn) {
	p, err := checkPeer(conn, s.uid)
	if err != nil {
		s.Log.Warn("client of the IPC socket refused", "err", err)
		_ = conn.Close()
		return
	}
	c := newClient(s, conn, p)
	s.mu.Lock()
	full := len(s.clients) >= maxClients
	if s.closed || full {
		s.mu.Unlock()
		s.Log.Warn("client of the IPC socket refused", "clients", maxClients)
		if full { // the frame fits into the buffer of the socket, so the write does not wait
			c.report("", problem.New(wire.CodeRateLimited, fmt.Sprintf("The hub has %d clients, which are all it serves.", maxClients)))
		}
		_ = conn.Close()
		return
	}
	defer s.mu.Unlock()
	s.clients[c] = struct{}{}
	s.wg.Go(func() {
		defer s.remove(c)
		c.serve()
	})
}

func (s *Server) remove(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

// Close closes the listener and disconnects all clients, which connect again when the hub is back. It
// waits for them until ctx ends.
func (s *Server) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	if s.ln != nil {
		_ = s.ln.Close()
	}
	for c := range s.clients {
		c.disconnect()
	}
	s.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.wg.Wait()
	}()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// Bounds of the tasks that are kept for clients which connect again.
const (
	maxKept  = 256
	keptTime = time.Minute
)

// keptTasks are the tasks of clients that disconnected, by process.
type keptTasks map[int]keptTask

type keptTask struct {
	session wire.SessionID
	at      wire.Position
	when    time.Time
}

// keepTask keeps the task of a process that may connect again.
func (s *Server) keepTask(pid int, t keptTask) {
	if pid == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, old := range s.kept {
		if t.when.Sub(old.when) > keptTime {
			delete(s.kept, other)
		}
	}
	if len(s.kept) >= maxKept {
		return
	}
	if s.kept == nil {
		s.kept = keptTasks{}
	}
	s.kept[pid] = t
}

// takeKeptTask returns the task that a process had when it disconnected.
func (s *Server) takeKeptTask(pid int, now time.Time) (keptTask, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.kept[pid]
	delete(s.kept, pid)
	return t, ok && now.Sub(t.when) <= keptTime
}
