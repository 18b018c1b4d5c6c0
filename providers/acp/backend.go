package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/jsonline"
	"github.com/everdesk/everdesk/providers/jsonrpc"
)

// steerTimeout bounds the request to steer, which agents answer within milliseconds.
const steerTimeout = 5 * time.Second

// backend is a running program with one conversation.
type backend struct {
	cfg     Config
	process *jsonline.Process
	conn    *jsonrpc.Conn
	able    abilities
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	wg      sync.WaitGroup // of prompts
	ended   chan struct{}  // closed when no line is read any more
	// order is held while a prompt is begun or canceled, so that no other prompt than the intended
	// one is canceled.
	order sync.Mutex

	// Set by connect, before a conversation begins.
	session *agent.Session
	tools   []providers.Tool
	dir     workDir

	mu          sync.Mutex    // guards the following
	id          string        // the agent's id of the conversation
	intro       string        // system prompt, until the agent has it
	running     bool          // a prompt is being worked on
	interrupted bool          // by Interrupt
	beginning   bool          // the next prompt of the turn is about to be sent
	over        chan struct{} // closed at the end of the last prompt of a turn
	cut         bool          // session/cancel was sent because of a steered message
	steers      []agent.Message
	prompted    []agent.Message // messages of the running prompt
	untaken     []string        // those of them without a sign that the agent has them
	calls       map[string]*toolCall
	reported    []hubCall     // calls of hub tools that were reported and not made yet
	made        []hubCall     // and those that were made and not reported yet
	moreReports chan struct{} // closed when reported grows
	silent      bool          // the agent does not report calls of hub tools
	injected    []string      // messages that were steered by the extension and may not be taken yet
	asked       map[string]chan providers.Decision
	approved    map[string][][]callContent // changes of files, by path, of each call of the turn that users have approved
	plan        string
	plans       int
	costs       costs
}

// launch starts the program and does the part of the handshake that no session is needed for.
func launch(ctx context.Context, cfg Config) (*backend, error) {
	process, err := jsonline.Start(cfg.process())
	if err != nil {
		return nil, err
	}
	b := &backend{
		cfg: cfg, process: process, ended: make(chan struct{}), moreReports: make(chan struct{}),
		calls: map[string]*toolCall{}, asked: map[string]chan providers.Decision{}, approved: map[string][][]callContent{},
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.conn = jsonrpc.New(jsonrpc.Config{Write: process.Write, Notified: b.notified, Serve: b.handleRequest})
	go b.read()
	if err := b.initialize(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// connect begins or resumes a conversation with a program, which it starts unless one is prepared.
func connect(ctx context.Context, cfg Config, o agent.Opening) (agent.Backend, error) {
	b, ok := o.Prepared.(*backend)
	if !ok {
		var err error
		if b, err = launch(ctx, cfg); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(o.Dir)
	if err == nil {
		b.mu.Lock()
		b.session, b.tools, b.dir = o.Session, o.Spec.Tools, workDir{o.Dir, root}
		b.mu.Unlock()
		err = b.open(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	cfg.Logger.DebugContext(ctx, "agent is ready", "provider", cfg.Name, "agent", o.Spec.Agent, "version", b.able.Info.Version, "pid", b.process.PID())
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
			b.cfg.Logger.Warn("agent sent a line that is not understood", "provider", b.cfg.Name, "error", err)
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
	return b.id
}

// Start implements [agent.Backend].
func (b *backend) Start(ctx context.Context, m agent.Message) error {
	b.mu.Lock()
	b.running, b.interrupted, b.cut, b.over = true, false, false, make(chan struct{})
	b.mu.Unlock()
	b.order.Lock()
	p, err := b.sendPrompt(ctx, []agent.Message{m})
	b.order.Unlock()
	if err != nil {
		return err
	}
	b.wg.Go(func() { b.awaitPromptEnd(p) })
	return nil
}

// sendPrompt sends a prompt, which begins with the system prompt until the agent has that; order is held. Agents do not
// say when they have a prompt: the first output shows it.
func (b *backend) sendPrompt(ctx context.Context, messages []agent.Message) (*jsonrpc.Pending, error) {
	b.mu.Lock()
	intro := b.intro
	b.prompted, b.untaken = messages, nil
	for _, m := range messages {
		b.untaken = append(b.untaken, m.ID)
	}
	b.mu.Unlock()
	if intro != "" {
		messages = slices.Clone(messages)
		messages[0].Text = intro + messages[0].Text
	}
	return b.conn.Begin(ctx, "session/prompt", map[string]any{"sessionId": b.ID(), "prompt": b.able.prompt(messages)}, nil)
}

// awaitPromptEnd waits for the end of a prompt, sends the steered messages after it, and reports the end of
// the turn.
func (b *backend) awaitPromptEnd(p *jsonrpc.Pending) {
	for p != nil {
		var r promptResult
		err := p.Wait(b.ctx, &r)
		if b.ctx.Err() != nil || !b.conn.Open() {
			return // the program has ended, which read reports
		}
		taken := b.promptTaken(err)
		b.reportUsage(r)
		if p, err = b.next(r, err, taken); err != nil {
			return // likewise
		}
	}
}

// promptTaken reports whether the agent has a prompt that has ended. It may have dropped one that failed, and one that was
// canceled before any output.
func (b *backend) promptTaken(failed error) bool {
	b.mu.Lock()
	taken := failed == nil && (!b.cut && !b.interrupted || len(b.untaken) == 0)
	if taken {
		b.intro = ""
	}
	b.mu.Unlock()
	if taken {
		b.takePrompt()
	}
	return taken
}

// next begins the prompt with the steered messages, or reports the end of the turn if there are none.
func (b *backend) next(r promptResult, failed error, taken bool) (*jsonrpc.Pending, error) {
	b.mu.Lock()
	messages := b.steers
	if !taken && len(messages) > 0 {
		messages = slices.Concat(b.prompted, messages)
	}
	if b.cut {
		failed = nil // some agents answer a prompt that was cancelled with an error
	}
	if failed != nil || b.interrupted {
		messages = nil
	}
	b.steers, b.cut, b.beginning = nil, false, len(messages) > 0
	clear(b.calls)
	b.reported, b.made, b.injected = nil, nil, nil
	b.mu.Unlock()
	if len(messages) > 0 {
		if p, err := b.beginNext(messages); p != nil || err != nil {
			return p, err
		}
	}
	b.endTurn(r, failed)
	return nil, nil
}

// beginNext sends a prompt in the running turn, unless that was interrupted meanwhile. Messages that
// were steered meanwhile cut it off.
func (b *backend) beginNext(messages []agent.Message) (*jsonrpc.Pending, error) {
	b.order.Lock()
	b.mu.Lock()
	b.beginning = false
	interrupted := b.interrupted
	b.mu.Unlock()
	if interrupted {
		b.order.Unlock()
		return nil, nil
	}
	p, err := b.sendPrompt(b.ctx, messages)
	b.order.Unlock()
	if err == nil {
		err = b.cutOff(b.ctx)
	}
	return p, err
}

// endTurn reports the end of the turn.
func (b *backend) endTurn(r promptResult, failed error) {
	b.mu.Lock()
	interrupted := b.interrupted
	b.running = false
	close(b.over)
	clear(b.approved)
	b.withdrawLocked()
	b.mu.Unlock()
	outcome, err := r.outcome(failed)
	if interrupted && outcome == providers.Completed {
		outcome = providers.Interrupted // it went on with the results of calls that were ended
	}
	b.session.Ended(outcome, err)
}

// Steer implements [agent.Backend].
func (b *backend) Steer(ctx context.Context, m agent.Message) error {
	b.mu.Lock()
	idle := !b.running
	b.mu.Unlock()
	if idle {
		return providers.ErrIdle
	}
	if b.able.Meta.Steering.Supported && b.inject(ctx, m) {
		return nil
	}
	b.mu.Lock()
	if !b.running {
		b.mu.Unlock()
		return providers.ErrIdle
	}
	b.steers = append(b.steers, m)
	b.mu.Unlock()
	if m.Calling || m.Asking {
		return nil
	}
	return b.cutOff(ctx)
}

// cutOff cancels the prompt, if steered messages wait and neither a tool nor a question is open.
func (b *backend) cutOff(ctx context.Context) error {
	b.order.Lock()
	defer b.order.Unlock()
	b.mu.Lock()
	cut := b.cutLocked()
	b.mu.Unlock()
	if !cut {
		return nil
	}
	return b.notifyCancel(ctx)
}

// inject steers the agent by the extension for that and reports whether it worked.
func (b *backend) inject(ctx context.Context, m agent.Message) bool {
	ctx, cancel := context.WithTimeout(ctx, steerTimeout)
	defer cancel()
	type answer struct {
		Outcome string `json:"outcome"`
	}
	const injected = "injected"
	p, err := b.conn.Begin(ctx, "_session/steering", map[string]any{
		"sessionId": b.ID(), "prompt": b.able.prompt([]agent.Message{m}),
		"_meta": map[string]any{"steering": map[string]any{"idleBehavior": "promptRequired"}},
	}, func(raw json.RawMessage) {
		if decode[answer](raw).Outcome == injected {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.injected = append(b.injected, m.ID)
		}
	})
	if err != nil {
		return false
	}
	var r answer
	return p.Wait(ctx, &r) == nil && r.Outcome == injected
}

// takePrompt reports the messages of the prompt as taken, and those that were steered by the extension, with the
// first output of the agent after that.
func (b *backend) takePrompt() {
	b.mu.Lock()
	ids := slices.Concat(b.untaken, b.injected)
	b.untaken, b.injected = nil, nil
	b.mu.Unlock()
	for _, id := range ids {
		b.session.Taken(id)
	}
}

// cutLocked reports whether the prompt has to be canceled for a steered message, once; mu is held.
func (b *backend) cutLocked() bool {
	if !b.running || b.beginning || b.cut || b.interrupted || len(b.steers) == 0 || len(b.asked) > 0 {
		return false
	}
	for _, c := range b.calls {
		if c.started && !c.ended {
			return false
		}
	}
	b.cut = true
	return true
}

func (b *backend) notifyCancel(ctx context.Context) error {
	return b.conn.Notify(ctx, "session/cancel", map[string]any{"sessionId": b.ID()})
}

// Interrupt implements [agent.Backend].
func (b *backend) Interrupt(ctx context.Context) error {
	b.order.Lock()
	defer b.order.Unlock()
	b.mu.Lock()
	running := b.running
	b.interrupted = true
	b.mu.Unlock()
	if !running {
		return nil
	}
	if err := b.notifyCancel(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.withdrawLocked() // the agent waits for these answers
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

// withdrawLocked ends all open questions; mu is held. The session withdraws its own.
func (b *backend) withdrawLocked() {
	for question, decided := range b.asked {
		delete(b.asked, question)
		close(decided)
	}
}

// Close implements [agent.Backend].
func (b *backend) Close() error {
	b.process.Stop()
	<-b.ended
	b.cancel()
	b.wg.Wait()
	if b.dir.root == nil {
		return nil
	}
	return b.dir.root.Close()
}

// decode decodes parameters; what does not fit stays empty, because the protocol grows.
func decode[T any](raw json.RawMessage) (v T) {
	_ = json.Unmarshal(raw, &v)
	return v
}
