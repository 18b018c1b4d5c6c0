package jsonrpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// Errors of calls.
var (
	// ErrClosed means that the connection is closed.
	ErrClosed = errors.New("the connection is closed")
	// ErrTooMany means that too many calls wait for a result.
	ErrTooMany = errors.New("too many calls wait for a result")
)

// Config holds the settings of a connection.
type Config struct {
	// Write sends a whole message.
	Write func(ctx context.Context, line []byte) error
	// Notified handles a notification of the other end; nil ignores them.
	Notified func(method string, params json.RawMessage)
	// Serve executes a call of the other end and returns its result; nil refuses all. An error
	// that is no [*Error] is sent as an internal error. Its context ends with the connection.
	Serve func(ctx context.Context, c Served) (any, error)
	// Bare leaves out the version of the protocol, which some programs do.
	Bare bool
	// MaxCalls bounds the calls that wait for a result, default 100; MaxServed bounds the calls
	// of the other end that are executed at once, default 100.
	MaxCalls  int
	MaxServed int
}

// Served is a call of the other end.
type Served struct {
	// ID is the id of the call as the other end wrote it, in JSON.
	ID     string
	Method string
	Params json.RawMessage
}

// Conn is one end of a connection.
type Conn struct {
	cfg    Config
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // of served calls

	mu     sync.Mutex
	closed bool
	last   uint64
	calls  map[string]waiting // calls that wait, by id
	served int
}

// waiting is a call that waits for its result.
type waiting struct {
	answer   chan message
	answered func(json.RawMessage)
}

// New returns a connection, which must be closed.
func New(cfg Config) *Conn {
	cfg.MaxCalls, cfg.MaxServed = cmp.Or(cfg.MaxCalls, 100), cmp.Or(cfg.MaxServed, 100)
	c := &Conn{cfg: cfg, calls: map[string]waiting{}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Close ends all calls with the cause, or [ErrClosed] if that is nil, and waits until all served
// calls have returned. It must not be called while one of those waits for the caller.
func (c *Conn) Close(cause error) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	if cause == nil {
		cause = ErrClosed
	}
	c.cancel(cause)
	c.wg.Wait()
}

// Open reports whether the connection is open.
func (c *Conn) Open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed
}

// Call calls a method of the other end and stores its result in result, unless that is nil. An
// error of the other end is an [*Error].
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	p, err := c.Begin(ctx, method, params, nil)
	if err != nil {
		return err
	}
	return p.Wait(ctx, result)
}

// Pending is a call that was sent.
type Pending struct {
	c      *Conn
	method string
	id     string
	answer chan message
}

// Begin sends a call. Its result must be waited for. Answered, unless nil, is called with a result
// that is no error, before any later message of the other end is handled.
func (c *Conn) Begin(ctx context.Context, method string, params any, answered func(json.RawMessage)) (*Pending, error) {
	id, answer, err := c.register(answered)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	if err := c.send(ctx, message{ID: json.RawMessage(id), Method: method}, params); err != nil {
		c.unregister(id)
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	return &Pending{c, method, id, answer}, nil
}

// ID returns the id of the call in JSON, for methods that name it.
func (p *Pending) ID() json.RawMessage { return json.RawMessage(p.id) }

// Wait waits for the result of the call and stores it in result, unless that is nil.
func (p *Pending) Wait(ctx context.Context, result any) error {
	defer p.c.unregister(p.id)
	select {
	case m := <-p.answer:
		switch {
		case m.Error != nil:
			return fmt.Errorf("call %s: %w", p.method, m.Error)
		case result == nil:
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("call %s: decode its result: %w", p.method, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("call %s: %w", p.method, context.Cause(ctx))
	case <-p.c.ctx.Done():
		return fmt.Errorf("call %s: %w", p.method, context.Cause(p.c.ctx))
	}
}

// register returns the id of a new call and the channel of its result.
func (c *Conn) register(answered func(json.RawMessage)) (string, chan message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return "", nil, ErrClosed
	case len(c.calls) >= c.cfg.MaxCalls:
		return "", nil, ErrTooMany
	}
	c.last++
	id, answer := strconv.FormatUint(c.last, 10), make(chan message, 1)
	c.calls[id] = waiting{answer, answered}
	return id, answer, nil
}

func (c *Conn) unregister(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// Notify sends a notification.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	if err := c.send(ctx, message{Method: method}, params); err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return nil
}

// send sends a message with its parameters.
func (c *Conn) send(ctx context.Context, m message, params any) (err error) {
	if m.Params, err = encodeValue(params); err != nil {
		return err
	}
	return c.write(ctx, m)
}

func (c *Conn) write(ctx context.Context, m message) error {
	if !c.cfg.Bare {
		m.Version = "2.0"
	}
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.cfg.Write(ctx, line)
}

// Receive handles a message of the other end. An error means that it is none.
func (c *Conn) Receive(line []byte) error {
	m, kind, err := decode(line)
	if err != nil {
		return err
	}
	switch kind {
	case kindNotification:
		if c.cfg.Notified != nil {
			c.cfg.Notified(m.Method, m.Params)
		}
	case kindCall:
		c.answerRequest(m)
	case kindResult:
		c.mu.Lock()
		w, ok := c.calls[string(m.ID)]
		delete(c.calls, string(m.ID)) // a second result is dropped
		c.mu.Unlock()
		if !ok {
			return nil
		}
		if w.answered != nil && m.Error == nil {
			w.answered(m.Result)
		}
		w.answer <- m
	}
	return nil
}

// answerRequest executes a call of the other end on a goroutine of its own. A call that cannot be executed
// is answered there, too, because Receive must not wait for the transport.
func (c *Conn) answerRequest(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.served >= 2*c.cfg.MaxServed { // too many refusals are on their way
		return
	}
	c.served++
	busy := c.served > c.cfg.MaxServed
	c.wg.Go(func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.served--
		}()
		reply := message{ID: m.ID}
		if busy {
			reply.Error = &Error{Code: CodeBusy, Message: "too many calls at once"}
		} else if result, err := c.execute(m); err != nil {
			reply.Error = asError(err)
		} else {
			reply.Result = result
		}
		_ = c.write(c.ctx, reply) // the other end is gone or about to be
	})
}

// execute returns the result of a call in JSON.
func (c *Conn) execute(m message) (json.RawMessage, error) {
	if c.cfg.Serve == nil {
		return nil, NoMethod(m.Method)
	}
	v, err := c.cfg.Serve(c.ctx, Served{ID: string(m.ID), Method: m.Method, Params: m.Params})
	if err != nil {
		return nil, err
	}
	raw, err := encodeValue(v)
	if raw == nil {
		raw = json.RawMessage("null")
	}
	return raw, err
}

// NoMethod returns the error for an unknown method.
func NoMethod(method string) error {
	return &Error{Code: CodeNoMethod, Message: "there is no method " + method}
}

func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}
