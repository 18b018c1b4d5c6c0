package contextpool

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

const (
	// condenseTool is the tool name published while an agent summarises.
	condenseTool = "history:condense"
	// condenseSystem is the system prompt of the model that summarises.
	condenseSystem = "You keep the memory of an assistant that works on somebody's desktop. You are given its conversation " +
		"so far and write the summary that replaces it. You have no tools, and nobody is to be answered."
	// condensedBytes bounds a summary.
	condensedBytes = 64 << 10
)

// condensing describes a turn that summarises its agent's thread. The agent is busy meanwhile
// and messages are queued. The turn adds nothing to the thread except, at its end, the summary.
type condensing struct {
	// Auto says that no user requested the summary.
	Auto bool `json:"auto,omitempty"`
	// TokensBefore is the size of the thread at the beginning.
	TokensBefore int `json:"had"`
	// LeftOut counts the oldest messages that did not fit into the input of the model.
	LeftOut int `json:"left,omitempty"`
}

// beginCondense starts a turn that summarises a thread.
func (s *turnStarter) beginCondense(h *thread, auto bool) {
	if h.Tokens == 0 {
		s.threads.estimateTokens(h)
	}
	t := &turn{Kind: wire.AgentMain, Monitor: h.Monitor, Condensing: &condensing{Auto: auto, TokensBefore: h.Tokens}}
	role := "condense-" + string(h.Monitor)
	if !h.isMain() {
		t.Kind, t.Window = wire.AgentWindow, s.groups.windowOf(h)
		role += "-" + string(t.Window)
	}
	s.register(t, role)
	t.Agent, t.ID = h.agent, wire.MessageID("condense-"+strconv.FormatUint(t.Number, 10))
	s.step.Emit(wire.ToolProgress{
		ToolName: condenseTool, Status: wire.ToolRunning, AgentID: t.Role, MonitorID: t.Monitor,
	})
	s.launch(t, nil)
}

// fillCondenseRun fills a run that summarises a copy of the thread's visible messages. Where the
// beginning of requests is cached, the run continues the conversation as it is; elsewhere it reads
// a conversation without tools.
func (s *turnStarter) fillCondenseRun(t *turn, r *agentpool.Run) {
	if h := s.threads.byAgent[t.Agent]; h != nil && s.providers.Caps(t.Provider).Prefix {
		r.NoTools, r.Fork, r.From = true, true, providers.Thread{Entries: history.View(h.messages)}
		r.Prompt = history.CondensePrompt
		return
	}
	var seen []history.Message
	if h := s.threads.byAgent[t.Agent]; h != nil {
		seen = history.Effective(h.messages)
	}
	asked := history.CondenseRequest(seen, true)
	last := asked[len(asked)-1]
	r.System, r.Fork, r.From = condenseSystem, true, providers.Thread{Entries: asked[:len(asked)-1]}
	var said []string
	for _, b := range last.Blocks {
		switch {
		case b.Kind == providers.BlockText:
			said = append(said, b.Text)
		case b.Image != nil:
			r.Images = append(r.Images, *b.Image)
		}
	}
	r.Prompt = strings.Join(said, "\n\n")
}

// endCondense ends a turn that summarises: the summary replaces the visible messages, or the
// thread stays as it was and a row says why.
func (e *turnEnder) endCondense(t *turn, outcome providers.Outcome, reason string) {
	if _, ok := t.apply(endReached); !ok {
		return
	}
	delete(e.turns.byKey, t.key())
	e.budget.release(t)
	e.tasks.totals.addTurn(outcome, t.Usage)
	e.turns.delete(t)
	if t.DisposeAgent {
		e.threads.delete(t.Agent)
		e.disposeAgent(t.Agent)
	}
	h := e.threads.byAgent[t.Agent]
	var code wire.ReasonCode
	if h != nil {
		h.Tried = t.Condensing.Auto
		e.threads.store(h)
		if outcome == providers.Completed {
			if err := e.threads.applySummary(t, h); err != nil {
				outcome, reason, code = providers.Failed, err.Error(), history.ReasonCode(err)
			}
		}
	}
	if outcome != providers.Completed && !t.rowRemoved {
		row := e.threads.turnRow(t, wire.SayCondenseContextError, "The conversation was not summarised: "+truncate(reason, reasonBytes))
		row.ReasonCode = code
		row.ContextCondense = &wire.ContextCondense{
			Cost: max(t.Usage.USD, 0), PrevContextTokens: t.Condensing.TokensBefore, NewContextTokens: t.Condensing.TokensBefore,
		}
		if h != nil {
			h.linkRow(&row)
		}
		e.rows.AddRow(row)
	}
	e.step.Emit(e.turnEndEvent(t, outcome, reason))
	if limits := e.threads.contextLimits(); h != nil && outcome == providers.Failed && t.Condensing.Auto {
		limits.Threshold = 0
		if limits.Decide(h.Tokens) == history.Truncate {
			e.threads.truncate(h)
		}
	}
}

// applySummary makes the summary written by a turn the only visible message of the thread.
func (s *threadSet) applySummary(t *turn, h *thread) error {
	row := s.rows.NextRowID()
	all, m, err := history.Condensed(h.messages, history.Summary{
		ID: history.NextID(h.highestID()), Row: row, TS: wire.Millis(s.step.Now().UnixMilli()), Turn: string(t.ID),
		CondenseID: "sum-" + strconv.FormatUint(uint64(row), 10), Text: t.text.String(),
	})
	if err != nil {
		return fmt.Errorf("condense: %w", err)
	}
	h.messages = all
	h.Tokens = min(t.Condensing.TokensBefore, history.Tokens(history.View(all)))
	r := s.turnRow(t, wire.SayCondenseContext, "")
	if n := t.Condensing.LeftOut; n > 0 {
		r.Text = fmt.Sprintf("The %d oldest messages were too much for the model and are not in the summary.", n)
	}
	r.ContextCondense = &wire.ContextCondense{
		Cost: max(t.Usage.USD, 0), PrevContextTokens: t.Condensing.TokensBefore, NewContextTokens: h.Tokens,
		Summary: strings.TrimSpace(t.text.String()), CondenseID: m.CondenseID,
	}
	h.linkRow(&r)
	s.rows.AddRow(r)
	s.boundThread(h)
	s.resetProviderSession(h)
	return nil
}
