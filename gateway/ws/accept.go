package ws

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// Subprotocols of the native dialect.
const (
	subprotocol      = "everdesk.v2"
	subprotocolBatch = "everdesk.v2.batch"
)

// serveNative handles GET /ws/{session}, the WebSocket of our own clients.
func (s *Server) serveNative(c echo.Context) error {
	r, err := nativeConnectRequest(c, protocolPlain)
	if err != nil {
		return err
	}
	return s.acceptWebSocket(c, &r, s.authenticator.Identify)
}

// serveDesktop handles GET /ws, the WebSocket of desktops written for YAAR.
func (s *Server) serveDesktop(c echo.Context) error {
	r, err := desktopConnectRequest(c)
	if err != nil {
		return err
	}
	return s.acceptWebSocket(c, &r, s.identifyDesktop)
}

// identifyDesktop is identify for a client that can send its token in the query only.
func (s *Server) identifyDesktop(c echo.Context) (auth.Identity, error) {
	token := c.QueryParam("token")
	if token == "" || c.Request().Header.Get(echo.HeaderAuthorization) != "" {
		return s.authenticator.Identify(c)
	}
	return s.authenticator.Token(c.Request().Context(), token)
}

// acceptWebSocket accepts a WebSocket. A client that authenticates in the handshake is refused over
// HTTP; one that sends no credential must authenticate with its first frame.
func (s *Server) acceptWebSocket(c echo.Context, r *connectRequest, identify func(echo.Context) (auth.Identity, error)) error {
	if s.Draining() {
		return problem.New(wire.CodeConnectionFailed, "This hub is shutting down.")
	}
	if !access.IsUpgrade(c.Request()) {
		c.Response().Header().Set(echo.HeaderUpgrade, "websocket")
		return problem.Status(http.StatusUpgradeRequired, "Only WebSockets are served here.")
	}
	r.credentialsChecked = time.Now()
	who, err := identify(c)
	if err != nil {
		return s.acceptUnauthenticated(c, r, err)
	}
	granted, err := s.admission.authorize(c.Request().Context(), who, r)
	if err != nil {
		return s.admission.refusalProblem(c, err)
	}
	cn, err := s.upgrade(c, r)
	if err != nil {
		return err
	}
	cn.peer.admit(&who, granted, r)
	s.startConn(cn, func(ctx context.Context) bool { return cn.attachSession(ctx, r) })
	return nil
}

// acceptUnauthenticated is acceptWebSocket for a client whose handshake had no valid credential.
// Desktop clients cannot read an HTTP status but know the close code, so they are upgraded even
// with a wrong credential and then closed.
func (s *Server) acceptUnauthenticated(c echo.Context, r *connectRequest, err error) error {
	denied, ok := errors.AsType[*auth.Error](err)
	unknown := ok && denied.Code == wire.CodeAuthRequired
	if !unknown && (!ok || r.protocol != protocolDesktop) {
		return s.authenticator.Failure(c, err)
	}
	if wait := s.limits.Address(access.Address(c)); wait > 0 {
		return s.authenticator.RateLimited(c, wait)
	}
	cn, err := s.upgrade(c, r)
	if err != nil {
		return err
	}
	s.startConn(cn, func(ctx context.Context) bool {
		if !unknown {
			s.refused.Credentials.Add(1)
			cn.peer.refuse(ctx, &refusal{code: denied.Code, detail: denied.Reason})
			return false
		}
		return cn.awaitAuth(ctx, r) && cn.attachSession(ctx, r)
	})
	return nil
}

// upgrade upgrades a request to a WebSocket. On an error no response was written yet.
func (s *Server) upgrade(c echo.Context, r *connectRequest) (*conn, error) {
	cn := newConn(s, r.protocol)
	h := &handshake{ResponseWriter: c.Response(), conn: cn}
	opts := acceptOptions()
	if r.protocol != protocolDesktop {
		opts.Subprotocols = []string{subprotocolBatch, subprotocol}
	}
	ws, err := websocket.Accept(h, c.Request(), opts)
	switch {
	case err == nil:
	case h.status != 0:
		c.Response().Header().Del(echo.HeaderContentType) // set by the library for its own error text
		return nil, problem.Status(h.status, "That is not a WebSocket handshake.")
	default:
		return nil, fmt.Errorf("upgrade to a WebSocket: %w", err)
	}
	_ = ws.CloseNow() // frees it; see libraryConn
	switch {
	case strings.EqualFold(ws.Subprotocol(), subprotocolBatch):
		r.protocol = protocolBatch
	case ws.Subprotocol() != "":
		r.protocol = protocolNative
	}
	cn.peer.protocol = r.protocol
	return cn, nil
}

// startConn runs a connection in goroutines of its own, so that the memory that net/http and echo
// hold for the request is freed.
func (s *Server) startConn(cn *conn, setup func(context.Context) bool) {
	if s.registry.add(&cn.peer, func(p *poller) { cn.poller = p }) {
		go cn.runConnect(setup)
		return
	}
	// All connections were closed while this one was set up.
	cn.peer.closeWith(wire.CloseDraining, "this hub is shutting down")
	cn.peer.sendClose()
	_ = cn.peer.Close()
}

// handshake is the response writer of the library's handshake. Its Hijack makes the connection the
// conn's own, and it withholds error responses so that they become problem documents.
type handshake struct {
	http.ResponseWriter
	conn   *conn
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (h *handshake) WriteHeader(status int) {
	if status != http.StatusSwitchingProtocols {
		h.status = status
		return
	}
	h.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (h *handshake) Write(p []byte) (int, error) {
	if h.status != 0 {
		return len(p), nil
	}
	return h.ResponseWriter.Write(p)
}

// Hijack implements [http.Hijacker]. It drops the buffers of net/http, but keeps the bytes that a
// client has already sent into them.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over a connection: %w", err)
	}
	h.conn.adopt(raw, buffered.Reader)
	unused := unusedConn{raw}
	return unused, bufio.NewReadWriter(bufio.NewReaderSize(unused, readBuffer), bufio.NewWriterSize(unused, writeBuffer)), nil
}
