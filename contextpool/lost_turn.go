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

// canRestoreTurnEnd implements [Pool.CanRestoreTurnEnd].
func (rc *recovery) canRestoreTurnEnd(c LostTurnEnd) bool {
	t := rc.findLostTurn(c)
	run := ""
	if t != nil {
		run = t.runID()
	}
	for _, id := range c.Joined {
		if rc.queues.knowsMessage(id) && rc.queues.find(id, run) == nil && (t == nil || !slices.Contains(t.Taken, id)) {
			return false
		}
	}
	if t != nil {
		return !t.toolUsed && !t.stopping()
	}
	if rc.queues.find(c.End.MessageID, "") != nil {
		return true
	}
	return !rc.queues.knowsMessage(c.End.MessageID) && len(c.Messages) > 0 && c.Messages[0].ID == c.End.MessageID
}

// findLostTurn returns the turn if it is under way, else nil.
func (rc *recovery) findLostTurn(c LostTurnEnd) *turn {
	for _, t := range rc.turns.byKey {
		if t.ID == c.End.MessageID && t.Role == c.End.AgentID && t.Condensing == nil && t.Job == nil {
			return t
		}
	}
	return nil
}

// restoreTurnEnd implements [Pool.RestoreTurnEnd].
func (rc *recovery) restoreTurnEnd(c LostTurnEnd) (refused *desktop.Refusal) {
	t := rc.findLostTurn(c)
	if t != nil {
		run := t.runID()
		rc.step.AfterCommit(func() { rc.runner.Interrupt(run, "the turn has ended at the owner before") })
	} else {
		var m *Message
		if w := rc.queues.find(c.End.MessageID, ""); w != nil {
			m = rc.queues.unqueue(w)
		} else {
			m, c.Messages = &c.Messages[0], c.Messages[1:]
			rc.queues.addMessageRow(m, m.Text)
		}
		t = rc.newEndedTurn(m, c.End.AgentID)
	}
	for i := range c.Messages {
		rc.queues.addMessageRow(&c.Messages[i], c.Messages[i].Text)
	}
	for _, id := range c.Joined {
		if w := rc.queues.find(id, t.runID()); w != nil {
			c.Messages = append(c.Messages, *rc.queues.unqueue(w))
		}
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		rc.queues.accept(m, t.Role, wire.TakenSteered)
		t.addMessage(m.ID)
		rc.transcript.record(t, policies.SpeakerUser, m.Text, m.Row)
	}
	for _, a := range c.Actions {
		if r := rc.state.Desktop().Check(t.Monitor, a); r != nil {
			refused = cmp.Or(refused, r)
			continue
		}
		one := []wire.Action{a}
		closing := rc.groups.closedKeys(t.Monitor, one)
		rc.step.Emit(wire.Actions{Actions: one, AgentID: t.Role, MonitorID: t.Monitor})
		rc.calls.recordAction(t, a)
		if _, ok := a.(wire.WindowClose); ok {
			rc.actions.removeWindow(closing[0], t)
		}
	}
	rc.restoreText(t, c)
	rc.ender.end(t, providers.Outcome(c.End.Outcome), c.End.Reason) // stops the runs of its tasks, too
	return refused
}

// newEndedTurn registers a turn for a message without running it. A turn with the role of the
// main agent uses the main agent's thread, unless another turn uses that.
func (rc *recovery) newEndedTurn(m *Message, role wire.AgentID) *turn {
	lasting := strings.HasPrefix(string(role), mainAgent(m.Monitor)+"-") && rc.turns.ofMain(m.Monitor) == nil
	t := &turn{
		Kind: wire.AgentEphemeral, ID: m.ID, Monitor: m.Monitor, Agent: mainAgent(m.Monitor), Lasting: lasting,
		Profile: tools.ProfileAll, User: m.User, Guest: m.Guest, Taken: []wire.MessageID{m.ID},
	}
	how := wire.TakenEphemeral
	if lasting {
		t.Kind, t.Profile, how = wire.AgentMain, tools.ProfileMain, wire.TakenDirect
	}
	rc.starter.register(t, string(role))
	t.Row, t.prompt.Content, t.prompt.Images = m.Row, m.Text, m.Images
	t.prompt.setText(m.Text)
	rc.queues.accept(m, t.Role, how)
	rc.transcript.record(t, policies.SpeakerUser, m.Text, m.Row)
	rc.tasks.turnCreated(t)
	return t
}

// restoreText publishes the text of the turn and adds it to the thread.
func (rc *recovery) restoreText(t *turn, c LostTurnEnd) {
	if c.End.Usage != nil {
		t.Usage = providers.Usage{
			Input: c.End.Usage.InputTokens, Output: c.End.Usage.OutputTokens,
			CacheRead: c.End.Usage.CacheReadTokens, CacheWrite: c.End.Usage.CacheWriteTokens, USD: c.End.Usage.CostUSD,
			Unpriced: c.End.Usage.CostUnknown,
		}
	}
	text := c.End.Delta
	if text != "" {
		rc.step.Emit(wire.AgentResponse{Delta: text, AgentID: t.Role, MonitorID: t.Monitor, MessageID: t.messageID()})
		t.text.Reset()
		t.text.WriteString(text)
		t.textUnits = utf16Len(text)
	}
	if !t.Lasting {
		return
	}
	rc.threads.closeOpenCalls(t)
	h := rc.threads.threadOf(t)
	if h.Provider == "" {
		h.Provider = t.Provider
		rc.threads.store(h)
	}
	rest := text[len(utf16Prefix(text, t.ThreadUnits)):]
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
		messages[i] = history.Message{Entry: e, Row: rc.rows.NextRowID()}
	}
	rc.threads.appendMessages(h, slices.Clip(messages)...)
	t.InThread, t.ThreadUnits, h.stale = true, t.textUnits, true
}
