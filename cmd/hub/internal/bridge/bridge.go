package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

const (
	// maxLine bounds a line of the client, more than the endpoint accepts.
	maxLine = 8 << 20
	// maxAnswer bounds an answer of the hub.
	maxAnswer = 32 << 20
	// maxRequests bounds the concurrent requests; the endpoint refuses more calls than these.
	maxRequests = 64
	// endGrace is how long running requests may take after the end of the input.
	endGrace = 5 * time.Second
)

// Error codes of JSON-RPC.
const (
	codeParse   = -32700
	codeInvalid = -32600
	codeLost    = -32000 // of the implementation: the hub did not answer
)

// bridge passes the lines of one client to a hub.
type bridge struct {
	endpoint string
	tokens   *tokenSource
	client   *http.Client
	requests sync.WaitGroup
	places   chan struct{}
	stop     context.CancelCauseFunc // ends everything when standard output is gone

	outMu sync.Mutex // guards out
	out   io.Writer
	errMu sync.Mutex // guards err
	err   io.Writer

	mu      sync.Mutex // guards the following
	version string     // the protocol version that the hub and the client have agreed on
	running map[string]context.CancelFunc
}

func newBridge(endpoint string, tokens *tokenSource, out, err io.Writer) *bridge {
	return &bridge{
		endpoint: endpoint, tokens: tokens, out: out, err: err, places: make(chan struct{}, maxRequests), running: map[string]context.CancelFunc{},
		client: &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: maxRequests, IdleConnTimeout: 30 * time.Second},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// message is the part of a JSON-RPC message that the bridge reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
}

// params are the parameters that the bridge reads.
type params struct {
	Name      string          `json:"name"`
	RequestID json.RawMessage `json:"requestId"`
	Meta      struct {
		Version string `json:"io.modelcontextprotocol/protocolVersion"`
	} `json:"_meta"`
}

// UnmarshalJSON leaves out what has another form. It is no error, because the hub judges parameters.
func (p *params) UnmarshalJSON(raw []byte) error {
	type plain params
	_ = json.Unmarshal(raw, (*plain)(p))
	return nil
}

// run serves the client until its input ends or ctx does.
func (b *bridge) run(ctx context.Context, in io.Reader) error {
	ctx, b.stop = context.WithCancelCause(ctx)
	defer b.client.CloseIdleConnections()
	defer b.requests.Wait()
	var renewal sync.WaitGroup
	defer renewal.Wait()
	defer b.stop(nil)
	renewal.Go(func() { b.renewLease(ctx) })
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() { // a read of standard input cannot be interrupted; the process ends meanwhile
		failed <- command.ReadLines(ctx, in, maxLine, lines)
	}()
	for {
		select {
		case line := <-lines:
			b.forwardLine(ctx, line)
		case err := <-failed:
			b.awaitRequests(ctx)
			return err
		case <-ctx.Done():
			if err := context.Cause(ctx); errors.Is(err, errOutput) {
				return err
			}
			return nil
		}
	}
}

// errOutput means that the client does not read any more.
var errOutput = errors.New("write to standard output")

// awaitRequests waits for the running requests, at most endGrace.
func (b *bridge) awaitRequests(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		b.requests.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(endGrace):
	}
}

// forwardLine passes one line to the hub, in the background.
func (b *bridge) forwardLine(ctx context.Context, line []byte) {
	var m message
	switch {
	case !json.Valid(line):
		b.answerError(nil, codeParse, "The line is not JSON.")
		return
	case json.Unmarshal(line, &m) != nil:
		b.answerError(m.ID, codeInvalid, "The line is not one JSON-RPC message.")
		return
	case m.Method == "notifications/cancelled":
		b.cancel(string(m.Params.RequestID))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	if m.ID != nil {
		b.mu.Lock()
		b.running[string(m.ID)] = cancel
		b.mu.Unlock()
	}
	select {
	case b.places <- struct{}{}:
	case <-ctx.Done():
		cancel()
		return
	}
	b.requests.Go(func() {
		defer cancel()
		defer func() { <-b.places }()
		answer, err := b.sendUntilAnswered(ctx, m, line)
		b.mu.Lock()
		_, wanted := b.running[string(m.ID)]
		delete(b.running, string(m.ID))
		b.mu.Unlock()
		switch {
		case m.ID == nil && err != nil:
			b.logf("%s not delivered: %v", m.Method, err)
		case m.ID == nil || !wanted: // a cancelled request has no answer
		case err != nil:
			b.logf("%s failed: %v", m.Method, err)
			b.answerError(m.ID, codeLost, err.Error())
		default:
			b.write(answer)
		}
	})
	if m.Method == "initialize" {
		b.requests.Wait() // the version that it agrees on is for all later requests
	}
}

// cancel ends the connection of a request, which interrupts its call.
func (b *bridge) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[id]; cancel != nil {
		delete(b.running, id)
		cancel()
	}
}

// write writes an answer as one line.
func (b *bridge) write(answer []byte) {
	var line bytes.Buffer
	if err := json.Compact(&line, answer); err != nil {
		b.logf("the answer of the hub is not JSON: %v", err)
		return
	}
	line.WriteByte('\n')
	b.outMu.Lock()
	defer b.outMu.Unlock()
	if _, err := b.out.Write(line.Bytes()); err != nil {
		b.stop(fmt.Errorf("%w: %w", errOutput, err))
	}
}

// answerError answers a request with an error.
func (b *bridge) answerError(id json.RawMessage, code int, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
	if err != nil {
		b.logf("answer of a request: %v", err)
		return
	}
	b.write(answer)
}

// logf writes a line to standard error.
func (b *bridge) logf(format string, args ...any) {
	b.errMu.Lock()
	defer b.errMu.Unlock()
	fmt.Fprintf(b.err, "hub mcp: "+format+"\n", args...)
}
