package acp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/providers/jsonrpc"
	"github.com/everdesk/everdesk/wire"
)

// openSession is a session that the client has opened.
type openSession struct {
	server *server
	id     wire.SessionID
	client *client.Client
	stop   context.CancelFunc
	work   sync.WaitGroup // the client and the questions

	// Of the goroutine of the client.
	translator *translator
	replay     bool                          // send the conversation of the first state
	started    chan struct{}                 // closed after the first state
	asked      map[string]context.CancelFunc // withdraws a question

	mu      sync.Mutex // guards the following
	left    bool       // nothing is started any more
	mode    string
	prompts map[wire.MessageID]*prompt
	own     map[wire.MessageID]bool // all prompts so far
}

// prompt is a prompt of the client that has not ended.
type prompt struct {
	agent wire.AgentID // that works on it, once it is known
	row   wire.RowID   // of its message, once it is known
	// hasJoined says that it is part of a turn which another client began, and isCancelled that this client does
	// not want its answer any more.
	hasJoined, isCancelled bool
	ended                  chan wire.AgentResponse
}

// open attaches to a session. It returns when the client has the conversation so far, if replay is set.
func (s *server) open(ctx context.Context, id wire.SessionID, replay bool) (*openSession, error) {
	running, stop := context.WithCancel(s.ctx)
	o := &openSession{server: s, id: id, stop: stop, replay: replay, started: make(chan struct{}), asked: map[string]context.CancelFunc{}, mode: modeChat, prompts: map[wire.MessageID]*prompt{}, own: map[wire.MessageID]bool{}}
	desktop := *s.hub.URL
	desktop.RawQuery = "session=" + string(id)
	o.translator = newTranslator(desktop.String(), s.hub.URL.JoinPath("api", "sessions", string(id), "files"), o.isOwn, o.send)
	var err error
	o.client, err = client.New(client.Config{
		URL: s.hub.URL.String(), Session: id, Token: s.hub.Token, Monitors: []wire.MonitorID{monitor},
		OnEvent: func(_ context.Context, e client.Event) { o.event(running, e) },
	})
	if err != nil {
		stop()
		return nil, err
	}
	ended := make(chan error, 1)
	o.work.Go(func() { ended <- o.client.Run(running) })
	select {
	case <-o.started:
		s.watching.Go(func() { o.watch(<-ended) })
		return o, nil
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	o.leave()
	return nil, fmt.Errorf("open session %s: %w", id, err)
}

// monitor is the one whose conversation the client has.
const monitor wire.MonitorID = "monitor-0"

// leave detaches from the session, which goes on.
func (o *openSession) leave() {
	o.mu.Lock()
	o.left = true
	o.mu.Unlock()
	o.stop()
	o.work.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, p := range o.prompts {
		delete(o.prompts, id)
		p.ended <- wire.AgentResponse{Outcome: wire.OutcomeInterrupted}
	}
}

// watch takes the end of the connection. Unless the client has left the session, the hub refuses it for good: the session
// was deleted, or the client may not use it any more.
func (o *openSession) watch(err error) {
	o.mu.Lock()
	hasLeft := o.left
	for id, p := range o.prompts {
		if !hasLeft {
			delete(o.prompts, id)
			p.ended <- wire.AgentResponse{Outcome: wire.OutcomeFailed, Reason: "The session cannot be used any more: " + err.Error()}
		}
	}
	o.mu.Unlock()
	if !hasLeft {
		o.server.logf("session %s: %v", o.id, err)
		o.server.close(o)
	}
}

// send sends an update. A client that does not read any more is gone, which the reader of its input
// notices.
func (o *openSession) send(u update) {
	_ = o.server.conn.Notify(o.server.ctx, "session/update", map[string]any{"sessionId": o.id, "update": u})
}

// event takes an event of the hub. Questions are asked until ctx ends.
func (o *openSession) event(ctx context.Context, e client.Event) {
	switch data := e.Data.(type) {
	case wire.SessionState:
		if data.Mode == wire.StateSnapshot {
			o.snapshot(ctx, &data)
			o.askNew(ctx, &data)
		}
		return
	case wire.MessageUpdated:
		o.recordRow(data.Message)
	case wire.MessageAccepted:
		o.promptAccepted(ctx, data)
	case wire.MessageRejected: // a prompt that waited was removed; the refusal of a new one is the answer to Send
		defer o.endPrompt(wire.AgentResponse{MessageID: data.MessageID, IsComplete: true, Outcome: wire.OutcomeInterrupted})
	case wire.AgentResponse:
		defer o.endPrompt(data) // after its last text
	}
	o.translator.event(e.Data, o.client.State)
	switch e.Data.(type) {
	case wire.ApprovalRequest, wire.DialogClosed, wire.PromptClosed, wire.Actions,
		wire.HITLPlanReview, wire.HITLApprovalRequest, wire.HITLInputRequest, wire.HITLClarification, wire.HITLClosed:
		state := o.client.State()
		o.askNew(ctx, &state)
	}
}

// isOwn reports whether a message is a prompt of this client.
func (o *openSession) isOwn(id wire.MessageID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.own[id]
}

// endPrompt ends a prompt, if it is one of this client.
func (o *openSession) endPrompt(data wire.AgentResponse) {
	if !data.IsComplete {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.prompts[data.MessageID]; p != nil {
		delete(o.prompts, data.MessageID)
		p.ended <- data
	}
}

// stopReason is the answer to session/prompt.
type stopReason struct {
	StopReason string `json:"stopReason"`
}

// prompt sends a message and waits for the end of its turn.
func (o *openSession) prompt(ctx context.Context, call string, blocks []block) (any, error) {
	m, err := userMessage(blocks)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	m.MessageID, m.MonitorID = wire.MessageID("acp-"+rand.Text()), monitor
	p := &prompt{ended: make(chan wire.AgentResponse, 1)}
	if !o.register(call, &m, p) {
		return stopReason{"cancelled"}, nil
	}
	if _, err := o.client.Send(ctx, m); err != nil {
		o.mu.Lock()
		delete(o.prompts, m.MessageID)
		o.mu.Unlock()
		if refused, ok := errors.AsType[*client.RefusedError](err); ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: refused.Reason}
		}
		return nil, err
	}
	select {
	case end := <-p.ended:
		switch end.Outcome {
		case wire.OutcomeFailed:
			return nil, &jsonrpc.Error{Code: codeFailed, Message: cmp.Or(end.Reason, "The turn failed.")}
		case wire.OutcomeInterrupted:
			return stopReason{"cancelled"}, nil
		}
		return stopReason{"end_turn"}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// codeFailed is the code of a failed turn: the range of errors that an implementation defines.
const codeFailed = -32000

// setMode sets how prompts are taken from now on.
func (o *openSession) setMode(id string) error {
	if id != modeChat && id != modePlan {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("There is no mode %q.", id)}
	}
	o.mu.Lock()
	o.mode = id
	o.mu.Unlock()
	o.send(update{Kind: updateMode, Mode: id})
	return nil
}
