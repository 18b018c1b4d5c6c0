package acp

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/everdesk/everdesk/wire"
)

// Calls are served concurrently, so a session/cancel could overtake the prompt that it means. The goroutine
// that reads the input therefore records prompts before they are served.

// arrivedPrompt is a prompt that was read and is not registered with its session yet.
type arrivedPrompt struct {
	session     wire.SessionID
	isCancelled bool
}

// maxArrived bounds the recorded prompts. More calls than that are refused anyway.
const maxArrived = 256

// recordPrompt records a prompt that is about to be served.
func (s *server) recordPrompt(line []byte) {
	if !bytes.Contains(line, []byte("session/prompt")) {
		return
	}
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params sessionParams   `json:"params"`
	}
	if json.Unmarshal(line, &call) != nil || call.Method != "session/prompt" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.arrived) < maxArrived {
		s.arrived[string(call.ID)] = &arrivedPrompt{session: call.Params.SessionID}
	}
}

// cancelArrived cancels the prompts of a session that are not registered yet.
func (s *server) cancelArrived(id wire.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.arrived {
		if a.session == id {
			a.isCancelled = true
		}
	}
}

// forgetPrompt forgets a prompt that was served.
func (s *server) forgetPrompt(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.arrived, call)
}

// register makes a prompt one that [openSession.cancel] finds, and sets the mode of its message. It returns
// false if the prompt has been cancelled already.
func (o *openSession) register(call string, m *wire.UserMessage, p *prompt) bool {
	o.server.mu.Lock()
	defer o.server.mu.Unlock()
	if a := o.server.arrived[call]; a != nil && a.isCancelled {
		return false
	}
	delete(o.server.arrived, call)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mode == modePlan {
		m.Mode = wire.ModePlan
	}
	o.prompts[m.MessageID] = p
	o.own[m.MessageID] = true
	return true
}

// promptAccepted takes the agent of a prompt. A prompt that was cancelled before is withdrawn now.
func (o *openSession) promptAccepted(ctx context.Context, data wire.MessageAccepted) {
	turn := data.MessageID
	if data.How == wire.TakenSteered {
		for _, a := range o.client.State().Agents {
			if a.Role == data.AgentID {
				turn = a.MessageID
			}
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.prompts[data.MessageID]
	if p == nil {
		return
	}
	p.agent, p.hasJoined = data.AgentID, !o.own[turn]
	if p.isCancelled {
		o.withdraw(ctx, data.MessageID, p)
	}
}

// cancel stops the work on the prompts of this client, also on those that wait for their agent.
func (o *openSession) cancel(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, p := range o.prompts {
		p.isCancelled = true
		o.withdraw(ctx, id, p)
	}
}

// withdraw stops the work on one prompt: it interrupts its turn, or removes it from the queue. A turn that
// another client began goes on; the prompt that joined it ends alone. The caller holds mu.
func (o *openSession) withdraw(ctx context.Context, id wire.MessageID, p *prompt) {
	switch {
	case p.agent == "": // if it is being taken at this moment, promptAccepted withdraws it again
		o.post(ctx, wire.DeleteQueuedMessage{Target: id, MonitorID: monitor})
	case p.hasJoined:
		delete(o.prompts, id)
		p.ended <- wire.AgentResponse{Outcome: wire.OutcomeInterrupted}
	default:
		o.post(ctx, wire.Interrupt{Scope: wire.ScopeAgent, AgentID: p.agent})
	}
}

// post sends a message without waiting: the hub may be unreachable for a while. The caller holds mu.
func (o *openSession) post(ctx context.Context, m wire.ClientPayload) {
	if o.left {
		return
	}
	ctx, stop := context.WithTimeout(ctx, openTimeout)
	o.work.Go(func() {
		defer stop()
		if err := o.client.Post(ctx, m); err != nil && ctx.Err() == nil {
			o.server.logf("session %s: cancel: %v", o.id, err)
		}
	})
}
