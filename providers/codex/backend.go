package codex

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/jsonline"
	"github.com/everdesk/everdesk/providers/jsonrpc"
)

// callTimeout bounds a request to the program, which answers within milliseconds.
const callTimeout = 30 * time.Second

// toolsMark separates the id of a thread from the digest of its tools.
const toolsMark = "."

// backend is a running program with one thread.
type backend struct {
	cfg     Config
	process *jsonline.Process
	conn    *jsonrpc.Conn
	ended   chan struct{}

	mu      sync.Mutex     // guards the following
	session *agent.Session // nil until a session uses the program; tools and dir do not change afterwards
	tools   string         // digest of the tools
	dir     string         // the working directory
	thread  string
	turn    string        // id of the running turn
	over    string        // id of the turn that completed last
	begun   chan struct{} // closed when the turn has started or ended
	asked   map[string]chan providers.Decision
	// streamed has the published bytes of messages, and calls the running calls, by item.
	streamed map[string]int
	calls    map[string]providers.ToolCall
}

// connect starts the program and begins, resumes or forks a thread.
func connect(ctx context.Context, cfg Config, o agent.Opening) (agent.Backend, error) {
	described, digest := dynamicTools(o.Spec.Tools)
	resume := o.Resume
	if resume != "" {
		id, had, _ := strings.Cut(resume, toolsMark)
		resume = id
		if had != digest { // a thread keeps its tools
			resume = ""
			o.Session.Anew()
		}
	}
	b, ok := o.Prepared.(*backend)
	if !ok {
		var err error
		if b, err = launchAlone(ctx, cfg); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	b.session, b.tools, b.dir = o.Session, digest, o.Dir
	b.mu.Unlock()
	if err := b.open(ctx, o, resume, described); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	cfg.Logger.DebugContext(ctx, "agent is ready", "provider", Name, "agent", o.Spec.Agent, "thread", b.thread, "pid", b.process.PID())
	return b, nil
}

// launchAlone is launch while no other program starts in this home: its database can be initialized by one at
// a time, and the others end with an error.
func launchAlone(ctx context.Context, cfg Config) (b *backend, err error) {
	err = cfg.Writers.StartAlone(ctx, func() error {
		b, err = launch(ctx, cfg)
		return err
	})
	return b, err
}

// launch starts the program and does the part of the handshake that no session is needed for.
func launch(ctx context.Context, cfg Config) (*backend, error) {
	process, err := jsonline.Start(cfg.process())
	if err != nil {
		return nil, err
	}
	b := &backend{
		cfg: cfg, process: process, ended: make(chan struct{}),
		asked: map[string]chan providers.Decision{}, streamed: map[string]int{}, calls: map[string]providers.ToolCall{},
	}
	b.conn = jsonrpc.New(jsonrpc.Config{Bare: true, Write: process.Write, Notified: b.notified, Serve: b.handleRequest})
	go b.read()
	if err := b.initialize(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Alive implements [agent.Prepared].
func (b *backend) Alive() bool {
	select {
	case <-b.ended:
		return false
	default:
		return true
	}
}

// initialize introduces the hub and signs in.
func (b *backend) initialize(ctx context.Context) error {
	err := b.conn.Call(ctx, "initialize", map[string]any{
		"clientInfo":   map[string]any{"name": "everdesk", "title": "Everdesk", "version": "1"},
		"capabilities": map[string]any{"experimentalApi": true, "requestAttestation": false, "optOutNotificationMethods": []string{"account/rateLimits/updated"}},
	}, nil)
	if err == nil {
		err = b.conn.Notify(ctx, "initialized", nil)
	}
	if err == nil && b.cfg.Key != "" && b.cfg.URL == "" {
		err = b.conn.Call(ctx, "account/login/start", map[string]any{"type": "apiKey", "apiKey": b.cfg.Key}, nil)
	}
	return err
}

// open begins, resumes or forks a thread.
func (b *backend) open(ctx context.Context, o agent.Opening, resume string, tools []dynamicTool) error {
	params := map[string]any{"cwd": o.Dir, "approvalPolicy": "untrusted", "permissions": profile}
	if o.Spec.System != "" {
		params["developerInstructions"] = o.Spec.System
	}
	if o.Spec.Model != "" || b.cfg.Model != "" {
		params["model"] = o.Spec.Model
		if o.Spec.Model == "" {
			params["model"] = b.cfg.Model
		}
	}
	if o.Spec.Effort != "" {
		params["config"] = map[string]any{"model_reasoning_effort": o.Spec.Effort}
	}
	method := "thread/start"
	switch {
	case resume != "":
		method = "thread/resume"
		if o.Fork {
			method = "thread/fork"
		}
		params["threadId"], params["excludeTurns"] = resume, true
	case len(tools) > 0:
		params["dynamicTools"] = tools
	}
	var r struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
		Profile struct {
			ID string `json:"id"`
		} `json:"activePermissionProfile"`
	}
	if err := b.conn.Call(ctx, method, params, &r); err != nil {
		return err
	}
	if r.Profile.ID != profile {
		return errors.New("this version of Codex cannot keep approved commands in its sandbox: update it")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.thread = r.Thread.ID
	return nil
}

// read handles the messages of the program until it ends.
func (b *backend) read() {
	defer close(b.ended)
	for {
		line, err := b.process.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = b.conn.Receive(line)
		}
		if err != nil {
			b.cfg.Logger.Warn("agent sent a line that is not understood", "provider", Name, "error", err)
		}
	}
	<-b.process.Done()
	b.conn.Close(b.process.Err())
	b.mu.Lock()
	session := b.session
	b.mu.Unlock()
	if session != nil {
		session.Exited(b.process.Err())
	}
}

// ID implements [agent.Backend].
func (b *backend) ID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.thread + toolsMark + b.tools
}

// input returns a message as the program expects it.
func (b *backend) input(m agent.Message) []map[string]any {
	var in []map[string]any
	if m.Text != "" {
		in = append(in, map[string]any{"type": "text", "text": m.Text})
	}
	for _, i := range m.Images {
		in = append(in, map[string]any{"type": "image", "url": dataURL(i)})
	}
	return in
}

func dataURL(i providers.Image) string {
	return "data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// callThread calls a method with the id of the thread among its parameters.
func (b *backend) callThread(ctx context.Context, method string, params map[string]any, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	params["threadId"] = b.thread
	return b.conn.Call(ctx, method, params, result)
}

// Start implements [agent.Backend].
func (b *backend) Start(ctx context.Context, m agent.Message) error {
	var r struct {
		Turn struct {
			ID string `json:"id"`
		} `json:"turn"`
	}
	b.mu.Lock()
	b.begun = make(chan struct{})
	b.mu.Unlock()
	if err := b.callThread(ctx, "turn/start", map[string]any{"input": b.input(m), "clientUserMessageId": m.ID}, &r); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over != r.Turn.ID {
		b.turn = r.Turn.ID
	}
	return nil
}

// Steer implements [agent.Backend].
func (b *backend) Steer(ctx context.Context, m agent.Message) error {
	turn := b.running()
	if turn == "" {
		return providers.ErrIdle
	}
	err := b.callThread(ctx, "turn/steer", map[string]any{"input": b.input(m), "expectedTurnId": turn, "clientUserMessageId": m.ID}, nil)
	if _, refused := errors.AsType[*jsonrpc.Error](err); refused {
		if b.running() != turn {
			return providers.ErrIdle
		}
		return fmt.Errorf("%w: %w", providers.ErrNoSteer, err)
	}
	return err
}

// beginLocked notifies Interrupt that the turn has started or ended; mu is held.
func (b *backend) beginLocked() {
	select {
	case <-b.begun:
	default:
		if b.begun != nil {
			close(b.begun)
		}
	}
}

func (b *backend) running() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turn
}

// Interrupt implements [agent.Backend]. The program refuses the interrupt of a turn that it has
// accepted and not started, and never answers that of a turn that was interrupted already, so one is
// sent only while a turn runs.
func (b *backend) Interrupt(ctx context.Context) error {
	b.mu.Lock()
	begun := b.begun
	b.mu.Unlock()
	select {
	case <-begun:
	case <-b.process.Done():
		return b.process.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	turn := b.running()
	if turn == "" {
		return nil
	}
	err := b.callThread(ctx, "turn/interrupt", map[string]any{"turnId": turn}, nil)
	if _, refused := errors.AsType[*jsonrpc.Error](err); refused && b.running() != turn {
		return nil // it has completed
	}
	if err != nil {
		return err
	}
	_ = b.callThread(ctx, "thread/backgroundTerminals/clean", map[string]any{}, nil) // older versions do not have it
	return nil
}

// Answer implements [agent.Backend].
func (b *backend) Answer(_ context.Context, question string, d providers.Decision) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if decided := b.asked[question]; decided != nil {
		delete(b.asked, question)
		decided <- d
	}
	return nil
}

// Close implements [agent.Backend].
func (b *backend) Close() error {
	b.process.Stop()
	<-b.ended
	return nil
}

// decode decodes parameters; what does not fit stays empty, because the program may change.
func decode[T any](params json.RawMessage) (v T) {
	_ = json.Unmarshal(params, &v)
	return v
}
