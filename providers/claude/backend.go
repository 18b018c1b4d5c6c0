package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/jsonline"
)

// closeTimeout bounds the attempt to interrupt a turn before the program is stopped.
const closeTimeout = 500 * time.Millisecond

// maxRequests bounds the requests of the program that are handled at once.
const maxRequests = 200

// backend is a running program.
type backend struct {
	session *agent.Session
	process *jsonline.Process
	id      string
	tools   []providers.Tool
	ctx     context.Context // ends with the program
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	ended   chan struct{} // closed when no line is read any more

	mu       sync.Mutex // guards the following
	last     int        // number of the last request
	replies  map[string]chan controlReply
	messages map[string]*sent           // messages of the turn, by their UUID
	asked    map[string]json.RawMessage // inputs of tools that were asked for, by request
	calls    map[string]context.CancelFunc
	serving  int
	usd      float64 // cost so far

	streamed int // published bytes of the current block; owned by read
}

// sent is a message that the program has received.
type sent struct {
	id      string
	started bool
}

// connect starts the program and waits until it is ready.
func connect(ctx context.Context, cfg Config, o agent.Opening) (agent.Backend, error) {
	pc, id := cfg.process(o)
	process, err := jsonline.Start(pc)
	if err != nil {
		return nil, err
	}
	b := &backend{
		session: o.Session, process: process, id: id, tools: o.Spec.Tools, ended: make(chan struct{}),
		replies: map[string]chan controlReply{}, messages: map[string]*sent{}, asked: map[string]json.RawMessage{}, calls: map[string]context.CancelFunc{},
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	go b.read()
	init := map[string]any{"subtype": "initialize", "hooks": nil, "sdkMcpServers": []string{serverName}}
	if o.Spec.System != "" {
		init["appendSystemPrompt"] = o.Spec.System
	}
	var info struct {
		Version string `json:"claude_code_version"`
	}
	err = b.control(ctx, init, &info)
	if err == nil {
		err = checkVersion(info.Version)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	cfg.Logger.DebugContext(ctx, "agent is ready", "provider", Name, "agent", o.Spec.Agent, "version", info.Version, "pid", process.PID())
	return b, nil
}

// ID implements [agent.Backend].
func (b *backend) ID() string { return b.id }

// write sends a value as a line.
func (b *backend) write(ctx context.Context, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.process.Write(ctx, raw)
}

// control sends a control request and waits for its response.
func (b *backend) control(ctx context.Context, request map[string]any, result any) error {
	reply := make(chan controlReply, 1)
	b.mu.Lock()
	b.last++
	id := "hub-" + strconv.Itoa(b.last)
	b.replies[id] = reply
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.replies, id)
	}()
	if err := b.write(ctx, map[string]any{"type": "control_request", "request_id": id, "request": request}); err != nil {
		return fmt.Errorf("%v: %w", request["subtype"], err)
	}
	select {
	case r := <-reply:
		if r.Subtype != "success" {
			return fmt.Errorf("%v: %s", request["subtype"], r.Error)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(r.Response, result)
	case <-ctx.Done():
		return fmt.Errorf("%v: %w", request["subtype"], context.Cause(ctx))
	case <-b.process.Done():
		return fmt.Errorf("%v: %w", request["subtype"], b.process.Err())
	}
}

// Start implements [agent.Backend].
func (b *backend) Start(ctx context.Context, m agent.Message) error {
	return b.send(ctx, m, "", true)
}

// Steer implements [agent.Backend].
func (b *backend) Steer(ctx context.Context, m agent.Message) error {
	priority := "now"
	switch {
	case m.Asking:
		priority = "later"
	case m.Calling:
		priority = "next"
	}
	return b.send(ctx, m, priority, false)
}

// send sends a message. It counts before it is sent, so that a result that arrives meanwhile is not
// taken for the end of the turn.
func (b *backend) send(ctx context.Context, m agent.Message, priority string, first bool) error {
	uuid := newUUID()
	b.mu.Lock()
	if !first && len(b.messages) == 0 {
		b.mu.Unlock()
		return providers.ErrIdle
	}
	b.messages[uuid] = &sent{id: m.ID}
	b.mu.Unlock()
	var blocks []map[string]any
	if m.Text != "" {
		text := m.Text
		if strings.HasPrefix(text, "/") {
			text = "\n" + text // not a command of the program, such as /clear
		}
		blocks = append(blocks, map[string]any{"type": "text", "text": text})
	}
	for _, i := range m.Images {
		blocks = append(blocks, map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": i.MediaType, "data": i.Data}})
	}
	v := map[string]any{
		"type": "user", "message": map[string]any{"role": "user", "content": blocks},
		"parent_tool_use_id": nil, "session_id": "", "uuid": uuid,
	}
	if priority != "" {
		v["priority"] = priority
	}
	return b.write(ctx, v)
}

// Interrupt implements [agent.Backend].
func (b *backend) Interrupt(ctx context.Context) error {
	return b.control(ctx, map[string]any{"subtype": "interrupt", "cancel_queued": true}, nil)
}

// Answer implements [agent.Backend].
func (b *backend) Answer(ctx context.Context, question string, d providers.Decision) error {
	b.mu.Lock()
	input, ok := b.asked[question]
	delete(b.asked, question)
	b.mu.Unlock()
	if !ok {
		return nil
	}
	answer := map[string]any{"behavior": "allow", "updatedInput": input}
	if !d.Allow {
		reason := d.Reason
		if reason == "" {
			reason = "The user said no."
		}
		answer = map[string]any{"behavior": "deny", "message": reason, "interrupt": d.Stop}
	}
	return b.reply(ctx, question, answer, "")
}

// reply answers a control request, with an error unless that is empty.
func (b *backend) reply(ctx context.Context, request string, result any, errText string) error {
	r := map[string]any{"subtype": "success", "request_id": request, "response": result}
	if errText != "" {
		r = map[string]any{"subtype": "error", "request_id": request, "error": errText}
	}
	return b.write(ctx, map[string]any{"type": "control_response", "response": r})
}

// Close implements [agent.Backend]. A turn is interrupted first: at the end of its input the program
// would wait for the turn.
func (b *backend) Close() error {
	b.mu.Lock()
	busy := len(b.messages) > 0
	b.mu.Unlock()
	if busy {
		ctx, cancel := context.WithTimeout(b.ctx, closeTimeout)
		_ = b.Interrupt(ctx) // the program is stopped in any case
		cancel()
	}
	b.process.Stop()
	<-b.ended
	b.wg.Wait()
	return nil
}
