package contextpool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Reasons why a thread cannot be summarised now.
var (
	errBusy       = errors.New("the agent is busy")
	errNoProvider = errors.New("there is nobody who could sum it up")
	errOverBudget = errors.New("the monitor is over its budget")
	errTooMany    = errors.New("too many agents are at work")
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

// Condense starts summarising the thread of a monitor's main agent. The error says why it
// cannot.
func (p *Pool) Condense(monitor wire.MonitorID) error {
	h := p.threads[mainAgent(monitor)]
	if h == nil {
		return history.ErrTooShort
	}
	if err := p.checkCondensable(h); err != nil {
		return err
	}
	p.beginCondense(h, false)
	p.advance()
	return nil
}

// isCondensing reports whether the thread of the monitor's main agent is being summarised.
func (p *Pool) isCondensing(monitor wire.MonitorID) bool {
	t := p.mainTurn(monitor)
	return t != nil && t.Condensing != nil
}

// checkCondensable returns the reason why a thread cannot be summarised now, or nil.
func (p *Pool) checkCondensable(h *thread) error {
	_, err := history.CondenseInput(h.messages)
	switch {
	case p.turnOfAgent(h.agent) != nil:
		return errBusy
	case err != nil:
		return err
	case !p.providers.HasProvider(p.Provider()):
		return errNoProvider
	case !h.isMain():
		return p.checkWindowTurn(h.Monitor)
	case !p.hasTurnBudget(h.Monitor):
		return errOverBudget
	}
	return nil
}

// checkWindowTurn returns the reason why a turn of a window agent cannot begin now, or nil.
// Such turns do not count against the monitor's limit of concurrent turns.
func (p *Pool) checkWindowTurn(monitor wire.MonitorID) error {
	if _, _, denied := p.budget.Denied(monitor, p.step.Now()); denied {
		return errOverBudget
	}
	if len(p.turns) >= maxTurns {
		return errTooMany
	}
	return nil
}

// beginCondense starts a turn that summarises a thread.
func (p *Pool) beginCondense(h *thread, auto bool) {
	if h.Tokens == 0 {
		p.estimateTokens(h)
	}
	t := &turn{Kind: wire.AgentMain, Monitor: h.Monitor, Condensing: &condensing{Auto: auto, TokensBefore: h.Tokens}}
	role := "condense-" + string(h.Monitor)
	if !h.isMain() {
		t.Kind, t.Window = wire.AgentWindow, p.windowOf(h)
		role += "-" + string(t.Window)
	}
	p.registerTurn(t, role)
	t.Agent, t.ID = h.agent, wire.MessageID("condense-"+strconv.FormatUint(t.Number, 10))
	p.step.Emit(wire.ToolProgress{
		ToolName: condenseTool, Status: wire.ToolRunning, AgentID: t.Role, MonitorID: t.Monitor,
	})
	p.launchTurn(t, nil)
}

// fillCondenseRun fills a run that summarises a copy of the thread's visible messages.
func (p *Pool) fillCondenseRun(t *turn, r *agentpool.Run) {
	var seen []history.Message
	if h := p.threads[t.Agent]; h != nil {
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

// appendHiddenText appends to the text of a turn whose text is not published while it grows.
func (t *turn) appendHiddenText(text string) {
	t.text.WriteString(truncation.Bytes(sanitize(text), max(condensedBytes-t.text.Len(), 0)))
}

// endCondense ends a turn that summarises: the summary replaces the visible messages, or the
// thread stays as it was and a row says why.
func (p *Pool) endCondense(t *turn, outcome providers.Outcome, reason string) {
	if _, ok := t.apply(turnOver); !ok {
		return
	}
	delete(p.turns, t.key())
	p.budget.Release(t.key())
	p.totals.addTurn(outcome, t.Usage)
	p.deleteTurn(t)
	if t.DisposeAgent {
		p.deleteThread(t.Agent)
		p.step.AfterCommit(func() { p.runner.Dispose(t.Agent) })
	}
	h := p.threads[t.Agent]
	if h != nil {
		h.Tried = t.Condensing.Auto
		p.storeThread(h)
		if outcome == providers.Completed {
			if err := p.applySummary(t, h); err != nil {
				outcome, reason = providers.Failed, err.Error()
			}
		}
	}
	if outcome != providers.Completed && !t.rowRemoved {
		row := t.row(wire.SayCondenseContextError, "The conversation was not summed up: "+truncate(reason, reasonBytes))
		row.ContextCondense = &wire.ContextCondense{
			Cost: max(t.Usage.USD, 0), PrevContextTokens: t.Condensing.TokensBefore, NewContextTokens: t.Condensing.TokensBefore,
		}
		if h != nil {
			h.linkRow(&row)
		}
		p.rows.AddRow(row)
	}
	p.step.Emit(p.turnEndEvent(t, outcome, reason))
	if limits := p.contextLimits(); h != nil && outcome == providers.Failed && t.Condensing.Auto {
		limits.Threshold = 0
		if limits.Decide(h.Tokens) == history.Truncate {
			p.truncateThread(h)
		}
	}
}

// applySummary makes the summary written by a turn the only visible message of the thread.
func (p *Pool) applySummary(t *turn, h *thread) error {
	row := p.rows.NextRowID()
	all, m, err := history.Condensed(h.messages, history.Summary{
		ID: history.NextID(h.highestID()), Row: row, TS: wire.Millis(p.step.Now().UnixMilli()), Turn: string(t.ID),
		CondenseID: "sum-" + strconv.FormatUint(uint64(row), 10), Text: t.text.String(),
	})
	if err != nil {
		return fmt.Errorf("sum up: %w", err)
	}
	h.messages = all
	h.Tokens = min(t.Condensing.TokensBefore, history.Tokens(history.View(all)))
	r := t.row(wire.SayCondenseContext, "")
	if n := t.Condensing.LeftOut; n > 0 {
		r.Text = fmt.Sprintf("The %d oldest messages were too much for the model and are not in the summary.", n)
	}
	r.ContextCondense = &wire.ContextCondense{
		Cost: max(t.Usage.USD, 0), PrevContextTokens: t.Condensing.TokensBefore, NewContextTokens: h.Tokens,
		Summary: strings.TrimSpace(t.text.String()), CondenseID: m.CondenseID,
	}
	h.linkRow(&r)
	p.rows.AddRow(r)
	p.boundThread(h)
	p.resetProviderSession(h)
	return nil
}
