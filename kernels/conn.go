package kernels

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Limits of a connection.
const (
	// maxFrame bounds the part of a frame that is kept. The rest is read and dropped, so that the connection goes on.
	maxFrame     = 8 << 20
	dialTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	pingEvery    = 20 * time.Second
	probeEvery   = 250 * time.Millisecond
)

// Conn is a connection to the channels of a kernel.
type Conn struct {
	ws       *websocket.Conn
	v1       bool
	client   string
	username string

	done chan struct{} // closed when the reader has ended
	err  error         // set before done is closed

	arrived atomic.Int64 // reads that brought something

	mu sync.Mutex
	// receive gets the messages in the order in which they came. While a replay is open, they wait in held.
	receive   func(Message)
	held      []Message
	heldBytes int
	holding   bool
	// replays are the messages that a replay has delivered, and which may come again.
	replays map[string]bool
	waits   map[string]chan Message
	// probe begins the ids of the requests of Await. answered and heard get a token when their reply, and what the
	// kernel published for them, have come.
	probe           string
	answered, heard chan struct{}
}

// maxHeld and maxHeldBytes bound the messages that wait for a replay.
const (
	maxHeld      = 10_000
	maxHeldBytes = 32 << 20
)

// Connect connects to the channels of a kernel. client names the connection: the server ends an older connection
// of the same name and sends what it kept for it meanwhile. receive is called for each message, by one
// goroutine at a time; it must not block. Messages are held back until [Conn.Resume] or [Conn.Replay] is called.
func (c *Client) Connect(ctx context.Context, kernel, client string, receive func(Message)) (*Conn, error) {
	dial, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	options := &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: http.Header{}, CompressionMode: websocket.CompressionDisabled}
	c.authorize(options.HTTPHeader)
	if !c.cfg.PlainFrames {
		options.Subprotocols = []string{subprotocol}
	}
	address := *c.base
	address.Path += "/api/kernels/" + kernel + "/channels"
	address.RawQuery = url.Values{"session_id": {client}}.Encode()
	ws, resp, err := websocket.Dial(dial, address.String(), options) //nolint:bodyclose // the body of a WebSocket need not be closed
	if err != nil {
		if resp != nil {
			if status := statusError(resp.StatusCode, nil); status != nil {
				return nil, fmt.Errorf("connect to the kernel: %w", status)
			}
		}
		return nil, fmt.Errorf("%w: connect to the kernel: %w", ErrUnavailable, err)
	}
	ws.SetReadLimit(-1) // readFrame bounds what it keeps
	conn := &Conn{
		ws: ws, v1: ws.Subprotocol() == subprotocol, client: client, username: "hub",
		done: make(chan struct{}), receive: receive, holding: true, waits: map[string]chan Message{},
		probe: rand.Text(), answered: make(chan struct{}, 1), heard: make(chan struct{}, 1),
	}
	go conn.read(context.WithoutCancel(ctx)) // Close ends it
	return conn, nil
}

// Done is closed when the connection has ended, and Err says why.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended.
func (c *Conn) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Close ends the connection and waits for its reader. The kernel continues.
func (c *Conn) Close() {
	_ = c.ws.CloseNow()
	<-c.done
}

// read reads messages until the connection ends.
func (c *Conn) read(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var pinging sync.WaitGroup
	pinging.Go(func() {
		if c.watch(ctx, c.ws.Ping) {
			_ = c.ws.CloseNow()
		}
	})
	for c.err == nil {
		c.err = c.readFrame(ctx)
	}
	cancel()
	pinging.Wait()
	_ = c.ws.CloseNow()
	close(c.done)
}

// watch waits until the connection does not work any more, or ctx ends, and reports whether it does not: nothing
// arrives, and a ping has no answer. That answer comes after everything that the server has sent before, so alone it
// proves nothing while a kernel publishes much.
func (c *Conn) watch(ctx context.Context, ping func(context.Context) error) (failed bool) {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
		}
		before := c.arrived.Load()
		bounded, cancel := context.WithTimeout(ctx, writeTimeout)
		err := ping(bounded)
		cancel()
		if err != nil && c.arrived.Load() == before {
			return true
		}
	}
}

// countingReader counts the reads that brought something.
type countingReader struct {
	io.Reader
	n *atomic.Int64
}

func (r countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.n.Add(1)
	}
	return n, err //nolint:wrapcheck // io.EOF must stay as it is
}

func (c *Conn) readFrame(ctx context.Context) error {
	kind, frame, err := c.ws.Reader(ctx)
	if err != nil {
		return fmt.Errorf("%w: the connection to the kernel ended: %w", ErrUnavailable, err)
	}
	r := countingReader{frame, &c.arrived}
	data, err := io.ReadAll(io.LimitReader(r, maxFrame))
	if err != nil {
		return fmt.Errorf("%w: read from the kernel: %w", ErrUnavailable, err)
	}
	rest, err := io.Copy(io.Discard, r)
	if err != nil {
		return fmt.Errorf("%w: read from the kernel: %w", ErrUnavailable, err)
	}
	m, err := decode(data, kind == websocket.MessageBinary, c.v1, int64(len(data))+rest)
	if err != nil {
		return nil //nolint:nilerr // a frame that is no message says nothing about the next one
	}
	c.dispatch(m)
	return nil
}

// dispatch gives a message to the call that waits for it, or to receive.
func (c *Conn) dispatch(m Message) {
	if strings.HasPrefix(m.Parent.ID, c.probe) {
		to := c.answered
		if m.Channel == channelIOPub {
			to = c.heard
		}
		select {
		case to <- struct{}{}:
		default:
		}
		return
	}
	c.mu.Lock()
	if wait := c.waits[m.Parent.ID]; wait != nil && m.Channel != channelIOPub {
		delete(c.waits, m.Parent.ID)
		c.mu.Unlock()
		wait <- m
		return
	}
	if c.holding {
		if len(c.held) < maxHeld && c.heldBytes < maxHeldBytes {
			c.held = append(c.held, m)
			c.heldBytes += len(m.Content)
		}
		c.mu.Unlock()
		return
	}
	again := c.replays[m.Header.ID]
	c.mu.Unlock()
	if !again {
		c.receive(m)
	}
}

// header returns the header of a new message. The id is made unless it is given.
func (c *Conn) header(id, kind string) Header {
	if id == "" {
		id = rand.Text()
	}
	return Header{ID: id, Type: kind, Username: c.username, Session: c.client, Date: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), Version: protocolVersion}
}

// send writes a message.
func (c *Conn) send(ctx context.Context, channel string, h, parent Header, content any) error {
	body, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("message to the kernel: %w", err)
	}
	frame, err := encode(Message{Channel: channel, Header: h, Parent: parent, Content: body}, c.v1)
	if err != nil {
		return err
	}
	kind := websocket.MessageText
	if c.v1 {
		kind = websocket.MessageBinary
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := c.ws.Write(ctx, kind, frame); err != nil {
		return fmt.Errorf("%w: write to the kernel: %w", ErrUnavailable, err)
	}
	return nil
}

// expect returns a channel that gets the reply to a request, and a function that ends the wait for it.
func (c *Conn) expect(id string) (reply <-chan Message, end func()) {
	wait := make(chan Message, 1)
	c.mu.Lock()
	c.waits[id] = wait
	c.mu.Unlock()
	return wait, func() {
		c.mu.Lock()
		delete(c.waits, id)
		c.mu.Unlock()
	}
}

// request sends a message and waits for its reply.
func (c *Conn) request(ctx context.Context, channel, kind string, content any) (Message, error) {
	h := c.header("", kind)
	reply, end := c.expect(h.ID)
	defer end()
	if err := c.send(ctx, channel, h, Header{}, content); err != nil {
		return Message{}, err
	}
	return c.first(ctx, kind, reply, nil)
}

// first returns the reply to a request, or [ErrNoJournal] if behind got its value without one.
func (c *Conn) first(ctx context.Context, kind string, reply, behind <-chan Message) (Message, error) {
	select {
	case m := <-reply:
		return m, nil
	case <-behind:
		select {
		case m := <-reply: // both have come
			return m, nil
		default:
			return Message{}, ErrNoJournal
		}
	case <-c.done:
		return Message{}, c.err
	case <-ctx.Done():
		return Message{}, fmt.Errorf("%s: %w", kind, ctx.Err())
	}
}

// Await waits until the kernel answers and what it publishes arrives here. The channels of a kernel connect at
// different moments: what it publishes before the subscription works is lost, and an execution would never become
// idle. The server takes care of that only for kernels that it believes to be idle, and a kernel that died while it
// executed is not. The channels of a connection that was made while the server started the kernel again may also lead
// nowhere, because the kernel has other ports now: then Await ends with ctx, and only a new connection helps.
func (c *Conn) Await(ctx context.Context) error {
	again := time.NewTicker(probeEvery)
	defer again.Stop()
	answered, heard := false, false
	for n := 0; !answered || !heard; n++ {
		// The control channel answers while code runs. Kernels that do not have it so answer on the other one.
		channels := []string{channelControl, channelShell}
		if n > 0 {
			channels = channels[:1]
		}
		for _, channel := range channels {
			if err := c.send(ctx, channel, c.header(c.probe+"-"+strconv.Itoa(n)+channel, "kernel_info_request"), Header{}, struct{}{}); err != nil {
				return err
			}
		}
		for waiting := true; waiting && (!answered || !heard); {
			select {
			case <-c.answered:
				answered = true
			case <-c.heard:
				heard = true
			case <-again.C:
				waiting = false
			case <-c.done:
				return c.err
			case <-ctx.Done():
				return fmt.Errorf("the kernel does not answer: %w", ctx.Err())
			}
		}
	}
	return nil
}

// executeRequest is the content of a request to execute code.
type executeRequest struct {
	Code            string            `json:"code"`
	Silent          bool              `json:"silent"`
	StoreHistory    bool              `json:"store_history"`
	UserExpressions map[string]string `json:"user_expressions"`
	AllowStdin      bool              `json:"allow_stdin"`
	StopOnError     bool              `json:"stop_on_error"`
}

// Execute asks the kernel to execute code. The hub sends one request at a time, so the kernel need not abort others
// after an error: it would also abort a request that comes soon after. The messages that follow have the id as
// their parent; [Run] collects them.
func (c *Conn) Execute(ctx context.Context, id, code string) error {
	return c.send(ctx, channelShell, c.header(id, "execute_request"), Header{}, executeRequest{Code: code, StoreHistory: true, AllowStdin: true, UserExpressions: map[string]string{}})
}

// Input answers an [InputRequest].
func (c *Conn) Input(ctx context.Context, to InputRequest, value string) error {
	return c.send(ctx, channelStdin, c.header("", "input_reply"), to.Parent, map[string]string{"value": value, "status": "ok"})
}

// Completion is a list of texts that complete code at a place.
type Completion struct {
	Matches []string `json:"matches"`
	// Start and End are the part of the code that a match replaces, in characters.
	Start int `json:"cursor_start"`
	End   int `json:"cursor_end"`
}

// Complete asks a kernel with a journal how code may continue at a place, in characters. It runs no code, unlike the
// completion that all kernels have: that of IPython imports modules. The error is [ErrNoJournal] for other kernels.
func (c *Conn) Complete(ctx context.Context, code string, at int) (Completion, error) {
	m, err := c.askJournal(ctx, "everdesk_complete_request", map[string]any{"code": code, "cursor_pos": at})
	var done Completion
	if err == nil {
		if bad := json.Unmarshal(m.Content, &done); bad != nil {
			err = fmt.Errorf("%w: completion: %w", ErrUnavailable, bad)
		}
	}
	return done, err
}

// Resume delivers the messages that were held back, and all that follow.
func (c *Conn) Resume() { c.deliver(nil) }

// deliver passes messages of a journal on, then those that were held back and are not among them, then all that
// follow.
func (c *Conn) deliver(replayed []Message) {
	seen := make(map[string]bool, len(replayed))
	for _, m := range replayed {
		seen[m.Header.ID] = true
		c.receive(m)
	}
	for {
		c.mu.Lock()
		held := c.held
		c.held, c.heldBytes, c.replays = nil, 0, seen
		if len(held) == 0 {
			c.holding = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		for _, m := range held {
			if !seen[m.Header.ID] {
				c.receive(m)
			}
		}
	}
}
