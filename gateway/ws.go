package gateway

import (
	"bufio"
	"bytes"
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
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// The subprotocols of the native dialect.
const (
	subprotocol      = "everdesk.v2"
	subprotocolBatch = "everdesk.v2.batch"
)

// serveNative is the door of our own clients: GET /ws/{session}.
func (s *Server) serveNative(c echo.Context) error {
	w, err := nativeConnectRequest(c, doorPlain)
	if err != nil {
		return err
	}
	return s.receive(c, &w, s.identify)
}

// serveDesktop is the door of desktops written for YAAR: GET /ws.
func (s *Server) serveDesktop(c echo.Context) error {
	w, err := desktopConnectRequest(c)
	if err != nil {
		return err
	}
	return s.receive(c, &w, s.identifyDesktop)
}

// identifyDesktop is identify for a client that has no other way than the query
// to send the token that it was given.
func (s *Server) identifyDesktop(c echo.Context) (auth.Identity, error) {
	token := c.QueryParam("token")
	if token == "" || c.Request().Header.Get(echo.HeaderAuthorization) != "" {
		return s.identify(c)
	}
	return s.recognise(c.Request().Context(), token)
}

// receive lets a WebSocket in. Who says in the handshake who they are is refused
// over HTTP; who does not has to say it in the first frame.
func (s *Server) receive(c echo.Context, w *connectRequest, identify func(echo.Context) (auth.Identity, error)) error {
	if s.draining.Load() {
		return problem(wire.CodeConnectionFailed, "This hub is shutting down.")
	}
	if !isUpgrade(c.Request()) {
		c.Response().Header().Set(echo.HeaderUpgrade, "websocket")
		return misdirected(http.StatusUpgradeRequired, "Only WebSockets are served here.")
	}
	w.known = time.Now()
	who, err := identify(c)
	if err != nil {
		return s.receiveStranger(c, w, err)
	}
	granted, err := s.authorize(c.Request().Context(), who, w)
	if err != nil {
		return s.deny(c, err)
	}
	cn, err := s.upgrade(c, w)
	if err != nil {
		return err
	}
	cn.session, cn.name = w.session, w.name
	cn.access.Store(uint32(granted))
	cn.who.Store(&who)
	s.start(cn, func(ctx context.Context) bool { return cn.sendWelcome(ctx, w) })
	return nil
}

// receiveStranger is receive for somebody who did not say who they are, or not
// so that we believe it. Desktops of the other dialect cannot read an HTTP status,
// but know the close code.
func (s *Server) receiveStranger(c echo.Context, w *connectRequest, err error) error {
	denied, ok := errors.AsType[*auth.Error](err)
	unknown := ok && denied.Code == wire.CodeAuthRequired
	if !unknown && (!ok || w.door != doorDesktop) {
		return s.stranger(c, err)
	}
	if wait := s.limits.Address(address(c)); wait > 0 {
		return s.tooMany(c, wait)
	}
	cn, err := s.upgrade(c, w)
	if err != nil {
		return err
	}
	s.start(cn, func(ctx context.Context) bool {
		if !unknown {
			s.refused.credentials.Add(1)
			cn.refuse(ctx, &refusal{code: denied.Code, detail: denied.Reason})
			return false
		}
		return cn.authenticate(ctx, w) && cn.sendWelcome(ctx, w)
	})
	return nil
}

// upgrade makes a WebSocket of a request, or an error that was not answered yet.
func (s *Server) upgrade(c echo.Context, w *connectRequest) (*conn, error) {
	cn := &conn{s: s, from: session.Sender{Connection: newConnectionID()}}
	h := &handshake{ResponseWriter: c.Response(), conn: cn}
	opts := &websocket.AcceptOptions{
		// Our own check came first and is stricter: it also looks at Host, and
		// the library lets every origin in that equals it.
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
	}
	if w.door != doorDesktop {
		opts.Subprotocols = []string{subprotocolBatch, subprotocol}
	}
	ws, err := websocket.Accept(h, c.Request(), opts)
	switch {
	case err == nil:
	case h.status != 0:
		c.Response().Header().Del(echo.HeaderContentType) // that of the library's text
		return nil, misdirected(h.status, "That is not a WebSocket handshake.")
	default:
		return nil, fmt.Errorf("upgrade to a WebSocket: %w", err)
	}
	cn.heads.Reset(&cn.link) // else the library looks for early bytes again and again, and there are none
	ws.SetReadLimit(-1)      // [conn.hear] has its own, which depends on who it is
	switch {
	case strings.EqualFold(ws.Subprotocol(), subprotocolBatch):
		w.door = doorBatch
	case ws.Subprotocol() != "":
		w.door = doorNative
	}
	cn.ws, cn.door = ws, w.door
	return cn, nil
}

// start serves a connection from goroutines of its own, so that what net/http and
// echo hold of the request is freed.
func (s *Server) start(cn *conn, hello func(context.Context) bool) {
	if !s.connections.add(s, cn, hello) {
		// Too late: the doors were closed while it came through.
		cn.drop(wire.CloseDraining, "this hub is shutting down")
		cn.hangUp()
		_ = cn.Close()
	}
}

// handshake is what the library answers a handshake with. It hands out a
// connection of ours, and keeps refusals back so that they become problem
// documents.
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

// Hijack implements [http.Hijacker]. The buffers of net/http are left behind, but
// not what a hasty client has already sent into them.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over a connection: %w", err)
	}
	l := h.conn.hijacked(raw, buffered.Reader)
	h.conn.heads = bufio.NewReaderSize(l, readBuffer)
	return l, bufio.NewReadWriter(h.conn.heads, bufio.NewWriterSize(l, writeBuffer)), nil
}

// hijacked makes the connection that was under a request ours.
func (c *conn) hijacked(raw net.Conn, buffered *bufio.Reader) *link {
	early, _ := buffered.Peek(buffered.Buffered()) // which cannot fail
	c.Conn, c.rest = raw, bytes.Clone(early)
	c.doors, c.hungUp = &c.s.connections, func() { c.guard("leave a session", c.leave) }
	c.open()
	return &c.link
}
