package ws

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// sseHeadTimeout bounds the write of the head of a stream.
const sseHeadTimeout = 30 * time.Second

// ServeSSE handles GET /api/sessions/{session}/events, the read-only stream of a session with
// Server-Sent Events. The id of an event is its message_id, which comes back as Last-Event-ID. A
// cookie needs no Origin here: pages of other origins cannot read the response, and nothing can be
// sent over the stream.
func (s *Server) ServeSSE(c echo.Context) error {
	if s.Draining() {
		return problem.New(wire.CodeConnectionFailed, "This hub is shutting down.")
	}
	r, err := nativeConnectRequest(c, protocolSSE)
	if err != nil {
		return err
	}
	r.resumeFrom = truncatePosition(cmp.Or(c.Request().Header.Get("Last-Event-ID"), c.QueryParam("last_event_id"), r.resumeFrom))
	r.credentialsChecked = time.Now()
	who, err := s.authenticator.Identify(c)
	if err != nil {
		return s.authenticator.Failure(c, err)
	}
	granted, err := s.admission.authorize(c.Request().Context(), who, &r)
	if err != nil {
		return s.admission.refusalProblem(c, err)
	}
	cn := newConn(s, protocolSSE)
	cn.peer.admit(&who, granted, &r)
	raw, buffered, err := http.NewResponseController(c.Response()).Hijack()
	if err != nil {
		return fmt.Errorf("take over a connection: %w", err)
	}
	cn.adopt(raw, buffered.Reader)
	head := eventStreamHead(c.Response().Header())
	c.Response().Committed, c.Response().Status = true, http.StatusOK // for the request log
	s.startConn(cn, func(ctx context.Context) bool {
		_ = raw.SetWriteDeadline(time.Now().Add(sseHeadTimeout))
		if _, err := raw.Write(head); err != nil {
			return false
		}
		_ = raw.SetWriteDeadline(time.Time{})
		return cn.attachSession(ctx, &r)
	})
	return nil
}

// eventStreamHead returns the head of a response that ends with the connection.
func eventStreamHead(h http.Header) []byte {
	h.Set(echo.HeaderContentType, "text/event-stream; charset=utf-8")
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set(echo.HeaderConnection, "close")
	h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering events
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\n")
	_ = h.Write(&b) // writes to memory, cannot fail
	b.WriteString("\r\n")
	return b.Bytes()
}

// awaitDisconnect waits until the client disconnects or is disconnected. It discards all data.
func (c *conn) awaitDisconnect() {
	for buf := make([]byte, 16); ; {
		if _, err := c.peer.Read(buf); err != nil {
			return
		}
	}
}
