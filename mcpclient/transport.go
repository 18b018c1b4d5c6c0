package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/providers/jsonline"
	"github.com/everdesk/everdesk/providers/outbound"
)

// Bounds of connections.
const (
	maxMessage = 16 << 20 // bytes
	// maxStream bounds a stream of events in bytes, which has all messages of a connection: the bound of another
	// response would end a ready server. Each message has the bound maxMessage.
	maxStream  = 1 << 50
	inputGrace = time.Second
	termGrace  = 2 * time.Second
	// exitTimeout bounds the wait for the exit status of a program that has closed its output.
	exitTimeout = 3 * time.Second
	// maxOddLines bounds the lines of a program that are no messages; more of them end it.
	maxOddLines = 1000
)

// program is the transport to a program that exchanges lines of JSON.
type program struct {
	cfg jsonline.Config
	log *ring

	mu   sync.Mutex // guards exit
	exit error      // why the program ended by itself
}

// Connect implements [mcp.Transport].
func (t *program) Connect(context.Context) (mcp.Connection, error) {
	t.cfg.MaxLine, t.cfg.InputGrace, t.cfg.TermGrace, t.cfg.Stderr = maxMessage, inputGrace, termGrace, t.log
	p, err := jsonline.Start(t.cfg)
	if err != nil {
		return nil, err
	}
	return &programConn{p: p, of: t}, nil
}

// ended returns why the program ended by itself, or nil.
func (t *program) ended() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exit
}

// programConn is the connection to a running program.
type programConn struct {
	p  *jsonline.Process
	of *program
}

// Read implements [mcp.Connection]. Lines that are no messages are logged and skipped: notices of shells and
// package managers are common.
func (c *programConn) Read(context.Context) (jsonrpc.Message, error) {
	for odd := 0; ; {
		line, err := c.p.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, c.exited()
		case err != nil:
			c.of.log.add(FromHub, err.Error())
			continue
		}
		m, err := jsonrpc.DecodeMessage(line)
		if err == nil {
			return m, nil
		}
		// The log cuts the line after it has removed the secrets, which a cut here could split.
		c.of.log.add(FromHub, "no message of MCP on standard output: "+string(line))
		if odd++; odd > maxOddLines {
			return nil, errors.New("the program writes something other than MCP to standard output")
		}
	}
}

// exited returns why the output has ended.
func (c *programConn) exited() error {
	select {
	case <-c.p.Done():
	case <-time.After(exitTimeout):
	}
	exit, ok := errors.AsType[*jsonline.ExitError](c.p.Err())
	if !ok {
		return io.EOF
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.exit = exit
	return exit
}

// Write implements [mcp.Connection].
func (c *programConn) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return c.p.Write(ctx, data)
}

// Close implements [mcp.Connection]. It returns when nothing of the program is left.
func (c *programConn) Close() error {
	c.p.Stop()
	return nil
}

// SessionID implements [mcp.Connection].
func (c *programConn) SessionID() string { return "" }

// entryTransport adds the headers of an entry to requests, and bounds responses that are no streams.
type entryTransport struct {
	next    http.RoundTripper
	headers map[string]string
}

// RoundTrip implements [http.RoundTripper].
func (t entryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range t.headers {
		r.Header.Set(name, value)
	}
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		res.Body = outbound.Bound(res.Body, maxMessage)
	}
	return res, nil
}

// remote returns the transport to a remote server.
func remote(s Server, client *http.Client) mcp.Transport {
	with := *client
	with.Transport = entryTransport{client.Transport, s.Headers}
	if s.Type == SSE {
		return &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: &with, MaxEventSize: maxMessage}
	}
	// A lost server is noticed by the first failed attempt to reconnect; a new session is made when needed.
	return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &with, MaxRetries: 1, MaxEventSize: maxMessage}
}
