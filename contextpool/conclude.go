package contextpool

import (
	"cmp"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// LostTurnEnd is a turn that ended at the previous owner, and whose end the store has lost.
type Concluded struct {
	// End is the last event of the turn, with all of its text.
	End wire.AgentResponse
	// Messages are the answered messages that the session does not know, in order.
	Messages []Message
	// Joined are the messages that joined the turn while it ran. Those that are queued here end
	// with it.
	Joined []wire.MessageID
	// Actions are the turn's actions that the store has lost.
	Actions []wire.Action
}

// CanRestoreTurnEnd reports whether [Pool.RestoreTurnEnd] can end the turn: it is under way
// here and has used no tool under this owner, or its message is queued, or the session does not
// know the message. It cannot if another turn has taken a message that joined the turn, because
// the actions done for that message cannot be identified.
func (p *Pool) MayConclude(c Concluded) bool {
	t := p.concludes(c)
	run := ""
	if t != nil {
		run = t.run()
	}
	for _, id := range c.Joined {
		if p.knows(id) && p.waits(id, run) == nil && (t == nil || !slices.Contains(t.Taken, id)) {
			return false
		}
	}
	if t != nil {
		return !t.acted && t.Stopping == ""
	}
	if p.waits(c.End.MessageID, "") != nil {
		return true
	}
	return !p.knows(c.End.MessageID) && len(c.Messages) > 0 && c.Messages[0].ID == c.End.MessageID
}

// findQueued returns a queued message that is offered to no run, or to the given one, or nil.
func (p *Pool) waits(id wire.MessageID, run string) *waiting {
	for _, key := range p.mains.Keys() {
		for _, w := range p.mains.All(key) {
			if w.ID == id && (w.Offered == "" || w.Offered == run) {
				return w
			}
		}
	}
	return nil
}

// findLostTurn returns the turn if it is under way, else nil.
func (p *Pool) concludes(c Concluded) *turn {
	for _, t := range p.turns {
		if t.ID == c.End.MessageID && t.Role == c.End.AgentID && t.Condensing == nil && t.Job == nil {
			return t
		}
	}
	return nil
}

// RestoreTurnEnd ends a turn here as it ended at the previous owner: it stops the run, if there
// is one, and publishes the turn's events again. It returns the first action that the current
// desktop state refuses; all other actions are applied.
func (p *Pool) Conclude(c Concluded) (refused *desktop.Refusal) {
	t := p.concludes(c)
	if t != nil {
		run := t.run()
		p.step.Then(func() { p.runner.Interrupt(run, "the turn has ended at the owner before") })
		p.endTasks(t)
	} else {
		var m *Message
		if w := p.waits(c.End.MessageID, ""); w != nil {
			m = p.unqueue(w)
		} else {
			m, c.Messages = &c.Messages[0], c.Messages[1:]
			p.show(m, m.Text)
		}
		t = p.relive(m, c.End.AgentID)
	}
	for i := range c.Messages {
		p.show(&c.Messages[i], c.Messages[i].Text)
	}
	for _, id := range c.Joined {
		if w := p.waits(id, t.run()); w != nil {
			c.Messages = append(c.Messages, *p.unqueue(w))
		}
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		p.accept(m, t.Role, wire.TakenSteered)
		t.join(m.ID)
		p.record(t, policies.SpeakerUser, m.Text, m.Row)
	}
	for _, a := range c.Actions {
		if r := p.step.Desk().Check(t.Monitor, a); r != nil {
			refused = cmp.Or(refused, r)
			continue
		}
		one := []wire.Action{a}
		closing := p.places(t.Monitor, one)
		p.step.Emit(wire.Actions{Actions: one, AgentID: t.Role, MonitorID: t.Monitor})
		p.did(t, a)
		if _, ok := a.(wire.WindowClose); ok {
			p.closed(closing[0], t)
		}
	}
	p.recite(t, c)
	p.end(t, providers.Outcome(c.End.Outcome), c.End.Reason)
	p.settle()
	return refused
}

// unqueue removes a message from the queues.
func (p *Pool) unqueue(w *waiting) *Message {
	p.dequeue(func(other *waiting) bool { return other == w })
	return &w.Message
}

// newEndedTurn registers a turn for a message without running it. The turn uses the main
// agent's thread unless another turn uses that.
func (p *Pool) relive(m *Message, role wire.AgentID) *turn {
	lasting := strings.HasPrefix(string(role), mainAgent(m.Monitor)+"-") && p.main(m.Monitor) == nil
	t := &turn{
		Kind: wire.AgentEphemeral, ID: m.ID, Monitor: m.Monitor, Agent: mainAgent(m.Monitor), Lasting: lasting,
		Profile: tools.ProfileAll, Guest: m.Guest, Taken: []wire.MessageID{m.ID},
	}
	how := wire.TakenEphemeral
	if lasting {
		t.Kind, t.Profile, how = wire.AgentMain, tools.ProfileMain, wire.TakenDirect
	}
	p.enter(t, string(role))
	t.Row, t.prompt.Content, t.prompt.Images = m.Row, m.Text, m.Images
	t.prompt.set(m.Text)
	p.accept(m, t.Role, how)
	p.record(t, policies.SpeakerUser, m.Text, m.Row)
	p.taskCreated(t)
	return t
}

// restoreText publishes the text of the turn and adds it to the thread.
func (p *Pool) recite(t *turn, c Concluded) {
	if c.End.Usage != nil {
		t.Usage = providers.Usage{
			Input: c.End.Usage.InputTokens, Output: c.End.Usage.OutputTokens,
			CacheRead: c.End.Usage.CacheReadTokens, CacheWrite: c.End.Usage.CacheWriteTokens, USD: c.End.Usage.CostUSD,
		}
	}
	text := c.End.Delta
	if text != "" {
		p.step.Emit(wire.AgentResponse{Delta: text, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.message()})
		t.text.Reset()
		t.text.WriteString(text)
		t.said = units(text)
	}
	if !t.Lasting {
		return
	}
	p.mend(t)
	h := p.threadOf(t)
	if h.Provider == "" {
		h.Provider = t.Provider
		p.keepThread(h)
	}
	rest := text[len(firstUnits(text, t.Kept)):]
	var added []providers.Entry
	if !t.Remembered {
		added = append(added, providers.Entry{
			Role: providers.RoleUser, Turn: string(t.ID), Blocks: []providers.Block{{Kind: providers.BlockText, Text: t.prompt.text(), Origin: string(t.ID)}},
		})
		rest = text
	}
	for i := range c.Messages {
		added = append(added, providers.Entry{
			Role: providers.RoleUser, Turn: string(t.ID), Blocks: []providers.Block{{Kind: providers.BlockText, Text: c.Messages[i].Text, Origin: string(c.Messages[i].ID)}},
		})
	}
	if strings.TrimSpace(rest) != "" {
		added = append(added, providers.Entry{
			Role: providers.RoleAssistant, Turn: string(t.ID), Blocks: []providers.Block{{Kind: providers.BlockText, Text: rest}},
		})
	}
	messages := make([]history.Message, len(added))
	for i, e := range added {
		messages[i] = history.Message{Entry: e, Row: p.step.NextRow()}
	}
	p.extend(h, slices.Clip(messages)...)
	t.Remembered, t.Kept, h.stale = true, t.said, true
}
