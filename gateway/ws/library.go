package ws

import (
	"bufio"
	"fmt"
	"net"
	"net/http"

	"github.com/coder/websocket"
)

// The WebSocket library checks the handshake, reads the frames that the fast frame path does not read,
// and sends the close frame. Its connection takes 2 KiB. Most connections are idle and need it at their
// end only, so each gets one when it needs one, and none from its handshake.

// libraryConn is a connection of the WebSocket library, made when it is needed first.
//
// Ownership: the goroutine that serves the connection.
type libraryConn struct {
	ws     *websocket.Conn
	header *bufio.Reader // from which the library reads frame headers
}

// library returns the connection of the library, which reads and writes through the link.
func (l *link) library() (*websocket.Conn, error) {
	if l.lib.ws == nil {
		c := &upgraded{link: l, header: http.Header{}}
		ws, err := websocket.Accept(c, upgradeRequest(), acceptOptions())
		if err != nil {
			return nil, fmt.Errorf("use the WebSocket library: %w", err)
		}
		c.reader.Reset(l)   // else the library keeps asking for buffered bytes, of which there are none
		ws.SetReadLimit(-1) // [frameReader] has limits of its own
		l.lib = libraryConn{ws, c.reader}
	}
	return l.lib.ws, nil
}

// releaseLibrary frees the connection of the library, if there is one, without a close frame. It has a
// finalizer and references to itself, so the garbage collector never frees one that was not closed.
func (l *link) releaseLibrary() {
	if l.lib.ws != nil {
		_ = l.lib.ws.CloseNow()
	}
}

// readAhead returns the number of bytes that the library has read and not used. As long as there are
// some, only the library can read.
func (l *link) readAhead() int {
	if l.lib.header == nil {
		return 0
	}
	return l.lib.header.Buffered()
}

// peekByte waits for the first byte of the next frame, which only the library can read then.
func (l *link) peekByte() (byte, error) {
	if _, err := l.library(); err != nil {
		return 0, err
	}
	first, err := l.lib.header.Peek(1)
	if err != nil {
		return 0, err //nolint:wrapcheck // it is that of a connection
	}
	return first[0], nil
}

// acceptOptions returns the options of all connections.
func acceptOptions() *websocket.AcceptOptions {
	return &websocket.AcceptOptions{
		// The middleware's check came first and is stricter: it also checks Host, while the library
		// allows every origin that equals Host.
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
	}
}

// upgradeRequest returns the shortest handshake that the library accepts.
func upgradeRequest() *http.Request {
	return &http.Request{Method: http.MethodGet, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{
		"Connection":            {"Upgrade"},
		"Upgrade":               {"websocket"},
		"Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key":     {"AAAAAAAAAAAAAAAAAAAAAA=="},
	}}
}

// upgraded is the response writer of upgradeRequest. The client has its response already.
type upgraded struct {
	link   *link
	header http.Header
	reader *bufio.Reader
}

// Header implements [http.ResponseWriter].
func (u *upgraded) Header() http.Header { return u.header }

// WriteHeader implements [http.ResponseWriter].
func (u *upgraded) WriteHeader(int) {}

// Write implements [http.ResponseWriter].
func (u *upgraded) Write(p []byte) (int, error) { return len(p), nil }

// Hijack implements [http.Hijacker].
func (u *upgraded) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	u.reader = bufio.NewReaderSize(u.link, readBuffer)
	return u.link, bufio.NewReadWriter(u.reader, bufio.NewWriterSize(u.link, writeBuffer)), nil
}

// unusedConn is the connection that the library gets for its handshake. The library must not close the
// client's when it frees its own.
type unusedConn struct{ net.Conn }

// Close implements [net.Conn].
func (unusedConn) Close() error { return nil }
