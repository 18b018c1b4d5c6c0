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
type LostTurnEnd struct {
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
func (p *Pool) CanRestoreTurnEnd(c LostTurnEnd) bool {
	t := p.findLostTurn(c)
	run := ""
	if t != nil {
		run = t.runID()
	}
	for _, id := range c.Joined {
		if p.knowsMessage(id) && p.findQueued(id, run) == nil && (t == nil || !slices.Contains(t.Taken, id)) {
			return false
		}
	}
	if t != nil {
		return !t.toolUsed && !t.stopping()
	}
	if p.findQueued(c.End.MessageID, "") != nil {
		return true
	}
	return !p.knowsMessage(c.End.MessageID) && len(c.Messages) > 0 && c.Messages[0].ID == c.End.MessageID
}

// findQueued returns a queued message that is offered to no run, or to the given one, or nil.
func (p *Pool) findQueued(id wire.MessageID, run string) *queuedMessage {
	for _, key := range p.mainQueue.Keys() {
		for _, w := range p.mainQueue.All(key) {
			if w.ID == id && (w.Offered == "" || w.Offered == run) {
				return w
			}
		}
	}
	return nil
}

// findLostTurn returns the turn if it is under way, else nil.
func (p *Pool) findLostTurn(c LostTurnEnd) *turn {
	for _, t := range p.turns {
		if t.ID == c.End.MessageID && t.Role == c.End.AgentID && t.Condensing == nil && t.Job == nil {
			return t
		}
	}
	return nil
}

// RestoreTurnEnd ends a turn here as it ended at the previous owner: it stops the run, if there
// is one, and publishes the turn's events again. Actions that the current desktop state refuses are
// skipped; it returns the first refusal.
func (p *Pool) RestoreTurnEnd(c LostTurnEnd) (refused *desktop.Refusal) {
	t := p.findLostTurn(c)
	if t != nil {
		run := t.runID()
		p.step.AfterCommit(func() { p.runner.Interrupt(run, "the turn has ended at the owner before") })
		p.endTasks(t)
	} else {
		var m *Message
		if w := p.findQueued(c.End.MessageID, ""); w != nil {
			m = p.unqueue(w)
		} else {
			m, c.Messages = &c.Messages[0], c.Messages[1:]
			p.addMessageRow(m, m.Text)
		}
		t = p.newEndedTurn(m, c.End.AgentID)
	}
	for i := range c.Messages {
		p.addMessageRow(&c.Messages[i], c.Messages[i].Text)
	}
	for _, id := range c.Joined {
		if w := p.findQueued(id, t.runID()); w != nil {
			c.Messages = append(c.Messages, *p.unqueue(w))
		}
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		p.acceptMessage(m, t.Role, wire.TakenSteered)
		t.addMessage(m.ID)
		p.recordOnTape(t, policies.SpeakerUser, m.Text, m.Row)
	}
	for _, a := range c.Actions {
		if r := p.state.Desktop().Check(t.Monitor, a); r != nil {
			refused = cmp.Or(refused, r)
			continue
		}
		one := []wire.Action{a}
		closing := p.closedWindowKeys(t.Monitor, one)
		p.step.Emit(wire.Actions{Actions: one, AgentID: t.Role, MonitorID: t.Monitor})
		p.recordAction(t, a)
		if _, ok := a.(wire.WindowClose); ok {
			p.removeWindow(closing[0], t)
		}
	}
	p.restoreText(t, c)
	p.endTurn(t, providers.Outcome(c.End.Outcome), c.End.Reason)
	p.advance()
	return refused
}

// unqueue removes a message from the queues.
func (p *Pool) unqueue(w *queuedMessage) *Message {
	p.dequeue(func(other *queuedMessage) bool { return other == w })
	return &w.Message
}

// newEndedTurn registers a turn for a message without running it. A turn with the role of the
// main agent uses the main agent's thread, unless another turn uses that.
func (p *Pool) newEndedTurn(m *Message, role wire.AgentID) *turn {
	lasting := strings.HasPrefix(string(role), mainAgent(m.Monitor)+"-") && p.mainTurn(m.Monitor) == nil
	t := &turn{
		Kind: wire.AgentEphemeral, ID: m.ID, Monitor: m.Monitor, Agent: mainAgent(m.Monitor), Lasting: lasting,
		Profile: tools.ProfileAll, Guest: m.Guest, Taken: []wire.MessageID{m.ID},
	}
	how := wire.TakenEphemeral
	if lasting {
		t.Kind, t.Profile, how = wire.AgentMain, tools.ProfileMain, wire.TakenDirect
	}
	p.registerTurn(t, string(role))
	t.Row, t.prompt.Content, t.prompt.Images = m.Row, m.Text, m.Images
	t.prompt.setText(m.Text)
	p.acceptMessage(m, t.Role, how)
	p.recordOnTape(t, policies.SpeakerUser, m.Text, m.Row)
	p.taskCreated(t)
	return t
}

// restoreText publishes the text of the turn and adds it to the thread.
func (p *Pool) restoreText(t *turn, c LostTurnEnd) {
	if c.End.Usage != nil {
		t.Usage = providers.Usage{
			Input: c.End.Usage.InputTokens, Output: c.End.Usage.OutputTokens,
			CacheRead: c.End.Usage.CacheReadTokens, CacheWrite: c.End.Usage.CacheWriteTokens, USD: c.End.Usage.CostUSD,
		}
	}
	text := c.End.Delta
	if text != "" {
		p.step.Emit(wire.AgentResponse{Delta: text, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID()})
		t.text.Reset()
		t.text.WriteString(text)
		t.textUnits = utf16Len(text)
	}
	if !t.Lasting {
		return
	}
	p.closeOpenCalls(t)
	h := p.threadOf(t)
	if h.Provider == "" {
		h.Provider = t.Provider
		p.storeThread(h)
	}
	rest := text[len(utf16Prefix(text, t.KeptUnits)):]
	var added []providers.Entry
	if !t.InThread {
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
		messages[i] = history.Message{Entry: e, Row: p.rows.NextRowID()}
	}
	p.appendMessages(h, slices.Clip(messages)...)
	t.InThread, t.KeptUnits, h.stale = true, t.textUnits, true
}
